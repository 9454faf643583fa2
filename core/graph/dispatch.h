#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/dependency.h"
#include "core/schedule/schedule.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// The rule by which a rank chooses its next op.
enum class DispatchRule : std::uint8_t {
    List,     ///< the next op in the rank's list, even if its input has not arrived
    Ready,    ///< the ready op that comes first in the rank's list, which only sets priorities (RRFP, arXiv 2605.18750)
    Backward, ///< a ready B or I, else a ready F, else a ready W; the list resolves ties
    Oldest,   ///< a ready op of the lowest micro-batch; the list resolves ties
};

[[nodiscard]] std::string_view dispatchRuleName(DispatchRule rule); ///< "list", "ready", "backward", "oldest"
[[nodiscard]] std::optional<DispatchRule> dispatchRuleFromName(std::string_view name);

struct DispatchPolicy {
    DispatchRule rule = DispatchRule::List;
    /// Maximum number of stored activations per rank, as counted by peakActivations(). Default: the largest of the
    /// lists' peaks, since all ranks usually have the same amount of memory.
    std::optional<int> in_flight;

    [[nodiscard]] bool dynamic() const { return rule != DispatchRule::List; }
};

/// The maximum number of activations per rank under a policy. Error: Usage if a list needs more activations.
[[nodiscard]] Result<int> inFlightLimit(const Schedule& hint, const DispatchPolicy& policy);

/// Chooses the ops of one rank. An op is *ready* if its inputs have arrived, the ops of the same rank that it depends
/// on have run, and it fits.
///
/// The first remaining op of a list always fits. A later op *fits* if the rank stays within its limit when it runs this
/// op now and then all others in list order. This check needs no data from other ranks, and it prevents deadlocks:
/// every choice leaves room for the remaining ops of the list. The lists have a common order in which all ops can run,
/// and so do the remaining ops. The first remaining op in that order is the first in its list, and its inputs exist. So
/// at least one rank can always continue.
///
/// Slices of a sequence keep their order within a stage, the halves of an overlapped pair stay together, and no op
/// moves across an optimizer op. Ops are numbered by their index in the rank's list; a pair is identified by its first
/// half.
class RankDispatch {
public:
    /// `graph` must be complete and outlive the object. The rank's list must not exceed the limit.
    RankDispatch(const OpGraph& graph, Rank rank, DispatchRule rule, int in_flight);

    /// Reports that an input of the op has arrived. Call this function once per input, at any time before the op runs.
    void arrived(std::size_t index);
    /// The op to run next; nullopt if none is ready. O(log n), plus, for a forward, the number of remaining ops that
    /// precede it.
    [[nodiscard]] std::optional<std::size_t> next() const;
    void run(std::size_t index);
    [[nodiscard]] bool done() const { return first_ == units_.size(); }
    /// The first remaining op of the list.
    [[nodiscard]] std::size_t first() const { return first_; }

    /// Ops that could run if their inputs had arrived, in list order. Ops that wait for memory are not included.
    [[nodiscard]] std::vector<std::size_t> awaited() const;

private:
    struct Unit {
        int inputs = 0;   ///< missing inputs
        int needs = 0;    ///< ops of this rank that must run first
        int change = 0;   ///< change in the number of stored activations
        int peak = 0;     ///< largest increase in stored activations during the op
        bool gone = true; ///< true if the op has run or is the second half of a pair
        bool fence = false;
        std::vector<std::size_t> unlocks; ///< ops of this rank that depend on the op
    };
    using Key = std::pair<std::int64_t, std::size_t>;

    void addNeed(OpIndex needed, std::size_t index);
    [[nodiscard]] std::size_t unitOf(OpIndex op) const;
    [[nodiscard]] Key keyOf(std::size_t index) const;
    void queueIfReady(std::size_t index);
    [[nodiscard]] bool fits(std::size_t index) const;
    [[nodiscard]] bool beforeFence(std::size_t index) const { return index < fence_ || index == first_; }
    [[nodiscard]] std::size_t firstFrom(std::size_t index, bool fence) const;

    const OpGraph& graph_;
    Rank rank_;
    DispatchRule rule_;
    int limit_;
    std::vector<Unit> units_;
    std::size_t first_ = 0; ///< first remaining op
    std::size_t fence_ = 0; ///< first remaining optimizer op; the number of ops if there is none
    int held_ = 0;
    std::set<Key> growing_; ///< ops that add activations; ready if they fit
    std::set<Key> others_;  ///< other ready ops
};

/// Returns the order in which ranks run the ops of `hint` if a policy chooses each next op. Each rank chooses
/// when it becomes free, or when an input arrives while it is idle. Simulating the result gives the same times. The
/// result is named "custom" unless it equals the hint. O(n log n) for n ops if forwards are rarely moved far.
///
/// Errors: those of simulate() and inFlightLimit(); Usage if sends are not asynchronous, because other sends wait for
/// receives that are posted in a fixed order.
[[nodiscard]] Result<Schedule> dispatched(const Schedule& hint, const CostModel& costs, const DispatchPolicy& policy);

} // namespace bubblescope
