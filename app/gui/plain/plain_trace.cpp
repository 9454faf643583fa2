#include "app/gui/plain/plain_trace.h"

#include "core/base/parallel.h"

#include <QCoreApplication>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace bubblescope::gui {

namespace {

struct PlainText {
    Q_DECLARE_TR_FUNCTIONS(PlainTrace)
};

QString textOf(const Trace& trace, StringId id) {
    const std::string_view view = trace.text(id);
    return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size())).simplified();
}

/// "train.json: python (7)": the file only where there are several.
QString processName(const Trace& trace, const Track& track) {
    QString name = textOf(trace, track.process_name);
    const QString number = QString::number(track.pid);
    if (name.isEmpty()) {
        name = PlainText::tr("Process %1").arg(number);
    } else if (track.pid != 0 && !name.contains(number)) {
        name = QStringLiteral("%1 (%2)").arg(name, number);
    }
    if (trace.files().size() > 1)
        name = QStringLiteral("%1: %2").arg(QString::fromStdString(trace.files()[track.file].path.filename().string()),
                                            name);
    return name;
}

QString threadName(const Trace& trace, const Track& track) {
    const QString name = textOf(trace, track.thread_name);
    const QString number = QString::number(track.tid);
    if (name.isEmpty()) return PlainText::tr("Thread %1").arg(number);
    if (track.tid == 0 || name.contains(number)) return name;
    return QStringLiteral("%1 (%2)").arg(name, number);
}

using ProcessKey = std::tuple<std::uint32_t, std::int64_t, StringId>;

ProcessKey keyOf(const Track& track) {
    return {track.file, track.pid, track.pid == 0 ? track.process_name : 0};
}

} // namespace

/// Processes in the order that their file states, or that of their first track; a track that was split off follows its
/// origin.
void PlainTrace::addLanes() {
    const Trace& trace = *run_.trace;
    const auto tracks = trace.tracks();
    lane_of_track_.assign(tracks.size(), -1);
    std::map<ProcessKey, std::size_t> process_of;
    std::vector<std::vector<PlainLane>> lanes;
    std::vector<TrackId> order(tracks.size());
    std::iota(order.begin(), order.end(), TrackId{0});
    std::ranges::stable_sort(order, {},
                             [&](TrackId id) { return std::pair(tracks[id].file, tracks[id].process_order); });
    for (const TrackId id : order) {
        const Track& track = tracks[id];
        if (track.first_slice == track.end_slice) continue;
        const auto [known, fresh] = process_of.try_emplace(keyOf(track), processes_.size());
        if (fresh) {
            processes_.push_back({processName(trace, track)});
            lanes.emplace_back();
        }
        lanes[known->second].push_back({threadName(trace, track), static_cast<int>(known->second), id});
    }
    // Counters of processes without slices get a process of their own.
    const auto counters = trace.counters();
    for (std::size_t i = 0; i < counters.size(); ++i) {
        if (counters[i].times.empty()) continue;
        auto known = std::ranges::find_if(process_of, [&](const auto& one) {
            return std::get<0>(one.first) == counters[i].file && std::get<1>(one.first) == counters[i].pid;
        });
        if (known == process_of.end()) {
            Track track;
            track.file = counters[i].file;
            track.pid = counters[i].pid;
            known = process_of.emplace(ProcessKey{track.file, track.pid, 0}, processes_.size()).first;
            processes_.push_back({processName(trace, track)});
            lanes.emplace_back();
        }
        PlainLane lane{textOf(trace, counters[i].name), static_cast<int>(known->second)};
        lane.counter = i;
        const auto [low, high] = std::ranges::minmax(counters[i].values);
        lane.low = std::min(0.0, low);
        lane.high = std::max(0.0, high);
        lanes[known->second].push_back(std::move(lane));
    }
    for (std::size_t process = 0; process < processes_.size(); ++process) {
        // A spilled track belongs behind the one it comes from.
        std::ranges::stable_sort(lanes[process], {}, [&](const PlainLane& lane) {
            if (lane.isCounter()) return std::tuple(true, 0, kNoId);
            const TrackId origin = tracks[lane.track].spilled_from;
            return std::tuple(false, tracks[lane.track].thread_order, origin == kNoId ? lane.track : origin);
        });
        processes_[process].first_lane = static_cast<int>(lanes_.size());
        for (PlainLane& lane : lanes[process]) {
            if (!lane.isCounter()) lane_of_track_[lane.track] = static_cast<int>(lanes_.size());
            lanes_.push_back(std::move(lane));
        }
        processes_[process].end_lane = static_cast<int>(lanes_.size());
    }
}

