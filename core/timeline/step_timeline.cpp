#include "core/timeline/step_timeline.h"

#include <algorithm>

namespace bubblescope {

void StepTimeline::fitWindow() {
    bool any = false;
    begin = end = TimeNs{0};
    for (const auto& ops : ranks) {
        for (const TimelineOp& op : ops) {
            if (op.op.kind == OpKind::Optimizer) continue;
            begin = any ? std::min(begin, op.start) : op.start;
            end = any ? std::max(end, op.end) : op.end;
            any = true;
        }
    }
}

Schedule executedOrder(const StepTimeline& step) {
    Schedule order;
    order.name = "custom";
    order.pp = step.pp;
    order.microbatches = step.microbatches;
    order.vpp = step.vpp;
    order.placement = step.placement;
    for (const auto& ops : step.ranks) {
        auto& list = order.ranks.emplace_back();
        for (const TimelineOp& op : ops) {
            if (op.op.kind != OpKind::Optimizer) list.push_back(op.op);
        }
    }
    return order;
}

} // namespace bubblescope
