#include "core/trace/pyramid.h"

#include "core/base/job.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kLeafSlices = 16;
constexpr std::size_t kFanOut = 8;

/// Up to one slice per this many pixels, slices are drawn individually, because most are then several pixels wide.
constexpr std::size_t kPixelsPerSlice = 2;

std::size_t dividedUp(std::size_t count, std::size_t by) {
    return (count + by - 1) / by;
}

/// Prefetches a cache line. GCC drops calls of functions without effects; the empty asm statement counts as one.
void fetchLine(const void* at) {
    __builtin_prefetch(at);
    asm volatile("");
}

std::int64_t floorOf(std::int64_t value, std::int64_t by) {
    return value / by - (value % by < 0 ? 1 : 0);
}

} // namespace

TimeNs PixelGrid::border(std::int64_t pixel) const {
    const std::int64_t round = floorOf(pixel, count_);
    const std::int64_t within = pixel - round * count_;
    return TimeNs{round * (whole_ * count_ + rest_) + within * whole_ + within * rest_ / count_};
}

std::int64_t PixelGrid::nearest(TimeNs time) const {
    const std::int64_t length = whole_ * count_ + rest_;
    const std::int64_t round = floorOf(time.count(), length);
    const auto within = static_cast<double>(time.count() - round * length);
    return round * count_ + std::llround(within / static_cast<double>(length) * static_cast<double>(count_));
}

PixelGrid::Walk::Walk(const PixelGrid& grid, std::int64_t pixel)
    : grid_(grid), at_(grid.border(pixel).count()),
      part_((pixel - floorOf(pixel, grid.count_) * grid.count_) * grid.rest_ % grid.count_) {}

/// Branch-free: which key comes next is unpredictable, and there are tens of votes per pixel.
void Pyramid::Node::add(StringId other, std::int64_t time, std::int64_t ahead) {
    busy += time;
    const std::int64_t left = other == key ? lead + ahead : lead - ahead;
    key = left < 0 ? other : key;
    lead = left < 0 ? -left : left;
}

std::size_t Pyramid::Index::leaves() const {
    return dividedUp(end - first, kLeafSlices);
}

/// Iterates over one track's slices and keeps the stack of open ones.
class Pyramid::Builder {
public:
    Builder(const Pyramid& pyramid, const Track& track, Index& index) : pyramid_(pyramid), index_(index) {
        index_.first = track.first_slice;
        index_.end = track.end_slice;
    }

    bool run(const JobControl& control) {
        std::size_t nodes = 0;
        for (std::size_t level = index_.leaves(); level > 0; level = level > 1 ? dividedUp(level, kFanOut) : 0)
            nodes += level;
        index_.nodes.reserve(nodes);
        index_.begins.reserve(index_.leaves());
        StopCheck stop(control);
        for (SliceId slice = index_.first; slice < index_.end; ++slice) {
            if (stop.requested()) return false;
            advanceTo(pyramid_.startOf(slice));
            if ((slice - index_.first) % kLeafSlices == 0) beginLeaf();
            stack_.push_back({slice, kNone});
            index_.last_end = std::max(index_.last_end, pyramid_.endOf(slice));
        }
        advanceTo(index_.last_end);
        addLevels();
        return true;
    }

private:
    /// Advances to `time` and attributes the time to the innermost open slice.
    void advanceTo(std::int64_t time) {
        while (!stack_.empty() && at_ < time) {
            const SliceId top = stack_.back().slice;
            const std::int64_t end = std::min(pyramid_.endOf(top), time);
            if (end > at_) index_.nodes.back().add(pyramid_.keys()[top], end - at_, end - at_);
            at_ = std::max(at_, end);
            if (pyramid_.endOf(top) <= at_) stack_.pop_back();
        }
        at_ = time;
    }

    void beginLeaf() {
        while (!stack_.empty() && pyramid_.endOf(stack_.back().slice) <= at_)
            stack_.pop_back();
        std::size_t known = stack_.size(); // those below were already open at an earlier leaf
        while (known > 0 && stack_[known - 1].outer == kNone)
            --known;
        for (; known < stack_.size(); ++known) {
            index_.open.push_back({stack_[known].slice, known == 0 ? kNone : stack_[known - 1].outer});
            stack_[known].outer = static_cast<std::uint32_t>(index_.open.size() - 1);
        }
        index_.nodes.emplace_back().open = stack_.empty() ? kNone : stack_.back().outer;
        index_.begins.push_back(at_);
    }

