#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/cost/cost_model.h"
#include "core/families/registry.h"
#include "core/recognise/run.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// The result of matching an observed order.
struct ScheduleMatch {
    Schedule schedule;                  ///< the family's, or the observed one named "custom"
    std::optional<Departure> departure; ///< from the closest family, if none is equal
    std::string closest;
    std::optional<Schedule> closest_order; ///< of that family, if none is equal
};

/// Every family and flavor for the p, m, v, placement and number of sequence slices of a schedule; the one that it
/// names comes first. Includes families that have no order of these sizes, because that only becomes apparent when an
/// order is generated.
[[nodiscard]] std::vector<ScheduleSpec> specsLike(const Schedule& schedule);

/// The order in which a step's ops ran. Includes optimizer ops before other ops if they are those of a pipeline
/// without a flush, see weightVersions().
[[nodiscard]] Schedule observedOrder(const StepTimeline& step);

/// The extent to which two orders of equal size agree from the start of each rank, and the first difference.
struct OrderComparison {
    std::size_t common = 0;             ///< ops, over all ranks
    std::optional<Departure> departure; ///< the earliest in the ranks' lists
};
[[nodiscard]] OrderComparison compareOrders(const Schedule& expected, const Schedule& observed);

/// Compares with every registry family and flavor at the order's p, m, v, starting with the one that the observed
/// schedule names. Families whose order depends on more are tried at their defaults, then with observed values: op
/// times (`costs`, if known), memory limits around the peak of activations, and the size of the first group. Once
/// `control` stops it, no further family is tried.
[[nodiscard]] ScheduleMatch matchSchedule(const Schedule& observed, const std::optional<CostModel>& costs = {},
                                          const JobControl& control = {});

/// Sets the schedule of a run by the result of matchSchedule(). The family recorded in its files is tried first.
void nameSchedule(Run& run, Schedule observed, const std::optional<CostModel>& costs);

/// Counts and logs the steps whose order differs from the one that names the schedule.
[[nodiscard]] std::int64_t countOtherOrders(std::span<const StepTimeline> steps, const Schedule& observed,
                                            DiagnosticLog& log);
/// Fills in confidence and evidence of a run whose ops are named: of `steps` steps, `others` ran in another order.
void explainNamedOps(Explanation& explanation, std::int64_t steps, std::int64_t others);

} // namespace bubblescope
