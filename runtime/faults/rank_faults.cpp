#include "runtime/faults/rank_faults.h"

#include "runtime/model/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace bubblescope::runtime {
namespace {

TimeNs scaled(TimeNs time, double factor) {
    return TimeNs{std::llround(static_cast<double>(time.count()) * std::max(factor, 0.0))};
}

/// Two independent numbers in (0, 1) that depend on the seed, the rank, the op and the step.
std::pair<double, double> chances(const Fault& fault, Rank rank, const Op& op, int step) {
    std::uint64_t name = 0;
    for (const std::int32_t part : {rank.value, step, static_cast<std::int32_t>(op.kind), op.microbatch.value,
                                    op.chunk.value, std::int32_t{op.sequence}})
        name = Synthetic(fault.seed).number(Synthetic::Stream::Faults, name + static_cast<std::uint32_t>(part) + 1);
    const auto unit = [](std::uint64_t bits) { return (static_cast<double>(bits >> 11U) + 0.5) * 0x1p-53; };
    const std::uint64_t second = Synthetic(fault.seed).number(Synthetic::Stream::Faults, name);
    return {unit(name), unit(second)};
}

/// The Box-Muller transform.
double normal(std::pair<double, double> uniform) {
    return std::sqrt(-2 * std::log(uniform.first)) * std::cos(2 * std::numbers::pi * uniform.second);
}

constexpr std::int64_t kBits = 32; // bits per number

/// True if the fault is inside a layer or a known answer.
bool isInLayer(const Fault& fault) {
    return fault.kind == FaultKind::Nondet || (fault.kind == FaultKind::Flip && (fault.layer || fault.shown));
}

bool isKnownAnswer(CheckedTensor tensor) {
    return tensor == CheckedTensor::Product || tensor == CheckedTensor::Sums || tensor == CheckedTensor::Copy;
}

/// True if the tensor is the output of an op, or the weights' gradient.
bool isResult(const Op& op, CheckedTensor tensor) {
    switch (op.kind) {
    case OpKind::Forward: return tensor == CheckedTensor::Output;
    case OpKind::Backward:
    case OpKind::BackwardInput: return tensor == CheckedTensor::InputGradient;
    case OpKind::BackwardWeight: return tensor == CheckedTensor::WeightGradient;
    case OpKind::Optimizer: break;
    }
    return false;
}

bool hitsTensor(const Fault& fault, const LayerRun& run, CheckedTensor tensor) {
    if (isKnownAnswer(tensor)) return fault.shown == tensor;
    if (!fault.ops.matches(run.op) || fault.layer.value_or(run.layer) != run.layer) return false;
    return fault.shown ? *fault.shown == tensor : isResult(run.op, tensor);
}

bool hitsExecution(const Fault& fault, const LayerRun& run) {
    switch (fault.stay) {
    case FaultStay::Transient: return run.again == 0;
    case FaultStay::Reexecution: return run.again == 1;
    case FaultStay::Sticky:
    case FaultStay::Fixed: return true;
    }
    return false;
}

} // namespace

RankFaults::RankFaults(std::span<const Fault> faults, Rank rank, int tensor) : rank_(rank) {
    for (const Fault& fault : faults) {
        if (!fault.tensor_ranks.holds(tensor)) continue;
        const bool link = fault.kind == FaultKind::Link || fault.kind == FaultKind::Stall;
        if ((link ? fault.peers : fault.ranks).holds(rank.value)) faults_.push_back(fault);
    }
}

TimeNs RankFaults::opTime(const Op& op, int step, TimeNs usual) const {
    TimeNs time = usual;
    for (const Fault& fault : faults_) {
        if (applies(fault, FaultKind::Slow, op, step) || applies(fault, FaultKind::Op, op, step))
            time = scaled(time, fault.factor) + fault.time;
        if (applies(fault, FaultKind::Jitter, op, step))
            time = scaled(time, 1 + fault.share * normal(chances(fault, rank_, op, step)));
    }
    return time;
}

TimeNs RankFaults::pauseBefore(const Op& op, int step) const {
    TimeNs pause{0};
    for (const Fault& fault : faults_) {
        if (applies(fault, FaultKind::Pause, op, step)) pause += fault.time;
    }
    return pause;
}

