#include "runtime/checks/reexecution_costs.h"

#include <algorithm>

namespace bubblescope::runtime {
namespace {

constexpr TimeNs kUnknown{3'600'000'000'000}; ///< exceeds every slot

} // namespace

TimeNs ReexecutionCosts::of(const CapturedLayer& layer, TimeNs nominal) const {
    if (context_.emulated) {
        if (layer.run.op.kind != OpKind::Backward) return nominal;
        // The time of a whole backward is divided in proportion to its halves.
        const TimeNs input = context_.rank.times.opTime(OpKind::BackwardInput, layer.stage);
        const TimeNs weight = context_.rank.times.opTime(OpKind::BackwardWeight, layer.stage);
        if (input + weight <= TimeNs{0}) return nominal / 2;
        const double fraction = static_cast<double>(input.count()) / static_cast<double>((input + weight).count());
        const TimeNs first{static_cast<std::int64_t>(static_cast<double>(nominal.count()) * fraction)};
        return layer.part == LayerPart::InputGradient ? first : nominal - first;
    }
    const auto usual = usual_.find({layer.run.op.kind, layer.part, layer.run.layer});
    if (usual != usual_.end()) return usual->second;
    const auto like = std::ranges::find_if(usual_, [&](const auto& one) {
        return std::get<LayerPart>(one.first) == layer.part &&
               kindOf(std::get<int>(one.first)) == kindOf(layer.run.layer);
    });
    return like == usual_.end() ? kUnknown : like->second;
}

void ReexecutionCosts::note(const CapturedLayer& layer, TimeNs took) {
    TimeNs& usual = usual_[{layer.run.op.kind, layer.part, layer.run.layer}];
    usual = usual == TimeNs{0} ? took : (3 * usual + took) / 4;
}

} // namespace bubblescope::runtime
