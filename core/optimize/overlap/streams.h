#pragma once

#include "core/base/time.h"
#include "core/optimize/overlap/operators.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::overlap {

/// Busy intervals of a stream.
class BusyTime {
public:
    /// Intervals must be added in time order and must not overlap.
    void add(TimeNs start, TimeNs end) {
        if (start == end) return;
        if (!busy_.empty() && busy_.back().second == start) {
            busy_.back().second = end;
        } else {
            busy_.emplace_back(start, end);
        }
    }

    /// Busy time from `start` to `end`.
    [[nodiscard]] TimeNs within(TimeNs start, TimeNs end) const {
        TimeNs sum{0};
        auto at = std::ranges::upper_bound(busy_, start, {}, &Interval::second);
        for (; at != busy_.end() && at->first < end; ++at)
            sum += std::min(end, at->second) - std::max(start, at->first);
        return sum;
    }

private:
    using Interval = std::pair<TimeNs, TimeNs>;
    std::vector<Interval> busy_;
};

/// The two passes that form a pair.
enum class Pass : std::uint8_t { Backward, Forward };
template <class T>
using PerPass = std::array<T, 2>;

[[nodiscard]] constexpr std::size_t passIndex(Pass pass) {
    return static_cast<std::size_t>(pass);
}

/// The device's two streams while work is issued to them. Each stream runs its work in the order of issue. An op starts
/// when its stream is free and, if it waits for all-reduces, when its pass's last all-reduce has ended. All-reduces of
/// the other pass do not affect the op. Compute and all-reduce do not slow each other down.
struct StreamState {
    TimeNs compute{0};         ///< time from which the compute stream is free
    TimeNs link{0};            ///< time from which the all-reduce stream is free
    PerPass<TimeNs> reduced{}; ///< end of each pass's last all-reduce
    int queued_pass = -1;      ///< pass of an all-reduce that waits for the device (equal priority); -1 for none
    TimeNs queued_time{0};     ///< its duration

    /// Runs a compute op; `from` is the earliest time at which its data is available. Returns its start.
    TimeNs issueCompute(Pass pass, const Operator& op, TimeNs from);
    /// Runs an all-reduce on the communication stream, or queues it.
    void issueAllReduce(Pass pass, TimeNs time, bool high_priority);
    /// Runs an all-reduce that blocks the compute stream. Returns its start.
    TimeNs issueBlocking(Pass pass, TimeNs time);
    /// Starts the queued all-reduce, but not before `from`. Used if no other work will be launched before it.
    void grantQueued(TimeNs from);
};

/// Operators [first, end) of one pass that are issued together.
struct Piece {
    Pass pass = Pass::Backward;
    int first = 0;
    int end = 0;

    friend bool operator==(const Piece&, const Piece&) = default;
};

/// The order in which the operators of two passes (or of one) are issued. Each pass's pieces cover its operators in
/// order.
struct Plan {
    PerPass<Operators> ops;
    std::vector<Piece> pieces;

    [[nodiscard]] const Operators& of(Pass pass) const { return ops[passIndex(pass)]; }
};

struct OpSpan {
    Pass pass = Pass::Backward;
    int op = 0;
    TimeNs start{0};
    TimeNs end{0};
};

/// The timing of a plan's execution. Spans are in the order of issue.
struct PlanRun {
    std::vector<OpSpan> spans;
    PerPass<TimeNs> ends{}; ///< end of each pass's last operator

    [[nodiscard]] TimeNs end() const { return std::max(ends[0], ends[1]); }
};

/// Runs a plan from `state` on, and sets `state` to the state after the plan. `arrivals` are the times at which the
/// passes' inputs are available. Linear in operators.
[[nodiscard]] PlanRun runPlan(const Plan& plan, const StreamRules& rules, StreamState& state,
                              const PerPass<TimeNs>& arrivals = {});
/// As above, for a device that is idle at time 0.
[[nodiscard]] PlanRun runPlan(const Plan& plan, const StreamRules& rules);

/// The duration of an all-reduce, and the part of it during which the compute stream was busy.
struct ReduceSpan {
    Pass pass = Pass::Backward;
    int op = 0;
    TimeNs time{0};
    TimeNs hidden{0};
};

/// One entry per all-reduce of a run, in order of issue.
[[nodiscard]] std::vector<ReduceSpan> reduceSpans(const Plan& plan, const PlanRun& run);

/// Draws the two streams of a run over time, one row each, `width` columns wide. A piece of compute is drawn as its
/// name (B0, F0, B1, …) followed by '-', an all-reduce as the name of its piece followed by '='; '.' is idle. An
/// all-reduce that blocks the compute stream is drawn in both rows. Names wider than their piece are truncated.
[[nodiscard]] std::string streamChart(const Plan& plan, const PlanRun& run, int width = 110);

} // namespace bubblescope::overlap
