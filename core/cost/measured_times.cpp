#include "core/cost/measured_times.h"

#include "core/base/large_list.h"
#include "core/base/median.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

namespace bubblescope {

std::size_t MeasuredTimes::Hash::operator()(const Key& key) const noexcept {
    std::uint64_t hash = 0;
    for (const std::int32_t part : {key.place, key.kind, key.microbatch, key.chunk, key.sequence}) {
        // The odd multiplier mixes the high bits well; the shift moves them to the bits that select the bucket.
        hash = (hash ^ static_cast<std::uint32_t>(part)) * 0x9E3779B97F4A7C15U;
        hash ^= hash >> 29U;
    }
    return static_cast<std::size_t>(hash);
}

MeasuredTimes::Key MeasuredTimes::opKey(Rank rank, const Op& op) {
    if (op.kind == OpKind::Optimizer) return {.place = rank.value, .kind = static_cast<std::int32_t>(op.kind)};
    return {.place = rank.value,
            .kind = static_cast<std::int32_t>(op.kind),
            .microbatch = op.microbatch.value,
            .chunk = op.chunk.value,
            .sequence = op.sequence};
}

MeasuredTimes::Key MeasuredTimes::transferKey(Payload payload, Microbatch microbatch, Stage stage,
                                              std::int32_t sequence) {
    return {.place = stage.value,
            .kind = static_cast<std::int32_t>(payload),
            .microbatch = microbatch.value,
            .chunk = 0,
            .sequence = sequence};
}

MeasuredTimes MeasuredTimes::of(const StepTimeline& step) {
    MeasuredTimes times;
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        for (const TimelineOp& op : step.ranks[r])
            times.setOp(Rank{r}, op.op, op.duration());
    }
    for (const auto& spans : step.comm) {
        for (const CommSpan& span : spans) {
            if (span.kind == CommKind::Receive)
                times.setTransfer(span.payload, span.microbatch, span.stage, span.sequence, span.end - span.start);
        }
    }
    return times;
}

void MeasuredTimes::setOp(Rank rank, const Op& op, TimeNs duration) {
    ops_[opKey(rank, op)] = duration;
    longest_ = std::max(longest_, duration);
}

void MeasuredTimes::setTransfer(Payload payload, Microbatch microbatch, Stage stage, std::int32_t sequence,
                                TimeNs duration) {
    transfers_[transferKey(payload, microbatch, stage, sequence)] = duration;
    longest_ = std::max(longest_, duration);
}

std::optional<TimeNs> MeasuredTimes::op(Rank rank, const Op& op) const {
    const auto found = ops_.find(opKey(rank, op));
    return found == ops_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TimeNs> MeasuredTimes::transfer(Payload payload, Microbatch microbatch, Stage stage,
                                              std::int32_t sequence) const {
    const auto found = transfers_.find(transferKey(payload, microbatch, stage, sequence));
    return found == transfers_.end() ? std::nullopt : std::optional(found->second);
}

namespace {

constexpr std::size_t kAlone = 5;

std::size_t groupOf(const Op& op) {
    return static_cast<std::size_t>(op.kind) + (op.overlapped ? kAlone : 0);
}

/// Returns 0 for an empty list.
TimeNs meanOf(std::span<const TimeNs> times) {
    double sum = 0;
    for (const TimeNs time : times)
        sum += static_cast<double>(time.count());
    return times.empty() ? TimeNs{0} : TimeNs{std::llround(sum / static_cast<double>(times.size()))};
}

/// Completes the costs of a step that contains pairs of several kinds, as in STP, where input gradients only occur in
/// pairs. `pair` is the time of a pair of a forward and a complete backward, if there are any.
void deriveHidden(CostModel& costs, TimeNs pair, bool any) {
    OpTimes& t = costs.times;
    if (any) costs.all_reduce = std::clamp(t.forward + t.backward - pair, TimeNs{0}, t.forward);
    t.input_grad = std::max(TimeNs{0}, t.backward - t.weight_grad) + costs.all_reduce;
}

TimeNs medianReceive(const StepTimeline& step) {
    std::vector<TimeNs> receives;
    for (const auto& spans : step.comm) {
        for (const CommSpan& span : spans) {
            if (span.kind == CommKind::Receive) receives.push_back(span.end - span.start);
        }
    }
    return medianInPlace(receives);
}

} // namespace

CostModel typicalCosts(const StepTimeline& step) {
    CostModel costs = typicalOpCosts(step);
    costs.comm = medianReceive(step);
    return costs;
}

CostModel typicalOpCosts(const StepTimeline& step) {
    // Start of each group of durations: first kinds that ran alone, then kinds in pairs.
    std::array<std::size_t, 2 * kAlone + 1> begin{};
    for (const auto& ops : step.ranks) {
        for (const TimelineOp& op : ops)
            ++begin[groupOf(op.op) + 1];
    }
    for (std::size_t group = 0; group < 2 * kAlone; ++group)
        begin[group + 1] += begin[group];
    auto durations = largeList<TimeNs>(begin.back());
    auto next = begin;
    for (const auto& ops : step.ranks) {
        for (const TimelineOp& op : ops)
            durations[next[groupOf(op.op)]++] = op.duration();
    }
    const auto medianOf = [&](std::size_t from, std::size_t to) {
        const std::span of_groups = std::span(durations).subspan(begin[from], begin[to] - begin[from]);
        return std::min(medianInPlace(of_groups), meanOf(of_groups));
    };
    const auto of = [&](OpKind kind) {
        const auto alone = static_cast<std::size_t>(kind);
        const std::size_t group = begin[alone] == begin[alone + 1] ? alone + kAlone : alone;
        return medianOf(group, group + 1);
    };
    CostModel costs;
    costs.comm = TimeNs{0};
    costs.times = {.forward = of(OpKind::Forward),
                   .backward = of(OpKind::Backward),
                   .input_grad = of(OpKind::BackwardInput),
                   .weight_grad = of(OpKind::BackwardWeight),
                   .optimizer = of(OpKind::Optimizer)};
    if (costs.times.backward.count() == 0) costs.times.backward = costs.times.input_grad + costs.times.weight_grad;
    const auto paired = [&](OpKind kind) {
        const std::size_t group = static_cast<std::size_t>(kind) + kAlone;
        return begin[group + 1] - begin[group];
    };
    const std::size_t gradients = paired(OpKind::Backward) + paired(OpKind::BackwardInput);
    if (paired(OpKind::Forward) > gradients || paired(OpKind::BackwardWeight) > 0) {
        deriveHidden(costs, medianOf(kAlone + 1, kAlone + 2), paired(OpKind::Backward) > 0);
        return costs;
    }
    // Comes last, because it reorders the groups.
    if (begin[kAlone] != begin[2 * kAlone]) costs.overlapped = medianOf(kAlone, 2 * kAlone);
    return costs;
}

} // namespace bubblescope
