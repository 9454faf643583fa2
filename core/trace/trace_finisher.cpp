#include "core/trace/trace_finisher.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

namespace bubblescope {
namespace {

// More rows per thread would be useless, and finding a free one must stay fast.
constexpr std::size_t kMaxLanes = 512;

} // namespace

bool TraceFinisher::settle(std::vector<TimeNs>& offsets, TraceExtent& extent) {
    return dropFarOffsets(offsets) && applyOffsets(offsets) && findExtent(extent);
}

bool TraceFinisher::run(const TraceExtent& extent) {
    dropSuperseded();
    endOpenSlices(extent);
    return moveOrigin(extent) && orderSlices() && spillOverlaps() && sortSlices() && packArgs() && sortPoints() &&
           bindFlows() && giveBack();
}

// Clamping the sums would make all times of the file equal.
bool TraceFinisher::dropFarOffsets(std::vector<TimeNs>& offsets) {
    if (std::ranges::all_of(offsets, [](TimeNs offset) { return offset == TimeNs{0}; })) return true;
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges(offsets.size());
    const bool seen = inPieces(trace_.start_.size(), control_, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            auto& [first, last] = ranges[trace_.tracks_[trace_.track_[i]].file];
            first = std::min(first, trace_.start_[i]);
            last = std::max(last, trace_.start_[i]);
        }
    });
    if (!seen) return false;
    for (std::size_t file = 0; file < offsets.size(); ++file) {
        const TimeNs offset{boundedTime(offsets[file].count())};
        if (isWithinReach(TimeNs{ranges[file].first} + offset) && isWithinReach(TimeNs{ranges[file].second} + offset))
            continue;
        log_.add("bad-time", trace_.files_[file].path.string(),
                 say("ignored the file's base time: it does not fit the event times"));
        offsets[file] = TimeNs{0};
    }
    return true;
}

bool TraceFinisher::applyOffsets(const std::vector<TimeNs>& offsets) {
    const auto shift = [](TimeNs& time, TimeNs offset) {
        time = TimeNs{boundedTime(boundedTime(time.count()) + boundedTime(offset.count()))};
    };
    const auto offsetOf = [&](TrackId track) { return offsets[trace_.tracks_[track].file]; };
    for (CounterSeries& series : trace_.counters_) {
        for (TimeNs& time : series.times)
            shift(time, offsets[series.file]);
    }
    return inPieces(trace_.start_.size(), control_,
                    [&](std::size_t begin, std::size_t end) {
                        for (std::size_t i = begin; i < end; ++i) {
                            const std::int64_t offset = boundedTime(offsetOf(trace_.track_[i]).count());
                            trace_.start_[i] = boundedTime(trace_.start_[i] + offset);
                        }
                    }) &&
           inPieces(trace_.instants_.size(), control_,
                    [&](std::size_t begin, std::size_t end) {
                        for (std::size_t i = begin; i < end; ++i)
                            shift(trace_.instants_[i].time, offsetOf(trace_.instants_[i].track));
                    }) &&
           inPieces(trace_.flow_points_.size(), control_, [&](std::size_t begin, std::size_t end) {
               for (std::size_t i = begin; i < end; ++i)
                   shift(trace_.flow_points_[i].time, offsetOf(trace_.flow_points_[i].track));
           });
}

bool TraceFinisher::findExtent(TraceExtent& extent) const {
    const auto include = [&extent](TimeNs from, TimeNs to) { extent.include({from, to}); };
    const bool seen = inPieces(trace_.start_.size(), control_, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            include(TimeNs{trace_.start_[i]},
                    TimeNs{trace_.start_[i] + std::max<std::int64_t>(0, trace_.duration_[i])});
    });
    for (const Instant& instant : trace_.instants_)
        include(instant.time, instant.time);
    for (const CounterSeries& series : trace_.counters_) {
        for (const TimeNs time : series.times)
            include(time, time);
    }
    return seen;
}

