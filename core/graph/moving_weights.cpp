#include "core/graph/moving_weights.h"

#include "core/base/field.h"
#include "core/base/suggestion.h"
#include "core/base/text.h"
#include "core/graph/longest_path.h"
#include "core/schedule/moving_names.h"
#include "core/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace bubblescope {
namespace {

constexpr std::int64_t kMaxTasks = 100'000'000;

bool isRing(const MovingWeights& moving) {
    return moving.path != WeightPath::Nodes;
}

/// Ranks of a ring, or nodes: whatever sends and receives as one.
int lanesOf(const MovingWeights& moving) {
    return isRing(moving) ? moving.pp : moving.nodes;
}

Rank firstRank(const MovingWeights& moving, int lane) {
    return Rank{isRing(moving) ? lane : lane * moving.ranksPerNode()};
}

Status checkSizes(const MovingWeights& moving) {
    if (moving.pp < 1 || moving.microbatches < 1 || moving.nodes < 1)
        return usageError("ranks, micro-batches and nodes must be at least 1",
                          fmt::format("specify {} and {}", Field("pp").is("P"), Field("microbatches").is("M")));
    if (isRing(moving) && moving.nodes != 1)
        return usageError(fmt::format("{} does not distinguish nodes", weightPathName(moving.path)), "use tawpipe");
    if (moving.pp % moving.nodes != 0)
        return usageError(fmt::format("{} ranks cannot be divided evenly among {} nodes", moving.pp, moving.nodes));
    const std::int64_t tasks =
        std::int64_t{3} * lanesOf(moving) * (2 * std::int64_t{moving.microbatches} + 3 * moving.pp);
    if (tasks > kMaxTasks)
        return usageError(fmt::format("{} tasks do not fit into memory", tasks),
                          fmt::format("reduce {} or {}", Field("microbatches"), Field("pp")));
    return {};
}

/// Weights and gradients that a lane receives during a turn.
struct Incoming {
    int from = -1; ///< sending lane; the lane itself if the weights are in its node
    std::optional<Stage> forward;
    std::optional<Stage> backward;
    std::optional<Stage> gradients;
    TimeNs time{0};
};

class Messages {
public:
    Messages(const MovingWeights& moving, const MovingWeightTimes& times) : moving_(moving), times_(times) {}

    [[nodiscard]] Incoming during(int turn, int lane) const {
        return isRing(moving_) ? overRing(turn, lane) : toNode(turn, lane);
    }
    /// Broadcast of the first stage's weights, before the first turn of the first node.
    [[nodiscard]] TimeNs first() const { return isRing(moving_) ? TimeNs{0} : within(times_.weights); }
    /// From the end of the last turn until its gradients are at their owner.
    [[nodiscard]] TimeNs home() const {
        if (isRing(moving_)) return moving_.pp > 1 ? times_.gradients : TimeNs{0};
        return within(times_.gradients) + (moving_.nodes > 1 ? times_.between_nodes : TimeNs{0});
    }
    /// Zero for nodes of one rank.
    [[nodiscard]] TimeNs within(TimeNs time) const { return moving_.ranksPerNode() > 1 ? time : TimeNs{0}; }

private:
    [[nodiscard]] Incoming overRing(int turn, int lane) const {
        if (moving_.pp == 1) return {};
        const RingMessages messages = moving_.messagesDuring(turn);
        Incoming incoming{(lane + moving_.pp - 1) % moving_.pp, {}, {}, {}, TimeNs{0}};
        if (messages.forward) incoming.forward = moving_.forwardStage(Rank{lane}, turn + 1);
        if (messages.backward) incoming.backward = moving_.backwardStage(Rank{lane}, turn + 1);
        if (messages.gradients) incoming.gradients = moving_.backwardStage(Rank{lane}, turn);
        incoming.time = messages.time(times_.weights, times_.gradients);
        return incoming;
    }

    [[nodiscard]] Incoming toNode(int turn, int lane) const {
        const std::optional<Op> next = moving_.opAwaitingWeights(lane, turn);
        if (!next) return {};
        const Stage stage{next->chunk.value};
        Incoming incoming{moving_.ownerNode(stage), {}, {}, {}, within(times_.weights)};
        (next->kind == OpKind::Forward ? incoming.forward : incoming.backward) = stage;
        if (incoming.from != lane) incoming.time += times_.between_nodes;
        return incoming;
    }

