#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bubblescope {

/// Pixels of equal length, counted from time 0: pixel k is [border(k), border(k + 1)). So views of one zoom that lie
/// beside each other have their borders in common.
class PixelGrid {
public:
    /// `count` pixels are as long as `length`; both are positive.
    PixelGrid(TimeNs length, std::size_t count)
        : count_(static_cast<std::int64_t>(count)), whole_(length.count() / count_), rest_(length.count() % count_) {}

    [[nodiscard]] TimeNs border(std::int64_t pixel) const;
    /// The pixel whose begin is next to a time.
    [[nodiscard]] std::int64_t nearest(TimeNs time) const;

    /// Goes from border to border, which takes no division.
    class Walk {
    public:
        /// From the begin of a pixel.
        Walk(const PixelGrid& grid, std::int64_t pixel);
        [[nodiscard]] std::int64_t next() {
            at_ += grid_.whole_;
            part_ += grid_.rest_;
            if (part_ >= grid_.count_) {
                part_ -= grid_.count_;
                ++at_;
            }
            return at_;
        }

        /// About where that many pixels end; at most a nanosecond a pixel too early.
        [[nodiscard]] std::int64_t after(std::size_t pixels) const {
            return at_ + grid_.whole_ * static_cast<std::int64_t>(pixels);
        }

    private:
        friend class Pyramid;
        const PixelGrid& grid_;
        std::int64_t at_;   ///< ns
        std::int64_t part_; ///< of a nanosecond, in count_ parts
    };

private:
    std::int64_t count_;
    std::int64_t whole_; ///< nanoseconds of a pixel …
    std::int64_t rest_;  ///< … and what is missing in all of them
};

/// What a track does in an interval of time, for views that have one pixel for thousands of slices.
///
/// A track's time is divided into leaves at the start of every 16th slice, so that leaves are short where much happens.
/// Each leaf, each group of eight leaves, and so on, stores how long the track is busy within it and which key takes
/// most of that. An interval is assembled from the largest nodes within it; at its borders the slices are read
/// individually. So times and counts are exact at every zoom, at O(log n) per pixel.
///
/// Memory: 2.3 bytes per slice, and 8 for each slice that is open where a leaf begins. Immutable; any number of threads
/// may read. Keeps the trace alive.
class Pyramid {
public:
    /// `keys`: what distinguishes slices, one entry per slice of the trace (names, categories). Uses all cores. Errors:
    /// Cancelled.
    [[nodiscard]] static Result<Pyramid> build(std::shared_ptr<const Trace> trace, std::vector<StringId> keys,
                                               const JobControl& control);
    [[nodiscard]] static Result<Pyramid> build(std::shared_ptr<const Trace> trace, const JobControl& control);

    struct Column {
        TimeNs busy{0};           ///< in which at least one slice runs
        std::uint32_t slices = 0; ///< that start in it
        /// The innermost slices' key that takes more than half of `busy`, if there is one, or else one of those that
        /// take much; 0 if nothing runs.
        StringId key = 0;

        friend bool operator==(const Column&, const Column&) = default;
    };
    /// Divides [from, to) into out.size() columns, the remainder spread evenly; see border().
    void columns(TrackId track, TimeNs from, TimeNs to, std::span<Column> out) const;
    /// The pixels of a grid from `first` on.
    void columns(TrackId track, const PixelGrid& grid, std::int64_t first, std::span<Column> out) const;
    /// Where column `index` of `count` begins.
    [[nodiscard]] static TimeNs border(TimeNs from, TimeNs to, std::size_t index, std::size_t count);

    /// The slices that run or start in [from, to), by start, outer first.
    [[nodiscard]] std::vector<SliceId> slices(TrackId track, TimeNs from, TimeNs to) const;

    /// Whether so few slices start in [from, to) that most are wide enough to be drawn individually on `pixels` pixels.
    [[nodiscard]] bool few(TrackId track, TimeNs from, TimeNs to, std::size_t pixels) const;

    [[nodiscard]] std::size_t bytes() const;

private:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    /// Busy time and the leading key: a majority vote (Boyer and Moore) weighted by time. Votes can be merged, and a
    /// key with more than half of all time always wins.
    struct Node {
        std::int64_t busy = 0;
        std::int64_t lead = 0;
        StringId key = 0;
        std::uint32_t open = kNone; ///< of a leaf: the innermost slice open at its begin, in open_

        void add(StringId other, std::int64_t time, std::int64_t ahead);
    };
    /// A slice that is open where a leaf begins, and the one around it.
    struct Open {
        SliceId slice;
        std::uint32_t outer;
    };
    /// One track's nodes: its leaves, then each level above.
    struct Index {
        SliceId first = 0;
        SliceId end = 0;
        std::int64_t last_end = 0;
        std::vector<Node> nodes;
        std::vector<std::int64_t> begins; ///< of the leaves: what columns() searches, close together
        std::vector<Open> open;

        [[nodiscard]] std::size_t leaves() const;
    };
    class Builder;
    class LeafWalk;

    Pyramid(std::shared_ptr<const Trace> trace, std::vector<StringId> keys);
    [[nodiscard]] std::span<const StringId> keys() const;
    void columns(TrackId track, std::int64_t from, PixelGrid::Walk ends, std::span<Column> out) const;
    [[nodiscard]] std::int64_t startOf(SliceId slice) const { return trace_->sliceStarts()[slice]; }
    [[nodiscard]] std::int64_t endOf(SliceId slice) const {
        return trace_->sliceStarts()[slice] + trace_->sliceDurations()[slice];
    }
    [[nodiscard]] static std::int64_t leafBegin(const Index& index, std::size_t leaf);
    [[nodiscard]] static std::size_t leafAt(const Index& index, std::int64_t time, std::size_t from = 0);
    void prefetch(const Index& index, std::size_t leaf, int step) const;
    void prefetchSlices(std::size_t begin, std::size_t end) const;
    [[nodiscard]] SliceId firstFrom(const Index& index, std::int64_t time) const;
    [[nodiscard]] SliceId firstFrom(const Index& index, std::int64_t time, std::size_t leaf, SliceId from) const;
    static void addLeaves(const Index& index, std::size_t begin, std::size_t end, Node& sum);

    std::shared_ptr<const Trace> trace_;
    std::vector<StringId> keys_; ///< none: the slices' names
    std::vector<Index> tracks_;
};

} // namespace bubblescope
