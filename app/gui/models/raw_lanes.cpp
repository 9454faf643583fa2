#include "app/gui/models/raw_lanes.h"

#include "core/analysis/rank_tracks.h"

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

namespace {

QString text(const Trace& trace, StringId id) {
    const std::string_view view = trace.text(id);
    return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size()));
}

bool isDevice(const Trace& trace, const Track& track) {
    if (track.first_slice == track.end_slice) return false;
    const auto id = static_cast<TrackId>(&track - trace.tracks().data());
    const bubblescope::LaneKind lane = trace.laneOf(track.first_slice, id);
    const bool describes = lane == bubblescope::LaneKind::Annotation;
    return bubblescope::Lanes::isWork(lane) || (describes && trace.category(track.first_slice).starts_with("gpu_"));
}

QString nameOf(const Trace& trace, const Track& track) {
    QString name = text(trace, track.thread_name).simplified();
    if (name.isEmpty()) name = text(trace, track.process_name).simplified();
    if (name.isEmpty()) name = QStringLiteral("%1 / %2").arg(track.pid).arg(track.tid);
    return name;
}

} // namespace

TimeRange RawLane::toLaneTime(const TimeRange& range) const {
    return {clock.fromReference(range.begin), clock.fromReference(range.end)};
}

TimeRange RawLane::toViewTime(const TimeRange& range) const {
    return {clock.toReference(range.begin), clock.toReference(range.end)};
}

void SliceRow::columns(const PixelGrid& grid, std::int64_t first, std::span<Pyramid::Column> out) const {
    if (isWhole()) return pyramid_.columns(track_, grid, first, out);
    depths_.columns(track_, depth_, grid, first, out);
}

std::vector<SliceId> SliceRow::slices(const TimeRange& range) const {
    return isWhole() ? pyramid_.slices(track_, range.begin, range.end)
                     : depths_.slices(track_, depth_, range.begin, range.end);
}

bool SliceRow::few(const TimeRange& range, std::size_t pixels) const {
    return isWhole() ? pyramid_.few(track_, range.begin, range.end, pixels)
                     : depths_.few(track_, depth_, range.begin, range.end, pixels);
}

Result<RawLanes> RawLanes::build(const Run& run, const RunClocks& clocks, const Lanes& lanes,
                                 const JobControl& control) {
    RawLanes out;
    if (run.trace == nullptr) return out;
    BUBBLESCOPE_ASSIGN(Pyramid pyramid, Pyramid::build(run.trace, control));
    out.pyramid_ = std::make_shared<const Pyramid>(std::move(pyramid));
    out.lines_.resize(lanes.lineCount());
    std::vector<TrackId> tracks;
    for (const RankTracks& rank : rankTracks(run, clocks)) {
        const int line = lanes.lineOfReplica(rank.replica, rank.rank.value);
        if (line < 0) continue;
        for (const TrackId id : rank.tracks) {
            const Track& track = run.trace->tracks()[id];
            tracks.push_back(id);
            out.lines_[static_cast<std::size_t>(line)].push_back(
                {id, nameOf(*run.trace, track), isDevice(*run.trace, track), 1, rank.clock});
        }
    }
    // Ranks of one process show the same tracks.
    std::ranges::sort(tracks);
    tracks.erase(std::unique(tracks.begin(), tracks.end()), tracks.end());
    BUBBLESCOPE_ASSIGN(out.depths_, DepthRows::build(run.trace, tracks, control));
    for (auto& line : out.lines_) {
        for (RawLane& lane : line)
            lane.depth = out.depths_.depthOf(lane.track);
        std::ranges::stable_sort(line, [](const RawLane& a, const RawLane& b) { return a.device > b.device; });
    }
    return out;
}

const std::vector<RawLane>& RawLanes::of(int line) const {
    static const std::vector<RawLane> none;
    const auto at = static_cast<std::size_t>(line);
    return line < 0 || at >= lines_.size() ? none : lines_[at];
}

const RawLane* RawLanes::laneOf(int line, TrackId track) const {
    const auto found = std::ranges::find(of(line), track, &RawLane::track);
    return found == of(line).end() ? nullptr : &*found;
}

} // namespace bubblescope::gui
