#include "app/gui/models/range_stats.h"

#include <algorithm>

namespace bubblescope::gui {

namespace {

template <class Visit>
void visit(const Lane& lane, const TimeRange& range, const Visit& each) {
    for (std::size_t i = lane.firstEndingAfter(range.begin); i < lane.spans().size(); ++i) {
        const Span& span = lane.spans()[i];
        if (span.start >= range.end) break;
        if (span.end > range.begin) each(span);
    }
}

} // namespace

TimeNs RangeStats::busy() const {
    TimeNs sum{0};
    for (const RankShare& rank : ranks)
        sum += rank.busy;
    return sum;
}

TimeNs RangeStats::bubble() const {
    TimeNs sum{0};
    for (const RankShare& rank : ranks)
        sum += rank.bubble;
    return sum;
}

int RangeStats::ops() const {
    int sum = 0;
    for (const RankShare& rank : ranks)
        sum += rank.ops;
    return sum;
}

double RangeStats::busyShare() const {
    const double all = static_cast<double>(range.length().count()) * static_cast<double>(ranks.size());
    return all > 0 ? static_cast<double>(busy().count()) / all : 0;
}

RangeStats statsOf(const Session& session, const TimeRange& range) {
    RangeStats out;
    out.range = range;
    out.ranks.resize(session.lanes.lineCount());
    for (std::size_t rank = 0; rank < out.ranks.size(); ++rank) {
        RangeStats::RankShare& share = out.ranks[rank];
        TimeNs counted_to = range.begin;
        visit(session.lanes.lane(rank, LaneKind::Compute), range, [&](const Span& span) {
            ++share.ops;
            share.busy += overlap(range, {std::max(span.start, counted_to), span.end});
            counted_to = std::max(counted_to, span.end);
        });
        visit(session.lanes.lane(rank, LaneKind::Bubble), range, [&](const Span& span) {
            share.bubble += overlap(range, {span.start, span.end});
        });
    }
    return out;
}

TimeNs snapped(const Session& session, int line, TimeNs time, TimeNs reach) {
    if (line < 0 || line >= static_cast<int>(session.lanes.lineCount())) return time;
    TimeNs best = time;
    TimeNs distance = reach + TimeNs{1};
    for (std::size_t kind = 0; kind < kLaneCount; ++kind) {
        const Lane& lane = session.lanes.lane(static_cast<std::size_t>(line), static_cast<LaneKind>(kind));
        visit(lane, {time - reach - TimeNs{1}, time + reach + TimeNs{1}}, [&](const Span& span) {
            for (const TimeNs edge : {span.start, span.end}) {
                const TimeNs away = std::chrono::abs(edge - time);
                if (away >= distance) continue;
                distance = away;
                best = edge;
            }
        });
    }
    return best;
}

} // namespace bubblescope::gui
