#include "core/trace/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace bubblescope {
namespace {

// Times near the ends of int64 come from damaged files only. Clamping them keeps every later sum and
// difference of two times within range.
constexpr std::int64_t kTimeLimit = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t bounded(std::int64_t value) {
    return std::clamp(value, -kTimeLimit, kTimeLimit);
}

template <class T>
void permute(std::vector<T>& column, const std::vector<SliceId>& order) {
    std::vector<T> sorted;
    sorted.reserve(column.size());
    for (const SliceId from : order)
        sorted.push_back(column[from]);
    column = std::move(sorted);
}

} // namespace

std::uint32_t TraceBuilder::addFile(TraceFile file) {
    trace_.files_.push_back(std::move(file));
    offsets_.emplace_back(0);
    return currentFile();
}

TrackId TraceBuilder::addTrack(std::int64_t pid, std::int64_t tid) {
    Track track;
    track.file = currentFile();
    track.pid = pid;
    track.tid = tid;
    trace_.tracks_.push_back(track);
    return static_cast<TrackId>(trace_.tracks_.size() - 1);
}

ArgSetId TraceBuilder::addArgs(std::span<const Arg> args) {
    if (args.empty()) return 0;
    trace_.args_pool_.insert(trace_.args_pool_.end(), args.begin(), args.end());
    trace_.arg_ends_.push_back(trace_.args_pool_.size());
    return static_cast<ArgSetId>(trace_.arg_ends_.size() - 1);
}

ArgSetId TraceBuilder::mergeArgs(ArgSetId first, ArgSetId second) {
    if (first == 0 || second == 0) return first | second;
    const auto later = trace_.args(second);
    std::vector<Arg> merged(later.begin(), later.end());
    for (const Arg& arg : trace_.args(first)) {
        const bool replaced =
            std::any_of(later.begin(), later.end(), [&arg](const Arg& other) { return other.name == arg.name; });
        if (!replaced) merged.push_back(arg);
    }
    return addArgs(merged);
}

SliceId TraceBuilder::addSlice(const NewSlice& slice) {
    trace_.track_.push_back(slice.track);
    trace_.start_.push_back(bounded(slice.start.count()));
    trace_.duration_.push_back(std::clamp<std::int64_t>(slice.duration.count(), 0, kTimeLimit));
    trace_.name_.push_back(slice.name);
    trace_.category_.push_back(slice.category);
    trace_.args_.push_back(slice.args);
    return static_cast<SliceId>(trace_.start_.size() - 1);
}

void TraceBuilder::addCounter(std::int64_t pid, StringId name, TimeNs time, double value) {
    const std::uint32_t file = currentFile();
    auto& all = trace_.counters_;
    auto series = std::find_if(all.begin(), all.end(), [&](const CounterSeries& known) {
        return known.file == file && known.pid == pid && known.name == name;
    });
    if (series == all.end()) series = all.insert(all.end(), CounterSeries{file, pid, name, {}, {}});
    series->times.push_back(time);
    series->values.push_back(value);
}

std::shared_ptr<const Trace> TraceBuilder::finish(DiagnosticLog& log) {
    applyOffsets();
    moveOriginToFirstEvent();
    spillOverlaps(log);
    sortSlices();
    bindFlows();
    std::stable_sort(trace_.instants_.begin(), trace_.instants_.end(),
                     [](const Instant& a, const Instant& b) { return a.time < b.time; });
    std::stable_sort(
        trace_.flow_points_.begin(), trace_.flow_points_.end(),
        [](const FlowPoint& a, const FlowPoint& b) { return std::pair(a.id, a.time) < std::pair(b.id, b.time); });
    auto done = std::make_shared<const Trace>(std::move(trace_));
    *this = TraceBuilder{};
    return done;
}

void TraceBuilder::applyOffsets() {
    const auto shift = [](TimeNs& time, TimeNs offset) {
        time = TimeNs{bounded(bounded(time.count()) + bounded(offset.count()))};
    };
    const auto offsetOf = [&](TrackId track) { return offsets_[trace_.tracks_[track].file]; };
    for (std::size_t i = 0; i < trace_.start_.size(); ++i)
        trace_.start_[i] = bounded(trace_.start_[i] + bounded(offsetOf(trace_.track_[i]).count()));
    for (Instant& instant : trace_.instants_)
        shift(instant.time, offsetOf(instant.track));
    for (FlowPoint& point : trace_.flow_points_)
        shift(point.time, offsetOf(point.track));
    for (CounterSeries& series : trace_.counters_) {
        for (TimeNs& time : series.times)
            shift(time, offsets_[series.file]);
    }
}

