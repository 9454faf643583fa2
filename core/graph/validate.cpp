#include "core/graph/validate.h"

#include "core/base/bytes.h"
#include "core/graph/rendezvous.h"
#include "core/schedule/schedule.h"
#include "core/schedule/stage_ways.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <span>

namespace bubblescope {
namespace {

class Validation {
public:
    Validation(const Schedule& schedule, const ValidateOptions& options, const OpGraph& graph)
        : schedule_(schedule), options_(options), graph_(graph) {}

    std::vector<ScheduleProblem> run() {
        checkCompleteness();
        const bool complete = problems_.empty();
        checkMemory();
        if (complete) checkBudget();
        // A missing op blocks its consumers forever; calling that a deadlock would hide the cause.
        if (complete && checkDeadlock()) checkSends();
        return std::move(problems_);
    }

    /// Checks every op and count, but not the order.
    std::vector<ScheduleProblem> runCompleteness() {
        checkCompleteness();
        return std::move(problems_);
    }

private:
    void add(std::string_view kind, OpIndex op, Sentence message) {
        const Rank rank = graph_.rank(op);
        add(kind, rank, static_cast<std::size_t>(op - graph_.firstOf(rank)), std::move(message));
    }
    void add(std::string_view kind, Rank rank, std::size_t index, Sentence message) {
        problems_.push_back({std::string(kind), rank, index, std::move(message)});
    }
    [[nodiscard]] Sentence describe(OpIndex op) const {
        return say("{} on rank {}", opName(graph_.op(op)), graph_.rank(op).value);
    }

    void checkCompleteness() {
        if (graph_.plainlyComplete()) return;
        checkOps();
        checkCounts();
    }

    void checkOps() {
        for (OpIndex i = 0; i < graph_.size(); ++i) {
            const Op& op = graph_.op(i);
            if (op.kind == OpKind::Optimizer) continue;
            if (!graph_.inRange(op)) {
                add("out-of-range", i,
                    say("{}: micro-batches are 0 to {}, chunks 0 to {}, sequence slices 0 to {}", describe(i),
                        schedule_.microbatches - 1, schedule_.vpp - 1, graph_.sequenceSlices() - 1));
                continue;
            }
            if (op.overlapped && graph_.partner(i) == kNoOp) {
                add("pair", i,
                    say("{} is half of an overlapped pair, but its other half is not next to it", describe(i)));
            }
            const OpIndex first = graph_.find(op.kind, op.microbatch, graph_.stage(i), op.sequence);
            if (first != i) {
                add("duplicate", i, say("{} repeats {}", describe(i), describe(first)));
            }
        }
    }

    /// True if a micro-batch takes a path: always if there is only one path, otherwise if any of its ops is on the
    /// path.
    [[nodiscard]] bool takes(Microbatch microbatch, const StageWays::Way& way) const {
        if (all_ways_.size() == 1) return true;
        for (int place = 0; place < way.count; ++place) {
            const Stage stage{way.first + place * ways_.apart()};
            for (const OpKind kind : {OpKind::Forward, OpKind::Backward, OpKind::BackwardWeight}) {
                if (graph_.find(kind, microbatch, stage) != kMissingOp) return true;
            }
        }
        return false;
    }

    void checkCounts() {
        std::int64_t units = 0;
        for (int m = 0; m < schedule_.microbatches; ++m) {
            for (const StageWays::Way& way : all_ways_) {
                if (!takes(Microbatch{m}, way)) continue;
                ++units;
                for (int place = 0; place < way.count; ++place) {
                    for (int sequence = 0; sequence < graph_.sequenceSlices(); ++sequence) {
                        checkPresent(Microbatch{m}, Stage{way.first + place * ways_.apart()}, sequence);
                    }
                }
            }
        }
        if (units != schedule_.microbatches) {
            add("missing", Rank{0}, schedule_.ranks.front().size(),
                say("the two directions run {} micro-batches in total, not {}", units, schedule_.microbatches));
        }
    }

    void checkPresent(Microbatch microbatch, Stage stage, int sequence) {
        const Location at = locate(schedule_.placement, schedule_.pp, stage);
        const auto need = [&](OpKind kind, const Sentence& why) {
            if (graph_.find(kind, microbatch, stage, sequence) != kMissingOp) return;
            const Op op{kind, microbatch, at.chunk, sequence};
            const bool moving = schedule_.placement == Placement::Moving;
            add("missing", at.rank, schedule_.ranks[at.rank.index()].size(),
                moving ? say("no rank runs {}{}", opName(op), why)
                       : say("rank {} never runs {}{}", at.rank.value, opName(op), why));
        };
        need(OpKind::Forward, {});
        need(OpKind::Backward, {});
        const OpIndex backward = graph_.find(OpKind::Backward, microbatch, stage, sequence);
        const OpIndex weight = graph_.find(OpKind::BackwardWeight, microbatch, stage, sequence);
        if (backward == kMissingOp) return;
        if (graph_.op(backward).kind == OpKind::BackwardInput) {
            need(OpKind::BackwardWeight, say(", which its I op requires"));
        } else if (weight != kMissingOp) {
            add("duplicate", weight,
                say("{} repeats half of {}, which is a whole backward", describe(weight), describe(backward)));
        }
    }

