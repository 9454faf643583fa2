#include "core/schedule/dependency.h"

#include <algorithm>

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
    linkPairs();
    linkProducers();
    linkConsumers();
}

bool OpGraph::inRange(const Op& op) const {
    if (op.kind == OpKind::Optimizer) return true;
    return op.microbatch.value >= 0 && op.microbatch.value < microbatches_ && op.chunk.value >= 0 &&
           op.chunk.value < vpp_ && op.sequence >= 0 && op.sequence < slices_;
}

Stage OpGraph::stage(OpIndex index) const {
    return stageOf(placement_, pp_, ranks_[at(index)], ops_[at(index)].chunk);
}

std::size_t OpGraph::slot(OpKind kind, Microbatch microbatch, Stage stage, int sequence) const {
    const std::size_t stages = static_cast<std::size_t>(stageSlots());
    const std::size_t units = static_cast<std::size_t>(microbatches_) * static_cast<std::size_t>(slices_);
    const std::size_t unit =
        microbatch.index() * static_cast<std::size_t>(slices_) + static_cast<std::size_t>(sequence);
    return (*slotKind(kind) * units + unit) * stages + stage.index();
}

int OpGraph::stageSlots() const {
    // With an odd number of chunks, which no two-way pipeline has, the last stages' numbers exceed p·v.
    return pp_ * (vpp_ + vpp_ % routes(placement_));
}

OpIndex OpGraph::find(OpKind kind, Microbatch microbatch, Stage stage, int sequence) const {
    return table_[slot(kind, microbatch, stage, sequence)];
}

void OpGraph::indexOps(const Schedule& schedule) {
    const std::size_t count = schedule.opCount();
    ops_.reserve(count);
    ranks_.reserve(count);
    for (const auto& list : schedule.ranks) {
        for (const Op& op : list)
            slices_ = std::max(slices_, std::min(op.sequence, kMaxSequenceSlices - 1) + 1);
    }
    table_.assign(kSlotKinds * static_cast<std::size_t>(microbatches_) * static_cast<std::size_t>(slices_) *
                      static_cast<std::size_t>(stageSlots()),
                  kMissingOp);
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
        rank_begin_.push_back(size());
        for (const Op& op : schedule.ranks[r]) {
            const OpIndex index = size();
            ops_.push_back(op);
            ranks_.push_back(Rank{r});
            if (!inRange(op) || op.kind == OpKind::Optimizer) continue;
            OpIndex& entry = table_[slot(op.kind, op.microbatch, stage(index), op.sequence)];
            if (entry == kMissingOp) entry = index;
        }
    }
    rank_begin_.push_back(size());
}

void OpGraph::linkPairs() {
    for (OpIndex i = 0; i + 1 < size(); ++i) {
        const bool pair = op(i).overlapped && op(i + 1).overlapped && rank(i) == rank(i + 1);
        if (!pair) continue;
        if (partners_.empty()) partners_.assign(ops_.size(), kNoOp);
        partners_[at(i)] = i + 1;
        partners_[at(i + 1)] = i;
        ++i;
    }
}

void OpGraph::linkProducers() {
    producers_.resize(ops_.size());
    const int apart = routes(placement_);
    const int stages = pp_ * vpp_;
    for (OpIndex i = 0; i < size(); ++i) {
        const Op& op = ops_[at(i)];
        if (!inRange(op)) continue;
        const Stage s = stage(i);
        Producers& needs = producers_[at(i)];
        switch (op.kind) {
        case OpKind::Forward:
            if (s.value >= apart) {
                needs.stage = find(OpKind::Forward, op.microbatch, Stage{s.value - apart}, op.sequence);
            }
            break;
        case OpKind::Backward:
        case OpKind::BackwardInput:
            if (s.value + apart < stages) {
                needs.stage = find(OpKind::Backward, op.microbatch, Stage{s.value + apart}, op.sequence);
            }
            needs.own = find(OpKind::Forward, op.microbatch, s, op.sequence);
            break;
        case OpKind::BackwardWeight: needs.own = find(OpKind::Backward, op.microbatch, s, op.sequence); break;
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

    const auto canStart = [&](OpIndex op) {
        return ready(graph.producers(op).stage) && ready(graph.producers(op).own);
    };
    const auto finish = [&](OpIndex op) {
        done[static_cast<std::size_t>(op)] = true;
        result.order.push_back(op);
        for (const OpIndex consumer : graph.consumers(op)) {
            const Rank waiting = graph.rank(consumer);
            // The head of a pair may wait for what its partner needs.
            const bool next = head[waiting.index()] == consumer || head[waiting.index()] == graph.partner(consumer);
            if (waiting != graph.rank(op) && next) runnable.push_back(waiting);
        }
    };

    while (!runnable.empty()) {
        const Rank rank = runnable.back();
        runnable.pop_back();
        OpIndex& next = head[rank.index()];
        while (next < graph.endOf(rank)) {
            const OpIndex partner = graph.partner(next);
            if (!canStart(next) || (partner != kNoOp && !canStart(partner))) break;
            finish(next);
            if (partner != kNoOp) finish(partner);
            next += partner != kNoOp ? 2 : 1;
        }
    }
    for (int r = 0; r < graph.rankCount(); ++r) {
        if (head[Rank{r}.index()] < graph.endOf(Rank{r})) result.blocked.push_back(head[Rank{r}.index()]);
    }
    return result;
}

} // namespace bubblescope
