#include "app/gui/models/raw_lanes.h"

#include "core/diagnose/rank_tracks.h"

#include <algorithm>

namespace bubblescope::gui {

namespace {

QString text(const Trace& trace, StringId id) {
    const std::string_view view = trace.text(id);
    return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size()));
}

bool isDevice(const Trace& trace, const Track& track) {
    if (track.first_slice == track.end_slice) return false;
    const std::string_view category = trace.category(track.first_slice);
    return category == "kernel" || category.starts_with("gpu_");
}

QString nameOf(const Trace& trace, const Track& track) {
    QString name = text(trace, track.thread_name).simplified();
    if (name.isEmpty()) name = text(trace, track.process_name).simplified();
    if (name.isEmpty()) name = QStringLiteral("%1 / %2").arg(track.pid).arg(track.tid);
    return name;
}

} // namespace

TimeRange RawLane::own(const TimeRange& range) const {
    return {clock.fromReference(range.begin), clock.fromReference(range.end)};
}

TimeRange RawLane::shown(const TimeRange& range) const {
    return {clock.toReference(range.begin), clock.toReference(range.end)};
}

Result<RawLanes> RawLanes::build(const Run& run, const RunClocks& clocks, const JobControl& control) {
    RawLanes lanes;
    if (run.trace == nullptr) return lanes;
    BUBBLESCOPE_ASSIGN(Pyramid pyramid, Pyramid::build(run.trace, control));
    lanes.pyramid_ = std::make_shared<const Pyramid>(std::move(pyramid));
    for (const RankTracks& rank : rankTracks(run, clocks)) {
        lanes.ranks_.resize(std::max(lanes.ranks_.size(), rank.rank.index() + 1));
        for (const TrackId id : rank.tracks) {
            const Track& track = run.trace->tracks()[id];
            lanes.ranks_[rank.rank.index()].push_back(
                {id, nameOf(*run.trace, track), isDevice(*run.trace, track), rank.clock});
        }
    }
    for (auto& rank : lanes.ranks_) {
        std::ranges::stable_sort(rank, [](const RawLane& a, const RawLane& b) { return a.device > b.device; });
    }
    return lanes;
}

const std::vector<RawLane>& RawLanes::of(int rank) const {
    static const std::vector<RawLane> none;
    const auto at = static_cast<std::size_t>(rank);
    return rank < 0 || at >= ranks_.size() ? none : ranks_[at];
}

const RawLane* RawLanes::laneOf(int rank, TrackId track) const {
    const auto found = std::ranges::find(of(rank), track, &RawLane::track);
    return found == of(rank).end() ? nullptr : &*found;
}

} // namespace bubblescope::gui
