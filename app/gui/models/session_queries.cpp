#include "app/gui/models/session_queries.h"

#include <algorithm>
#include <map>

namespace bubblescope::gui {

namespace {

ItemRef asItem(const Span& span, std::int32_t rank) {
    return {ItemKind::Op, span.step, rank, span.index};
}

ItemRef itemOr(int step, const std::optional<OpPlace>& place) {
    return place ? opItem(step, *place) : ItemRef{};
}

OpPlace opPlace(const ItemRef& op) {
    return {Rank(op.rank), static_cast<std::size_t>(op.index)};
}

/// Applies a function of core/timeline/transfers.h to an op or a transfer; empty for other items.
template <class Find>
ItemRef linkedOp(const Session& session, const ItemRef& from, const Find& find) {
    if (from.kind == ItemKind::Op) return itemOr(from.step, find(session.step(from.step), opPlace(from)));
    if (from.kind == ItemKind::Comm) return itemOr(from.step, find(session.step(from.step), session.comm(from)));
    return {};
}

/// Op during which a slice of its rank starts, or the nearest op.
ItemRef opAround(const Session& session, const ItemRef& slice) {
    return opNear(session, session.lanes.lineOf(slice), session.range(slice).begin);
}

/// Slice at the other end of an arrow of this slice.
ItemRef sliceFollowed(const Session& session, const ItemRef& from, bool forward) {
    const SliceId to = session.flows.follow(session.slice(from), forward);
    return to == kNoId ? ItemRef{} : session.sliceItem(to);
}

} // namespace

ItemRef neighbourOp(const Session& session, const ItemRef& from, int direction) {
    if (!from) return {};
    const int line = session.lanes.lineOf(from);
    const Lane& lane = session.lanes.lane(static_cast<std::size_t>(line), LaneKind::Compute);
    const auto& spans = lane.spans();
    if (spans.empty() && from.kind == ItemKind::Slice) {
        const SliceId next = session.raw.neighbour(session.slice(from), direction);
        return next == kNoId ? ItemRef{} : session.sliceItem(line, next);
    }
    const TimeNs start = session.range(from).begin;
    auto at = static_cast<std::ptrdiff_t>(lane.firstStartingFrom(start));
    const auto size = static_cast<std::ptrdiff_t>(spans.size());
    if (from.kind == ItemKind::Op) {
        // Ops of length 0 may start at the same time.
        while (at < size && asItem(spans[static_cast<std::size_t>(at)], from.rank) != from)
            ++at;
        at += direction;
    } else if (direction < 0) {
        --at;
    }
    return at >= 0 && at < size ? asItem(spans[static_cast<std::size_t>(at)], from.rank) : ItemRef{};
}

ItemRef producer(const Session& session, const ItemRef& from) {
    if (from.kind == ItemKind::Slice) {
        const ItemRef op = opAround(session, from);
        return op ? op : sliceFollowed(session, from, false);
    }
    return linkedOp(session, from, [](const auto& step, const auto& what) { return producerOf(step, what); });
}

ItemRef consumer(const Session& session, const ItemRef& from) {
    if (from.kind == ItemKind::Slice) return sliceFollowed(session, from, true);
    return linkedOp(session, from, [](const auto& step, const auto& what) { return consumerOf(step, what); });
}

ItemRef otherHalf(const Session& session, const ItemRef& from) {
    if (from.kind != ItemKind::Op) return {};
    return itemOr(from.step, otherHalfOf(session.step(from.step), opPlace(from)));
}

ItemRef opNear(const Session& session, int line, TimeNs time) {
    const Lane& lane = session.lanes.lane(static_cast<std::size_t>(line), LaneKind::Compute);
    const int rank = session.lanes.rankOf(line);
    const auto& spans = lane.spans();
    if (spans.empty()) return {};
    const std::size_t after = std::min(lane.firstEndingAfter(time), spans.size() - 1);
    if (spans[after].start <= time || after == 0) return asItem(spans[after], rank);
    const Span& before = spans[after - 1];
    return asItem(time - before.end < spans[after].start - time ? before : spans[after], rank);
}

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
    for (const RankStats& rank : ranks)
        sum += rank.busy;
    return sum;
}