bool PlainTrace::measureDepths(const JobControl& control) {
    const Trace& trace = *run_.trace;
    return parallelFor(lanes_.size(), [&](std::size_t i) {
        PlainLane& lane = lanes_[i];
        if (lane.isCounter()) return true;
        StopCheck stop(control);
        const Track& track = trace.tracks()[lane.track];
        std::vector<TimeNs> ends;
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (stop.requested()) return false;
            while (!ends.empty() && ends.back() <= trace.start(slice))
                ends.pop_back();
            ends.push_back(trace.end(slice));
            lane.depth = std::max(lane.depth, std::min(kMaxDepth, static_cast<int>(ends.size())));
        }
        return true;
    });
}

void PlainTrace::addInstants() {
    const auto instants = run_.trace->instants();
    for (std::uint32_t i = 0; i < instants.size(); ++i) {
        if (instants[i].track >= lane_of_track_.size()) continue;
        const int lane = lane_of_track_[instants[i].track];
        if (lane < 0) continue;
        lanes_[static_cast<std::size_t>(lane)].instants.push_back(instants[i].time.count());
        lanes_[static_cast<std::size_t>(lane)].instant_ids.push_back(i);
    }
}

/// Each point of a flow is tied to the next one.
void PlainTrace::addFlows() {
    const auto points = run_.trace->flowPoints();
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
        const FlowPoint& a = points[i];
        const FlowPoint& b = points[i + 1];
        const auto file = [&](const FlowPoint& point) { return run_.trace->tracks()[point.track].file; };
        if (a.id != b.id || a.global != b.global || (!a.global && file(a) != file(b))) continue;
        flows_.push_back({a, b});
    }
    std::ranges::stable_sort(flows_, {}, [](const PlainFlow& flow) { return flow.from.time; });
}

std::vector<PlainFlow> PlainTrace::flowsOf(SliceId slice) const {
    std::vector<PlainFlow> out;
    std::ranges::copy_if(flows_, std::back_inserter(out),
                         [slice](const PlainFlow& flow) { return flow.from.slice == slice || flow.to.slice == slice; });
    return out;
}

Result<std::shared_ptr<const PlainTrace>> PlainTrace::build(LoadedTrace loaded, const JobControl& control) {
    std::shared_ptr<PlainTrace> out(new PlainTrace);
    if (loaded.no_pipeline) {
        BUBBLESCOPE_ASSIGN(const std::vector<FileActivity> activity, activityOf(loaded));
        out->answer_ = answerOf(loaded, activity);
    }
    out->run_ = std::move(loaded.run);
    out->reason_ = std::move(loaded.no_pipeline);
    if (out->run_.trace == nullptr || (out->run_.trace->sliceCount() == 0 && out->run_.trace->counters().empty()))
        return out->reason_.value_or(Error{});
    BUBBLESCOPE_ASSIGN(Pyramid pyramid, Pyramid::build(out->run_.trace, control));
    out->pyramid_ = std::make_shared<const Pyramid>(std::move(pyramid));
    out->addLanes();
    if (!out->measureDepths(control) || control.stopRequested()) return cancelledError();
    out->addInstants();
    out->addFlows();
    return std::shared_ptr<const PlainTrace>(std::move(out));
}

std::optional<TimeRange> rangeInWhole(const TimeRange& seen, const Trace& whole) {
    const TimeRange range{seen.begin - whole.originInFile(), seen.end - whole.originInFile()};
    if (range.end <= TimeNs{0} || range.begin >= whole.span()) return std::nullopt;
    return range;
}

Result<OpenedTrace> openTrace(const RunLoader& loader, const std::vector<std::filesystem::path>& paths,
                              JobControl& control, const LoadOptions& taught) {
    BUBBLESCOPE_ASSIGN(LoadedTrace loaded, loader.trace(paths, control, taught));
    if (loaded.no_pipeline) {
        BUBBLESCOPE_ASSIGN(PlainTracePtr plain, PlainTrace::build(std::move(loaded), control));
        return OpenedTrace{nullptr, std::move(plain)};
    }
    BUBBLESCOPE_ASSIGN(SessionPtr session, sessionOf(std::move(loaded.run), paths, control));
    return OpenedTrace{std::move(session), nullptr};
}

} // namespace bubblescope::gui
