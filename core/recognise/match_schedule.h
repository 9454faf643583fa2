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

/// With more chunks per rank than this, ops without numbers count as micro-batches.
inline constexpr int kMaxChunks = 64;

/// The result of matching an observed order.
struct ScheduleMatch {
    Schedule schedule;                  ///< the family's schedule, or else the observed one, named "custom"
    std::optional<Departure> departure; ///< difference from the closest family, unless a family matches exactly
    std::string closest;
    std::optional<Schedule> closest_order; ///< order of the closest family, unless a family matches exactly
    std::vector<std::string> same_order;   ///< other schedules with this order, which differ in messages with weights
};

/// Every family and flavor for the p, m, v, placement and number of sequence slices of a schedule, starting with the
/// recorded one. May include families that have no order for these sizes, because this is known only after trying to
/// generate one.
[[nodiscard]] std::vector<ScheduleSpec> specsLike(const Schedule& schedule);

/// The order in which a step's ops ran. Optimizer ops before other ops are included only in pipelines without a flush;
/// see weightVersions().
[[nodiscard]] Schedule observedOrder(const StepTimeline& step);

/// The length of the common prefix of two orders of equal size, per rank, and the first difference.
struct OrderComparison {
    std::size_t common = 0;             ///< number of common ops, over all ranks
    std::optional<Departure> departure; ///< earliest difference in the ranks' lists
};
[[nodiscard]] OrderComparison compareOrders(const Schedule& expected, const Schedule& observed);

/// Compares with every registry family and flavor at the order's p, m, v, starting with the recorded one. Families
/// whose order depends on more parameters are tried with their defaults, then with observed values: op times (`costs`,
/// if known), memory limits around the peak of activations, and the size of the first group. After a stop is requested
/// in `control`, no further family is tried. An order in which stages move is compared with movingOrders().
[[nodiscard]] ScheduleMatch matchSchedule(const Schedule& observed, const std::optional<CostModel>& costs = {},
                                          const JobControl& control = {});

/// Sets the schedule of a run to the result of matchSchedule(). The family recorded in the run's files is tried first.
void nameSchedule(Run& run, Schedule observed, const std::optional<CostModel>& costs);

/// Counts and logs the steps whose order differs from the one that identified the schedule.
[[nodiscard]] std::int64_t countOtherOrders(std::span<const StepTimeline> steps, const Schedule& observed,
                                            DiagnosticLog& log);
/// Sets the confidence and evidence for a run with named ops. `others` of the `steps` steps ran in another order.
void explainNamedOps(Explanation& explanation, std::int64_t steps, std::int64_t others);

} // namespace bubblescope
