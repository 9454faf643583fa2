#include "core/schedule/dependency.h"

namespace bubblescope {
namespace {

// B and I fill the same need, so they share a slot; the optimizer depends on its rank's order alone.
constexpr std::size_t kSlotKinds = 3;

std::optional<std::size_t> slotKind(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return 0;
    case OpKind::Backward:
    case OpKind::BackwardInput: return 1;
    case OpKind::BackwardWeight: return 2;
    case OpKind::Optimizer: return std::nullopt;
    }
    return std::nullopt;
}

} // namespace

OpGraph::OpGraph(const Schedule& schedule)
    : microbatches_(schedule.microbatches), vpp_(schedule.vpp), pp_(schedule.pp), placement_(schedule.placement) {
    indexOps(schedule);
    linkProducers();
    linkConsumers();
}

bool OpGraph::inRange(const Op& op) const {
    if (op.kind == OpKind::Optimizer) return true;
    return op.microbatch.value >= 0 && op.microbatch.value < microbatches_ && op.chunk.value >= 0 &&
           op.chunk.value < vpp_;
}

Stage OpGraph::stage(OpIndex index) const {
    return stageOf(placement_, pp_, ranks_[at(index)], ops_[at(index)].chunk);
}

std::size_t OpGraph::slot(OpKind kind, Microbatch microbatch, Stage stage) const {
    const std::size_t stages = static_cast<std::size_t>(pp_) * static_cast<std::size_t>(vpp_);
    return (*slotKind(kind) * static_cast<std::size_t>(microbatches_) + microbatch.index()) * stages + stage.index();
}

OpIndex OpGraph::find(OpKind kind, Microbatch microbatch, Stage stage) const {
    return table_[slot(kind, microbatch, stage)];
}

void OpGraph::indexOps(const Schedule& schedule) {
    const std::size_t count = schedule.opCount();
    ops_.reserve(count);
    ranks_.reserve(count);
    table_.assign(kSlotKinds * static_cast<std::size_t>(microbatches_) * static_cast<std::size_t>(schedule.stages()),
                  kMissingOp);
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
        rank_begin_.push_back(size());
        for (const Op& op : schedule.ranks[r]) {
            const OpIndex index = size();
            ops_.push_back(op);
            ranks_.push_back(Rank{r});
            if (!inRange(op) || op.kind == OpKind::Optimizer) continue;
            OpIndex& entry = table_[slot(op.kind, op.microbatch, stage(index))];
            if (entry == kMissingOp) entry = index;
        }
    }
    rank_begin_.push_back(size());
}

void OpGraph::linkProducers() {
    producers_.resize(ops_.size());
    const int last_stage = pp_ * vpp_ - 1;
    for (OpIndex i = 0; i < size(); ++i) {
        const Op& op = ops_[at(i)];
        if (!inRange(op)) continue;
        const Stage s = stage(i);
        Producers& needs = producers_[at(i)];
        switch (op.kind) {
        case OpKind::Forward:
            if (s.value > 0) needs.stage = find(OpKind::Forward, op.microbatch, Stage{s.value - 1});
            break;
        case OpKind::Backward:
        case OpKind::BackwardInput:
            if (s.value < last_stage) needs.stage = find(OpKind::Backward, op.microbatch, Stage{s.value + 1});
            needs.own = find(OpKind::Forward, op.microbatch, s);
            break;
        case OpKind::BackwardWeight: needs.own = find(OpKind::Backward, op.microbatch, s); break;
        case OpKind::Optimizer: break;
        }
    }
}

void OpGraph::linkConsumers() {
    consumers_.resize(ops_.size());
    consumer_count_.assign(ops_.size(), 0);
    const auto link = [this](OpIndex producer, OpIndex consumer) {
        if (producer < 0) return;
        std::uint8_t& count = consumer_count_[at(producer)];
        // Only duplicates, which are invalid, can exceed the room; they need not be woken.
        if (count < consumers_[at(producer)].size()) consumers_[at(producer)][count++] = consumer;
    };
    for (OpIndex i = 0; i < size(); ++i) {
        link(producers_[at(i)].stage, i);
        link(producers_[at(i)].own, i);
    }
}

std::span<const OpIndex> OpGraph::consumers(OpIndex index) const {
    return {consumers_[at(index)].data(), consumer_count_[at(index)]};
}

ExecutionOrder executionOrder(const OpGraph& graph) {
    ExecutionOrder result;
    result.order.reserve(static_cast<std::size_t>(graph.size()));
    std::vector<bool> done(static_cast<std::size_t>(graph.size()), false);
    std::vector<OpIndex> head;
    std::vector<Rank> runnable;
    for (int r = 0; r < graph.rankCount(); ++r) {
        head.push_back(graph.firstOf(Rank{r}));
        runnable.push_back(Rank{r});
    }
    const auto ready = [&](OpIndex producer) {
        return producer == kNoOp || (producer >= 0 && done[static_cast<std::size_t>(producer)]);
    };

    while (!runnable.empty()) {
        const Rank rank = runnable.back();
        runnable.pop_back();
        OpIndex& next = head[rank.index()];
        while (next < graph.endOf(rank)) {
            const Producers& needs = graph.producers(next);
            if (!ready(needs.stage) || !ready(needs.own)) break;
            done[static_cast<std::size_t>(next)] = true;
            result.order.push_back(next);
            for (const OpIndex consumer : graph.consumers(next)) {
                const Rank waiting = graph.rank(consumer);
                if (waiting != rank && head[waiting.index()] == consumer) runnable.push_back(waiting);
            }
            ++next;
        }
    }
    for (int r = 0; r < graph.rankCount(); ++r) {
        if (head[Rank{r}.index()] < graph.endOf(Rank{r})) result.blocked.push_back(head[Rank{r}.index()]);
    }
    return result;
}

} // namespace bubblescope
