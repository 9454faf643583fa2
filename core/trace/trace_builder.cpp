#include "core/trace/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::int64_t kTimeLimit = kFarthestTime.count();

// More rows for one thread tell people nothing, and looking for a free one must not become slow.
constexpr std::size_t kMaxLanes = 512;

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

SliceId TraceBuilder::addSlice(const NewSlice& slice) {
    trace_.track_.push_back(slice.track);
    trace_.start_.push_back(bounded(slice.start.count()));
    trace_.duration_.push_back(std::clamp<std::int64_t>(slice.duration.count(), 0, kTimeLimit));
    trace_.name_.push_back(slice.name);
    trace_.category_.push_back(slice.category);
    trace_.arg_sets_.push_back(slice.args);
    return static_cast<SliceId>(trace_.start_.size() - 1);
}

void TraceBuilder::addCounter(std::int64_t pid, StringId name, TimeNs time, double value) {
    const std::uint32_t file = currentFile();
    auto& all = trace_.counters_;
    const auto [known, is_new] = series_.try_emplace({file, pid, name}, all.size());
    if (is_new) all.push_back({file, pid, name, {}, {}});
    all[known->second].times.push_back(time);
    all[known->second].values.push_back(value);
}

namespace {

template <class T, class Change>
void moveInto(std::vector<T>& to, std::vector<T>& from, const Change& change) {
    for (T& item : from)
        change(item);
    if (to.empty())
        to = std::move(from);
    else
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

} // namespace

void TraceBuilder::append(TraceBuilder&& part) {
    Trace& other = part.trace_;
    std::vector<StringId> strings(other.strings_.size());
    for (StringId id = 0; id < strings.size(); ++id)
        strings[id] = trace_.strings_.intern(other.strings_.text(id));
    const auto file = static_cast<std::uint32_t>(trace_.files_.size());
    const auto track = static_cast<TrackId>(trace_.tracks_.size());
    const auto slice = static_cast<SliceId>(trace_.start_.size());
    const ArgSetId args = trace_.args_.append(std::move(other.args_), strings);
    const auto rename = [&strings](StringId& id) { id = strings[id]; };
    const auto moveArgs = [args](ArgSetId& set) { set += set == 0 ? 0 : args; };
    const auto keep = [](const auto&) {};

    moveInto(trace_.files_, other.files_, keep);
    moveInto(offsets_, part.offsets_, keep);
    moveInto(trace_.tracks_, other.tracks_, [&](Track& moved) {
        moved.file += file;
        rename(moved.process_name);
        rename(moved.thread_name);
    });
    moveInto(trace_.track_, other.track_, [track](TrackId& id) { id += track; });
    moveInto(trace_.start_, other.start_, keep);
    moveInto(trace_.duration_, other.duration_, keep);
    moveInto(trace_.name_, other.name_, rename);
    moveInto(trace_.category_, other.category_, rename);
    moveInto(trace_.arg_sets_, other.arg_sets_, moveArgs);
    moveInto(trace_.instants_, other.instants_, [&](Instant& instant) {
        instant.track += track;
        rename(instant.name);
        rename(instant.category);
        moveArgs(instant.args);
    });
    moveInto(trace_.flow_points_, other.flow_points_, [&](FlowPoint& point) {
        point.track += track;
        if (point.slice != kNoId) point.slice += slice;
    });
    moveInto(trace_.counters_, other.counters_, [&](CounterSeries& series) {
        series.file += file;
        rename(series.name);
    });
    part = TraceBuilder{};
}

std::shared_ptr<const Trace> TraceBuilder::finish(DiagnosticLog& log) {
    dropFarOffsets(log);
    applyOffsets();
    moveOriginToFirstEvent();
    std::vector<SliceId> order = sliceOrder();
    spillOverlaps(order, log);
    sortSlices(order);
    order = {};
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

// Clamping the sums would make all times of the file one.
void TraceBuilder::dropFarOffsets(DiagnosticLog& log) {
    if (std::ranges::all_of(offsets_, [](TimeNs offset) { return offset == TimeNs{0}; })) return;
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges(offsets_.size());
    for (std::size_t i = 0; i < trace_.start_.size(); ++i) {
        auto& [first, last] = ranges[trace_.tracks_[trace_.track_[i]].file];
        first = std::min(first, trace_.start_[i]);
        last = std::max(last, trace_.start_[i]);
    }
    for (std::size_t file = 0; file < offsets_.size(); ++file) {
        const TimeNs offset{bounded(offsets_[file].count())};
        if (isWithinReach(TimeNs{ranges[file].first} + offset) && isWithinReach(TimeNs{ranges[file].second} + offset))
            continue;
        log.add("bad-time", trace_.files_[file].path.string(),
                "the base time that the file states does not fit its times and is not used");
        offsets_[file] = TimeNs{0};
    }
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

// By track, then start, longest first. Tracks are dense numbers and most files are in order of time within a track, so
// dealing the slices out by track leaves little to sort.
std::vector<SliceId> TraceBuilder::sliceOrder() const {
    std::vector<SliceId> next(trace_.tracks_.size() + 1, 0);
    for (const TrackId track : trace_.track_)
        ++next[track + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<SliceId> order(trace_.start_.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[next[trace_.track_[i]]++] = static_cast<SliceId>(i);

    const auto before = [this](SliceId a, SliceId b) {
        if (trace_.start_[a] != trace_.start_[b]) return trace_.start_[a] < trace_.start_[b];
        return trace_.duration_[a] > trace_.duration_[b];
    };
    auto begin = order.begin();
    for (std::size_t track = 0; track < trace_.tracks_.size(); ++track) {
        const auto end = order.begin() + next[track];
        if (!std::is_sorted(begin, end, before)) std::stable_sort(begin, end, before);
        begin = end;
    }
    return order;
}

// What spills keeps its order, so each new track's slices need no sorting either: they go behind all others.
void TraceBuilder::spillOverlaps(std::vector<SliceId>& order, DiagnosticLog& log) {
    struct Lane {
        TrackId track;
        std::vector<std::int64_t> open_ends; // innermost last
        std::vector<SliceId> spilled;        // on all lanes but a track's own
    };
    std::vector<Lane> lanes; // of the track at hand
    std::vector<SliceId> kept;
    std::vector<std::vector<SliceId>> spilled;
    TrackId current = kNoId;
    const auto leaveTrack = [&] {
        for (std::size_t lane = 1; lane < lanes.size(); ++lane)
            spilled.push_back(std::move(lanes[lane].spilled));
    };
    kept.reserve(order.size());
    for (const SliceId slice : order) {
        const TrackId home = trace_.track_[slice];
        if (home != current) {
            leaveTrack();
            lanes.assign(1, Lane{home, {}, {}});
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
        if (lane == lanes.end() && lanes.size() == kMaxLanes) {
            log.add("crowded", trace_.files_[trace_.tracks_[home].file].path.string(),
                    fmt::format("more than {} slices of one thread overlap; the rest share a row", kMaxLanes));
            lane = lanes.end() - 1;
        } else if (lane == lanes.end()) {
            Track extra = trace_.tracks_[home];
            extra.spilled_from = home;
            trace_.tracks_.push_back(extra);
            lane = lanes.insert(lanes.end(), Lane{static_cast<TrackId>(trace_.tracks_.size() - 1), {}, {}});
        }
        lane->open_ends.push_back(end);
        if (lane->track == home) {
            kept.push_back(slice);
            continue;
        }
        lane->spilled.push_back(slice);
        if (trace_.tracks_[home].may_overlap) continue;
        log.add("overlap",
                fmt::format("{}, slice '{}'", trace_.files_[trace_.tracks_[home].file].path.string(),
                            text(trace_.name_[slice])),
                "slices of one thread overlap without nesting; they are shown on rows of their own");
    }
    leaveTrack();
    // New tracks were numbered in the order in which they were needed: a track's lanes follow each other, and tracks
    // come in order.
    auto track = static_cast<TrackId>(trace_.tracks_.size() - spilled.size());
    for (const std::vector<SliceId>& slices : spilled) {
        for (const SliceId slice : slices)
            trace_.track_[slice] = track;
        kept.insert(kept.end(), slices.begin(), slices.end());
        ++track;
    }
    order = std::move(kept);
}

void TraceBuilder::sortSlices(const std::vector<SliceId>& order) {
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
    permute(trace_.arg_sets_, order);

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
