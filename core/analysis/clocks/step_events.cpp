#include "core/analysis/clocks/step_events.h"

#include "core/base/parallel.h"
#include "core/schedule/dependency.h"

#include <algorithm>
#include <tuple>

namespace bubblescope {

void TransferTable::read(const StepTimeline& step) {
    // Sequences are usually not split, so records are usually read only once.
    std::int32_t slices = 1;
    do {
        slices_ = slices;
        slices = fill(step);
    } while (slices > slices_);
}

/// Returns the number of slices in the records.
std::int32_t TransferTable::fill(const StepTimeline& step) {
    width_ = static_cast<std::size_t>(step.microbatches) * static_cast<std::size_t>(slices_);
    const std::size_t places = 2 * static_cast<std::size_t>(step.pp * step.vpp) * width_;
    resizeLarge(sent_, places);
    resizeLarge(received_, places);
    clear();
    std::size_t spans_in_all = 0;
    for (const auto& spans : step.comm)
        spans_in_all += spans.size();
    // If each side was recorded by the rank that has the stage, no two threads write to the same entry.
    std::vector<Rank> rank_of; // per stage
    for (int stage = 0; stage < step.pp * step.vpp; ++stage)
        rank_of.push_back(locate(step.placement, step.pp, Stage{stage}).rank);
    const auto isOf = [&](const CommSpan& span, Rank rank) {
        const auto [from, to] =
            transferStages(step.placement, static_cast<int>(rank_of.size()), span.payload, span.stage.value);
        const Stage stage{span.kind == CommKind::Send ? from : to};
        return stage.value >= 0 && stage.index() < rank_of.size() && rank_of[stage.index()] == rank;
    };
    std::vector<Found> found(step.comm.size());
    parallelGroups(found.size(), spans_in_all, [&](std::size_t r) {
        found[r] = add(step, Rank{r}, [&](const CommSpan& span) { return isOf(span, Rank{r}); });
    });
    if (!std::ranges::all_of(found, &Found::wanted)) {
        clear();
        for (std::size_t r = 0; r < found.size(); ++r)
            found[r] = add(step, Rank{r}, [](const CommSpan&) { return true; });
    }
    std::int32_t slices = 1;
    for (const Found& of_rank : found)
        slices = std::max(slices, of_rank.slices);
    return slices;
}

void TransferTable::clear() {
    parallelPieces(sent_.size(), [this](std::size_t from, std::size_t to) {
        std::fill(sent_.begin() + static_cast<std::ptrdiff_t>(from), sent_.begin() + static_cast<std::ptrdiff_t>(to),
                  Side{});
        std::fill(received_.begin() + static_cast<std::ptrdiff_t>(from),
                  received_.begin() + static_cast<std::ptrdiff_t>(to), Side{});
    });
}

/// Stops when a side is not wanted.
template <class IsWanted>
TransferTable::Found TransferTable::add(const StepTimeline& step, Rank rank, IsWanted isWanted) {
    Found found;
    const int stages = step.pp * step.vpp;
    for (const CommSpan& span : step.comm[rank.index()]) {
        const bool known = span.stage.value >= 0 && span.stage.value < stages && span.microbatch.value >= 0 &&
                           span.microbatch.value < step.microbatches && span.sequence >= 0 &&
                           span.sequence < kMaxSequenceSlices;
        if (!known || span.kind == CommKind::Wait || span.kind == CommKind::Collective) continue;
        found.slices = std::max(found.slices, span.sequence + 1);
        if (span.sequence >= slices_) continue;
        found.wanted = isWanted(span);
        if (!found.wanted) return found;
        const std::size_t row =
            static_cast<std::size_t>(span.payload) * static_cast<std::size_t>(stages) + span.stage.index();
        const std::size_t place = row * width_ + span.microbatch.index() * static_cast<std::size_t>(slices_) +
                                  static_cast<std::size_t>(span.sequence);
        Side& side = (span.kind == CommKind::Send ? sent_ : received_)[place];
        if (side.span == nullptr) side = {&span, rank.value};
    }
    return found;
}

StepEventCounts addStepEvents(const StepTimeline& step, const std::vector<int>& clock_of_rank, OpOrder op_order,
                              std::vector<Precedence>& into) {
    StepEventCounts counts;
    const bool loose = op_order == OpOrder::StartToEnd;
    const auto clock = [&](Rank rank) { return clock_of_rank[rank.index()]; };
    using Key = std::tuple<Payload, Stage, Microbatch, std::int32_t>;
    std::vector<Key> recorded;
    TransferTable transfers;
    transfers.read(step);
    for (std::size_t row = 0; row < transfers.rows(); ++row) {
        transfers.eachOf(row, [&](const MatchedTransfer& transfer) {
            const CommSpan& receive = *transfer.receive;
            recorded.emplace_back(receive.payload, receive.stage, receive.microbatch, receive.sequence);
            if (clock(transfer.from) == clock(transfer.to)) return;
            into.push_back({clock(transfer.from), clock(transfer.to), transfer.send->start, receive.end});
            ++counts.transfers;
        });
    }
    std::ranges::sort(recorded);

    Schedule order = executedOrder(step);
    for (std::size_t r = 0; r < step.ranks.size();
         ++r) { // including optimizers, so that indices in both lists are equal
        order.ranks[r].clear();
        for (const TimelineOp& op : step.ranks[r])
            order.ranks[r].push_back(op.op);
    }
    const OpGraph graph(order);
    for (OpIndex index = 0; index < graph.size(); ++index) {
        if (!graph.receives(index)) continue;
        const OpIndex producer = graph.producers(index).stage;
        if (clock(graph.rank(index)) == clock(graph.rank(producer))) continue;
        const Op& op = graph.op(index);
        const Key key{payloadOf(op.kind), graph.stage(index), op.microbatch, op.sequence};
        if (std::ranges::binary_search(recorded, key)) continue;
        const auto at = [&](OpIndex i) -> const TimelineOp& {
            const Rank rank = graph.rank(i);
            return step.ranks[rank.index()][static_cast<std::size_t>(i - graph.firstOf(rank))];
        };
        const TimelineOp& before = at(producer);
        into.push_back({clock(graph.rank(producer)), clock(graph.rank(index)),
                        before.op.overlapped || loose ? before.start : before.end,
                        loose ? at(index).end : at(index).start});
        ++counts.op_orders;
    }
    return counts;
}

} // namespace bubblescope
