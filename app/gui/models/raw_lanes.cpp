#include "app/gui/models/raw_lanes.h"

#include "core/analysis/rank_tracks.h"

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

Result<RawLanes> RawLanes::build(const Run& run, const RunClocks& clocks, const Lanes& lanes,
                                 const JobControl& control) {
    RawLanes out;
    if (run.trace == nullptr) return out;
    BUBBLESCOPE_ASSIGN(Pyramid pyramid, Pyramid::build(run.trace, control));
    out.pyramid_ = std::make_shared<const Pyramid>(std::move(pyramid));
    out.lines_.resize(lanes.lineCount());
    for (const RankTracks& rank : rankTracks(run, clocks)) {
        const int line = lanes.lineOfReplica(rank.replica, rank.rank.value);
        if (line < 0) continue;
        for (const TrackId id : rank.tracks) {
            const Track& track = run.trace->tracks()[id];
            out.lines_[static_cast<std::size_t>(line)].push_back(
                {id, nameOf(*run.trace, track), isDevice(*run.trace, track), rank.clock});
        }
    }
    for (auto& line : out.lines_) {
        std::ranges::stable_sort(line, [](const RawLane& a, const RawLane& b) { return a.device > b.device; });
    }
    return out;
}

const std::vector<RawLane>& RawLanes::of(int line) const {
    static const std::vector<RawLane> none;
    const auto at = static_cast<std::size_t>(line);
    return line < 0 || at >= lines_.size() ? none : lines_[at];
}

int RawLanes::devicesOf(int line) const {
    return static_cast<int>(std::ranges::count(of(line), true, &RawLane::device));
}

const RawLane* RawLanes::laneOf(int line, TrackId track) const {
    const auto found = std::ranges::find(of(line), track, &RawLane::track);
    return found == of(line).end() ? nullptr : &*found;
}

} // namespace bubblescope::gui
