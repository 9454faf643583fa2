#include "core/schedule/dependency.h"

#include "core/base/large_list.h"
#include "core/base/parallel.h"
#include "core/schedule/schedule.h"
#include "core/schedule/stage_ways.h"

#include <algorithm>
#include <atomic>

namespace bubblescope {
namespace {

// B and I produce the same gradient, so they share a slot; the optimizer only depends on its rank's order.
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

OpLists OpLists::of(const Schedule& schedule) {
    OpLists lists{schedule.pp, schedule.microbatches, schedule.vpp, schedule.placement, {}, {}};
    lists.ops.reserve(schedule.opCount());
    for (const auto& ops : schedule.ranks) {
        lists.rank_begin.push_back(static_cast<OpIndex>(lists.ops.size()));
        lists.ops.insert(lists.ops.end(), ops.begin(), ops.end());
    }
    lists.rank_begin.push_back(static_cast<OpIndex>(lists.ops.size()));
    return lists;
}

OpGraph::OpGraph(OpLists lists)
    : microbatches_(lists.microbatches), vpp_(lists.vpp), pp_(lists.pp), placement_(lists.placement),
      ops_(std::move(lists.ops)), rank_begin_(std::move(lists.rank_begin)) {
    placeStages();
    indexOps();
    linkPairs();
    linkProducers();
}

bool OpGraph::inRange(const Op& op) const {
    if (op.kind == OpKind::Optimizer) return true;
    return op.microbatch.value >= 0 && op.microbatch.value < microbatches_ && op.chunk.value >= 0 &&
           op.chunk.value < vpp_ && op.sequence >= 0 && op.sequence < slices_;
}

void OpGraph::placeStages() {
    stages_.reserve(static_cast<std::size_t>(pp_) * static_cast<std::size_t>(vpp_));
    for (int r = 0; r < pp_; ++r) {
        for (int c = 0; c < vpp_; ++c)
            stages_.push_back(stageOf(placement_, pp_, Rank{r}, Chunk{c}));
    }
}

Stage OpGraph::stage(OpIndex index) const {
    const Op& op = ops_[at(index)];
    if (op.chunk.value < 0 || op.chunk.value >= vpp_) return stageOf(placement_, pp_, ranks_[at(index)], op.chunk);
    return stages_[ranks_[at(index)].index() * static_cast<std::size_t>(vpp_) + op.chunk.index()];
}

std::size_t OpGraph::slot(OpKind kind, Microbatch microbatch, Stage stage, int sequence) const {
    const std::size_t stages = static_cast<std::size_t>(stageSlots());
    const std::size_t units = static_cast<std::size_t>(microbatches_) * static_cast<std::size_t>(slices_);
    const std::size_t unit =
        microbatch.index() * static_cast<std::size_t>(slices_) + static_cast<std::size_t>(sequence);
    // Micro-batches of a stage are adjacent in memory, because a rank runs them roughly one after another.
    return (*slotKind(kind) * stages + stage.index()) * units + unit;
}

int OpGraph::stageSlots() const {
    // With an odd number of chunks, which no two-way pipeline has, the last stages' numbers exceed p·v.
    return stageCount(placement_, pp_, routes(placement_) == 1 ? vpp_ : vpp_ + vpp_ % 2);
}

OpIndex OpGraph::find(OpKind kind, Microbatch microbatch, Stage stage, int sequence) const {
    return table_[slot(kind, microbatch, stage, sequence)];
}

void OpGraph::indexOps() {
    struct Found {
        std::int32_t slices = 1;
        bool overlaps = false;
    };
    const auto ranks = static_cast<std::size_t>(rankCount());
    std::vector<Found> found(ranks);
    parallelGroups(ranks, ops_.size(), [&](std::size_t r) {
        for (const Op& op : opsOf(Rank{r})) {
            found[r].slices = std::max(found[r].slices, std::min<int>(op.sequence, kMaxSequenceSlices - 1) + 1);
            found[r].overlaps |= op.overlapped;
        }
    });
    for (const Found& rank : found) {
        slices_ = std::max(slices_, rank.slices);
        overlaps_ |= rank.overlaps;
    }
    table_ = largeList(kSlotKinds * static_cast<std::size_t>(microbatches_) * static_cast<std::size_t>(slices_) *
                           static_cast<std::size_t>(stageSlots()),
                       kMissingOp);
    // Unless stages move, each belongs to one rank, so no two ranks write to the same entry of the table.
    resizeLarge(ranks_, ops_.size());
    std::vector<Part> parts(ranks);
    if (placement_ == Placement::Moving) {
        for (std::size_t r = 0; r < ranks; ++r)
            parts[r] = indexRank(Rank{r});
    } else {
        parallelGroups(ranks, ops_.size(), [&](std::size_t r) { parts[r] = indexRank(Rank{r}); });
    }
    for (const Part& part : parts) {
        regular_ &= part.regular;
        all_in_range_ &= part.in_range;
        for (std::size_t kind = 0; kind < kind_count_.size(); ++kind)
            kind_count_[kind] += part.kind_count[kind];
    }
}

OpGraph::Part OpGraph::indexRank(Rank rank) {
    Part part;
    for (OpIndex index = firstOf(rank); index < endOf(rank); ++index) {
        const Op& op = ops_[at(index)];
        ranks_[at(index)] = rank;
        ++part.kind_count[static_cast<std::size_t>(op.kind)];
        if (op.kind == OpKind::Optimizer) continue;
        if (!inRange(op)) {
            part.regular = part.in_range = false;
            continue;
        }
        OpIndex& entry = table_[slot(op.kind, op.microbatch, stage(index), op.sequence)];
        part.regular &= entry == kMissingOp;
        if (entry == kMissingOp) entry = index;
    }
    return part;
}

void OpGraph::linkPairs() {
    if (!overlaps_) return;
    partners_.assign(ops_.size(), kNoOp);
    for (OpIndex i = 0; i < size(); ++i) {
        if (!op(i).overlapped) continue;
        const bool pair = i + 1 < size() && op(i + 1).overlapped && rank(i) == rank(i + 1);
        regular_ &= pair;
        if (!pair) continue;
        partners_[at(i)] = i + 1;
        partners_[at(i + 1)] = i;
        ++i;
    }
}

void OpGraph::linkProducers() {
    resizeLarge(producers_, ops_.size());
    const int copies = secondCopies(placement_, pp_, vpp_, microbatches_, [this](Microbatch microbatch, Stage stage) {
        return std::ranges::any_of(std::array{OpKind::Forward, OpKind::Backward, OpKind::BackwardWeight},
                                   [&](OpKind kind) { return find(kind, microbatch, stage) != kMissingOp; });
    });
    const StageWays ways(placement_, pp_, vpp_, copies);
    std::atomic<bool> regular{regular_};
    parallelPieces(ops_.size(), [&](std::size_t begin, std::size_t end) {
        if (!linkProducers(ways, static_cast<OpIndex>(begin), static_cast<OpIndex>(end))) regular = false;
    });
    regular_ = regular;
}

bool OpGraph::linkProducers(const StageWays& ways, OpIndex begin, OpIndex end) {
    bool whole = true;
    for (OpIndex i = begin; i < end; ++i) {
        const Op& op = ops_[at(i)];
        if (!inRange(op)) continue;
        const Stage s = stage(i);
        Producers& needs = producers_[at(i)];
        switch (op.kind) {
        case OpKind::Forward:
            if (const auto before = ways.before(s))
                needs.stage = find(OpKind::Forward, op.microbatch, *before, op.sequence);
            if (const int joined = joinedStage(placement_, s.value); joined >= 0)
                needs.own = find(OpKind::Forward, op.microbatch, Stage{joined}, op.sequence);
            break;
        case OpKind::Backward:
        case OpKind::BackwardInput:
            if (const auto after = ways.after(s))
                needs.stage = find(OpKind::Backward, op.microbatch, *after, op.sequence);
            needs.own = find(OpKind::Forward, op.microbatch, s, op.sequence);
            break;
        case OpKind::BackwardWeight:
            needs.own = find(OpKind::Backward, op.microbatch, s, op.sequence);
            whole &= needs.own >= 0 && ops_[at(needs.own)].kind == OpKind::BackwardInput;
            break;
        case OpKind::Optimizer: break;
        }
    }
    return whole;
}

int OpGraph::neighbour(OpIndex index) const {
    const OpKind kind = op(index).kind;
    if (kind == OpKind::Forward) return stageAfter(placement_, stage(index).value);
    return producesInputGradient(kind) ? stageBefore(placement_, stage(index).value) : -1;
}

OpIndex OpGraph::consumerOn(OpIndex index, int stage) const {
    const Op& op = ops_[at(index)];
    if (stage < 0 || stage >= stageCount(placement_, pp_, vpp_) || !inRange(op)) return kNoOp;
    const OpIndex found = find(op.kind, op.microbatch, Stage{stage}, op.sequence);
    if (found < 0) return kNoOp;
    return producers(found).stage == index || joinedInput(found) == index ? found : kNoOp;
}

bool OpGraph::plainlyComplete() const {
    // With two routes a micro-batch may take either, which counting cannot distinguish.
    if (!regular_ || routes(placement_) > 1) return false;
    const auto count = [this](OpKind kind) { return kind_count_[static_cast<std::size_t>(kind)]; };
    const std::int64_t each = std::int64_t{microbatches_} * slices_ * stageCount(placement_, pp_, vpp_);
    return count(OpKind::Forward) == each && count(OpKind::Backward) + count(OpKind::BackwardInput) == each &&
           count(OpKind::BackwardWeight) == count(OpKind::BackwardInput);
}

ExecutionOrder executionOrder(const OpGraph& graph) {
    ExecutionOrder result;
    result.order.reserve(static_cast<std::size_t>(graph.size()));
    result.blocked = visitInOrder(graph, [&](OpIndex op, OpIndex partner) {
        result.order.push_back(op);
        if (partner != kNoOp) result.order.push_back(partner);
    });
    return result;
}

} // namespace bubblescope
