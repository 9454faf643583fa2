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

/// A change to the order during a run.
struct OrderChange {
    int step = 0;       ///< step after which the change was decided
    std::string cause;  ///< difference from the nominal times: "rank 2 is 1.50 times slower"
    std::string order;  ///< "searched", "dispatch ready", "original", …
    TimeNs before{0};   ///< mean step time of the previous order, given the times measured in the last steps
    TimeNs expected{0}; ///< mean step time of the new order, given the same times
};

/// Chooses a better order for the ranks of a running job. After each step, the adapter compares several orders, using
/// the times measured in the last steps: the original order, an order in which ranks choose their ops by readiness, and
/// an order that searchOrder() found for the mean times. The adapter changes to another order only if that order is
/// shorter by more than 1.5 % on average and not longer in any step. The adapter returns to the original order as soon
/// as doing so does not lengthen the mean step. No order stores more activations on a rank than the fullest rank of the
/// original order does, or than the policy allows.
///
/// Searches run in a separate thread while the job continues. For one thread.
class OrderAdapter {
public:
    /// `nominal` holds the expected times, which are only used to name the cause of a
    /// slowdown. If `waits` is set, the call that starts a search waits for the
    /// result.
    OrderAdapter(RunOrder original, CostModel nominal, bool waits = false);
    OrderAdapter(const OrderAdapter&) = delete;
    OrderAdapter& operator=(const OrderAdapter&) = delete;
    /// Stops a running search and waits for it.
    ~OrderAdapter();

    /// Adds a step's times, and returns the order that should replace the current order, if any.
    [[nodiscard]] std::optional<RunOrder> learn(const StepTimeline& step);

    [[nodiscard]] const std::vector<OrderChange>& changes() const { return changes_; }

private:
    struct Candidate {
        std::string name;
        RunOrder order;
    };

    /// Makespans of an order, given the times of the last steps; empty if the order cannot run.
    [[nodiscard]] std::vector<TimeNs> makespans(const RunOrder& order) const;
    /// Starts a search if times have changed since the last search, and collects the result of a finished search.
    void search(const CostModel& mean);
    [[nodiscard]] std::optional<RunOrder> choose(int step, const CostModel& mean);

    const CostModel nominal_;
    const bool waits_;
    const int limit_;                   ///< activations per rank
    std::vector<Candidate> candidates_; ///< the original order first, searched orders last
    std::size_t unsearched_;            ///< number of candidates, excluding searched orders
    std::size_t current_ = 0;
    std::deque<StepTimeline> last_;
    std::optional<CostModel> searched_for_;
    std::stop_source stop_;
    std::future<std::optional<Schedule>> searching_;
    std::vector<OrderChange> changes_;
};

} // namespace bubblescope::runtime
