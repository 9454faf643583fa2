#include "core/trace/summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

namespace bubblescope {
namespace {

std::string nameOr(std::string_view name, std::int64_t number) {
    return name.empty() ? std::to_string(number) : std::string(name);
}

/// The kind of most slices of a thread's rows.
LaneKind laneOf(const Trace& trace, const std::vector<TrackId>& rows, bool& has_work) {
    std::array<std::int64_t, kLaneKinds> lanes{};
    for (const TrackId row : rows) {
        for (SliceId slice = trace.tracks()[row].first_slice; slice < trace.tracks()[row].end_slice; ++slice) {
            const LaneKind lane = trace.laneOf(slice, row);
            ++lanes[static_cast<std::size_t>(lane)];
            has_work = has_work || Lanes::isWork(lane);
        }
    }
    return static_cast<LaneKind>(std::ranges::max_element(lanes) - lanes.begin());
}

/// The union of the slices of a track and of the rows split off it. On tracks with device work, annotations do not
/// count.
void addBusyTime(const Trace& trace, const std::vector<TrackId>& rows, TrackSummary& out) {
    bool has_work = false;
    out.lane = laneOf(trace, rows, has_work);
    const auto counts = [&](LaneKind lane) {
        return lane != LaneKind::Idle && (lane != LaneKind::Annotation || !has_work);
    };
    std::vector<std::pair<std::int64_t, std::int64_t>> outer; // outermost slices, by start within a row
    for (const TrackId row : rows) {
        const Track& track = trace.tracks()[row];
        out.slices += track.end_slice - track.first_slice;
        std::int64_t end = std::numeric_limits<std::int64_t>::min();
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            const std::int64_t start = trace.sliceStarts()[slice];
            const std::int64_t slice_end = start + trace.sliceDurations()[slice];
            if (slice_end <= end || !counts(trace.laneOf(slice, row))) continue;
            outer.emplace_back(start, slice_end);
            end = slice_end;
        }
    }
    if (rows.size() > 1) std::sort(outer.begin(), outer.end());
    if (outer.empty()) return;
    std::int64_t busy = 0;
    std::int64_t covered = outer.front().first;
    for (const auto& [start, end] : outer) {
        busy += std::max<std::int64_t>(0, end - std::max(start, covered));
        covered = std::max(covered, end);
    }
    out.busy = TimeNs{busy};
    out.first = TimeNs{outer.front().first};
    out.last = TimeNs{covered};
}

void countCategories(const Trace& trace, std::vector<FileSummary>& files) {
    std::vector<std::unordered_map<StringId, std::int64_t>> counts(files.size());
    for (const Track& track : trace.tracks()) {
        auto& of_file = counts[track.file];
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice)
            ++of_file[trace.sliceCategories()[slice]];
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
        for (const auto& [category, count] : counts[i]) {
            files[i].by_category.emplace_back(std::string(trace.text(category)), count);
            files[i].slices += count;
        }
        std::sort(files[i].by_category.begin(), files[i].by_category.end(), [](const auto& a, const auto& b) {
            return a.second != b.second ? a.second > b.second : a.first < b.first;
        });
    }
}

} // namespace

std::vector<FileSummary> summarize(const Trace& trace) {
    std::vector<FileSummary> files;
    for (const TraceFile& file : trace.files())
        files.push_back(FileSummary{file, 0, 0, {}, {}, 0, 0, 0, 0});
    countCategories(trace, files);
    for (const SliceId slice : trace.openSlices())
        ++files[trace.tracks()[trace.sliceTracks()[slice]].file].open_slices;

    std::map<TrackId, std::vector<TrackId>> rows; // for each track of a file
    for (TrackId id = 0; id < trace.tracks().size(); ++id) {
        const Track& track = trace.tracks()[id];
        if (track.first_slice < track.end_slice)
            rows[track.spilled_from == kNoId ? id : track.spilled_from].push_back(id);
    }
    for (const auto& [home, ids] : rows) {
        const Track& track = trace.tracks()[home];
        TrackSummary summary;
        summary.process = nameOr(trace.text(track.process_name), track.pid);
        summary.thread = nameOr(trace.text(track.thread_name), track.tid);
        addBusyTime(trace, ids, summary);
        files[track.file].tracks.push_back(std::move(summary));
    }

    std::vector<std::uint64_t> last_flow(files.size());
    for (const FlowPoint& point : trace.flowPoints()) {
        const std::uint32_t file = trace.tracks()[point.track].file;
        if (files[file].flow_points++ == 0 || last_flow[file] != point.id) ++files[file].flows;
        last_flow[file] = point.id;
    }
    for (const Instant& instant : trace.instants())
        ++files[trace.tracks()[instant.track].file].instants;
    for (const CounterSeries& series : trace.counters())
        ++files[series.file].counters;
    return files;
}

} // namespace bubblescope
