#pragma once

#include "core/base/time.h"
#include "core/schedule/dependency.h"
#include "core/schedule/op.h"
#include "core/timeline/step_timeline.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace bubblescope {

// Bubbles of a step: positions, intervals, time per position, and the three definitions of "bubble rate".

/// Position of a bubble in its rank's step.
///
/// A rank's ops are divided into three phases. Warm-up ends before the forward that immediately precedes the first
/// backward. The steady phase runs from that forward to the backward right after the last forward. Cool-down is the
/// rest. If all forwards of a rank precede its backwards, there is no steady phase (in F-then-B, and on the outer ranks
/// of 1F1B if m is small), and the gap between its forwards and backwards is a single bubble.
enum class Position : std::uint8_t {
    BeforeWarmup,
    InsideWarmup,
    WarmupToSteady,
    InsideSteady,
    SteadyToCooldown,
    ForwardToBackward, ///< replaces the three positions above on a rank without a steady phase
    InsideCooldown,
    AfterCooldown,
};
inline constexpr std::size_t kPositionCount = 8;

/// The name in text output and JSON: "before warm-up", "between warm-up and steady", … With `f_then_b`, the names are
/// "before forward", "between forward and backward" and "after backward", because F-then-B has no warm-up.
[[nodiscard]] std::string_view positionName(Position position, bool f_then_b = false);

template <class T>
using PerPosition = std::array<T, kPositionCount>;

[[nodiscard]] constexpr std::size_t positionIndex(Position position) {
    return static_cast<std::size_t>(position);
}

/// An interval in which a rank's compute stream runs no op of the step.
struct Bubble {
    Rank rank;
    Position position = Position::BeforeWarmup;
    TimeNs start{0};
    TimeNs end{0};

    [[nodiscard]] TimeNs duration() const { return end - start; }
};

/// Phases of a rank as index ranges of its list (see Position): warm-up [0, steady), steady [steady, cooldown),
/// cool-down [cooldown, end). Without a steady phase, `steady` and `cooldown` are the index of the first backward.
struct Phases {
    std::size_t steady = 0;
    std::size_t cooldown = 0;
    std::size_t end = 0; ///< after the last F, B, I or W op

    [[nodiscard]] bool hasSteady() const { return steady < cooldown; }
};

/// `ops` are the ops of one rank in execution order; optimizer ops belong to no phase. An overlapped pair of a forward
/// and a backward belongs to the steady phase, even if it consists of the rank's last forward and first backward.
[[nodiscard]] Phases findPhases(std::span<const Op> ops);

/// The order in which the ops of a step ran, and results that depend on this order but not on timing. Most steps of a
/// run have the same order, so this object should be reused from step to step. Copies share the graph.
class StepOrder {
public:
    explicit StepOrder(const StepTimeline& step);

    /// True if the step has the same ops in the same order. Linear in the number of ops.
    [[nodiscard]] bool isOf(const StepTimeline& step) const;

    /// The graph of executedOrder().
    [[nodiscard]] const OpGraph& graph() const { return *graph_; }
    [[nodiscard]] const std::shared_ptr<const OpGraph>& sharedGraph() const { return graph_; }
    /// Phases of a rank's ops, with indices that include optimizer ops, as in the timeline.
    [[nodiscard]] const Phases& phases(Rank rank) const { return phases_[rank.index()]; }
    /// True if each rank's optimizer ops come after all its other ops, which then have the same index in the timeline
    /// and in the graph.
    [[nodiscard]] bool optimizersTrail() const { return optimizers_trail_; }

private:
    /// An optimizer op, which is not part of the graph.
    struct Optimizer {
        std::size_t place = 0; ///< index in its rank's list
        Op op;
    };
    void readOps(const StepTimeline& step);
    [[nodiscard]] bool isRankOf(const StepTimeline& step, std::size_t r) const;

    int microbatches_;
    int vpp_;
    int pp_;
    Placement placement_;
    bool optimizers_trail_ = true;
    std::shared_ptr<const OpGraph> graph_;
    std::vector<Phases> phases_;
    std::vector<std::vector<Optimizer>> optimizers_; ///< per rank
};

/// All non-empty bubbles inside a step's pipeline window, sorted by rank and start. If ops overlap, as in corrupt
/// traces, the overlap is counted once. O(ops).
[[nodiscard]] std::vector<std::vector<Bubble>> findBubbles(const StepTimeline& step);

/// As above, for a step whose order is known.
[[nodiscard]] std::vector<std::vector<Bubble>> findBubbles(const StepTimeline& step, const StepOrder& order);
/// Total bubble time per rank and position.
[[nodiscard]] std::vector<PerPosition<TimeNs>> bubblesByPosition(const StepTimeline& step, const StepOrder& order);
/// As above, but with the start times in `starts` (for all ops except optimizer ops), indexed as in the order's
/// graph.
[[nodiscard]] std::vector<PerPosition<TimeNs>> bubblesByPosition(const StepTimeline& step, const StepOrder& order,
                                                                 std::span<const TimeNs> starts);

/// The three definitions of "bubble rate". "Bubble rate" without qualification means the first one.
struct BubbleRates {
    double over_makespan = 0; ///< idle time over makespan, mean over all ranks
    double span = 0; ///< on the rank with the longest span (first start to last end): idle over span (Qi et al., 2023)
    double over_ideal = 0; ///< (makespan − ideal) / ideal, where ideal is the work of the busiest rank
};

[[nodiscard]] BubbleRates bubbleRates(const StepTimeline& step);

} // namespace bubblescope
