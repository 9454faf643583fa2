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

/// A simulated point of a sweep.
struct SweptRun {
    std::vector<std::string> settings; ///< values, one per axis
    std::optional<Simulated> run;
    CostModel costs;
    std::string reason;              ///< reason why this point could not be simulated
    std::vector<std::string> unused; ///< inputs that have no effect on the order
};

/// Describes the work done by an op of the order if a rank has several chunks; otherwise empty.
[[nodiscard]] std::string opMeaning(const Schedule& schedule, const CostModel& costs);

/// One row per point: the values of the axes, sizes, op times, makespan, bubble rates and peak activations. The peak is
/// also given in micro-batches over a rank's whole part of the model, which makes orders with different numbers of
/// chunks comparable.
[[nodiscard]] Table sweepTable(std::span<const SweptRun> runs, std::span<const SweepAxis> axes);

/// For people: the table, notes about unused inputs, and the timelines of a few points.
[[nodiscard]] Document sweepDocument(std::span<const SweptRun> runs, std::span<const SweepAxis> axes,
                                     std::optional<int> chunks_of_times);
/// For programs: all data of all points.
[[nodiscard]] Document sweepData(std::span<const SweptRun> runs, std::span<const SweepAxis> axes,
                                 std::optional<int> chunks_of_times, bool with_ops);

/// Plots bubble rate, makespan and memory against the first axis with several values; otherwise, draws bars.
[[nodiscard]] plot::Chart sweepChart(std::span<const SweptRun> runs, std::span<const SweepAxis> axes);

} // namespace bubblescope::report