TimeNs RangeStats::bubble() const {
    TimeNs sum{0};
    for (const RankStats& rank : ranks)
        sum += rank.bubble;
    return sum;
}

int RangeStats::ops() const {
    int sum = 0;
    for (const RankStats& rank : ranks)
        sum += rank.ops;
    return sum;
}

double RangeStats::busyFraction() const {
    const double all = static_cast<double>(range.length().count()) * static_cast<double>(ranks.size());
    return all > 0 ? static_cast<double>(busy().count()) / all : 0;
}

RangeStats statsOf(const Session& session, const TimeRange& range) {
    RangeStats out;
    out.range = range;
    out.ranks.resize(session.lanes.lineCount());
    for (std::size_t rank = 0; rank < out.ranks.size(); ++rank) {
        RangeStats::RankStats& stats = out.ranks[rank];
        TimeNs counted_to = range.begin;
        visit(session.lanes.lane(rank, LaneKind::Compute), range, [&](const Span& span) {
            ++stats.ops;
            stats.busy += overlap(range, {std::max(span.start, counted_to), span.end});
            counted_to = std::max(counted_to, span.end);
        });
        visit(session.lanes.lane(rank, LaneKind::Bubble), range, [&](const Span& span) {
            stats.bubble += overlap(range, {span.start, span.end});
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

std::vector<CounterLine> counterLines(const Session& session) {
    if (session.run.trace == nullptr) return {};
    const Trace& trace = *session.run.trace;
    std::map<std::pair<std::uint32_t, std::int64_t>, CounterLine> owners; // by file and process
    for (int line = 0; line < static_cast<int>(session.lanes.lineCount()); ++line) {
        for (const RawLane& lane : session.raw.of(line)) {
            const Track& track = trace.tracks()[lane.track];
            owners.try_emplace({track.file, track.pid}, CounterLine{line, lane.clock});
        }
        if (session.trace_lines.empty()) continue;
        for (const auto& process : session.trace_lines[static_cast<std::size_t>(line)].processes)
            owners.try_emplace(process, CounterLine{line, {}});
    }
    std::vector<CounterLine> lines;
    for (const CounterSeries& series : trace.counters()) {
        const auto owner = owners.find({series.file, series.pid});
        lines.push_back(owner == owners.end() || series.times.empty() ? CounterLine{} : owner->second);
    }
    return lines;
}

ItemRef checkItem(const Session& session, std::size_t index) {
    const CheckRecord& check = session.run.checks.checks[index];
    for (int place = 0; place < session.stepCount(); ++place) {
        const StepTimeline& step = session.step(place);
        if (step.index != check.step || step.replica != check.replica || check.rank.index() >= step.ranks.size())
            continue;
        return {ItemKind::Check, place, check.rank.value, static_cast<std::int32_t>(index)};
    }
    return {};
}

ItemRef checkOf(const Session& session, const CheckPlace& place, const CoverageMap::Column& column) {
    const auto& checks = session.run.checks.checks;
    ItemRef latest;
    for (std::size_t i = 0; i < checks.size(); ++i) {
        const CheckRecord& check = checks[i];
        const bool done = check.outcome == CheckOutcome::Equal || check.outcome == CheckOutcome::Mismatch;
        if (!done || placeOf(check) != place || check.op.chunk != column.chunk || check.op.kind != column.kind)
            continue;
        const ItemRef item = checkItem(session, i);
        if (!item) continue;
        if (check.outcome == CheckOutcome::Mismatch) return item;
        latest = item;
    }
    return latest;
}

} // namespace bubblescope::gui
