#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/cost/memory_estimate.h"
#include "core/optimize/search/noise_model.h"
#include "core/optimize/search/order_problem.h"
#include "core/optimize/search/step_bound.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// Options for splitting backwards into input and weight gradients.
enum class SplitBackward : std::uint8_t {
    Auto, ///< split if this makes the step shorter
    On,
    Off,
};

/// The ops to order, and the limits of the search.
struct SearchRequest : OrderSizes {
    std::vector<Placement> placements;         ///< allowed placements; empty = loop, and V if vpp is 2 or more
    SplitBackward split = SplitBackward::Auto; ///< Auto does not split if `pairs` is set
    CostModel costs;
    /// Replaces simulate() if set, for example to simulate transfers in queues; called on several threads. The step
    /// must not become shorter than in simulate() with plain transfers, from which the bound and the moves are derived.
    /// An error means that the order cannot run. Cannot be combined with `noise`.
    std::function<Result<StepTimeline>(const Schedule&)> step;
    /// For frameworks that run only their own orders. If set, tries only families in this flavor and families without
    /// flavors, with every group size.
    std::optional<std::string> own_flavor;
    std::vector<int> activations;      ///< as in MemoryLimits
    std::optional<ModelSizes> model;   ///< with `bytes`
    std::optional<MemoryModel> stages; ///< memory per stage, if `model` is not set
    std::vector<std::int64_t> bytes;   ///< as in MemoryLimits
    /// If set, orders are rated by the mean step time, plus the time by which their 95th percentile exceeds the best
    /// family's.
    std::optional<NoiseModel> noise;
    std::optional<TimeNs> time_limit; ///< time limit for the search; a round that exceeds the limit is discarded
    std::optional<int> rounds;        ///< maximum number of rounds
    std::int64_t effort = 4'000'000;  ///< number of ops to examine per task of a round
    std::uint64_t seed = 1;
    int threads = 0; ///< 0 = all cores
};

/// A schedule from the registry that fits into the memory.
struct FamilyStep {
    std::string name;
    std::string flavor;
    int group_size = 0; ///< as in ScheduleSpec
    TimeNs makespan{0};
    std::optional<NoisySteps> noisy;
};

/// An intermediate result, reported after the families, after the orders built by rules, and after each round.
struct SearchProgress {
    int rounds = 0;
    TimeNs makespan{0}; ///< makespan of the best order so far
    TimeNs bound{0};
    const Sentence& reason;                       ///< reason for the bound
    const std::optional<FamilyStep>& best_family; ///< best family; null if none fits into the memory
    const std::function<Schedule()>& best;        ///< returns the best order so far; O(ops)
    [[nodiscard]] double gap() const { return fractionOf(makespan - bound, bound); }
};
/// Return false to end the search; the result is then the best order so far. Called on the thread that called
/// searchOrder(). References are valid only during the call.
using SearchWatch = std::function<bool(const SearchProgress&)>;

struct FoundOrder {
    Schedule schedule;
    TimeNs makespan{0};                    ///< makespan of the simulated step plus `after`: see stepLength()
    TimeNs bound{0};                       ///< lower bound for orders that fit into the memory
    Sentence reason;                       ///< reason for the bound
    bool proven = false;                   ///< true if the makespan equals the bound or no shorter order exists
    std::optional<FamilyStep> best_family; ///< best family; none if no family fits into the memory
    std::vector<int> peak_activations;     ///< per rank
    std::optional<NoisySteps> noisy;
    std::optional<std::int64_t> noisy_bound; ///< lower bound on the mean of any order: noisyBound()
    int rounds = 0;
    bool stopped = false;     ///< true if stopped by the caller or the time limit before reaching the bound or the last
                              ///< round
    std::int64_t judged = 0;  ///< number of moves whose effect was estimated
    std::int64_t moves = 0;   ///< number of moves applied
    std::int64_t touched = 0; ///< ops examined

    [[nodiscard]] double gap() const { return fractionOf(makespan - bound, bound); }
};

/// Error: Usage if sizes are impossible, or too large for a search.
[[nodiscard]] Status checkSizes(const SearchRequest& request);

/// Searches for the order with the shortest step. The search starts from all families that fit into the memory and from
/// orders built by rules (list_order.h). The best of them are improved round by round (improve.h). The result is never
/// worse than the best family. The result depends on request.seed and the number of rounds, not on threads or speed: a
/// time limit only determines which round is the last. If the time limit expires before all start orders are built,
/// those built by then are used, but at least one.
///
/// If transfers queue or block ranks (OrderProblem::plain() is false, or request.step is set), orders are first
/// improved without these effects, and then evaluated and adjusted by simulation; this takes longer.
///
/// Errors: Usage for impossible sizes; Cancelled if `control` stops the search before any order is found; Input, with
/// the rank whose memory cannot hold one micro-batch, or if all orders found deadlock.
[[nodiscard]] Result<FoundOrder> searchOrder(const SearchRequest& request, const JobControl& control,
                                             const SearchWatch& watch = {});

} // namespace bubblescope