// A recorder that writes in parts repeats the start of open slices in each part. The last of these starts counts, or
// the one that has an end.
std::vector<SliceId> TraceFinisher::supersededSlices() const {
    std::vector<SliceId> superseded;
    if (trace_.open_.empty() || trace_.files_.size() < 2) return superseded;
    std::unordered_multimap<std::int64_t, SliceId> open; // by start
    for (const SliceId slice : trace_.open_)
        open.emplace(trace_.start_[slice], slice);
    const auto trackOf = [this](SliceId slice) -> const Track& { return trace_.tracks_[trace_.track_[slice]]; };
    for (SliceId slice = 0; slice < trace_.start_.size(); ++slice) {
        const auto [first, end] = open.equal_range(trace_.start_[slice]);
        for (auto same = first; same != end; ++same) {
            const SliceId other = same->second;
            const bool is_twin = trace_.name_[slice] == trace_.name_[other] &&
                                 trace_.category_[slice] == trace_.category_[other] &&
                                 trackOf(slice).pid == trackOf(other).pid && trackOf(slice).tid == trackOf(other).tid;
            const bool is_open = trace_.duration_[slice] == kOpenDuration;
            const bool is_newer =
                is_open ? trackOf(slice).file > trackOf(other).file : trackOf(slice).file != trackOf(other).file;
            if (is_twin && is_newer) superseded.push_back(other);
        }
    }
    std::ranges::sort(superseded);
    superseded.erase(std::unique(superseded.begin(), superseded.end()), superseded.end());
    return superseded;
}

void TraceFinisher::dropSuperseded() {
    const std::vector<SliceId> superseded = supersededSlices();
    if (superseded.empty()) return;
    const auto isDropped = [&](SliceId slice) { return std::ranges::binary_search(superseded, slice); };
    const auto drop = [&](auto& column) {
        SliceId at = 0;
        std::erase_if(column, [&](const auto&) { return isDropped(at++); });
    };
    std::erase_if(trace_.open_, isDropped);
    std::erase_if(trace_.flow_points_,
                  [&](const FlowPoint& point) { return point.slice != kNoId && isDropped(point.slice); });
    const auto move = [&](SliceId& slice) {
        const auto before = std::ranges::lower_bound(superseded, slice);
        slice -= static_cast<SliceId>(before - superseded.begin());
    };
    std::ranges::for_each(trace_.open_, move);
    for (FlowPoint& point : trace_.flow_points_) {
        if (point.slice != kNoId) move(point.slice);
    }
    drop(trace_.track_);
    drop(trace_.start_);
    drop(trace_.duration_);
    drop(trace_.name_);
    drop(trace_.category_);
    if (!trace_.arg_sets_.empty()) drop(trace_.arg_sets_);
}

void TraceFinisher::endOpenSlices(const TraceExtent& extent) {
    for (const SliceId slice : trace_.open_)
        trace_.duration_[slice] = boundedDuration(extent.last - TimeNs{trace_.start_[slice]});
}

bool TraceFinisher::moveOrigin(const TraceExtent& extent) {
    if (extent.empty()) return true;
    const TimeNs first = extent.first;
    trace_.origin_ = first;
    trace_.span_ = extent.last - first;
    for (Instant& instant : trace_.instants_)
        instant.time -= first;
    for (CounterSeries& series : trace_.counters_) {
        for (TimeNs& time : series.times)
            time -= first;
    }
    return inPieces(trace_.flow_points_.size(), control_,
                    [&](std::size_t begin, std::size_t end) {
                        for (std::size_t i = begin; i < end; ++i)
                            trace_.flow_points_[i].time -= first;
                    }) &&
           inPieces(trace_.start_.size(), control_, [&](std::size_t begin, std::size_t end) {
               for (std::size_t i = begin; i < end; ++i)
                   trace_.start_[i] -= first.count();
           });
}

