#include "core/analysis/clocks/step_events.h"

#include "core/base/large_list.h"
#include "core/schedule/dependency.h"

#include <algorithm>
#include <tuple>

namespace bubblescope {

std::vector<MatchedTransfer> matchTransfers(const StepTimeline& step) {
    std::vector<MatchedTransfer> all;
    matchTransfers(step, all);
    return all;
}

void matchTransfers(const StepTimeline& step, std::vector<MatchedTransfer>& all) {
    // A place for every transfer that the step can have.
    const int stages = step.pp * step.vpp;
    std::int32_t slices = 1;
    for (const auto& spans : step.comm) {
        for (const CommSpan& span : spans) {
            if (span.sequence < kMaxSequenceSlices) slices = std::max(slices, span.sequence + 1);
        }
    }
    const auto rows = static_cast<std::size_t>(stages) * static_cast<std::size_t>(step.microbatches);
    all.clear();
    resizeLarge(all, 2 * rows * static_cast<std::size_t>(slices));
    for (std::size_t r = 0; r < step.comm.size(); ++r) {
        for (const CommSpan& span : step.comm[r]) {
            const bool known = span.stage.value >= 0 && span.stage.value < stages && span.microbatch.value >= 0 &&
                               span.microbatch.value < step.microbatches && span.sequence >= 0 &&
                               span.sequence < slices;
            if (!known || span.kind == CommKind::Wait || span.kind == CommKind::Collective) continue;
            const std::size_t row =
                (static_cast<std::size_t>(span.payload) * static_cast<std::size_t>(stages) + span.stage.index()) *
                    static_cast<std::size_t>(step.microbatches) +
                span.microbatch.index();
            MatchedTransfer& transfer =
                all[row * static_cast<std::size_t>(slices) + static_cast<std::size_t>(span.sequence)];
            const bool sends = span.kind == CommKind::Send;
            const CommSpan*& side = sends ? transfer.send : transfer.receive;
            if (side != nullptr) continue;
            side = &span;
            (sends ? transfer.from : transfer.to) = Rank{r};
        }
    }
    std::erase_if(
        all, [](const MatchedTransfer& transfer) { return transfer.send == nullptr || transfer.receive == nullptr; });
}

StepEventCounts addStepEvents(const StepTimeline& step, const std::vector<int>& clock_of_rank, OpOrder op_order,
                              std::vector<Precedence>& into) {
    StepEventCounts counts;
    const bool loose = op_order == OpOrder::StartToEnd;
    const auto clock = [&](Rank rank) { return clock_of_rank[rank.index()]; };
    using Key = std::tuple<Payload, Stage, Microbatch, std::int32_t>;
    std::vector<Key> recorded;
    for (const MatchedTransfer& transfer : matchTransfers(step)) {
        const CommSpan& receive = *transfer.receive;
        recorded.emplace_back(receive.payload, receive.stage, receive.microbatch, receive.sequence);
        if (clock(transfer.from) == clock(transfer.to)) continue;
        into.push_back({clock(transfer.from), clock(transfer.to), transfer.send->start, receive.end});
        ++counts.transfers;
    }
    std::ranges::sort(recorded);

    Schedule order = executedOrder(step);
    for (std::size_t r = 0; r < step.ranks.size(); ++r) { // optimizers too, so that places in both lists are equal
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
