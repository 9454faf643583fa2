#include "core/timeline/typical_costs.h"

#include "core/base/median.h"

#include <array>
#include <vector>

namespace bubblescope {

CostModel typicalCosts(const StepTimeline& step) {
    std::array<std::vector<TimeNs>, 5> alone;
    std::array<std::vector<TimeNs>, 5> paired;
    std::vector<TimeNs> pairs;
    for (const auto& ops : step.ranks) {
        for (const TimelineOp& op : ops) {
            (op.op.overlapped ? paired : alone)[static_cast<std::size_t>(op.op.kind)].push_back(op.duration());
            if (op.op.overlapped) pairs.push_back(op.duration());
        }
    }
    std::vector<TimeNs> receives;
    for (const auto& spans : step.comm) {
        for (const CommSpan& span : spans) {
            if (span.kind == CommKind::Receive) receives.push_back(span.end - span.start);
        }
    }
    const auto of = [&](OpKind kind) {
        const auto index = static_cast<std::size_t>(kind);
        return median(alone[index].empty() ? paired[index] : alone[index]);
    };
    CostModel costs;
    costs.times = {of(OpKind::Forward), of(OpKind::Backward), of(OpKind::BackwardInput), of(OpKind::BackwardWeight),
                   of(OpKind::Optimizer)};
    if (costs.times.backward.count() == 0) costs.times.backward = costs.times.input_grad + costs.times.weight_grad;
    if (!pairs.empty()) costs.overlapped = median(std::move(pairs));
    costs.comm = median(std::move(receives));
    return costs;
}

} // namespace bubblescope
