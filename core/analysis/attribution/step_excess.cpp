#include "core/analysis/attribution/step_excess.h"

#include "core/base/large_list.h"
#include "core/base/median.h"
#include "core/base/parallel.h"

namespace bubblescope {

StepExcess::StepExcess(const ObservedStep& observed, const UnitTimes& usual)
    : graph_(observed.graph), bindings_(observed.latest), parts_(observed.delays), delays_(parts_.total()),
      typical_(usual.typical), usual_(usual.usual) {
    findTypicalTransfers();
    findTypicalTimes();
}

void StepExcess::findTypicalTransfers() {
    const auto typicalOf = [this](Way way, TimeNs& typical) {
        std::vector<TimeNs> transfers;
        reserveLarge(transfers, graph_.rank.size());
        for (std::size_t side = 0; side < graph_.sides(); ++side) {
            for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
                if (graph_.way[side][unit] == way) transfers.push_back(graph_.transfer[side][unit]);
            }
        }
        typical = medianInPlace(transfers);
    };
    const auto activations = [&] { typicalOf(Way::Activation, typical_transfer_[indexOf(Way::Activation)]); };
    const auto gradients = [&] { typicalOf(Way::Gradient, typical_transfer_[indexOf(Way::Gradient)]); };
    parallelCalls(graph_.rank.size(), activations, gradients);
}

/// For optimizer ops, the observed time is the typical time.
void StepExcess::findTypicalTimes() {
    if (std::ranges::find(graph_.kind, OpKind::Optimizer) == graph_.kind.end()) return;
    own_typical_.assign(typical_.begin(), typical_.end());
    for (std::size_t unit = 0; unit < own_typical_.size(); ++unit) {
        if (graph_.kind[unit] == OpKind::Optimizer) own_typical_[unit] = graph_.end[unit] - graph_.start[unit];
    }
    typical_ = own_typical_;
}

} // namespace bubblescope