void TraceBuilder::moveOriginToFirstEvent() {
    std::int64_t first = kTimeLimit;
    std::int64_t last = -kTimeLimit;
    const auto include = [&](std::int64_t from, std::int64_t to) {
        first = std::min(first, from);
        last = std::max(last, to);
    };
    for (std::size_t i = 0; i < trace_.start_.size(); ++i)
        include(trace_.start_[i], trace_.start_[i] + trace_.duration_[i]);
    for (const Instant& instant : trace_.instants_)
        include(instant.time.count(), instant.time.count());
    for (const CounterSeries& series : trace_.counters_) {
        for (const TimeNs time : series.times)
            include(time.count(), time.count());
    }
    if (first > last) return;

    trace_.origin_ = TimeNs{first};
    trace_.span_ = TimeNs{last - first};
    for (std::int64_t& start : trace_.start_)
        start -= first;
    for (Instant& instant : trace_.instants_)
        instant.time -= TimeNs{first};
    for (FlowPoint& point : trace_.flow_points_)
        point.time -= TimeNs{first};
    for (CounterSeries& series : trace_.counters_) {
        for (TimeNs& time : series.times)
            time -= TimeNs{first};
    }
}

std::vector<SliceId> TraceBuilder::sliceOrder() const {
    std::vector<SliceId> order(trace_.start_.size());
    std::iota(order.begin(), order.end(), SliceId{0});
    const auto before = [this](SliceId a, SliceId b) {
        if (trace_.track_[a] != trace_.track_[b]) return trace_.track_[a] < trace_.track_[b];
        if (trace_.start_[a] != trace_.start_[b]) return trace_.start_[a] < trace_.start_[b];
        return trace_.duration_[a] > trace_.duration_[b];
    };
    if (!std::is_sorted(order.begin(), order.end(), before)) std::stable_sort(order.begin(), order.end(), before);
    return order;
}

void TraceBuilder::spillOverlaps(DiagnosticLog& log) {
    struct Lane {
        TrackId track;
        std::vector<std::int64_t> open_ends; // innermost last
    };
    std::vector<Lane> lanes; // of the track at hand
    TrackId current = kNoId;
    for (const SliceId slice : sliceOrder()) {
        const TrackId home = trace_.track_[slice];
        if (home != current) {
            lanes.assign(1, Lane{home, {}});
            current = home;
        }
        const std::int64_t start = trace_.start_[slice];
        const std::int64_t end = start + trace_.duration_[slice];
        const auto fits = [&](Lane& lane) {
            while (!lane.open_ends.empty() && lane.open_ends.back() <= start)
                lane.open_ends.pop_back();
            return lane.open_ends.empty() || end <= lane.open_ends.back();
        };
        auto lane = std::find_if(lanes.begin(), lanes.end(), fits);
        if (lane == lanes.end()) {
            Track extra = trace_.tracks_[home];
            extra.spilled_from = home;
            trace_.tracks_.push_back(extra);
            lane = lanes.insert(lanes.end(), Lane{static_cast<TrackId>(trace_.tracks_.size() - 1), {}});
        }
        lane->open_ends.push_back(end);
        if (lane->track == home) continue;
        trace_.track_[slice] = lane->track;
        log.add("overlap",
                fmt::format("{}, slice '{}'", trace_.files_[trace_.tracks_[home].file].path.string(),
                            text(trace_.name_[slice])),
                "slices of one thread overlap without nesting; they are shown on rows of their own");
    }
}

void TraceBuilder::sortSlices() {
    const std::vector<SliceId> order = sliceOrder();
    std::vector<SliceId> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        place[order[i]] = static_cast<SliceId>(i);
    for (FlowPoint& point : trace_.flow_points_) {
        if (point.slice != kNoId) point.slice = place[point.slice];
    }

    permute(trace_.track_, order);
    permute(trace_.start_, order);
    permute(trace_.duration_, order);
    permute(trace_.name_, order);
    permute(trace_.category_, order);
    permute(trace_.args_, order);

    for (std::size_t i = 0; i < order.size(); ++i) {
        Track& track = trace_.tracks_[trace_.track_[i]];
        if (i == 0 || trace_.track_[i - 1] != trace_.track_[i]) track.first_slice = static_cast<SliceId>(i);
        track.end_slice = static_cast<SliceId>(i + 1);
    }
}

// Slices of one track nest, so a point's slice is found by walking from the last one that starts before it
// up through those that enclose it.
void TraceBuilder::bindFlows() {
    if (std::none_of(trace_.flow_points_.begin(), trace_.flow_points_.end(),
                     [](const FlowPoint& point) { return point.slice == kNoId; })) {
        return;
    }
    std::vector<SliceId> parent(trace_.start_.size(), kNoId);
    const auto endOf = [this](SliceId slice) { return trace_.start_[slice] + trace_.duration_[slice]; };
    for (const Track& track : trace_.tracks_) {
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            SliceId outer = slice == track.first_slice ? kNoId : slice - 1;
            while (outer != kNoId && endOf(outer) < endOf(slice))
                outer = parent[outer];
            parent[slice] = outer;
        }
    }
    for (FlowPoint& point : trace_.flow_points_) {
        if (point.slice != kNoId) continue;
        const Track& track = trace_.tracks_[point.track];
        const auto begin = trace_.start_.begin() + track.first_slice;
        const auto after = std::upper_bound(begin, trace_.start_.begin() + track.end_slice, point.time.count());
        if (after == begin) continue;
        auto slice = static_cast<SliceId>(after - trace_.start_.begin() - 1);
        while (slice != kNoId && endOf(slice) < point.time.count())
            slice = parent[slice];
        point.slice = slice;
    }
}

} // namespace bubblescope
