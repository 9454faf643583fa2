#include "runtime/checks/check_context.h"

#include "profiler/recorder/ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace bubblescope::runtime {
namespace {

constexpr TimeNs kUnknown{3'600'000'000'000}; ///< exceeds every slot

} // namespace

LayerResult CheckContext::execute(const ReexecutableLayer& computation, const LayerRun& run, int again) {
    ResultProbe probe(executions.injection(executions.next(run.op, run.step, run.layer, again)));
    computation.run(probe);
    return probe.take();
}

CheckRecord CheckContext::recordOf(CheckKind kind, const Op& op, int layer, CheckedTensor tensor) const {
    CheckRecord record;
    record.kind = kind;
    record.step = step;
    record.rank = rank.place.rank;
    record.replica = rank.place.replica;
    record.tensor_rank = rank.place.tensor;
    record.op = op;
    record.layer = layer;
    record.tensor = tensorName(tensor);
    return record;
}

void CheckContext::write(const CheckRecord& record, CheckedTensor tensor, Stage stage) const {
    write(profiler::SliceRecord::of(record, tensor, stage));
}

void CheckContext::write(const profiler::SliceRecord& record) const {
    if (rank.ring != nullptr) rank.ring->push(record);
}

void CheckContext::announce(CheckRecord record, Rank world) const {
    const MeshPlace place = rank.mesh.placeOf(world);
    record.rank = place.rank;
    record.replica = place.replica;
    record.tensor_rank = place.tensor;
    if (!setup.broker->sendVerdict(world, record) && setup.write) setup.write(world, record);
    if (setup.options.on_mismatch) setup.options.on_mismatch(record);
}

void CheckContext::report(const CheckRecord& record, Rank world) const {
    announce(record, world);
    if (!setup.options.stop) return;
    throw std::runtime_error(fmt::format("{} of {}, layer {}, differs between two executions ({})", record.tensor,
                                         opName(record.op), record.layer, verdictName(record.verdict)));
}

void CheckContext::whenKnown(const Op& op, TimeNs now, std::function<void(TimeNs)> then, std::function<void()> queue) {
    if (device == nullptr) return then(now);
    deferred_.push_back({op, std::move(then), std::move(queue)});
}

void CheckContext::settle(std::span<const DoneOp> done) {
    const std::vector<Deferred> all = std::exchange(deferred_, {});
    for (const Deferred& deferred : all) {
        if (deferred.queue) deferred.queue();
    }
    for (const Deferred& deferred : all) {
        const auto found = std::ranges::find(done, deferred.op, &DoneOp::op);
        deferred.then(found == done.end() ? step_begin : found->begin);
    }
}

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
    return usual(layer.run.op.kind, layer.part, layer.run.layer).value_or(kUnknown);
}

std::optional<TimeNs> ReexecutionCosts::usual(OpKind kind, LayerPart part, int layer) const {
    const auto found = usual_.find({kind, part, layer});
    if (found != usual_.end()) return found->second;
    const auto like = std::ranges::find_if(usual_, [&](const auto& one) {
        return std::get<LayerPart>(one.first) == part && kindOf(std::get<int>(one.first)) == kindOf(layer);
    });
    return like == usual_.end() ? std::nullopt : std::optional(like->second);
}

std::optional<TimeNs> ReexecutionCosts::measured(OpKind kind, int layer) const {
    std::optional<TimeNs> sum;
    for (const auto& [part, of] : {std::pair{LayerPart::Forward, OpKind::Forward},
                                   {LayerPart::InputGradient, OpKind::BackwardInput},
                                   {LayerPart::WeightGradient, OpKind::BackwardWeight}}) {
        if (kind != of && (kind != OpKind::Backward || of == OpKind::Forward)) continue;
        const std::optional<TimeNs> time = usual(kind, part, layer);
        if (time) sum = sum.value_or(TimeNs{0}) + *time;
    }
    return sum;
}

void ReexecutionCosts::note(const CapturedLayer& layer, TimeNs took) {
    TimeNs& usual = usual_[{layer.run.op.kind, layer.part, layer.run.layer}];
    usual = usual == TimeNs{0} ? took : (3 * usual + took) / 4;
}

} // namespace bubblescope::runtime