    const MovingWeights& moving_;
    const MovingWeightTimes& times_;
};

/// Three tasks per turn and lane: the start of the turn, its ops, and the messages that arrive during it.
class TurnGraph {
public:
    TurnGraph(const MovingWeights& moving, const Messages& messages) : lanes_(lanesOf(moving)) {
        const bool ring = isRing(moving);
        for (int turn = 0; turn < moving.turns(); ++turn) {
            for (int lane = 0; lane < lanes_; ++lane) {
                const bool sends = ring && lanes_ > 1;
                if (turn == 0)
                    addRow(kNoTask, kNoTask, kNoTask);
                else
                    addRow(opsOf(turn - 1, lane), messageOf(turn - 1, lane),
                           sends ? messageOf(turn - 1, (lane + 1) % lanes_) : kNoTask);
            }
            for (int lane = 0; lane < lanes_; ++lane)
                addRow(startOf(turn, lane), kNoTask, kNoTask);
            for (int lane = 0; lane < lanes_; ++lane) {
                const Incoming incoming = messages.during(turn, lane);
                addRow(startOf(turn, lane), incoming.from < 0 ? kNoTask : startOf(turn, incoming.from), kNoTask);
            }
        }
    }

    [[nodiscard]] TaskIndex startOf(int turn, int lane) const { return at(turn, 0, lane); }
    [[nodiscard]] TaskIndex opsOf(int turn, int lane) const { return at(turn, 1, lane); }
    [[nodiscard]] TaskIndex messageOf(int turn, int lane) const { return at(turn, 2, lane); }

    /// `durations` has one entry per task.
    [[nodiscard]] TaskTimes ends(const std::vector<TimeNs>& durations) const {
        const TaskGraph graph(3, rows_);
        TaskTimes ends(graph.size());
        forwardPass(graph, ends, NoLag{},
                    [&](TaskIndex task, TimeNs ready) { return ready + durations[static_cast<std::size_t>(task)]; });
        return ends;
    }

private:
    [[nodiscard]] TaskIndex at(int turn, int part, int lane) const {
        return static_cast<TaskIndex>((3 * turn + part) * lanes_ + lane);
    }
    void addRow(TaskIndex a, TaskIndex b, TaskIndex c) { rows_.insert(rows_.end(), {a, b, c}); }