    void checkMemory() {
        if (!options_.memory_limit) return;
        for (int r = 0; r < schedule_.pp; ++r) {
            int held = 0;
            for (OpIndex i = graph_.firstOf(Rank{r}); i < graph_.endOf(Rank{r}); ++i) {
                held += graph_.op(i).kind == OpKind::Forward ? 1 : 0;
                if (held > *options_.memory_limit) {
                    add("memory", i,
                        say("{} raises the number of activations to {}, but at most {} are allowed", describe(i), held,
                            *options_.memory_limit));
                    break;
                }
                held -= graph_.op(i).kind == OpKind::Backward || graph_.op(i).kind == OpKind::BackwardWeight ? 1 : 0;
            }
        }
    }

    void checkBudget() {
        if (!options_.memory || !options_.memory_budget) return;
        const auto ranks = memoryUse(schedule_, *options_.memory, options_.memory_budget);
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            if (!ranks[r].over_budget) continue;
            const OpIndex op = graph_.firstOf(Rank{r}) + static_cast<OpIndex>(*ranks[r].over_budget);
            add("memory", op,
                say("starting with {}, memory use exceeds {}; the peak is {}", describe(op),
                    formatBytes(*options_.memory_budget), formatBytes(ranks[r].peak())));
        }
    }

    struct Wait {
        OpIndex op = kNoOp; ///< for a blocked pair, the half that waits
        OpIndex producer = kNoOp;
    };

    /// The dependency that a blocked op (or a pair that begins with it) waits for, in a graph without missing ops.
    /// `head` is the op that each rank cannot start; earlier ones have run.
    [[nodiscard]] Wait waitOf(OpIndex op, const std::vector<OpIndex>& head) const {
        for (const OpIndex half : {op, graph_.partner(op)}) {
            if (half == kNoOp) continue;
            const Producers& needs = graph_.producers(half);
            for (const OpIndex producer : {needs.stage, needs.own}) {
                if (producer >= head[graph_.rank(std::max(producer, 0)).index()]) return {half, producer};
            }
        }
        return {};
    }

    /// Reports a deadlock that exists in every send mode; false if there is one.
    bool checkDeadlock() {
        const auto blocked = visitInOrder(graph_, [](OpIndex, OpIndex) {});
        if (blocked.empty()) return true;
        std::vector<OpIndex> head;
        for (int r = 0; r < schedule_.pp; ++r)
            head.push_back(graph_.endOf(Rank{r}));
        for (const OpIndex op : blocked)
            head[graph_.rank(op).index()] = op;

        const auto cycle = findCycle(blocked.front(),
                                     [&](OpIndex op) { return head[graph_.rank(waitOf(op, head).producer).index()]; });
        Sentence waits;
        for (const OpIndex op : cycle)
            addWait(waits, waitText(waitOf(op, head)));
        add("deadlock", cycle.front(), say("deadlock: {}", waits));
        return false;
    }

    /// Reports a deadlock that occurs because sends wait for their receives.
    void checkSends() {
        if (options_.sends == SendMode::Asynchronous) return;
        if (graph_.joins()) {
            add("sends", Rank{0}, 0, say("where two encoders join, only asynchronous sends are supported"));
            return;
        }
        struct NoTimes {
            void run(OpIndex, OpIndex) {}
            void post(Rank, const Endpoint&) {}
            void finish(Rank, std::span<const Endpoint>) {}
        } no_times;
        const auto stuck = runRendezvous(graph_, options_.sends, no_times);
        if (stuck.empty()) return;
        std::vector<Endpoint> at(static_cast<std::size_t>(schedule_.pp));
        for (const Endpoint& end : stuck)
            at[end.rank(graph_).index()] = end;
        const auto cycle =
            findCycle(stuck.front(), [&](const Endpoint& end) { return at[end.other().rank(graph_).index()]; });
        Sentence waits;
        for (const Endpoint& end : cycle)
            addWait(waits, waitText(end));
        add("deadlock", cycle.front().op(graph_),
            say("deadlock of {} sends: {}", Sentence::term(sendModeName(options_.sends)), waits));
    }

    /// Follows waits from one rank to the next until a rank repeats, which closes the cycle.
    template <class Item, class Next>
    static std::vector<Item> findCycle(Item at, Next next) {
        std::vector<Item> path;
        auto again = path.end();
        while ((again = std::find(path.begin(), path.end(), at)) == path.end()) {
            path.push_back(at);
            at = next(at);
        }
        return {again, path.end()};
    }