// Tracks are dense numbers and most files are in order of time within a track, so distributing the slices by track
// leaves little to sort.
bool TraceFinisher::orderSlices() {
    std::vector<SliceId> next(trace_.tracks_.size() + 1, 0);
    const bool counted = inPieces(trace_.track_.size(), control_, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            ++next[trace_.track_[i] + 1];
    });
    if (!counted) return false;
    std::partial_sum(next.begin(), next.end(), next.begin());
    order_.resize(trace_.start_.size());
    const bool dealt = inPieces(order_.size(), control_, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            order_[next[trace_.track_[i]]++] = static_cast<SliceId>(i);
    });
    if (!dealt) return false;

    return onCores(trace_.tracks_.size(), [&](std::size_t track) {
        const std::size_t begin = track == 0 ? 0 : next[track - 1];
        return !control_.stopRequested() && sortTrack(std::span(order_).subspan(begin, next[track] - begin));
    });
}

/// Sorts by start, longest first, then in order of arrival.
bool TraceFinisher::sortTrack(std::span<SliceId> slices) const {
    // Slices next to their starts, because the columns of unsorted slices are read in random order.
    struct Key {
        std::int64_t start;
        SliceId slice;
    };
    struct Stopped {};
    StopCheck stop(control_);
    const auto before = [&](const Key& a, const Key& b) {
        if (stop.requested()) throw Stopped{};
        if (a.start != b.start) return a.start < b.start;
        const std::int64_t duration_a = trace_.duration_[a.slice];
        const std::int64_t duration_b = trace_.duration_[b.slice];
        return duration_a != duration_b ? duration_a > duration_b : a.slice < b.slice;
    };
    const auto keyOf = [this](SliceId slice) { return Key{trace_.start_[slice], slice}; };
    try {
        const auto apart = [&](SliceId a, SliceId b) { return before(keyOf(a), keyOf(b)); };
        if (std::is_sorted(slices.begin(), slices.end(), apart)) return true;
        std::vector<Key> keys;
        keys.reserve(slices.size());
        std::ranges::transform(slices, std::back_inserter(keys), keyOf);
        std::sort(keys.begin(), keys.end(), before);
        std::ranges::transform(keys, slices.begin(), &Key::slice);
        return true;
    } catch (const Stopped&) {
        return false;
    }
}

// Spilled slices keep their order, so the new tracks need no sorting either. The new tracks come after all others.
bool TraceFinisher::spillOverlaps() {
    struct Lane {
        TrackId track;
        std::vector<std::int64_t> open_ends; // innermost last
        std::vector<SliceId> spilled;        // from all lanes but the track's first
    };
    std::vector<Lane> lanes; // lanes of the current track
    std::vector<std::vector<SliceId>> spilled;
    std::size_t kept = 0; // slices of order_ that are kept; it shrinks in place
    TrackId current = kNoId;
    std::int64_t overlaps = 0; // overlaps of the current track
    SliceId first_overlap = 0;
    const auto leaveTrack = [&] {
        for (std::size_t lane = 1; lane < lanes.size(); ++lane)
            spilled.push_back(std::move(lanes[lane].spilled));
        reportOverlaps(current, first_overlap, std::exchange(overlaps, 0));
    };
    std::ranges::sort(trace_.open_);
    const auto isOpen = [this](SliceId slice) { return std::ranges::binary_search(trace_.open_, slice); };
    StopCheck stop(control_);
    for (const SliceId slice : order_) {
        if (stop.requested()) return false;
        const TrackId home = trace_.track_[slice];
        if (home != current) {
            leaveTrack();
            lanes.assign(1, Lane{home, {}, {}});
            current = home;
        }
        const std::int64_t start = trace_.start_[slice];
        const bool open = isOpen(slice); // it continues past everything that has ended
        const std::int64_t end = open ? std::numeric_limits<std::int64_t>::max() : start + trace_.duration_[slice];
        const auto fits = [&](Lane& lane) {
            while (!lane.open_ends.empty() && lane.open_ends.back() <= start)
                lane.open_ends.pop_back();
            return lane.open_ends.empty() || end <= lane.open_ends.back();
        };
        auto lane = std::find_if(lanes.begin(), lanes.end(), fits);
        if (lane == lanes.end() && lanes.size() == kMaxLanes) {
            log_.add("crowded", trace_.files_[trace_.tracks_[home].file].path.string(),
                     say("more than {} slices of one thread overlap; the others share a row", kMaxLanes));
            lane = lanes.end() - 1;
        } else if (lane == lanes.end()) {
            Track extra = trace_.tracks_[home];
            if (extra.spilled_from == kNoId) extra.spilled_from = home;
            trace_.tracks_.push_back(extra);
            lane = lanes.insert(lanes.end(), Lane{static_cast<TrackId>(trace_.tracks_.size() - 1), {}, {}});
        }
        lane->open_ends.push_back(end);
        if (lane->track == home) {
            order_[kept++] = slice;
            continue;
        }
        lane->spilled.push_back(slice);
        if (!open && overlaps++ == 0) first_overlap = slice;
    }
    leaveTrack();
    // New tracks were numbered in the order in which they were needed. Renumber them so that a track's lanes are
    // consecutive and in the order of tracks.
    auto track = static_cast<TrackId>(trace_.tracks_.size() - spilled.size());
    for (const std::vector<SliceId>& slices : spilled) {
        for (const SliceId slice : slices)
            trace_.track_[slice] = track;
        std::copy(slices.begin(), slices.end(), order_.begin() + static_cast<std::ptrdiff_t>(kept));
        kept += slices.size();
        ++track;
    }
    return true;
}

