#include "core/cost/slice_parts.h"

#include "core/cost/measured_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

namespace bubblescope {
namespace {

/// Work of the first `tokens` of a sequence; both are shares of the total.
double workOf(double tokens, double attention) {
    return (1 - attention) * tokens + attention * tokens * tokens;
}

/// Inverse of workOf().
double tokensOf(double work, double attention) {
    if (attention == 0) return work;
    const double linear = 1 - attention;
    return (std::sqrt(linear * linear + 4 * attention * work) - linear) / (2 * attention);
}

TimeNs scaledTime(TimeNs time, double factor) {
    return TimeNs{std::llround(static_cast<double>(time.count()) * factor)};
}

/// Sets the transfers that feed a stage from its neighbour, for all micro-batches and slices.
class SliceTransfers {
public:
    SliceTransfers(const CostModel& costs, const Schedule& schedule, const SliceParts& parts)
        : costs_(costs), latency_(costs), schedule_(schedule), parts_(parts) {
        latency_.transfers.activation_bytes = latency_.transfers.gradient_bytes = 0;
    }

    void addTo(MeasuredTimes& times) const {
        const int apart = routes(schedule_.placement);
        for (int stage = 0; stage < schedule_.stages(); ++stage) {
            if (stage >= apart) feed(times, Payload::Activation, Stage{stage - apart}, Stage{stage});
            if (stage + apart < schedule_.stages()) feed(times, Payload::Gradient, Stage{stage + apart}, Stage{stage});
        }
    }

private:
    void feed(MeasuredTimes& times, Payload payload, Stage from, Stage to) const {
        const Rank sender = locate(schedule_.placement, schedule_.pp, from).rank;
        const Rank receiver = locate(schedule_.placement, schedule_.pp, to).rank;
        if (sender == receiver) return;
        const TimeNs latency = latency_.transferTime(payload, sender, receiver);
        const TimeNs bytes = costs_.transferTime(payload, sender, receiver) - latency;
        const auto slices = parts_.tokens.size();
        for (std::size_t slice = 0; slice < slices; ++slice) {
            const TimeNs time = latency + scaledTime(bytes, parts_.tokens[slice] * static_cast<double>(slices));
            for (int m = 0; m < schedule_.microbatches; ++m)
                times.setTransfer(payload, Microbatch{m}, to, static_cast<std::int32_t>(slice), time);
        }
    }

    const CostModel& costs_;
    CostModel latency_; ///< cost model with the same links, but without bytes
    const Schedule& schedule_;
    const SliceParts& parts_;
};

} // namespace

Result<SliceCut> sliceCutFromName(std::string_view name) {
    if (name == "balanced") return SliceCut::Balanced;
    if (name == "even") return SliceCut::Even;
    if (name == "redistributed") return SliceCut::Redistributed;
    return usageError(fmt::format("'{}' is not a way to split sequences", name), "use balanced, even or redistributed");
}

bool SliceParts::equalTimes() const {
    return std::ranges::all_of(time, [](double factor) { return factor == 1; });
}

Result<SliceParts> sliceParts(SliceCut cut, int slices, double attention) {
    if (!(attention >= 0 && attention <= 1))
        return usageError(fmt::format("{} is not a share of attention", attention), "use a number from 0 to 1");
    SliceParts parts;
    double before = 0;
    for (int slice = 1; slice <= slices; ++slice) {
        const double share = static_cast<double>(slice) / slices;
        const double end = cut == SliceCut::Balanced ? tokensOf(share, attention) : share;
        parts.tokens.push_back(end - before);
        parts.time.push_back(cut == SliceCut::Even ? slices * (workOf(end, attention) - workOf(before, attention)) : 1);
        before = end;
    }
    if (cut == SliceCut::Even && attention == 0) std::ranges::fill(parts.time, 1.0);
    return parts;
}

void addSliceTimes(CostModel& costs, const Schedule& schedule, const SliceParts& parts) {
    const TransferModel& transfers = costs.transfers;
    const bool sized = transfers.activation_bytes > 0 || transfers.gradient_bytes > 0;
    if (parts.equalTimes() && !sized) return;
    auto times = costs.measured ? std::make_shared<MeasuredTimes>(*costs.measured) : std::make_shared<MeasuredTimes>();
    for (std::size_t r = 0; r < schedule.ranks.size() && !parts.equalTimes(); ++r) {
        for (const Op& op : schedule.ranks[r]) {
            if (op.kind == OpKind::Optimizer || static_cast<std::size_t>(op.sequence) >= parts.time.size()) continue;
            const TimeNs mean = costs.opTime(op.kind, schedule.stageOf(Rank{r}, op.chunk));
            times->setOp(Rank{r}, op, scaledTime(mean, parts.time[static_cast<std::size_t>(op.sequence)]));
        }
    }
    if (sized) SliceTransfers(costs, schedule, parts).addTo(*times);
    costs.measured = std::move(times);
}

} // namespace bubblescope
