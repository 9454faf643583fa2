#include "core/timeline/step_order.h"

namespace bubblescope {

StepOrder::StepOrder(const StepTimeline& step) : schedule_(executedOrder(step)), graph_(schedule_) {
    ops_.reserve(step.ranks.size());
    phases_.reserve(step.ranks.size());
    for (const auto& ran : step.ranks) {
        auto& ops = ops_.emplace_back();
        ops.reserve(ran.size());
        for (const TimelineOp& op : ran)
            ops.push_back(op.op);
        phases_.push_back(findPhases(ops));
    }
}

bool StepOrder::assign(const StepTimeline& step) {
    if (isOf(step)) return true;
    *this = StepOrder(step);
    return false;
}

bool StepOrder::isOf(const StepTimeline& step) const {
    if (step.pp != schedule_.pp || step.microbatches != schedule_.microbatches || step.vpp != schedule_.vpp)
        return false;
    if (step.placement != schedule_.placement || step.ranks.size() != ops_.size()) return false;
    for (std::size_t r = 0; r < ops_.size(); ++r) {
        const auto& ran = step.ranks[r];
        if (ran.size() != ops_[r].size()) return false;
        for (std::size_t i = 0; i < ran.size(); ++i) {
            if (ran[i].op != ops_[r][i]) return false;
        }
    }
    return true;
}

} // namespace bubblescope
