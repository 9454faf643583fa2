#pragma once

#include "core/cost/cost_model.h"
#include "core/timeline/step_timeline.h"
#include "runtime/engine/engine.h"

#include <deque>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// A change of the order during a run.
struct OrderChange {
    int step = 0;       ///< the step after which it was decided
    std::string cause;  ///< what differs from the nominal times: "rank 2 is 1.50 times slower"
    std::string order;  ///< "searched", "dispatch ready", "original", …
    TimeNs before{0};   ///< mean step time in the previous order, on the times that the last steps measured
    TimeNs expected{0}; ///< mean step time in the new order, on these times
};

/// Chooses a better order for the ranks of a running job. After each step it compares several orders on the times that
/// the last steps measured: the original one, ranks that choose their ops by readiness, and one that searchOrder()
/// finds for the mean times. It changes to another order only if that is shorter by more than 1.5 % on average and
/// longer in none of these steps. It returns to the original one as soon as its mean step would not be longer.
/// On each rank, all orders hold at most as many activations as the fullest rank of the original one, or as the limit
/// that its policy states.
///
/// Searches run in a thread of their own, while the job continues. For one thread.
class OrderAdapter {
public:
    /// `nominal` holds the expected times, which are only used to name the cause of a slowdown. If `waits` is set, the
    /// call that starts a
    /// search waits for it.
    OrderAdapter(RunOrder original, CostModel nominal, bool waits = false);
    OrderAdapter(const OrderAdapter&) = delete;
    OrderAdapter& operator=(const OrderAdapter&) = delete;
    /// Stops a running search and waits for it.
    ~OrderAdapter();

    /// Learns from a step, and returns the order that should replace the current one, if any.
    [[nodiscard]] std::optional<RunOrder> learn(const StepTimeline& step);

    [[nodiscard]] const std::vector<OrderChange>& changes() const { return changes_; }

private:
    struct Candidate {
        std::string name;
        RunOrder order;
    };

    /// The makespans of an order on the times of the last steps; empty if it cannot run.
    [[nodiscard]] std::vector<TimeNs> makespans(const RunOrder& order) const;
    /// Starts a search if times have changed since the last one, and takes the result of a finished one.
    void search(const CostModel& mean);
    [[nodiscard]] std::optional<RunOrder> choose(int step, const CostModel& mean);

    const CostModel nominal_;
    const bool waits_;
    const int limit_;                   ///< activations per rank
    std::vector<Candidate> candidates_; ///< the first is the original order; searched ones come last
    std::size_t unsearched_;            ///< number of candidates without those
    std::size_t current_ = 0;
    std::deque<StepTimeline> last_;
    std::optional<CostModel> searched_for_;
    std::stop_source stop_;
    std::future<std::optional<Schedule>> searching_;
    std::vector<OrderChange> changes_;
};

} // namespace bubblescope::runtime