    int lanes_;
    std::vector<TaskIndex> rows_;
};

TimeNs opTime(const MovingWeightTimes& times, const Op& op) {
    const std::size_t stage = op.chunk.index();
    if (op.kind == OpKind::Forward) return times.forward[stage];
    if (op.kind == OpKind::Backward) return times.backward[stage];
    const TimeNs weight_grad = times.weight_grad[stage];
    return op.kind == OpKind::BackwardWeight ? weight_grad : times.backward[stage] - weight_grad;
}

/// Ops of a rank in a turn, in order.
std::vector<Op> opsIn(const MovingWeights& moving, Rank rank, int turn) {
    std::vector<Op> ops;
    for (const OpKind kind : {OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight, OpKind::Forward}) {
        if (const std::optional<Op> op = moving.opAt(kind, rank, turn)) ops.push_back(*op);
    }
    return ops;
}

Status checkTimes(const MovingWeights& moving, const MovingWeightTimes& times) {
    const auto stages = static_cast<std::size_t>(moving.pp);
    if (times.forward.size() != stages || times.backward.size() != stages)
        return usageError(fmt::format("{} stage times are required", stages));
    if (moving.path == WeightPath::RingSplit &&
        (times.weight_grad.size() != stages ||
         !std::ranges::equal(times.weight_grad, times.backward, std::less_equal<>())))
        return usageError("a backward's time must include that of its weight gradient");
    const TimeNs longest = std::max({std::ranges::max(times.forward), std::ranges::max(times.backward), times.weights,
                                     times.gradients, times.between_nodes});
    if (longest > TimeNs::max() / (4 * std::int64_t{moving.turns()} + 4))
        return usageError("the times are too large for 64-bit nanoseconds");
    return {};
}

WeightTraffic trafficOf(const MovingWeights& moving, const Messages& messages) {
    std::vector<WeightTraffic> lanes(static_cast<std::size_t>(lanesOf(moving)));
    for (int turn = 0; turn < moving.turns(); ++turn) {
        for (int lane = 0; lane < lanesOf(moving); ++lane) {
            const Incoming in = messages.during(turn, lane);
            const int weights = int{in.forward.has_value()} + int{in.backward.has_value()};
            WeightTraffic& here = lanes[static_cast<std::size_t>(lane)];
            if (in.from >= 0 && in.from != lane) {
                lanes[static_cast<std::size_t>(in.from)].weights += weights;
                lanes[static_cast<std::size_t>(in.from)].gradients += int{in.gradients.has_value()};
            }
            if (isRing(moving)) continue;
            here.broadcasts += weights;
            if (const auto op = moving.opAt(OpKind::Backward, firstRank(moving, lane), turn)) {
                ++here.reductions;
                if (moving.ownerNode(Stage{op->chunk.value}) != lane) ++here.gradients;
            }
        }
    }
    if (isRing(moving) && moving.pp > 1) {
        // The ring of backwards has the opposite order of stages: weights enter it, and gradients leave it, by one
        // message to the rank with the other order.
        for (WeightTraffic& lane : lanes) {
            ++lane.weights;
            ++lane.gradients;
        }
    }
    WeightTraffic most;
    if (!isRing(moving)) ++lanes.front().broadcasts; // of the first stage, before the first turn
    for (const WeightTraffic& lane : lanes) {
        if (lane.messages() > most.messages() || most.messages() == 0) most = lane;
    }
    if (moving.ranksPerNode() == 1 || isRing(moving)) most.broadcasts = most.reductions = 0;
    return most;
}

/// The parts of a turn's messages, in the order in which they are sent.
void addMessages(std::vector<ActionTime>& actions, const Incoming& in, const MovingWeightTimes& times, bool ring,
                 TimeNs end) {
    if (in.time == TimeNs{0}) return;
    TimeNs at = end - in.time;
    const auto add = [&](const std::optional<Stage>& stage, ActionKind kind, TimeNs time) {
        if (!stage) return;
        actions.push_back({Action{.stage = *stage, .kind = kind}, at, at, at + time});
        at += time;
    };
    add(in.forward, ActionKind::Unshard, ring ? times.weights : in.time);
    add(in.backward, ActionKind::Unshard, ring ? times.weights : in.time);
    add(in.gradients, ActionKind::ReduceGrad, times.gradients);
}

} // namespace

std::string_view weightPathName(WeightPath path) {
    switch (path) {
    case WeightPath::Ring: return kWeiPipe;
    case WeightPath::RingNaive: return kWeiPipeNaive;
    case WeightPath::RingSplit: return kWeiPipeZb;
    case WeightPath::Nodes: return kTawPipe;
    }
    return "";
}

std::optional<WeightPath> weightPathNamed(std::string_view name) {
    const auto* const path = std::ranges::find(kWeightPaths, plainName(name),
                                               [](WeightPath each) { return plainName(weightPathName(each)); });
    return path == kWeightPaths.end() ? std::nullopt : std::optional(*path);
}

int MovingWeights::offsetOf(Rank rank) const {
    return isRing(*this) ? rank.value : rank.value / ranksPerNode();
}

int MovingWeights::turnOf(const Op& op) const {
    const int first = offsetOf(rankOf(op.microbatch)) + op.microbatch.value / pp * turnsPerRound();
    if (op.kind == OpKind::Forward) return first + op.chunk.value;
    const bool later = op.kind == OpKind::BackwardWeight && op.chunk.value > rankOf(op.microbatch).value;
    return first + (later ? 3 : 2) * pp - 1 - op.chunk.value;
}

std::optional<Op> MovingWeights::opAt(OpKind kind, Rank rank, int turn) const {
    if (kind != OpKind::Forward && (kind == OpKind::Backward) == (path == WeightPath::RingSplit)) return std::nullopt;
    const int local = turn - offsetOf(rank) - (kind == OpKind::Forward ? 0 : pp);
    if (local < 0) return std::nullopt;
    const int place = local % turnsPerRound();
    const int stage = kind == OpKind::Forward ? place : pp - 1 - place;
    const int later = kind == OpKind::BackwardWeight && stage > rank.value ? 1 : 0;
    const int microbatch = (local / turnsPerRound() - later) * pp + rank.value;
    if (microbatch < 0 || microbatch >= microbatches || place >= pp) return std::nullopt;
    return Op{kind, Microbatch{microbatch}, Chunk{stage}};
}

int MovingWeights::turns() const {
    if (path == WeightPath::RingSplit && pp > 1) return (rounds() + 2) * pp - 1;
    return lastBackward() + 1;
}