    void addLevels() {
        std::size_t begin = 0;
        for (std::size_t count = index_.leaves(); count > 1; count = dividedUp(count, kFanOut)) {
            for (std::size_t i = 0; i < count; i += kFanOut) {
                Node above;
                for (std::size_t child = i; child < std::min(count, i + kFanOut); ++child) {
                    const Node& node = index_.nodes[begin + child];
                    above.add(node.key, node.busy, node.lead);
                }
                index_.nodes.push_back(above);
            }
            begin += count;
        }
    }

    const Pyramid& pyramid_;
    Index& index_;
    std::vector<Open> stack_; ///< during the build, `outer` is the slice's own index in index_.open
    std::int64_t at_ = INT64_MIN;
};

Pyramid::Pyramid(std::shared_ptr<const Trace> trace, std::vector<StringId> keys)
    : trace_(std::move(trace)), keys_(std::move(keys)), tracks_(trace_->tracks().size()) {}

std::span<const StringId> Pyramid::keys() const {
    return keys_.empty() ? trace_->sliceNames() : std::span<const StringId>(keys_);
}

Result<Pyramid> Pyramid::build(std::shared_ptr<const Trace> trace, const JobControl& control) {
    return build(std::move(trace), {}, control);
}

Result<Pyramid> Pyramid::build(std::shared_ptr<const Trace> trace, std::vector<StringId> keys,
                               const JobControl& control) {
    Pyramid pyramid(std::move(trace), std::move(keys));
    const std::span<const Track> tracks = pyramid.trace_->tracks();
    // Long tracks first, so that no single core is left working on one at the end.
    std::vector<TrackId> order(tracks.size());
    std::iota(order.begin(), order.end(), TrackId{0});
    const auto length = [&tracks](TrackId id) { return tracks[id].end_slice - tracks[id].first_slice; };
    std::stable_sort(order.begin(), order.end(), [&](TrackId a, TrackId b) { return length(a) > length(b); });
    const bool whole = parallelFor(order.size(), [&](std::size_t i) {
        return !control.stopRequested() && Builder(pyramid, tracks[order[i]], pyramid.tracks_[order[i]]).run(control);
    });
    if (!whole) return cancelledError();
    return pyramid;
}

std::int64_t Pyramid::leafBegin(const Index& index, std::size_t leaf) {
    return leaf < index.begins.size() ? index.begins[leaf] : index.last_end;
}

/// The last leaf that begins at or before `time`; the first if all begin later. Fast if it is close to `from`, which
/// must not begin later.
std::size_t Pyramid::leafAt(const Index& index, std::int64_t time, std::size_t from) {
    const std::vector<std::int64_t>& begins = index.begins;
    std::size_t low = from;
    std::size_t high = from + 1;
    for (std::size_t step = 1; high < begins.size() && begins[high] <= time; step *= 2) {
        low = high;
        high += step;
    }
    high = std::min(high, begins.size());
    while (high - low > 1) {
        const std::size_t middle = low + (high - low) / 2;
        (begins[middle] <= time ? low : high) = middle;
    }
    return low;
}

/// Prefetches what a walk through a leaf reads, in three steps: finding what is open where it begins takes two, each
/// reading what the previous one fetched.
void Pyramid::prefetch(const Index& index, std::size_t leaf, int step) const {
    if (step == 0) {
        const std::size_t first = index.first + leaf * kLeafSlices;
        fetchLine(index.nodes.data() + leaf);
        prefetchSlices(first, std::min<std::size_t>(index.end, first + kLeafSlices));
        return;
    }
    const std::uint32_t open = index.nodes[leaf].open;
    if (open == kNone) return;
    if (step == 1) return fetchLine(index.open.data() + open);
    const std::size_t slice = index.open[open].slice;
    prefetchSlices(slice, slice + 1);
}

void Pyramid::prefetchSlices(std::size_t begin, std::size_t end) const {
    constexpr std::size_t kLine = 64;
    const auto fetch = [begin, end](auto values) {
        for (std::size_t i = begin; i < end; i += kLine / sizeof(values[0]))
            fetchLine(values.data() + i);
        fetchLine(values.data() + end - 1); // the first one may not be aligned to a cache line
    };
    fetch(trace_->sliceStarts());
    fetch(trace_->sliceDurations());
    fetch(keys());
}

SliceId Pyramid::firstFrom(const Index& index, std::int64_t time) const {
    const auto starts = trace_->sliceStarts().subspan(index.first, index.end - index.first);
    return index.first + static_cast<SliceId>(std::lower_bound(starts.begin(), starts.end(), time) - starts.begin());
}

