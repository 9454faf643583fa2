#include "core/cost/typical_costs.h"

#include "core/base/median.h"

#include <array>
#include <vector>

namespace bubblescope {

namespace {

constexpr std::size_t kAlone = 5;

std::size_t groupOf(const Op& op) {
    return static_cast<std::size_t>(op.kind) + (op.overlapped ? kAlone : 0);
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
    // All durations, by group: kinds that ran alone, then those of pairs.
    std::array<std::size_t, 2 * kAlone + 1> begin{};
    for (const auto& ops : step.ranks) {
        for (const TimelineOp& op : ops)
            ++begin[groupOf(op.op) + 1];
    }
    for (std::size_t group = 0; group < 2 * kAlone; ++group)
        begin[group + 1] += begin[group];
    std::vector<TimeNs> durations(begin.back());
    auto next = begin;
    for (const auto& ops : step.ranks) {
        for (const TimelineOp& op : ops)
            durations[next[groupOf(op.op)]++] = op.duration();
    }
    const auto medianOf = [&](std::size_t from, std::size_t to) {
        return medianInPlace(std::span(durations).subspan(begin[from], begin[to] - begin[from]));
    };
    const auto of = [&](OpKind kind) {
        const auto alone = static_cast<std::size_t>(kind);
        const std::size_t group = begin[alone] == begin[alone + 1] ? alone + kAlone : alone;
        return medianOf(group, group + 1);
    };
    CostModel costs;
    costs.comm = TimeNs{0};
    costs.times = {of(OpKind::Forward), of(OpKind::Backward), of(OpKind::BackwardInput), of(OpKind::BackwardWeight),
                   of(OpKind::Optimizer)};
    if (costs.times.backward.count() == 0) costs.times.backward = costs.times.input_grad + costs.times.weight_grad;
    // Last, since it mixes the groups.
    if (begin[kAlone] != begin[2 * kAlone]) costs.overlapped = medianOf(kAlone, 2 * kAlone);
    return costs;
}

} // namespace bubblescope
