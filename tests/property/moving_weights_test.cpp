// Weights that travel between ranks: placement, order, messages and closed forms against plain loops over turns.

#include "core/graph/moving_weights.h"
#include "core/graph/validate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::array kRings{WeightPath::Ring, WeightPath::RingNaive};

template <class Visit>
void eachMovingWeights(Visit visit) {
    for (const WeightPath path : kRings)
        for (int p = 1; p <= 7; ++p)
            for (int m = 1; m <= 3 * p; ++m)
                visit(MovingWeights{path, p, m, 1});
    for (int nodes = 1; nodes <= 4; ++nodes)
        for (int ranks = 1; ranks <= 3; ++ranks)
            for (int m = 1; m <= 3 * nodes * ranks; ++m)
                visit(MovingWeights{WeightPath::Nodes, nodes * ranks, m, nodes});
}

MovingWeightTimes equalTimes(int p, int f, int b, int weights, int gradients, int between) {
    const auto stages = static_cast<std::size_t>(p);
    return {std::vector(stages, TimeNs{f}), std::vector(stages, TimeNs{b}), TimeNs{weights}, TimeNs{gradients},
            TimeNs{between}};
}

/// Times that differ from stage to stage and depend only on `seed`; all at least `shortest`.
MovingWeightTimes unequalTimes(int p, int shortest, int weights, int gradients, int between, unsigned seed) {
    MovingWeightTimes times{{}, {}, TimeNs{weights}, TimeNs{gradients}, TimeNs{between}};
    for (int stage = 0; stage < p; ++stage) {
        seed = seed * 1664525U + 1013904223U;
        times.forward.emplace_back(shortest + static_cast<int>(seed >> 29U));
        seed = seed * 1664525U + 1013904223U;
        times.backward.emplace_back(shortest + static_cast<int>(seed >> 28U));
    }
    if (p > 1) times.forward.back() = times.forward.front() + TimeNs{1};
    return times;
}

/// Stage of the forward or backward that a rank runs in a turn, if it starts `late` turns after the first.
std::optional<int> stageOf(bool forward, int turn, int late, int rank, int period, const MovingWeights& moving) {
    const int p = moving.pp;
    const int since = turn - late - (forward ? 0 : p);
    if (since < 0 || since / period * p + rank >= moving.microbatches || since % period >= p) return std::nullopt;
    return forward ? since % period : p - 1 - since % period;
}

/// A ring, turn by turn, as the loop of each rank's program waits: for its ops, its receives and its sends.
TimeNs plainRing(const MovingWeights& moving, const MovingWeightTimes& times) {
    const int p = moving.pp;
    const int before_last = (moving.microbatches - 1) / p;
    const int period = moving.path == WeightPath::Ring ? p : 2 * p;
    const int last_forward = before_last * period + moving.microbatches - before_last * p + p - 2;
    const int turns = last_forward + p + 1;
    std::vector<TimeNs> start(static_cast<std::size_t>(p));
    TimeNs last{0};
    for (int turn = 0; turn < turns; ++turn) {
        TimeNs message{0};
        if (p > 1 && turn < last_forward) message += times.weights;
        if (p > 1 && turn >= p) message += times.weights;
        if (p > 1 && turn > p) message += times.gradients;
        std::vector<TimeNs> next(start.size());
        for (int r = 0; r < p; ++r) {
            const TimeNs here = start[static_cast<std::size_t>(r)];
            TimeNs end = here;
            if (const auto stage = stageOf(false, turn, r, r, period, moving))
                end += times.backward[static_cast<std::size_t>(*stage)];
            if (const auto stage = stageOf(true, turn, r, r, period, moving))
                end += times.forward[static_cast<std::size_t>(*stage)];
            last = std::max(last, end);
            const TimeNs right = start[static_cast<std::size_t>((r + 1) % p)];
            const TimeNs left = start[static_cast<std::size_t>((r + p - 1) % p)];
            next[static_cast<std::size_t>(r)] = std::max({end, here + message, left + message, right + message});
        }
        start = next;
    }
    return last;
}

