#pragma once

#include "core/cost/cost_model.h"
#include "core/report/plot/line_chart.h"
#include "core/report/results/simulation.h"
#include "core/request/sweep_request.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope::report {

/// A point of a sweep, simulated.
struct SweptRun {
    std::vector<std::string> settings; ///< per axis
    std::optional<Simulated> run;
    CostModel costs;
    std::string reason;              ///< the reason why there is no run
    std::vector<std::string> unused; ///< inputs that have no effect on this order
};

/// The work that an op of the order stands for, if a rank holds several chunks; otherwise empty.
[[nodiscard]] std::string opMeaning(const Schedule& schedule, const CostModel& costs);

/// A row per point: the values of the axes, sizes, op times, makespan, bubble rates and peak activations. The peak is
/// also given in micro-batches of a rank's whole model part, to be comparable between orders with different numbers of
/// chunks.
[[nodiscard]] Table sweepTable(std::span<const SweptRun> runs, std::span<const SweepAxis> axes);

/// For people: the table, notes on unused inputs, and the timelines of a few points.
[[nodiscard]] Document sweepDocument(std::span<const SweptRun> runs, std::span<const SweepAxis> axes,
                                     std::optional<int> chunks_of_times);
/// For programs: everything about every run.
[[nodiscard]] Document sweepData(std::span<const SweptRun> runs, std::span<const SweepAxis> axes,
                                 std::optional<int> chunks_of_times, bool with_ops);

/// Bubble rate, makespan and memory over the first axis with several numbers; as bars if there is none.
[[nodiscard]] plot::Chart sweepChart(std::span<const SweptRun> runs, std::span<const SweepAxis> axes);

} // namespace bubblescope::report