std::optional<Op> MovingWeights::opAwaitingWeights(int node, int turn) const {
    const auto opIn = [&](int at) {
        const Rank first{node * ranksPerNode()};
        const std::optional<Op> forward = opAt(OpKind::Forward, first, at);
        return forward ? forward : opAt(OpKind::Backward, first, at);
    };
    const std::optional<Op> next = opIn(turn + 1);
    const std::optional<Op> current = opIn(turn);
    return current && next && current->chunk == next->chunk ? std::nullopt : next;
}

RingMessages MovingWeights::messagesDuring(int turn) const {
    // Weights move in every turn from the first that needs them until the last. Between one rank and itself nothing
    // does.
    if (pp == 1) return {};
    const int first_gradients = path == WeightPath::RingSplit ? 2 * pp - 1 : pp;
    RingMessages messages;
    messages.forward = turn < lastForward();
    messages.backward = turn >= pp && turn < lastBackward();
    messages.gradients = turn > first_gradients;
    return messages;
}

std::string nodesFlavor(int nodes) {
    return nodes > 1 ? fmt::format("{} nodes", nodes) : std::string();
}

int nodesOfFlavor(std::string_view flavor) {
    const auto nodes = takeNumber<int>(flavor);
    return nodes && *nodes > 1 && flavor == " nodes" ? *nodes : 1;
}

Result<Schedule> movingWeightsOrder(const MovingWeights& moving) {
    BUBBLESCOPE_TRY(checkSizes(moving));
    Schedule order;
    order.name = weightPathName(moving.path);
    order.flavor = nodesFlavor(moving.nodes);
    order.placement = Placement::Moving;
    order.pp = moving.pp;
    order.microbatches = moving.microbatches;
    order.vpp = moving.pp;
    order.ranks.resize(static_cast<std::size_t>(moving.pp));
    for (int r = 0; r < moving.pp; ++r) {
        for (int turn = 0; turn < moving.turns(); ++turn) {
            for (const Op& op : opsIn(moving, Rank{r}, turn))
                order.ranks[Rank{r}.index()].push_back(op);
        }
    }
    return order;
}

Result<MovingWeightsStep> simulateMovingWeights(const MovingWeights& moving, const MovingWeightTimes& times) {
    BUBBLESCOPE_TRY(checkSizes(moving));
    BUBBLESCOPE_TRY(checkTimes(moving, times));
    const Messages messages(moving, times);
    const TurnGraph graph(moving, messages);
    const int lanes = lanesOf(moving);
    std::vector<TimeNs> durations(static_cast<std::size_t>(3 * moving.turns() * lanes));
    durations[static_cast<std::size_t>(graph.startOf(0, 0))] = messages.first();
    for (int turn = 0; turn < moving.turns(); ++turn) {
        for (int lane = 0; lane < lanes; ++lane) {
            for (const Op& op : opsIn(moving, firstRank(moving, lane), turn))
                durations[static_cast<std::size_t>(graph.opsOf(turn, lane))] += opTime(times, op);
            durations[static_cast<std::size_t>(graph.messageOf(turn, lane))] = messages.during(turn, lane).time;
        }
    }
    const TaskTimes ends = graph.ends(durations);

    MovingWeightsStep result;
    StepTimeline& step = result.step;
    step.placement = Placement::Moving;
    step.pp = moving.pp;
    step.microbatches = moving.microbatches;
    step.vpp = moving.pp;
    step.ranks.resize(static_cast<std::size_t>(moving.pp));
    step.comm.resize(static_cast<std::size_t>(moving.pp));
    result.messages.resize(static_cast<std::size_t>(moving.pp));
    for (int r = 0; r < moving.pp; ++r) {
        const int lane = isRing(moving) ? r : r / moving.ranksPerNode();
        for (int turn = 0; turn < moving.turns(); ++turn) {
            TimeNs at = ends[graph.startOf(turn, lane)];
            for (const Op& op : opsIn(moving, Rank{r}, turn)) {
                step.ranks[Rank{r}.index()].push_back({op, at, at + opTime(times, op)});
                at += opTime(times, op);
            }
            addMessages(result.messages[Rank{r}.index()], messages.during(turn, lane), times, isRing(moving),
                        ends[graph.messageOf(turn, lane)]);
            if (turn + 1 == moving.turns())
                result.gradients_home = std::max({result.gradients_home, at, ends[graph.messageOf(turn, lane)]});
        }
        if (!step.ranks[Rank{r}.index()].empty()) step.end = std::max(step.end, step.ranks[Rank{r}.index()].back().end);
    }
    result.gradients_home = std::max(result.gradients_home, step.end) + messages.home();
    result.traffic = trafficOf(moving, messages);
    return result;
}