/// Nodes, turn by turn: weights of the next stage come from the node that stores them, unless they are there already.
TimeNs plainNodes(const MovingWeights& moving, const MovingWeightTimes& times) {
    const int p = moving.pp;
    const int ranks = p / moving.nodes;
    const TimeNs broadcast = p > moving.nodes ? times.weights : TimeNs{0};
    std::vector<TimeNs> start(static_cast<std::size_t>(moving.nodes));
    start[0] = broadcast;
    TimeNs last{0};
    const auto stageIn = [&](int turn, int node) {
        const auto forward = stageOf(true, turn, node, node * ranks, 2 * p, moving);
        return forward ? forward : stageOf(false, turn, node, node * ranks, 2 * p, moving);
    };
    for (int turn = 0; turn < 2 * (moving.microbatches + p) + moving.nodes; ++turn) {
        std::vector<TimeNs> next(start.size());
        for (int node = 0; node < moving.nodes; ++node) {
            const TimeNs here = start[static_cast<std::size_t>(node)];
            TimeNs end = here;
            const auto stage = stageIn(turn, node);
            if (stage) {
                const bool forward = stageOf(true, turn, node, node * ranks, 2 * p, moving).has_value();
                end += (forward ? times.forward : times.backward)[static_cast<std::size_t>(*stage)];
                last = std::max(last, end);
            }
            const auto wanted = stageIn(turn + 1, node);
            TimeNs arrival = here;
            if (wanted && wanted != stage) {
                const int owner = *wanted % moving.nodes;
                arrival = owner == node ? here + broadcast
                                        : std::max(here, start[static_cast<std::size_t>(owner)]) + times.between_nodes +
                                              broadcast;
            }
            next[static_cast<std::size_t>(node)] = std::max(end, arrival);
        }
        start = next;
    }
    return last;
}

TEST(MovingWeights, EveryOpRunsOnceInItsTurnOnTheRankOfItsMicrobatch) {
    eachMovingWeights([](const MovingWeights& moving) {
        const Schedule order = movingWeightsOrder(moving).value();
        std::set<std::tuple<OpKind, int, int>> seen;
        for (int r = 0; r < moving.pp; ++r) {
            for (const Op& op : order.ranks[Rank{r}.index()]) {
                EXPECT_EQ(moving.rankOf(op.microbatch), Rank{r});
                EXPECT_EQ(moving.opAt(op.kind, Rank{r}, moving.turnOf(op)), op);
                EXPECT_LT(moving.turnOf(op), moving.turns());
                seen.emplace(op.kind, op.chunk.value, op.microbatch.value);
            }
        }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(2 * moving.pp * moving.microbatches));
        EXPECT_EQ(order.opCount(), seen.size());
        std::vector<int> peaks(static_cast<std::size_t>(moving.pp));
        std::fill_n(peaks.begin(), std::min(moving.pp, moving.microbatches), moving.pp);
        EXPECT_EQ(peakActivations(order), peaks);
    });
}

/// A micro-batch passes its stages forwards, then backwards, and the ranks of a ring never run the same stage at once.
TEST(MovingWeights, StagesRunInOrderAndARingHoldsEachStageOnce) {
    eachMovingWeights([](const MovingWeights& moving) {
        for (int m = 0; m < moving.microbatches; ++m) {
            int before = -1;
            for (int i = 0; i < 2 * moving.pp; ++i) {
                const bool forward = i < moving.pp;
                const int turn = moving.turnOf({forward ? OpKind::Forward : OpKind::Backward, Microbatch{m},
                                                Chunk{forward ? i : 2 * moving.pp - 1 - i}});
                EXPECT_GT(turn, before);
                before = turn;
            }
        }
        if (moving.path == WeightPath::Nodes) return;
        for (int turn = 0; turn < moving.turns(); ++turn) {
            for (const OpKind kind : {OpKind::Forward, OpKind::Backward}) {
                std::set<int> stages;
                int ops = 0;
                for (int r = 0; r < moving.pp; ++r) {
                    if (const auto op = moving.opAt(kind, Rank{r}, turn)) {
                        stages.insert(op->chunk.value);
                        ++ops;
                    }
                }
                EXPECT_EQ(stages.size(), static_cast<std::size_t>(ops));
            }
        }
    });
}

