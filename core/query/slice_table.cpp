#include "core/query/trace_table.h"
#include "core/recognise/gpu_work.h"
#include "core/trace/launches.h"
#include "core/trace/trace.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope::query {

namespace {

/// The slice that directly contains each slice on its track. Takes eight bytes per slice.
class Nesting {
public:
    Nesting() = default;
    /// Linear in the number of slices.
    explicit Nesting(const Trace& trace);

    [[nodiscard]] SliceId parentOf(SliceId slice) const { return parents_[slice]; } ///< kNoId for an outermost slice
    [[nodiscard]] std::uint32_t depthOf(SliceId slice) const { return depths_[slice]; }

private:
    void add(const Trace& trace, const Track& track);

    std::vector<SliceId> parents_;
    std::vector<std::uint32_t> depths_;
};

Nesting::Nesting(const Trace& trace) : parents_(trace.sliceCount(), kNoId), depths_(trace.sliceCount(), 0) {
    for (const Track& track : trace.tracks())
        add(trace, track);
}

/// Slices are ordered by start, outer ones first. Asynchronous slices may overlap: the parent is then the latest one
/// that lasts long enough, among the last few.
void Nesting::add(const Trace& trace, const Track& track) {
    constexpr std::size_t kMostLookedAt = 64;
    std::vector<SliceId> running;
    for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
        while (!running.empty() && trace.end(running.back()) <= trace.start(slice))
            running.pop_back();
        const std::size_t looked_at =
            track.may_overlap ? std::min(running.size(), kMostLookedAt) : std::min<std::size_t>(running.size(), 1);
        for (std::size_t i = 0; i < looked_at; ++i) {
            const SliceId outer = running[running.size() - 1 - i];
            if (trace.end(outer) < trace.end(slice)) continue;
            parents_[slice] = outer;
            depths_[slice] = depths_[outer] + 1;
            break;
        }
        running.push_back(slice);
    }
}

class SliceTable final : public TraceTable {
public:
    explicit SliceTable(std::shared_ptr<const TraceView> view)
        : TraceTable("slice", specs(), std::move(view)), work_(trace()), launch_(trace().strings().size()) {
        for (const std::string_view category : kLaunchCategories) {
            if (const StringId id = trace().strings().find(category); id != 0) launch_[id] = true;
        }
    }

    [[nodiscard]] std::size_t rows() const override { return trace().sliceCount(); }
    [[nodiscard]] std::vector<RowRange> candidates(RowRange within, std::vector<Condition>& conditions) const override;

private:
    static std::vector<Spec> specs() {
        return joined({{{"id", Of::Id},
                        text("name", Of::Name),
                        text("category", Of::Category),
                        ranged("ts", Of::Ts),
                        {"dur", Of::Dur},
                        ranged("track", Of::Track)},
                       processColumns(),
                       threadColumns(),
                       {text("kind", Of::Kind),
                        {"depth", Of::Depth},
                        ranged("parent", Of::Parent),
                        {"open", Of::Open},
                        text("args", Of::Args, Find::Never),
                        hidden({"correlation", Of::Correlation, Affinity::Integer, Find::Index}),
                        hidden(ranged("ts_end", Of::End)),
                        hidden(text("cat", Of::Category)),
                        hidden(ranged("track_id", Of::Track)),
                        hidden(ranged("parent_id", Of::Parent)),
                        hidden(text("arg_set_id", Of::Args, Find::Never))}});
    }

    [[nodiscard]] TrackId trackOf(std::size_t slice) const {
        const auto of_track = trace().tracks();
        const bool same =
            latest_ < of_track.size() && slice >= of_track[latest_].first_slice && slice < of_track[latest_].end_slice;
        if (!same) latest_ = trace().sliceTracks()[slice];
        return latest_;
    }
    [[nodiscard]] const TrackFacts& factsOf(std::size_t row) const override { return tracks()[trackOf(row)]; }
    [[nodiscard]] const Nesting& nesting() const {
        if (!nesting_) nesting_.emplace(trace());
        return *nesting_;
    }
    [[nodiscard]] Cell own(std::size_t row, Of of) const override;
    [[nodiscard]] std::string_view kindOf(SliceId slice) const {
        const LaneKind lane = trace().laneOf(slice, trackOf(slice));
        return Lanes::isWork(lane) ? workKindName(work_.kind(slice)) : laneKindName(lane);
    }
    [[nodiscard]] Cell correlation(SliceId slice) const {
        const bool has_one =
            launch_[trace().sliceCategories()[slice]] || Lanes::isWork(trace().laneOf(slice, trackOf(slice)));
        const auto number = has_one ? correlationOf(trace(), slice) : std::nullopt;
        return number ? Cell(*number) : Cell();
    }
    /// The slices inside a slice, which follow it on its track.
    [[nodiscard]] RowRange inside(SliceId slice) const;

    /// Narrows a range of a track's slices to those that can meet a condition on their ends.
    [[nodiscard]] RowRange withinEnds(RowRange rows, const Condition& condition, TrackId track) const;