Result<TimeNs> movingWeightsForm(const MovingWeights& moving, const MovingWeightTimes& times) {
    BUBBLESCOPE_TRY(checkSizes(moving));
    BUBBLESCOPE_TRY(checkTimes(moving, times));
    const Messages messages(moving, times);
    const int lanes = lanesOf(moving);
    const int rounds = moving.rounds();
    const TimeNs f = times.forward.front();
    const TimeNs b = times.backward.front();
    const bool equal =
        std::ranges::count(times.forward, f) == moving.pp && std::ranges::count(times.backward, b) == moving.pp;
    TimeNs shortest = std::min(std::ranges::min(times.forward), std::ranges::min(times.backward));
    for (std::size_t stage = 0; stage < times.weight_grad.size() && moving.path == WeightPath::RingSplit; ++stage)
        shortest = std::min({shortest, times.weight_grad[stage], times.backward[stage] - times.weight_grad[stage]});
    const TimeNs work = rounds * (std::accumulate(times.forward.begin(), times.forward.end(), TimeNs{0}) +
                                  std::accumulate(times.backward.begin(), times.backward.end(), TimeNs{0}));
    const TimeNs larger = std::max(f, b);
    const TimeNs smaller = std::min(f, b);
    const auto outside = [&](std::string_view domain) {
        return usageError(fmt::format("the closed form of {} holds only for {}", weightPathName(moving.path), domain));
    };
    const auto atLeastZero = [](TimeNs time) { return std::max(TimeNs{0}, time); };
    if (lanes == 1) {
        const TimeNs broadcast = messages.first();
        if (broadcast > shortest) return outside("messages that fit into the shortest op");
        return work + broadcast;
    }
    if (lanes > 2 && !equal) return outside("stages of equal time, unless there are only two ranks or nodes");
    // Time that each further round adds if ranks that run ops of different kinds keep waiting for the slower kind.
    const TimeNs per_round = (lanes - 2) * larger - lanes * smaller;
    if (!isRing(moving)) {
        const TimeNs message = messages.first() + times.between_nodes;
        if (message > shortest) return outside("messages that fit into the shortest op");
        if (lanes > 2 && moving.ranksPerNode() == 1) return outside("at least two ranks per node");
        const int active = moving.offsetOf(Rank{moving.lastRound() - 1}) + 1;
        if (lanes > 2 && rounds > 1 && active < lanes)
            return outside("one round, or a last round in which all nodes have micro-batches");
        return work + messages.first() + std::min(1, active - 1) * message + std::max(0, active - 2) * larger +
               (lanes > 2 ? (rounds - 1) * atLeastZero(per_round + 2 * message) : TimeNs{0});
    }
    const TimeNs message = 2 * times.weights + times.gradients;
    if (message > shortest) return outside("messages of a turn that together fit into the shortest op");
    if (message > TimeNs{0} && rounds == 1) return outside("at least two rounds, or messages that take no time");
    const int last = moving.lastRound();
    const bool split = moving.path == WeightPath::RingSplit;
    if (split && (!equal || std::ranges::count(times.weight_grad, times.weight_grad.front()) != moving.pp))
        return outside("stages of equal time");
    // Turns that the last round adds because its ranks start one after another.
    const int waits = std::max(0, 2 * last - lanes - 2);
    const TimeNs passed = std::min(last - 1, lanes - last + 1) * (split ? 2 * times.weights : message);
    if (split) {
        const TimeNs input_grad = b - times.weight_grad.front();
        return work + passed + waits * (rounds > 1 ? f + input_grad : std::max(f, input_grad));
    }
    if (moving.path == WeightPath::Ring && rounds > 1) return work + waits * (f + b) + passed;
    if (message > TimeNs{0} && lanes > 2 && f != b)
        return outside("forwards and backwards of equal time, or messages that take no time");
    if (rounds == 1 || lanes == 2) return work + waits * larger + passed;
    return work + (rounds - 2) * atLeastZero(per_round) +
           std::max(waits * larger + atLeastZero(per_round), per_round + (2 * last - lanes) * smaller) + passed;
}

} // namespace bubblescope