/// As above for a time in leaf `leaf`, if the slice is known to be `from` or later.
SliceId Pyramid::firstFrom(const Index& index, std::int64_t time, std::size_t leaf, SliceId from) const {
    const auto starts = trace_->sliceStarts();
    const auto begin = static_cast<SliceId>(index.first + leaf * kLeafSlices);
    const SliceId end = std::min<SliceId>(index.end, begin + kLeafSlices);
    // Slices of earlier leaves may start when this leaf begins.
    if (index.begins[leaf] < time) from = std::max(from, begin);
    return static_cast<SliceId>(std::lower_bound(starts.begin() + from, starts.begin() + std::max(from, end), time) -
                                starts.begin());
}

/// Iterates over one leaf's time and attributes each moment to the innermost open slice. Pixel borders are mostly
/// inside leaves: the walk stops at a border and resumes there, so that no leaf is traversed twice.
class Pyramid::LeafWalk {
public:
    LeafWalk(const Pyramid& pyramid, const Index& index)
        : starts_(pyramid.trace_->sliceStarts().data()), durations_(pyramid.trace_->sliceDurations().data()),
          keys_(pyramid.keys().data()), index_(index) {}

    /// Goes to the start of a leaf.
    void enter(std::size_t leaf) {
        next_ = static_cast<SliceId>(index_.first + leaf * kLeafSlices);
        end_ = std::min<SliceId>(index_.end, next_ + kLeafSlices);
        below_ = index_.nodes[leaf].open;
        at_ = starts_[next_];
        depth_ = 0;
        pop();
    }

    /// Calls visit(key, time) for everything that runs until `time`, which must not be after the leaf's end.
    template <class Visit>
    void advance(std::int64_t to, const Visit& visit) {
        for (; next_ < end_ && starts_[next_] < to; ++next_) {
            const std::int64_t start = starts_[next_];
            run(start, visit);
            around_ends_[depth_] = top_end_;
            around_keys_[depth_] = top_key_;
            depth_ += open_ ? 1 : 0;
            top_end_ = start + durations_[next_];
            top_key_ = keys_[next_];
            open_ = true;
        }
        run(to, visit);
    }
    /// The leaf's first slice that starts where the walk stopped, or later; if there is none, the one after the leaf's
    /// last.
    [[nodiscard]] SliceId next() const { return next_; }

private:
    template <class Visit>
    void run(std::int64_t time, const Visit& visit) {
        while (at_ < time && open_) {
            const std::int64_t until = std::min(top_end_, time);
            if (at_ < until) {
                visit(top_key_, until - at_);
                at_ = until;
            }
            if (top_end_ <= at_) pop();
        }
        at_ = std::max(at_, time);
    }
    /// Makes the slice around the innermost one the innermost.
    void pop() {
        if (depth_ > 0) {
            --depth_;
            top_end_ = around_ends_[depth_];
            top_key_ = around_keys_[depth_];
            return;
        }
        open_ = below_ != kNone;
        if (!open_) return;
        const SliceId slice = index_.open[below_].slice;
        top_end_ = starts_[slice] + durations_[slice];
        top_key_ = keys_[slice];
        below_ = index_.open[below_].outer;
    }

    const std::int64_t* starts_;
    const std::int64_t* durations_;
    const StringId* keys_;
    const Index& index_;
    SliceId next_ = 0;
    SliceId end_ = 0;
    std::uint32_t below_ = kNone; ///< the next outer slice of those open when the leaf began
    std::int64_t at_ = 0;
    bool open_ = false;        ///< true if a slice is open; the innermost one:
    std::int64_t top_end_ = 0; ///< end of the innermost one
    StringId top_key_ = 0;
    std::size_t depth_ = 0;
    std::array<std::int64_t, kLeafSlices> around_ends_; ///< ends of the `depth_` slices around it, within this leaf
    std::array<StringId, kLeafSlices> around_keys_;
};

/// Adds leaves that are entirely inside the interval, using as few nodes as possible.
void Pyramid::addLeaves(const Index& index, std::size_t begin, std::size_t end, Node& sum) {
    const Node* level = index.nodes.data();
    std::size_t count = index.leaves();
    const auto add = [&](std::size_t i) { sum.add(level[i].key, level[i].busy, level[i].lead); };
    while (begin < end) {
        for (; begin < end && begin % kFanOut != 0; ++begin)
            add(begin);
        for (; begin < end && end % kFanOut != 0; --end)
            add(end - 1);
        level += count;
        count = dividedUp(count, kFanOut);
        begin /= kFanOut;
        end /= kFanOut;
    }
}

TimeNs Pyramid::border(TimeNs from, TimeNs to, std::size_t index, std::size_t count) {
    const auto i = static_cast<std::int64_t>(index);
    const auto n = static_cast<std::int64_t>(count);
    const std::int64_t width = (to - from).count();
    return from + TimeNs{width / n * i + width % n * i / n};
}