void TraceFinisher::reportOverlaps(TrackId home, SliceId first, std::int64_t count) {
    if (count == 0 || trace_.tracks_[home].may_overlap) return;
    log_.add(
        "overlap",
        say("{}, slice '{}'", trace_.files_[trace_.tracks_[home].file].path.string(), trace_.text(trace_.name_[first])),
        say("moved overlapping slices of a thread to extra rows"), count);
}

template <class T>
bool TraceFinisher::permute(std::vector<T>& column) const {
    std::vector<T> sorted;
    sorted.reserve(column.size());
    const bool done = inPieces(order_.size(), control_, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            sorted.push_back(column[order_[i]]);
    });
    column = std::move(sorted);
    return done;
}

bool TraceFinisher::sortSlices() {
    if (!noteRanges()) return false;
    SliceId expected = 0;
    const bool sorted =
        std::all_of(order_.begin(), order_.end(), [&expected](SliceId slice) { return slice == expected++; });
    if (!sorted) {
        // Flows first, because the inverse permutation takes as much memory again.
        std::vector<SliceId> place(order_.size());
        const bool placed = inPieces(order_.size(), control_, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                place[order_[i]] = static_cast<SliceId>(i);
        });
        const bool moved = inPieces(trace_.flow_points_.size(), control_, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                FlowPoint& point = trace_.flow_points_[i];
                if (point.slice != kNoId) point.slice = place[point.slice];
            }
        });
        if (!placed || !moved) return false;
        for (SliceId& slice : trace_.open_)
            slice = place[slice];
        std::vector<SliceId>().swap(place);
        const std::array<std::function<bool()>, 5> columns{
            [this] { return permute(trace_.start_); }, [this] { return permute(trace_.duration_); },
            [this] { return permute(trace_.name_); }, [this] { return permute(trace_.category_); },
            [this] { return trace_.arg_sets_.empty() || permute(trace_.arg_sets_); }};
        if (!onCores(columns.size(), [&columns](std::size_t i) { return columns[i](); })) return false;
    }
    std::vector<SliceId>().swap(order_);
    std::ranges::sort(trace_.open_);
    return !control_.stopRequested();
}

/// Slices are sorted by track, then start, so ranges can replace the track column.
bool TraceFinisher::noteRanges() {
    for (Track& track : trace_.tracks_)
        track.end_slice = 0;
    const bool counted = inPieces(trace_.track_.size(), control_, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            ++trace_.tracks_[trace_.track_[i]].end_slice; // counts first
    });
    std::vector<TrackId>().swap(trace_.track_);
    SliceId next = 0;
    for (Track& track : trace_.tracks_) {
        track.first_slice = next;
        next = track.end_slice += next;
    }
    return counted;
}