TimeNs RankFaults::arrival(Rank from, int step, TimeNs arrival) {
    for (std::size_t i = 0; i < faults_.size(); ++i) {
        const Fault& fault = faults_[i];
        if (!fault.ranks.holds(from.value) || !fault.steps.holds(step)) continue;
        if (fault.kind == FaultKind::Link) arrival += fault.time;
        if (fault.kind != FaultKind::Stall) continue;
        Stalled& stalled = stalled_[{i, from}];
        if (stalled.step != step) stalled = {step, arrival + fault.time};
        arrival = std::max(arrival, stalled.until);
    }
    return arrival;
}

bool RankFaults::drops(const Op& op, int step) const {
    return std::ranges::any_of(faults_, [&](const Fault& fault) {
        return applies(fault, FaultKind::Drop, op, step) && chances(fault, rank_, op, step).first < fault.share;
    });
}

void RankFaults::flip(const Op& op, int step, FaultTensor which, Tensor& tensor) const {
    for (const Fault& fault : faults_) {
        if (!applies(fault, FaultKind::Flip, op, step) || isInLayer(fault) || fault.tensor != which) continue;
        const std::int64_t element = fault.bit / kBits;
        if (element >= tensor.size()) {
            throw std::out_of_range(
                fmt::format("{}: the tensor has {} bits, numbered from 0", fault.text, tensor.size() * kBits));
        }
        tensor.makeOwn(); // the message changes, not the layer's result
        tensor.live()->flip(element, fault.bit % kBits);
    }
}

bool RankFaults::inLayers() const {
    return std::ranges::any_of(faults_, isInLayer);
}

void RankFaults::inject(const LayerRun& run, CheckedTensor tensor, LiveTensor& values, std::int64_t before) const {
    const std::int64_t count = values.count();
    for (const Fault& fault : faults_) {
        if (!isInLayer(fault) || !fault.steps.holds(run.step) || !hitsTensor(fault, run, tensor)) continue;
        const std::uint64_t chance = Synthetic(fault.seed + static_cast<std::uint64_t>(rank_.value))
                                         .number(Synthetic::Stream::Faults, run.number);
        const auto anywhere =
            static_cast<std::int64_t>(chance % static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1)));
        if (fault.kind == FaultKind::Nondet) {
            values.disturb(chance); // resembles a different order of additions
            continue;
        }
        if (!hitsExecution(fault, run)) continue;
        if (fault.stay == FaultStay::Sticky) {
            if (count > 0) values.flip(anywhere, fault.bit % kBits);
            continue;
        }
        const std::int64_t element = fault.bit / kBits - before;
        if (0 <= element && element < count) values.flip(element, fault.bit % kBits);
    }
}

bool RankFaults::injectsIntoWeights(const Op& op, int step, int layer) const {
    return std::ranges::any_of(faults_, [&](const Fault& fault) {
        return applies(fault, FaultKind::Flip, op, step) && fault.shown == CheckedTensor::Weights &&
               fault.layer == layer;
    });
}

std::optional<FaultKind> RankFaults::endsBefore(const Op& op, int step) const {
    for (const Fault& fault : faults_) {
        for (const FaultKind kind : {FaultKind::Die, FaultKind::Hang}) {
            if (applies(fault, kind, op, step)) return kind;
        }
    }
    return std::nullopt;
}

void LayerExecutions::injectIntoWeights(const Op& op, int step, StageModel& stage) {
    if (faults_.none()) return;
    class Injector final : public LayerProbe {
    public:
        explicit Injector(LayerInjection injection) : injection_(std::move(injection)) {}
        using LayerProbe::touch;
        void touch(CheckedTensor tensor, LiveTensor& values) override { injection_.inject(tensor, values); }

    private:
        LayerInjection injection_;
    };
    const LayerRange layers = stage.layers();
    for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
        if (!faults_.injectsIntoWeights(op, step, layer)) continue;
        Injector injector(injection(next(op, step, layer)));
        stage.showWeights(layer, injector);
    }
}

} // namespace bubblescope::runtime