/// The weights of every op arrive during the previous turn, unless the rank stores them at the start of the step or of
/// the ring of backwards, or used them in that turn. In a ring, gradients of a backward then move to the next rank.
TEST(MovingWeights, WeightsAndGradientsArriveInTime) {
    eachMovingWeights([](const MovingWeights& moving) {
        if (moving.pp == 1 || moving.ranksPerNode() == 1) return;
        const bool ring = moving.path != WeightPath::Nodes;
        const MovingWeightsStep result = simulateMovingWeights(moving, equalTimes(moving.pp, 9, 9, 2, 1, 1)).value();
        const auto arrives = [&](int rank, ActionKind kind, Chunk stage, TimeNs from, TimeNs to) {
            return std::ranges::any_of(result.messages[Rank{rank}.index()], [&](const ActionTime& message) {
                return message.action.kind == kind && message.action.stage.value == stage.value &&
                       message.start >= from && message.end <= to;
            });
        };
        for (int r = 0; r < moving.pp; ++r) {
            std::map<int, const TimelineOp*> first; // in each turn
            for (const TimelineOp& each : result.step.ranks[Rank{r}.index()]) {
                const Op& op = each.op;
                const int turn = moving.turnOf(op);
                first.emplace(turn, &each);
                const bool stored = turn == 0 || (ring && turn == moving.pp && op.kind == OpKind::Backward);
                const auto before = first.find(turn - 1);
                const bool kept = !ring && before != first.end() && before->second->op.chunk == op.chunk;
                const TimeNs since = before == first.end() ? TimeNs{0} : before->second->start;
                EXPECT_EQ(arrives(r, ActionKind::Unshard, op.chunk, since, each.start), !stored && !kept)
                    << weightPathName(moving.path) << " rank " << r << " turn " << turn;
                if (ring && op.kind == OpKind::Backward && turn + 1 < moving.turns()) {
                    EXPECT_TRUE(arrives((r + 1) % moving.pp, ActionKind::ReduceGrad, op.chunk, each.end,
                                        result.gradients_home));
                }
            }
        }
    });
}

TEST(MovingWeights, SimulationEqualsPlainLoops) {
    int compared = 0;
    eachMovingWeights([&](const MovingWeights& moving) {
        for (unsigned seed = 1; seed <= 12; ++seed) {
            const int weights = static_cast<int>(seed % 4);
            const int gradients = static_cast<int>(seed % 3);
            const MovingWeightTimes times =
                unequalTimes(moving.pp, 1 + static_cast<int>(seed % 5), weights, gradients,
                             moving.path == WeightPath::Nodes ? static_cast<int>(seed % 7) : 0, seed);
            const MovingWeightsStep result = simulateMovingWeights(moving, times).value();
            const TimeNs plain =
                moving.path == WeightPath::Nodes ? plainNodes(moving, times) : plainRing(moving, times);
            EXPECT_EQ(result.step.wall(), plain);
            EXPECT_GE(result.gradients_home, plain);
            for (const auto& ops : result.step.ranks) {
                for (std::size_t i = 1; i < ops.size(); ++i)
                    EXPECT_GE(ops[i].start, ops[i - 1].end);
            }
            ++compared;
        }
    });
    EXPECT_EQ(compared, 12 * (2 * 3 * 28 + 3 * 60));
}

/// Compares the form with the simulation if it applies, and counts.
void compareForm(const MovingWeights& moving, const MovingWeightTimes& times, bool covered, int& compared) {
    const Result<TimeNs> form = movingWeightsForm(moving, times);
    ASSERT_EQ(form.ok(), covered) << weightPathName(moving.path) << " p " << moving.pp << " m " << moving.microbatches;
    if (!covered) return;
    EXPECT_EQ(form.value(), simulateMovingWeights(moving, times).value().step.wall())
        << weightPathName(moving.path) << " p " << moving.pp << " m " << moving.microbatches << " f "
        << times.forward.front().count() << " b " << times.backward.front().count() << " w " << times.weights.count()
        << " d " << times.gradients.count();
    ++compared;
}

