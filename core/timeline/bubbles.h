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

// The bubbles of a step: positions, intervals, time per position, and the three definitions of "bubble rate".

/// The position of a bubble in its rank's step.
///
/// A rank's ops fall into phases: warm-up, up to but not including the forward directly before its first backward;
/// steady, from that forward to the backward directly after its last forward; cool-down, the rest. A rank whose
/// forwards all precede its backwards has no steady phase (F-then-B, and the outer ranks of 1F1B when m is small); the
/// gap between its forwards and its backwards is one bubble.
enum class Position : std::uint8_t {
    BeforeWarmup,
    InsideWarmup,
    WarmupToSteady,
    InsideSteady,
    SteadyToCooldown,
    ForwardToBackward, ///< replaces the three above on a rank without a steady phase
    InsideCooldown,
    AfterCooldown,
};
inline constexpr std::size_t kPositionCount = 8;

/// The name in text output and the JSON key: "before warm-up", "between warm-up and steady", … F-then-B has no warm-up:
/// with `f_then_b` its positions read "before forward", "between forward and backward", "after backward".
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

/// The phases of a rank as index ranges of its list (see Position): warm-up [0, steady), steady [steady, cooldown),
/// cool-down [cooldown, end). Without a steady phase, `steady` and `cooldown` are the first backward's index.
struct Phases {
    std::size_t steady = 0;
    std::size_t cooldown = 0;
    std::size_t end = 0; ///< after the last F, B, I or W op

    [[nodiscard]] bool hasSteady() const { return steady < cooldown; }
};

/// `ops` are those of one rank in execution order; optimizer ops belong to no phase. An overlapped pair of a forward
/// and a backward is steady, even if it is the rank's last forward and first backward.
[[nodiscard]] Phases findPhases(std::span<const Op> ops);

/// The order in which a step's ops ran, and results that depend on that order but not on times. Most steps of a run
/// have the same order, so reuse this object from one step to the next. Copies share the graph.
class StepOrder {
public:
    explicit StepOrder(const StepTimeline& step);

    /// True if a step has the same ops in the same order. Linear in ops.
    [[nodiscard]] bool isOf(const StepTimeline& step) const;

    /// The graph of executedOrder().
    [[nodiscard]] const OpGraph& graph() const { return *graph_; }
    [[nodiscard]] const std::shared_ptr<const OpGraph>& sharedGraph() const { return graph_; }
    /// The phases of a rank's ops as the timeline lists them, optimizer ops included.
    [[nodiscard]] const Phases& phases(Rank rank) const { return phases_[rank.index()]; }
    /// True if each rank's optimizer ops come after all its other ops, so that those have the same index in the
    /// timeline and in the graph.
    [[nodiscard]] bool optimizersTrail() const { return optimizers_trail_; }

private:
    /// An optimizer op, which the graph leaves out.
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

/// All bubbles of a step's pipeline window, by rank and start, omitting empty ones. If ops overlap, as in damaged
/// traces, their time counts once. O(ops).
[[nodiscard]] std::vector<std::vector<Bubble>> findBubbles(const StepTimeline& step);

/// As above, for a step whose order is known.
[[nodiscard]] std::vector<std::vector<Bubble>> findBubbles(const StepTimeline& step, const StepOrder& order);
/// The total time of those bubbles per rank and position.
[[nodiscard]] std::vector<PerPosition<TimeNs>> bubblesByPosition(const StepTimeline& step, const StepOrder& order);
/// As above, but as if each op except optimizers began at its entry in `starts`, which is numbered like the order's
/// graph.
[[nodiscard]] std::vector<PerPosition<TimeNs>> bubblesByPosition(const StepTimeline& step, const StepOrder& order,
                                                                 std::span<const TimeNs> starts);

/// The three definitions of "bubble rate". "Bubble rate" alone means the first.
struct BubbleRates {
    double over_makespan = 0; ///< idle over makespan, mean of all ranks
    double span = 0; ///< on the rank with the longest span (first start to last end): idle over span (Qi et al. 2023)
    double over_ideal = 0; ///< (makespan − ideal) / ideal, ideal = the busiest rank's work
};

[[nodiscard]] BubbleRates bubbleRates(const StepTimeline& step);

} // namespace bubblescope
