#include "app/gui/models/raw_lanes.h"

#include "app/gui/language/text.h"
#include "app/gui/models/trace_lines.h"
#include "core/trace/lanes.h"

#include <QRegularExpression>

#include <algorithm>
#include <map>
#include <utility>

namespace bubblescope::gui {

namespace {

bool isDevice(const Trace& trace, const Track& track) {
    if (track.first_slice == track.end_slice) return false;
    const auto id = static_cast<TrackId>(&track - trace.tracks().data());
    const bubblescope::LaneKind lane = trace.laneOf(track.first_slice, id);
    const bool describes = lane == bubblescope::LaneKind::Annotation;
    return bubblescope::Lanes::isWork(lane) || (describes && trace.category(track.first_slice).starts_with("gpu_"));
}

/// The number that distinguishes threads with the same name comes last, because names are elided on the left.
QString titleOf(const Trace& trace, const Track& track) {
    QString name = lineText(trace, track.thread_name);
    if (name.isEmpty()) return track.tid == 0 ? lineText(trace, track.process_name) : QString();
    static const QRegularExpression of_python(QStringLiteral("^thread (\\d+) \\((.+)\\)$"));
    if (const auto parts = of_python.match(name); parts.hasMatch())
        return QStringLiteral("%1 %2").arg(parts.captured(2), parts.captured(1));
    return name;
}

/// Adds numbers to names that occur in several lanes.
void distinguish(std::vector<RawLane>& lanes) {
    std::map<QString, int> counts;
    for (const RawLane& lane : lanes)
        ++counts[lane.title];
    for (RawLane& lane : lanes) {
        const QString number = QString::number(lane.number);
        if (counts[lane.title] > 1 && lane.number != 0 && !lane.title.isEmpty() && !lane.title.contains(number))
            lane.title += QStringLiteral(" (%1)").arg(number);
    }
}

} // namespace

QString RawLane::name() const {
    if (!title.isEmpty()) return title;
    return (device ? tr("Stream %1") : tr("Thread %1")).arg(number);
}

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

Result<RawLanes> RawLanes::build(std::shared_ptr<const Trace> trace, const std::vector<LineTracks>& lines,
                                 const JobControl& control) {
    RawLanes out;
    out.trace_ = std::move(trace);
    BUBBLESCOPE_ASSIGN(Pyramid pyramid, Pyramid::build(out.trace_, control));
    out.pyramid_ = std::make_shared<const Pyramid>(std::move(pyramid));
    const auto all = out.trace_->tracks();
    out.line_of_track_.assign(all.size(), -1);
    std::vector<TrackId> tracks;
    for (std::size_t line = 0; line < lines.size(); ++line) {
        for (const TrackId id : lines[line].tracks) {
            if (out.line_of_track_[id] < 0) {
                out.line_of_track_[id] = static_cast<int>(line);
                tracks.push_back(id);
            }
        }
    }
    BUBBLESCOPE_ASSIGN(out.depths_, DepthRows::build(out.trace_, tracks, control));
    for (const LineTracks& line : lines) {
        std::vector<RawLane>& lanes = out.lines_.emplace_back();
        for (const TrackId id : line.tracks)
            lanes.push_back({id, titleOf(*out.trace_, all[id]), all[id].tid, isDevice(*out.trace_, all[id]),
                             out.depths_.depthOf(id), line.clock});
        std::ranges::stable_sort(lanes, [](const RawLane& a, const RawLane& b) { return a.device > b.device; });
        distinguish(lanes);
    }
    out.addInstants();
    return out;
}

void RawLanes::addInstants() {
    const auto instants = trace_->instants();
    for (std::uint32_t i = 0; i < instants.size(); ++i) {
        const int line = lineOf(instants[i].track);
        if (line < 0) continue;
        const auto lane = std::ranges::find(lines_[static_cast<std::size_t>(line)], instants[i].track, &RawLane::track);
        lane->instants.push_back(i);
    }
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

int RawLanes::lineOf(TrackId track) const {
    return track < line_of_track_.size() ? line_of_track_[track] : -1;
}

SliceId RawLanes::neighbour(SliceId slice, int direction) const {
    const TrackId id = trace_->sliceTracks()[slice];
    if (depths_.depthOf(id) > 1) return depths_.neighbour(id, slice, direction);
    const Track& track = trace_->tracks()[id];
    if (direction < 0) return slice > track.first_slice ? slice - 1 : kNoId;
    return slice + 1 < track.end_slice ? slice + 1 : kNoId;
}

std::vector<float> RawLanes::density(const TimeRange& range, std::size_t bins) const {
    std::vector<float> out(bins);
    const auto any = [&](bool devices) {
        return std::ranges::any_of(lines_, [devices](const auto& line) {
            return std::ranges::find(line, devices, &RawLane::device) != line.end();
        });
    };
    const bool devices = any(true);
    std::vector<Pyramid::Column> columns(bins);
    for (const auto& line : lines_) {
        for (const RawLane& lane : line) {
            if (lane.device != devices) continue;
            const TimeRange own = lane.toLaneTime(range);
            pyramid_->columns(lane.track, own.begin, own.end, columns);
            for (std::size_t bin = 0; bin < bins; ++bin)
                out[bin] += static_cast<float>(columns[bin].busy.count());
        }
    }
    const float most = bins == 0 ? 0 : *std::ranges::max_element(out);
    for (float& bin : out)
        bin = most > 0 ? bin / most : 0;
    return out;
}

} // namespace bubblescope::gui