TEST(MovingWeights, RingFormsEqualSimulation) {
    int compared = 0;
    for (const WeightPath path : kRings)
        for (int p = 1; p <= 8; ++p)
            for (int m = 1; m <= 4 * p; ++m)
                for (const int f : {1, 2, 4, 5, 7})
                    for (const int b : {1, 2, 3, 5, 6, 9, 14})
                        for (int w = 0; w <= 2; ++w)
                            for (int d = 0; d <= 2; ++d) {
                                const int x = 2 * w + d;
                                const bool fits = x <= std::min(f, b) && (m > p || x == 0);
                                const bool plain = path == WeightPath::Ring && m > p;
                                compareForm({path, p, m, 1}, equalTimes(p, f, b, w, d, 0),
                                            p == 1 || (fits && (plain || x == 0 || f == b || p == 2)), compared);
                            }
    EXPECT_GT(compared, 25'000);
}

TEST(MovingWeights, NodeFormsEqualSimulation) {
    int compared = 0;
    for (int nodes = 1; nodes <= 5; ++nodes)
        for (int ranks = 1; ranks <= 4; ++ranks)
            for (int m = 1; m <= 3 * nodes * ranks; ++m)
                for (const int f : {1, 2, 5})
                    for (const int b : {1, 2, 3, 7, 12})
                        for (int w = 0; w <= 2; ++w)
                            for (int x = 0; x <= 2; ++x) {
                                const int message = (ranks > 1 ? w : 0) + (nodes > 1 ? x : 0);
                                const int p = nodes * ranks;
                                const bool all_nodes = m <= p || (m - 1) % p >= p - ranks;
                                compareForm({WeightPath::Nodes, p, m, nodes}, equalTimes(p, f, b, w, 0, x),
                                            message <= std::min(f, b) && (nodes <= 2 || (ranks > 1 && all_nodes)),
                                            compared);
                            }
    EXPECT_GT(compared, 20'000);
}

/// With two ranks or nodes, stages may differ.
TEST(MovingWeights, FormsOfUnequalStagesEqualSimulation) {
    int compared = 0;
    for (unsigned seed = 1; seed <= 200; ++seed) {
        for (int m = 1; m <= 6; ++m) {
            for (const WeightPath path : kRings) {
                compareForm({path, 2, m, 1}, unequalTimes(2, 5, 2, 1, 0, seed), m > 2, compared);
                compareForm({path, 2, m, 1}, unequalTimes(2, 5, 0, 0, 0, seed), true, compared);
                compareForm({path, 3, m, 1}, unequalTimes(3, 5, 0, 0, 0, seed), false, compared);
            }
            for (int ranks = 1; ranks <= 4; ++ranks)
                for (int nodes = 1; nodes <= 2; ++nodes)
                    compareForm({WeightPath::Nodes, nodes * ranks, m, nodes},
                                unequalTimes(nodes * ranks, 5, 2, 9, 3, seed), true, compared);
        }
    }
    EXPECT_GT(compared, 10'000);
}

/// Messages per step: 3m + 3p − 4 per rank with interleaved turns and, if p divides m, 6m − 4 without; 3m·(N−1)/N per
/// node from N = 3.
TEST(MovingWeights, MessagesFollowFromTurns) {
    for (int rounds = 1; rounds <= 4; ++rounds) {
        for (int p = 2; p <= 8; ++p) {
            const int m = rounds * p;
            const auto traffic = [&](WeightPath path) {
                return simulateMovingWeights({path, p, m, 1}, equalTimes(p, 1, 2, 0, 0, 0)).value().traffic;
            };
            EXPECT_EQ(traffic(WeightPath::Ring).messages(), 3 * m + 3 * p - 4);
            EXPECT_EQ(traffic(WeightPath::RingNaive).messages(), 6 * m - 4);
            EXPECT_EQ(traffic(WeightPath::Ring).weights, 2 * m + 2 * p - 3);
            for (int less = 1; less < p; ++less) {
                const MovingWeights partial{WeightPath::Ring, p, m - less, 1};
                EXPECT_EQ(simulateMovingWeights(partial, equalTimes(p, 1, 2, 0, 0, 0)).value().traffic.messages(),
                          3 * (m - less) + 3 * p - 4);
            }
        }
        for (int nodes = 3; nodes <= 5; ++nodes) {
            for (int ranks = 1; ranks <= 4; ++ranks) {
                const int p = nodes * ranks;
                const WeightTraffic traffic =
                    simulateMovingWeights({WeightPath::Nodes, p, rounds * p, nodes}, equalTimes(p, 1, 2, 0, 0, 0))
                        .value()
                        .traffic;
                EXPECT_EQ(traffic.messages(), 3 * rounds * p / nodes * (nodes - 1));
                EXPECT_EQ(traffic.reductions, ranks > 1 ? rounds * p : 0);
            }
        }
    }
}

/// If all ranks changed turns together, the step would take as long as 1F1B, (m+p−1)·(f+b). Waiting only for
/// neighbours saves one turn.
TEST(MovingWeights, InterleavedRingIsOneTurnShorterThanOneForwardOneBackward) {
    for (int p = 2; p <= 8; ++p)
        for (int rounds = 2; rounds <= 4; ++rounds)
            for (const int b : {3, 6, 9}) {
                const MovingWeights moving{WeightPath::Ring, p, rounds * p, 1};
                TimeNs together{0};
                for (int turn = 0; turn < moving.turns(); ++turn) {
                    int longest = 0;
                    for (int r = 0; r < p; ++r)
                        longest = std::max(longest, (moving.opAt(OpKind::Forward, Rank{r}, turn) ? 3 : 0) +
                                                        (moving.opAt(OpKind::Backward, Rank{r}, turn) ? b : 0));
                    together += TimeNs{longest};
                }
                EXPECT_EQ(together, TimeNs{(rounds * p + p - 1) * (3 + b)});
                EXPECT_EQ(simulateMovingWeights(moving, equalTimes(p, 3, b, 0, 0, 0)).value().step.wall(),
                          together - TimeNs{3 + b});
            }
}

// ---- Split backwards

MovingWeightTimes splitTimes(int p, int f, int i, int w, int weights, int gradients) {
    MovingWeightTimes times = equalTimes(p, f, i + w, weights, gradients, 0);
    times.weight_grad = std::vector(static_cast<std::size_t>(p), TimeNs{w});
    return times;
}

/// Each op runs once. Weight gradients run when the stage's gradients are on the rank, after their input gradients.
TEST(MovingWeights, SplitBackwardsFollowTheRing) {
    for (int p = 1; p <= 6; ++p)
        for (int m = 1; m <= 3 * p; ++m) {
            const MovingWeights moving{WeightPath::RingSplit, p, m, 1};
            const Schedule order = movingWeightsOrder(moving).value();
            std::set<std::tuple<OpKind, int, int>> seen;
            for (int r = 0; r < p; ++r) {
                for (const Op& op : order.ranks[Rank{r}.index()]) {
                    const int turn = moving.turnOf(op);
                    EXPECT_EQ(moving.rankOf(op.microbatch), Rank{r});
                    EXPECT_EQ(moving.opAt(op.kind, Rank{r}, turn), op);
                    EXPECT_LT(turn, moving.turns());
                    seen.emplace(op.kind, op.chunk.value, op.microbatch.value);
                    const Stage held = op.kind == OpKind::Forward ? moving.forwardStage(Rank{r}, turn)
                                                                  : moving.backwardStage(Rank{r}, turn);
                    EXPECT_EQ(held.value, op.chunk.value);
                    if (op.kind == OpKind::BackwardWeight) {
                        EXPECT_TRUE(seen.contains({OpKind::BackwardInput, op.chunk.value, op.microbatch.value}));
                        EXPECT_GE(turn, 2 * p - 1); // no rank waits for forwards any more
                    }
                }
            }
            EXPECT_EQ(seen.size(), static_cast<std::size_t>(3 * p * m));
            EXPECT_EQ(order.opCount(), seen.size());
            const std::vector<int> peaks = peakActivations(order);
            for (int r = 0; m % p == 0 && m > p && r < p; ++r)
                EXPECT_EQ(peaks[Rank{r}.index()], 2 * p - 1 - r);
        }
}

/// As plainRing(), but input and weight gradients are ops of their own.
TimeNs plainSplit(const MovingWeights& moving, const MovingWeightTimes& times) {
    const int p = moving.pp;
    const int rounds = moving.rounds();
    const int last_forward = (rounds - 1) * p + moving.lastRound() + p - 2;
    std::map<std::pair<int, int>, TimeNs> work; // by turn and rank
    for (int m = 0; m < moving.microbatches; ++m)
        for (int s = 0; s < p; ++s) {
            const auto stage = static_cast<std::size_t>(s);
            const int first = m % p + m / p * p;
            work[{first + s, m % p}] += times.forward[stage];
            work[{first + 2 * p - 1 - s, m % p}] += times.backward[stage] - times.weight_grad[stage];
            work[{first + (s > m % p ? 3 : 2) * p - 1 - s, m % p}] += times.weight_grad[stage];
        }
    std::vector<TimeNs> start(static_cast<std::size_t>(p));
    TimeNs last{0};
    for (int turn = 0; turn <= work.rbegin()->first.first; ++turn) {
        TimeNs message{0};
        if (p > 1 && turn < last_forward) message += times.weights;
        if (p > 1 && turn >= p && turn < last_forward + p) message += times.weights;
        if (p > 1 && turn > 2 * p - 1) message += times.gradients;
        std::vector<TimeNs> next(start);
        for (int r = 0; r < p; ++r) {
            const auto found = work.find({turn, r});
            TimeNs& end = next[static_cast<std::size_t>(r)];
            if (found != work.end()) last = std::max(last, end += found->second);
            for (const int neighbour : {r, (r + 1) % p, (r + p - 1) % p})
                end = std::max(end, start[static_cast<std::size_t>(neighbour)] + message);
        }
        start = next;
    }
    return last;
}

TEST(MovingWeights, SplitSimulationEqualsPlainLoops) {
    for (int p = 1; p <= 6; ++p)
        for (int m = 1; m <= 3 * p; ++m)
            for (unsigned seed = 1; seed <= 8; ++seed) {
                const MovingWeights moving{WeightPath::RingSplit, p, m, 1};
                MovingWeightTimes times =
                    unequalTimes(p, 3, static_cast<int>(seed % 4), static_cast<int>(seed % 3), 0, seed);
                for (const TimeNs backward : times.backward)
                    times.weight_grad.push_back(backward / 3);
                const MovingWeightsStep result = simulateMovingWeights(moving, times).value();
                EXPECT_EQ(result.step.wall(), plainSplit(moving, times)) << p << " " << m << " " << seed;
                EXPECT_GE(result.gradients_home, result.step.end);
            }
}

TEST(MovingWeights, SplitFormEqualsSimulation) {
    int compared = 0;
    for (int p = 1; p <= 8; ++p)
        for (int m = 1; m <= 4 * p; ++m)
            for (const int f : {1, 2, 5, 9})
                for (const int i : {1, 3, 4, 11})
                    for (const int w : {1, 2, 5, 10})
                        for (const auto& [weights, gradients] : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 3}}) {
                            const int x = 2 * weights + gradients;
                            compareForm({WeightPath::RingSplit, p, m, 1}, splitTimes(p, f, i, w, weights, gradients),
                                        p == 1 || (x <= std::min({f, i, w}) && (m > p || x == 0)), compared);
                        }
    EXPECT_GT(compared, 15'000);
    EXPECT_FALSE(movingWeightsForm({WeightPath::RingSplit, 2, 4, 1}, equalTimes(2, 1, 2, 0, 0, 0)).ok());
    MovingWeightTimes unequal = splitTimes(2, 2, 2, 2, 0, 0);
    unequal.weight_grad[1] = TimeNs{1};
    EXPECT_FALSE(movingWeightsForm({WeightPath::RingSplit, 2, 4, 1}, unequal).ok());
}

/// Splitting saves the weight gradients' part of the ring's wait, and p − 1 messages with gradients.
TEST(MovingWeights, SplitBackwardsShortenTheStep) {
    for (int p = 3; p <= 7; ++p)
        for (int rounds = 2; rounds <= 4; ++rounds) {
            const auto simulated = [&](WeightPath path) {
                return simulateMovingWeights({path, p, rounds * p, 1}, splitTimes(p, 3, 4, 2, 0, 0)).value();
            };
            const MovingWeightsStep whole = simulated(WeightPath::Ring);
            const MovingWeightsStep split = simulated(WeightPath::RingSplit);
            EXPECT_EQ(whole.step.wall() - split.step.wall(), TimeNs{(p - 2) * 2});
            EXPECT_EQ(split.traffic.weights, whole.traffic.weights);
            EXPECT_EQ(split.traffic.gradients, rounds * p);
        }
}

TEST(MovingWeights, RejectsImpossibleSizes) {
    EXPECT_FALSE(movingWeightsOrder({WeightPath::Ring, 0, 4, 1}).ok());
    EXPECT_FALSE(movingWeightsOrder({WeightPath::Ring, 4, 0, 1}).ok());
    EXPECT_FALSE(movingWeightsOrder({WeightPath::Ring, 4, 8, 2}).ok());
    EXPECT_FALSE(movingWeightsOrder({WeightPath::Nodes, 4, 8, 3}).ok());
    EXPECT_FALSE(movingWeightsOrder({WeightPath::Ring, 10'000, 1'000'000, 1}).ok());
    EXPECT_FALSE(simulateMovingWeights({WeightPath::Ring, 2, 4, 1}, equalTimes(3, 1, 1, 0, 0, 0)).ok());
    MovingWeightTimes times = equalTimes(2, 1, 1, 0, 0, 0);
    times.weights = TimeNs::max();
    EXPECT_FALSE(simulateMovingWeights({WeightPath::Ring, 2, 4, 1}, times).ok());
}

} // namespace
} // namespace bubblescope