    mutable DeviceSlices work_;
    std::vector<bool> launch_; ///< by category
    mutable std::optional<Nesting> nesting_;
    mutable std::vector<std::int64_t> latest_ends_; ///< latest end among each slice and those before it on its track
    mutable TrackId latest_ = 0;
};

Cell SliceTable::own(std::size_t row, Of of) const {
    const auto slice = static_cast<SliceId>(row);
    switch (of) {
    case Of::Name: return textOrNull(trace().name(slice));
    case Of::Category: return textOrNull(trace().category(slice));
    case Of::Ts: return factsOf(row).timeOf(trace().sliceStarts()[row]);
    case Of::Dur: return trace().sliceDurations()[row];
    case Of::End: return factsOf(row).timeOf(trace().sliceStarts()[row]) + trace().sliceDurations()[row];
    case Of::Track: return std::int64_t{trackOf(row)};
    case Of::Kind: return kindOf(slice);
    case Of::Depth: return std::int64_t{nesting().depthOf(slice)};
    case Of::Parent: {
        const SliceId parent = nesting().parentOf(slice);
        return parent == kNoId ? Cell() : Cell(std::int64_t{parent});
    }
    case Of::Open: return std::int64_t{trace().isOpen(slice)};
    case Of::Args: return argsCell(trace(), trace().sliceArgs()[row]);
    case Of::Correlation: return correlation(slice);
    default: return {};
    }
}

RowRange SliceTable::inside(SliceId slice) const {
    const Track& track = trace().tracks()[trackOf(slice)];
    const auto starts = trace().sliceStarts();
    const auto behind =
        std::lower_bound(starts.begin() + slice + 1, starts.begin() + track.end_slice, trace().end(slice).count());
    return {std::size_t{slice} + 1, static_cast<std::size_t>(behind - starts.begin())};
}

/// No slice ends after the latest end so far, which only grows along a track.
RowRange SliceTable::withinEnds(RowRange rows, const Condition& condition, TrackId track) const {
    const TrackFacts& facts = tracks()[track];
    if (facts.aligned && (facts.clock.drift != 0 || !facts.keepsOrder())) return rows;
    if (latest_ends_.empty()) {
        latest_ends_.resize(trace().sliceCount());
        for (const Track& each : trace().tracks()) {
            std::int64_t latest = Condition::kLowest;
            for (SliceId slice = each.first_slice; slice < each.end_slice; ++slice)
                latest_ends_[slice] = latest = std::max(latest, trace().end(slice).count());
        }
    }
    const auto begin = latest_ends_.begin() + static_cast<std::ptrdiff_t>(rows.begin);
    const auto end = latest_ends_.begin() + static_cast<std::ptrdiff_t>(rows.end);
    const auto first =
        std::partition_point(begin, end, [&](std::int64_t latest) { return facts.timeOf(latest) < condition.low; });
    return {static_cast<std::size_t>(first - latest_ends_.begin()), rows.end};
}

std::vector<RowRange> SliceTable::candidates(RowRange within, std::vector<Condition>& conditions) const {
    if (within.end - within.begin < 2) return {within};
    for (const Condition& condition : conditions) {
        if (of(condition.column) != Of::Parent || !condition.isPoint()) continue;
        if (condition.low < 0 || condition.low >= static_cast<std::int64_t>(rows())) return {};
        const RowRange of_parent = inside(static_cast<SliceId>(condition.low));
        within = {std::max(within.begin, of_parent.begin), std::min(within.end, of_parent.end)};
    }
    const auto of_track = [](Of of) { return of == Of::Track || of >= Of::Facts; };
    const std::vector<Condition> on_tracks = take(conditions, of_track);
    std::vector<Condition> on_times; // these conditions are kept, because a clock may have been set
    std::vector<Condition> on_ends;
    for (const Condition& condition : conditions) {
        if (of(condition.column) == Of::Ts) on_times.push_back(condition);
        if (of(condition.column) == Of::End) on_ends.push_back(condition);
    }
    std::vector<RowRange> ranges;
    for (TrackId id = within.begin < within.end ? trackOf(within.begin) : 0; id < tracks().size(); ++id) {
        const Track& track = trace().tracks()[id];
        const RowRange rows{std::max<std::size_t>(within.begin, track.first_slice),
                            std::min<std::size_t>(within.end, track.end_slice)};
        if (track.first_slice >= within.end) break;
        if (rows.begin >= rows.end || !meets(tracks()[id], id, on_tracks)) continue;
        RowRange left =
            withinTimes(rows, on_times, tracks()[id], [&](std::size_t row) { return trace().sliceStarts()[row]; });
        for (const Condition& condition : on_ends)
            left = withinEnds(left, condition, id);
        if (left.begin < left.end) ranges.push_back(left);
    }
    return ranges;
}

} // namespace

std::unique_ptr<Relation> sliceTable(std::shared_ptr<const TraceView> view) {
    return std::make_unique<SliceTable>(std::move(view));
}

} // namespace bubblescope::query