void Pyramid::columns(TrackId track, TimeNs from, TimeNs to, std::span<Column> out) const {
    if (out.empty()) return;
    const PixelGrid grid(to - from, out.size());
    PixelGrid::Walk ends(grid, 0);
    ends.at_ = from.count();
    columns(track, from.count(), ends, out);
}

void Pyramid::columns(TrackId track, const PixelGrid& grid, std::int64_t first, std::span<Column> out) const {
    columns(track, grid.border(first).count(), PixelGrid::Walk(grid, first), out);
}

void Pyramid::columns(TrackId track, std::int64_t from, PixelGrid::Walk ends, std::span<Column> out) const {
    const Index& index = tracks_[track];
    if (index.first == index.end) {
        std::ranges::fill(out, Column{});
        return;
    }
    SliceId first = firstFrom(index, from);
    std::size_t leaf = leafAt(index, from);
    // If column borders lie in leaves far apart in memory, prefetch the data of each column several columns ahead, one
    // column at a time, because memory serves few requests at once. Sequential reads are prefetched by the processor
    // itself.
    constexpr std::size_t kFar = 4; // leaves
    const bool far = leafAt(index, ends.after(out.size()), leaf) - leaf > kFar * out.size();
    struct Ahead {
        std::int64_t end;
        std::size_t leaf;
    };
    constexpr std::size_t kAhead = 16; // a power of two
    constexpr std::size_t kStep = kAhead / 3;
    std::array<Ahead, kAhead> ahead; // by column, in turn
    std::size_t last = leaf;
    const auto fetch = [&](std::size_t column) {
        if (column < out.size()) {
            const std::int64_t end = ends.next();
            last = leafAt(index, end, last);
            ahead[column % kAhead] = {end, last};
            if (far) prefetch(index, last, 0);
        }
        if (!far) return;
        for (const std::size_t step : {1U, 2U}) {
            const std::size_t before = column - step * kStep;
            if (before < out.size()) prefetch(index, ahead[before % kAhead].leaf, static_cast<int>(step));
        }
    };
    for (std::size_t column = 0; column + 1 < kAhead; ++column)
        fetch(column);
    LeafWalk walk(*this, index);
    walk.enter(leaf);
    walk.advance(from, [](StringId, std::int64_t) {});
    for (std::size_t column = 0; column < out.size(); ++column) {
        fetch(column + kAhead - 1);
        const auto [end, end_leaf] = ahead[column % kAhead];
        Node sum;
        const auto count = [&sum](StringId key, std::int64_t time) { sum.add(key, time, time); };
        if (end_leaf != leaf) {
            walk.advance(leafBegin(index, leaf + 1), count);
            addLeaves(index, leaf + 1, end_leaf, sum);
            walk.enter(end_leaf);
            leaf = end_leaf;
        }
        const std::int64_t leaf_end = leafBegin(index, leaf + 1);
        walk.advance(std::min(end, leaf_end), count);
        // Slices of earlier leaves may start when this leaf begins, and an empty one when the track ends.
        const bool halted_inside = index.begins[leaf] < end && end <= leaf_end;
        const SliceId next = halted_inside ? walk.next() : firstFrom(index, end, leaf, first);
        out[column] = {TimeNs{sum.busy}, next - first, sum.key};
        first = next;
    }
}

std::vector<SliceId> Pyramid::slices(TrackId track, TimeNs from, TimeNs to) const {
    const Index& index = tracks_[track];
    std::vector<SliceId> found;
    if (index.first == index.end) return found;
    const std::size_t leaf = leafAt(index, from.count() - 1); // others may begin exactly at `from`
    for (std::uint32_t open = index.nodes[leaf].open; open != kNone; open = index.open[open].outer) {
        if (endOf(index.open[open].slice) > from.count()) found.push_back(index.open[open].slice);
    }
    std::reverse(found.begin(), found.end());
    const SliceId end = firstFrom(index, to.count());
    for (auto slice = static_cast<SliceId>(index.first + leaf * kLeafSlices); slice < end; ++slice) {
        if (endOf(slice) > from.count() || startOf(slice) >= from.count()) found.push_back(slice);
    }
    return found;
}

bool Pyramid::few(TrackId track, TimeNs from, TimeNs to, std::size_t pixels) const {
    const Index& index = tracks_[track];
    return firstFrom(index, to.count()) - firstFrom(index, from.count()) <= pixels / kPixelsPerSlice;
}

std::size_t Pyramid::bytes() const {
    std::size_t sum = tracks_.capacity() * sizeof(Index) + keys_.capacity() * sizeof(StringId);
    for (const Index& index : tracks_)
        sum += index.nodes.capacity() * sizeof(Node) + index.begins.capacity() * sizeof(std::int64_t) +
               index.open.capacity() * sizeof(Open);
    return sum;
}

} // namespace bubblescope
