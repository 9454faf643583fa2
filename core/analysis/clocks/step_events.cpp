#include "core/analysis/clocks/step_events.h"

#include "core/analysis/clocks/transfers.h"
#include "core/schedule/dependency.h"

#include <algorithm>
#include <tuple>

namespace bubblescope {

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
