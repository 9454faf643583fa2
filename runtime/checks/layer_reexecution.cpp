#include "runtime/checks/layer_reexecution.h"

#include "core/aadiff/digest.h"
#include "core/aadiff/mismatch.h"

#include <array>
#include <optional>
#include <utility>

namespace bubblescope::runtime {
namespace {

/// The tensor named in the record of a check without a mismatch.
CheckedTensor resultOf(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return CheckedTensor::Output;
    case OpKind::BackwardWeight: return CheckedTensor::WeightGradient;
    default: return CheckedTensor::InputGradient;
    }
}

} // namespace

bool LayerReexecution::check(const std::vector<CapturedLayer>& parts, CheckRecord record, TimeNs nominal,
                             IdleClock& clock) {
    std::optional<std::pair<std::size_t, LayerResult>> other; // the part that differs and its second result
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    record.outcome = CheckOutcome::Equal;
    for (std::size_t i = 0; i < parts.size() && !other; ++i) {
        if (i > 0 && clock.arrived()) {
            record.outcome = CheckOutcome::Aborted;
            break;
        }
        LayerResult result;
        const auto [began, ended] = clock.spend(costs_.of(parts[i], nominal), [&] {
            queueDigests(parts[i].first);
            result = context_.execute(*parts[i].computation, parts[i].run, 1);
        });
        if (i == 0) record.start = began;
        record.end = ended;
        // The host has recorded the times of the first executions; later executions may be slower, because their data
        // is not in a cache.
        if (context_.device != nullptr || context_.setup.measured) costs_.note(parts[i], ended - began);
        first = digest::mix(first) ^ runtime::digestOf(parts[i].first);
        second = digest::mix(second) ^ runtime::digestOf(result);
        if (firstDifference(parts[i].first, result)) other.emplace(i, std::move(result));
    }
    record.first = first;
    record.second = second;
    if (other) {
        compare(parts[other->first], other->second, std::move(record), nominal, &clock);
        return true;
    }
    if (record.outcome == CheckOutcome::Equal) {
        for (const CapturedLayer& part : parts)
            peers_.offer(part, nominal);
    }
    context_.write(record, resultOf(record.op.kind), parts.front().stage);
    return record.outcome == CheckOutcome::Equal;
}

void LayerReexecution::compare(const CapturedLayer& layer, const LayerResult& second, CheckRecord record,
                               TimeNs nominal, IdleClock* clock) {
    const Rank self = context_.rank.world;
    const std::size_t at = *firstDifference(layer.first, second);
    const ShownTensor& was = layer.first.at(at);
    const ShownTensor& is = second.at(at);
    record.outcome = CheckOutcome::Mismatch;
    record.tensor = tensorName(was.tensor);
    record.first = was.digestNow();
    record.second = is.digestNow();
    record.difference = differenceOf(layer.first, second, at);
    context_.setup.keepTensors(self, record, was, is);
    // Two further executions on this rank.
    LayerResult third;
    LayerResult fourth;
    const auto repeat = [&] {
        third = context_.execute(*layer.computation, layer.run, 2);
        fourth = context_.execute(*layer.computation, layer.run, 3);
    };
    if (clock != nullptr) {
        record.end = clock->spend(2 * costs_.of(layer, nominal), repeat).second;
    } else {
        repeat();
    }
    const std::array here{runtime::digestOf(third), runtime::digestOf(fourth)};
    record.verdict = verdictOf(runtime::digestOf(layer.first), runtime::digestOf(second), here, {});
    if (record.verdict != Verdict::Open) return context_.report(record, self);
    peers_.settleLater(std::move(record), layer, nominal);
}

void LayerReexecution::tryTwice(const CapturedLayer& layer, TimeNs op_begin, IdleClock* clock) {
    CapturedLayer again{layer.run, layer.stage, layer.part, layer.computation, {}};
    LayerResult twice;
    const auto once = [&] { again.first = context_.execute(*layer.computation, layer.run, 1); };
    const auto again_once = [&] { twice = context_.execute(*layer.computation, layer.run, 2); };
    CheckRecord record = context_.recordOf(CheckKind::Replay, layer.run.op, layer.run.layer, CheckedTensor::Output);
    record.start = record.end = op_begin;
    if (clock != nullptr) {
        // The first execution on a device loads code and makes plans; the second execution takes the usual time.
        record.start = clock->spend(TimeNs{0}, once).first;
        const auto [began, ended] = clock->spend(TimeNs{0}, again_once);
        costs_.note(layer, ended - began);
        record.end = ended;
    } else {
        once();
        again_once();
    }
    if (firstDifference(again.first, twice)) compare(again, twice, std::move(record), TimeNs{0}, clock);
}

} // namespace bubblescope::runtime
