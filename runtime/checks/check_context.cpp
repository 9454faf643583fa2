#include "runtime/checks/check_context.h"

#include "profiler/recorder/ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace bubblescope::runtime {

LayerResult CheckContext::execute(const LayerReplay& replay, const LayerRun& run, int again) {
    ResultProbe probe(executions.injection(executions.next(run.op, run.step, run.layer, again)));
    replay.run(probe);
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

void CheckContext::whenKnown(const Op& op, TimeNs now, std::function<void(TimeNs)> then) {
    if (device == nullptr) return then(now);
    deferred_.push_back({op, std::move(then)});
}

void CheckContext::settle(std::span<const DoneOp> done) {
    for (const Deferred& deferred : std::exchange(deferred_, {})) {
        const auto found = std::ranges::find(done, deferred.op, &DoneOp::op);
        deferred.then(found == done.end() ? step_begin : found->begin);
    }
}

} // namespace bubblescope::runtime
