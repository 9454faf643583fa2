#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/report/results/compared.h"
#include "core/request/memory_request.h"
#include "core/theory/analysis.h"
#include "core/theory/closed_form.h"

#include <optional>
#include <vector>

namespace bubblescope::report {

/// A simulated run of a schedule, and what theory predicts for it, if it covers the schedule.
struct Simulated {
    Schedule schedule;
    StepTimeline step;
    StepAnalysis analysis;
    std::optional<ClosedForm> form; ///< exact or a bound
    std::optional<MemoryReport> memory;

    [[nodiscard]] Compared compared() const { return {schedule, step.wall(), analysis.rates, {}}; }
};

/// Runs a valid schedule on a cost model. Errors: those of simulate() and of the memory request.
[[nodiscard]] Result<Simulated> simulated(Schedule schedule, const CostModel& costs, const MemoryRequest& memory = {});

/// What `simulate` found: rates, a row a rank, and if `with_ops` the list of ops for programs.
[[nodiscard]] Document simulationDocument(const Simulated& run, bool with_ops);

/// Each op with its start and end: [kind, microbatch, chunk, rank, start_ns, end_ns], and the slice of split sequences.
[[nodiscard]] Value simulatedOps(const StepTimeline& step);

/// Several schedules side by side: a table and their charts for people.
[[nodiscard]] Document simulationsDocument(const std::vector<Simulated>& runs);
/// The same for programs.
[[nodiscard]] Document simulationsData(const std::vector<Simulated>& runs, bool with_ops);

} // namespace bubblescope::report
