#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <cmath>

namespace bubblescope {

std::size_t StepTimeline::opCount() const {
    std::size_t ops = 0;
    for (const auto& rank : ranks)
        ops += rank.size();
    return ops;
}

void StepTimeline::dropOps() {
    std::vector<std::vector<TimelineOp>>().swap(ranks);
    std::vector<std::vector<CommSpan>>().swap(comm);
    std::vector<OpDetails>().swap(details);
}

void StepTimeline::fitWindow() {
    bool any = false;
    begin = end = TimeNs{0};
    for (const auto& ops : ranks) {
        for (const TimelineOp& op : ops) {
            if (op.op.kind == OpKind::Optimizer) continue;
            begin = any ? std::min(begin, op.start) : op.start;
            end = any ? std::max(end, op.end) : op.end;
            any = true;
        }
    }
}

Schedule executedOrder(const StepTimeline& step) {
    Schedule order;
    order.name = "custom";
    order.pp = step.pp;
    order.microbatches = step.microbatches;
    order.vpp = step.vpp;
    order.placement = step.placement;
    for (const auto& ops : step.ranks) {
        auto& list = order.ranks.emplace_back();
        list.reserve(ops.size());
        for (const TimelineOp& op : ops) {
            if (op.op.kind != OpKind::Optimizer) list.push_back(op.op);
        }
    }
    return order;
}

namespace {

template <class Span>
void shiftAll(std::vector<std::vector<Span>>& ranks, TimeNs by) {
    for (auto& spans : ranks) {
        for (Span& span : spans) {
            span.start += by;
            span.end += by;
        }
    }
}

} // namespace

void moveTo(StepTimeline& step, TimeNs begin) {
    const TimeNs by = begin - step.begin;
    step.begin += by;
    step.end += by;
    shiftAll(step.ranks, by);
    shiftAll(step.comm, by);
}

namespace {

TimeNs between(TimeNs from, TimeNs to, double fraction) {
    return from + TimeNs{std::llround(fraction * static_cast<double>((to - from).count()))};
}

/// An op with its index in the rank's list. It may be half of a pair in only one of the two timelines.
struct NamedOp {
    Op op;
    std::size_t place = 0;
};

std::vector<NamedOp> sortedByName(const std::vector<TimelineOp>& ops) {
    std::vector<NamedOp> named;
    named.reserve(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
        named.push_back({ops[i].op, i});
        named.back().op.overlapped = false;
    }
    std::stable_sort(named.begin(), named.end(), [](const NamedOp& a, const NamedOp& b) { return a.op < b.op; });
    return named;
}

std::vector<TimelineOp> blendRank(const std::vector<TimelineOp>& from, const std::vector<TimelineOp>& to,
                                  double fraction) {
    const std::vector<NamedOp> before = sortedByName(from);
    const std::vector<NamedOp> after = sortedByName(to);
    std::vector<TimelineOp> out;
    out.reserve(std::min(from.size(), to.size()));
    std::size_t j = 0;
    for (const NamedOp& named : before) {
        while (j < after.size() && after[j].op < named.op)
            ++j;
        if (j == after.size()) break;
        if (after[j].op != named.op) continue;
        TimelineOp op = to[after[j].place];
        op.start = between(from[named.place].start, op.start, fraction);
        op.end = between(from[named.place].end, op.end, fraction);
        out.push_back(op);
        ++j; // each is matched once
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const TimelineOp& a, const TimelineOp& b) { return a.start < b.start; });
    return out;
}

} // namespace

StepTimeline blend(const StepTimeline& from, const StepTimeline& to, double fraction) {
    if (fraction <= 0) return from;
    if (fraction >= 1) return to;
    StepTimeline out = to;
    out.comm.assign(out.comm.size(), {});
    out.begin = between(from.begin, to.begin, fraction);
    out.end = between(from.end, to.end, fraction);
    for (std::size_t rank = 0; rank < out.ranks.size(); ++rank)
        out.ranks[rank] = rank < from.ranks.size() ? blendRank(from.ranks[rank], to.ranks[rank], fraction)
                                                   : std::vector<TimelineOp>{};
    return out;
}

} // namespace bubblescope