    static void addWait(Sentence& waits, const Sentence& wait) {
        waits = waits.empty() ? wait : say("{}; {}", waits, wait);
    }

    [[nodiscard]] Sentence waitText(const Endpoint& end) const {
        const int here = end.rank(graph_).value;
        const int there = end.other().rank(graph_).value;
        const std::string op = opName(graph_.op(end.op(graph_)));
        const std::string peer_op = opName(graph_.op(end.other().op(graph_)));
        const Sentence what = graph_.op(end.consumer).kind == OpKind::Forward ? say("activation") : say("gradient");
        if (end.send) {
            return say("rank {} sends the {} of {} and waits for rank {} to receive it, before {}", here, what, op,
                       there, peer_op);
        }
        return say("rank {} waits to receive the {} for {} from rank {}, sent after {}", here, what, op, there,
                   peer_op);
    }

    [[nodiscard]] Sentence waitText(const Wait& wait) const {
        const auto [op, producer] = wait;
        const Rank rank = graph_.rank(producer);
        if (graph_.partner(op) != kNoOp && graph_.partner(op) == producer) {
            return say("{} waits for its own other half, {}", describe(op), describe(producer));
        }
        if (rank == graph_.rank(op)) {
            return say("{} waits for {}, which comes after it", describe(op), describe(producer));
        }
        return say("{} waits for {}", describe(op), describe(producer));
    }

    const Schedule& schedule_;
    const ValidateOptions& options_;
    const OpGraph& graph_;
    StageWays ways_ = StageWays::of(schedule_);
    std::vector<StageWays::Way> all_ways_ = ways_.all();
    std::vector<ScheduleProblem> problems_;
};

/// Reports sizes for which no graph can be built.
std::vector<ScheduleProblem> shapeProblems(const Schedule& schedule) {
    if (schedule.pp < 1 || schedule.microbatches < 1 || schedule.vpp < 1 ||
        schedule.ranks.size() != static_cast<std::size_t>(schedule.pp)) {
        return {{"rank-count", Rank{0}, 0,
                 say("{} lists of ops for pp {}, microbatches {}, vpp {}; expected pp lists and positive sizes",
                     schedule.ranks.size(), schedule.pp, schedule.microbatches, schedule.vpp)}};
    }
    if (schedule.vpp % routes(schedule.placement) != 0) {
        return {{"chunk-count", Rank{0}, 0,
                 say("two parallel pipelines need an even number of chunks per rank, not {}", schedule.vpp)}};
    }
    if (const Encoders encoders = encodersOf(schedule.placement); encoders.ranks() > 0) {
        if (schedule.vpp != 1) {
            return {{"chunk-count", Rank{0}, 0,
                     say("pipelines with encoders need one chunk per rank, not {}", schedule.vpp)}};
        }
        if (encoders.ranks() >= schedule.pp) {
            return {{"rank-count", Rank{0}, 0,
                     say("encoders on {} of {} ranks leave none for the trunk", encoders.ranks(), schedule.pp)}};
        }
    }
    return {};
}

} // namespace

std::vector<ScheduleProblem> validate(const Schedule& schedule, const ValidateOptions& options) {
    if (auto problems = shapeProblems(schedule); !problems.empty()) return problems;
    return Validation(schedule, options, OpGraph(schedule)).run();
}

Result<OpGraph> completeGraph(const Schedule& schedule) {
    if (!shapeProblems(schedule).empty()) return whyNotExecutable(schedule, SendMode::Asynchronous);
    OpGraph graph(schedule);
    if (!Validation(schedule, {}, graph).runCompleteness().empty())
        return whyNotExecutable(schedule, SendMode::Asynchronous);
    return graph;
}

Result<Execution> prepareExecution(const Schedule& schedule) {
    BUBBLESCOPE_ASSIGN(OpGraph graph, completeGraph(schedule));
    ExecutionOrder execution = executionOrder(graph);
    if (!execution.blocked.empty()) return whyNotExecutable(schedule, SendMode::Asynchronous);
    return Execution{std::move(graph), std::move(execution.order)};
}

Error whyNotExecutable(const Schedule& schedule, SendMode sends) {
    ValidateOptions options;
    options.sends = sends;
    const auto problems = validate(schedule, options);
    assert(!problems.empty());
    return inputError("schedule " + schedule.name, problems.front().message.text(),
                      "`bubblescope validate` lists every problem");
}

std::vector<int> peakActivations(const Schedule& schedule) {
    std::vector<int> peaks;
    for (const auto& ops : schedule.ranks) {
        int held = 0;
        int peak = 0;
        for (const Op& op : ops) {
            if (op.kind == OpKind::Forward) peak = std::max(peak, ++held);
            if (op.kind == OpKind::Backward || op.kind == OpKind::BackwardWeight) --held;
        }
        peaks.push_back(peak);
    }
    return peaks;
}

} // namespace bubblescope
