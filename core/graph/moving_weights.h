#pragma once

#include "core/base/result.h"
#include "core/graph/simulate_lowered.h"
#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// How the weights of a stage reach the ranks that need them.
enum class WeightPath : std::uint8_t {
    /// WeiPipe-Interleave: weights move one rank per turn around a ring; a turn has a backward and a forward.
    Ring,
    /// WeiPipe-Naive: the same ring, but a rank runs all forwards of a micro-batch, then all its backwards.
    RingNaive,
    /// Like Ring, but with split backwards. Rank r runs the weight gradients of the stages above r one round after
    /// their input gradients, and thus after the last forward of the step. A stage's weight gradients still pass every
    /// rank in the turn in which the rank adds to them.
    RingSplit,
    /// TawPipe: each rank keeps the weights of one stage. It sends them to other nodes, where they are broadcast.
    Nodes,
};

inline constexpr std::array kWeightPaths{WeightPath::Ring, WeightPath::RingNaive, WeightPath::RingSplit,
                                         WeightPath::Nodes};

/// "weipipe", "weipipe-naive", "weipipe-zb" or "tawpipe".
[[nodiscard]] std::string_view weightPathName(WeightPath path);
/// The path with this name, whose case and separators do not matter; nothing for other schedules.
[[nodiscard]] std::optional<WeightPath> weightPathNamed(std::string_view name);

/// The kinds of messages that every rank of a ring receives from the previous rank during a turn.
struct RingMessages {
    bool forward = false;   ///< weights for a forward in the next turn
    bool backward = false;  ///< weights for a backward in the next turn
    bool gradients = false; ///< weight gradients of the stage whose backward runs in this turn

    [[nodiscard]] TimeNs time(TimeNs weights, TimeNs of_gradients) const {
        return (int{forward} + int{backward}) * weights + int{gradients} * of_gradients;
    }
};

/// A pipeline in which weights and weight gradients travel instead of activations. There are as many stages as ranks,
/// and a rank runs all stages of its micro-batches: m mod p is the rank of micro-batch m, and m / p its *round*. Time
/// is divided into numbered *turns*. In the same turn, different ranks of a ring run different stages; the ranks of a
/// node run the same one. Each rank of a ring starts one turn after the previous rank, each node one turn after the
/// previous node.
///
/// Sources: Gvilenius/weipipe 06cab9d and wuhouming/TawPipe a83eec7, which contain Ring and Nodes. RingNaive is
/// derived from the rules of Ring, and so is RingSplit: the sources do not define the zero-bubble orders that the paper
/// on WeiPipe names.
struct MovingWeights {
    WeightPath path = WeightPath::Ring;
    int pp = 1;
    int microbatches = 1; ///< if not a multiple of pp, the last ranks only pass messages in the last round
    int nodes = 1;        ///< must be 1 for rings; otherwise a divisor of pp. A node holds consecutive ranks

    [[nodiscard]] int rounds() const { return (microbatches + pp - 1) / pp; }
    /// Micro-batches of the last round, 1 … pp.
    [[nodiscard]] int lastRound() const { return microbatches - (rounds() - 1) * pp; }
    [[nodiscard]] int ranksPerNode() const { return pp / nodes; }
    [[nodiscard]] Rank rankOf(Microbatch microbatch) const { return Rank{microbatch.value % pp}; }
    /// The turn of an op; the op's chunk is its stage.
    [[nodiscard]] int turnOf(const Op& op) const;
    /// The op of this kind that a rank runs in a turn, if any. Only RingSplit has input and weight gradients.
    [[nodiscard]] std::optional<Op> opAt(OpKind kind, Rank rank, int turn) const;
    [[nodiscard]] int turns() const;
    /// The node that stores the weights of a stage.
    [[nodiscard]] int ownerNode(Stage stage) const { return stage.value % nodes; }

    // Only for rings. In each turn, a rank holds the weights of one stage for a forward, and of one for a backward.
    [[nodiscard]] Stage forwardStage(Rank rank, int turn) const { return Stage{((turn - rank.value) % pp + pp) % pp}; }
    [[nodiscard]] Stage backwardStage(Rank rank, int turn) const {
        return Stage{pp - 1 - forwardStage(rank, turn).value};
    }
    [[nodiscard]] RingMessages messagesDuring(int turn) const;

    /// Only for Nodes: the op of a node in the next turn, if its weights arrive during this turn, because the node uses
    /// others now. Turn −1 is the time before the first turn.
    [[nodiscard]] std::optional<Op> opAwaitingWeights(int node, int turn) const;
    [[nodiscard]] int nodeOf(Rank rank) const { return rank.value / ranksPerNode(); }

    /// The rank that updates the weights of a stage. In a ring, it holds them for a forward in the first turn.
    [[nodiscard]] Rank ownerRank(Stage stage) const {
        if (path != WeightPath::Nodes) return Rank{(pp - stage.value) % pp};
        return Rank{ownerNode(stage) * ranksPerNode() + stage.value / nodes};
    }

