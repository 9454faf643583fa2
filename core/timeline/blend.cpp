#include "core/timeline/blend.h"

#include <algorithm>
#include <cmath>

namespace bubblescope {

namespace {

TimeNs partWay(TimeNs from, TimeNs to, double share) {
    return from + TimeNs{std::llround(share * static_cast<double>((to - from).count()))};
}

/// An op with its place in the rank's list. Whether it is half of a pair may differ between the two.
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
                                  double share) {
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
        op.start = partWay(from[named.place].start, op.start, share);
        op.end = partWay(from[named.place].end, op.end, share);
        out.push_back(op);
        ++j; // each is matched once
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const TimelineOp& a, const TimelineOp& b) { return a.start < b.start; });
    return out;
}

} // namespace

StepTimeline blend(const StepTimeline& from, const StepTimeline& to, double share) {
    if (share <= 0) return from;
    if (share >= 1) return to;
    StepTimeline out = to;
    out.comm.assign(out.comm.size(), {});
    out.begin = partWay(from.begin, to.begin, share);
    out.end = partWay(from.end, to.end, share);
    for (std::size_t rank = 0; rank < out.ranks.size(); ++rank)
        out.ranks[rank] =
            rank < from.ranks.size() ? blendRank(from.ranks[rank], to.ranks[rank], share) : std::vector<TimelineOp>{};
    return out;
}

} // namespace bubblescope
