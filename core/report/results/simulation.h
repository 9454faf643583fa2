#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/graph/simulate_lowered.h"
#include "core/report/results/compared.h"
#include "core/request/communication_choices.h"
#include "core/request/memory_request.h"
#include "core/request/weight_choices.h"
#include "core/theory/analysis.h"
#include "core/theory/closed_form.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope::report {

/// Effect of transfer queues on a simulated run.
struct QueueCosts {
    std::string communicators;  ///< kind of the communicators
    TimeNs makespan_without{0}; ///< makespan if transfers are matched by tag
    QueueTimes times;
    std::vector<std::vector<ActionTime>> actions; ///< per rank
};

/// A simulated run of a schedule, and the theoretical prediction for it, if there is one.
struct Simulated {
    Schedule schedule;
    StepTimeline step;
    StepAnalysis analysis;
    std::optional<ClosedForm> form; ///< exact form or bound
    std::optional<MemoryReport> memory;
    std::optional<QueueCosts> queues;  ///< only for a lowered schedule
    std::vector<int> peak_activations; ///< per rank, as counted by peakActivations(), excluding offloaded activations

    [[nodiscard]] Compared compared() const { return {schedule, step.wall(), analysis.rates, {}}; }
};

/// Simulates a valid schedule with a cost model. Errors: those of simulate() and of the memory request.
[[nodiscard]] Result<Simulated> simulated(Schedule schedule, const CostModel& costs, const MemoryRequest& memory = {});

/// As above, with the lowered actions (see simulateLowered()), and without a closed form, which would ignore queues.
[[nodiscard]] Result<Simulated> simulated(const LoweredSchedule& lowered, const CostModel& costs,
                                          const QueueModel& queues, const WeightTimes& weights,
                                          const MemoryRequest& memory = {});

/// Document of `simulate`: rates, one row per rank, and, with `with_ops`, the list of ops for programs.
[[nodiscard]] Document simulationDocument(const Simulated& run, bool with_ops);

/// Adds a table of all combinations of communicators and receive positions, and how to configure the first combination.
void addChoices(Document& document, const std::vector<CommunicationChoice>& choices);

/// Adds a table of all combinations of PyTorch's options for gathering weights, and UNSHARDs that complete too late.
void addWeightChoices(Document& document, const std::vector<WeightChoice>& choices,
                      const std::vector<EarlierUnshard>& late);

/// Adds a line for each UNSHARD that completes too late.
void addEarlierUnshards(Document& document, const std::vector<EarlierUnshard>& late);

/// Each op with its times: [kind, microbatch, chunk, rank, start_ns, end_ns], plus the slice if sequences are split.
[[nodiscard]] Value simulatedOps(const StepTimeline& step);

} // namespace bubblescope::report