    /// The last turns in which a rank runs a forward, or a backward or input gradient.
    [[nodiscard]] int lastForward() const {
        return offsetOf(Rank{lastRound() - 1}) + (rounds() - 1) * turnsPerRound() + pp - 1;
    }
    [[nodiscard]] int lastBackward() const { return lastForward() + pp; }

    /// First turn of a rank with an op.
    [[nodiscard]] int offsetOf(Rank rank) const;
    /// Turns from the first forward of a round to that of the next round.
    [[nodiscard]] int turnsPerRound() const {
        return path == WeightPath::Ring || path == WeightPath::RingSplit ? pp : 2 * pp;
    }
};

struct MovingWeightTimes {
    std::vector<TimeNs> forward;  ///< per stage
    std::vector<TimeNs> backward; ///< per stage
    TimeNs weights{0};       ///< for a stage's weights: to the next rank (rings), or to all ranks of a node (Nodes)
    TimeNs gradients{0};     ///< for a stage's weight gradients: to the next rank, or their reduction in a node
    TimeNs between_nodes{0}; ///< for a stage's weights or weight gradients from node to node; only for Nodes
    std::vector<TimeNs> weight_grad = {}; ///< per stage: the part of `backward` for the weights; only for RingSplit
};

/// Messages per step with the weights or weight gradients of one stage: the most that a rank of a ring sends to the
/// next rank, or a node to other nodes.
struct WeightTraffic {
    std::int64_t weights = 0;
    std::int64_t gradients = 0;
    std::int64_t broadcasts = 0; ///< within a node
    std::int64_t reductions = 0; ///< within a node

    [[nodiscard]] std::int64_t messages() const { return weights + gradients; }
};

struct MovingWeightsStep {
    StepTimeline step;
    TimeNs gradients_home{0};                      ///< when the last weight gradients are at the rank that updates them
    std::vector<std::vector<ActionTime>> messages; ///< per receiving rank; they are Unshard and ReduceGrad actions
    WeightTraffic traffic;
};

/// The flavor of an order with several nodes, such as "2 nodes"; empty for one node.
[[nodiscard]] std::string nodesFlavor(int nodes);
/// Inverse of nodesFlavor(); 1 for any other text.
[[nodiscard]] int nodesOfFlavor(std::string_view flavor);

/// The order of each rank; chunks in it are stage numbers. Errors: Usage if the sizes are impossible.
[[nodiscard]] Result<Schedule> movingWeightsOrder(const MovingWeights& moving);

/// Simulates the step of movingWeightsOrder(). The sources have these dependencies, except that WeiPipe sends the
/// weights of a forward when that forward starts, and reloads its own stage's once per round:
///
/// - While a turn runs, ranks receive what the next turn needs. There are buffers for two turns, so these messages
///   start when sender and receiver have started the turn, and the next turn starts when they have ended.
/// - In a ring, a rank sends the weights of the forward, then those of the backward, then the gradients of the previous
///   turn, one after the other. Its next turn also waits for the end of these sends. Idle ranks pass messages on.
/// - With Nodes, weights of another node's stage arrive after `between_nodes` + `weights`, others after `weights`
///   (nodes of one rank broadcast nothing). A sender does not wait. Gradients travel on a separate stream.
///
/// Errors: as for movingWeightsOrder(); Usage if times are missing or exceed 64 bits.
[[nodiscard]] Result<MovingWeightsStep> simulateMovingWeights(const MovingWeights& moving,
                                                              const MovingWeightTimes& times);

/// Closed form of the makespan. Let A be the rounds, q the micro-batches of the last round, S the sum of all op times
/// of a micro-batch, M and s the larger and the smaller of f and b, and x the time of a turn's messages. It is exact if
/// x is at most the shortest op, and
///
/// - rings: A·S for p = 1 and, with A ≥ 2 or x = 0, A·S + w for equal stages or p = 2:
///   Ring with A ≥ 2: w = max(0, 2q−p−2)·(f+b) + min(q−1, p−q+1)·x.
///   Ring with A = 1, and RingNaive if x = 0: w = max(0, 2q−p−2)·M for A = 1. With R = (p−2)·M − p·s and A ≥ 2, w is
///   (A−2)·max(0, R) + max(max(0, 2q−p−2)·M + max(0, R), R + (2q−p)·s).
///   RingNaive with A ≥ 2, and f = b or p = 2: as with x = 0, plus min(q−1, p−q+1)·x.
///   RingSplit, with i the time of an input gradient: w = max(0, 2q−p−2)·(f+i) + min(q−1, p−q+1)·2·weights for A ≥ 2,
///   and max(0, 2q−p−2)·max(f, i) for A = 1. Stages must be equal.
/// - N nodes, with micro-batches on K of them in the last round: A·S + weights for N = 1; A·S + weights + (K−1)·x for
///   N = 2; with N ≥ 3, equal stages, at least two ranks per node, and A = 1 or K = N,
///   A·S + weights + min(1, K−1)·x + max(0, K−2)·M + (A−1)·max(0, (N−2)·M − N·s + 2·x).
///
/// Errors: Usage outside this domain.
[[nodiscard]] Result<TimeNs> movingWeightsForm(const MovingWeights& moving, const MovingWeightTimes& times);

} // namespace bubblescope