bool TraceFinisher::packArgs() {
    auto column = ArgColumn::of(std::exchange(trace_.arg_sets_, {}), control_);
    if (column) trace_.arg_column_ = *std::move(column);
    return column.has_value();
}

/// Frees spare capacity of the columns.
bool TraceFinisher::giveBack() {
    const auto shrink = [this](auto& column) {
        constexpr std::size_t kLittle = 512; // entries; a page in most columns
        if (column.capacity() - column.size() <= std::max(column.size() / 64, kLittle)) return true;
        std::decay_t<decltype(column)> exact;
        exact.reserve(column.size());
        const bool copied = inPieces(column.size(), control_, [&](std::size_t begin, std::size_t end) {
            exact.insert(exact.end(), column.begin() + static_cast<std::ptrdiff_t>(begin),
                         column.begin() + static_cast<std::ptrdiff_t>(end));
        });
        column = std::move(exact);
        return copied;
    };
    const std::array<std::function<bool()>, 6> columns{
        [&] { return shrink(trace_.start_); },       [&] { return shrink(trace_.duration_); },
        [&] { return shrink(trace_.name_); },        [&] { return shrink(trace_.category_); },
        [&] { return shrink(trace_.flow_points_); }, [&] { return shrink(trace_.instants_); }};
    return onCores(columns.size(), [&columns](std::size_t i) { return columns[i](); });
}

bool TraceFinisher::findParents(std::vector<SliceId>& parents) const {
    parents.assign(trace_.start_.size(), kNoId);
    return onCores(trace_.tracks_.size(), [&](std::size_t id) {
        const Track& track = trace_.tracks_[id];
        StopCheck stop(control_);
        if (control_.stopRequested()) return false;
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (stop.requested()) return false;
            SliceId outer = slice == track.first_slice ? kNoId : slice - 1;
            while (outer != kNoId && endOf(outer) < endOf(slice))
                outer = parents[outer];
            parents[slice] = outer;
        }
        return true;
    });
}

// Slices of a track nest, so a point's slice is found by walking up from the last slice that starts before it. Points
// are sorted by then, so neighbours are close together on their tracks.
bool TraceFinisher::bindFlows() {
    std::vector<FlowPoint>& points = trace_.flow_points_;
    if (std::none_of(points.begin(), points.end(), [](const FlowPoint& point) { return point.slice == kNoId; }))
        return true;
    std::vector<SliceId> parents;
    if (!findParents(parents)) return false;
    constexpr std::size_t kPiece = std::size_t{1} << 14;
    return onCores((points.size() + kPiece - 1) / kPiece, [&](std::size_t piece) {
        for (std::size_t i = piece * kPiece; i < std::min(points.size(), (piece + 1) * kPiece); ++i) {
            if (points[i].slice == kNoId) bind(points[i], parents);
        }
        return !control_.stopRequested();
    });
}

void TraceFinisher::bind(FlowPoint& point, const std::vector<SliceId>& parents) const {
    const Track& track = trace_.tracks_[point.track];
    const auto begin = trace_.start_.begin() + track.first_slice;
    const auto after = std::upper_bound(begin, trace_.start_.begin() + track.end_slice, point.time.count());
    if (after == begin) return;
    auto slice = static_cast<SliceId>(after - trace_.start_.begin() - 1);
    while (slice != kNoId && endOf(slice) < point.time.count())
        slice = parents[slice];
    point.slice = slice;
}

bool TraceFinisher::sortPoints() {
    const auto earlier = [](const Instant& a, const Instant& b) { return a.time < b.time; };
    const auto before = [](const FlowPoint& a, const FlowPoint& b) {
        return std::pair(a.id, a.time) < std::pair(b.id, b.time);
    };
    return sortStably(trace_.instants_, earlier, control_) && sortStably(trace_.flow_points_, before, control_);
}

} // namespace bubblescope
