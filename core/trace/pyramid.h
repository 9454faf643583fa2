#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bubblescope {

/// Pixels of equal length, starting at time 0: pixel k is [border(k), border(k + 1)). Adjacent views at the same zoom
/// level therefore share borders.
class PixelGrid {
public:
    /// The total length of `count` pixels is `length`; both must be positive.
    PixelGrid(TimeNs length, std::size_t count)
        : count_(static_cast<std::int64_t>(count)), whole_(length.count() / count_), rest_(length.count() % count_) {}

    [[nodiscard]] TimeNs border(std::int64_t pixel) const;
    /// Pixel whose start is nearest to a time.
    [[nodiscard]] std::int64_t nearest(TimeNs time) const;

    /// Advances from border to border without divisions.
    class Walk {
    public:
        /// Starts at the left border of `pixel`.
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

        /// Approximate end of the next `pixels` pixels; too early by at most a nanosecond per pixel.
        [[nodiscard]] std::int64_t after(std::size_t pixels) const {
            return at_ + grid_.whole_ * static_cast<std::int64_t>(pixels);
        }

    private:
        friend class Pyramid;
        const PixelGrid& grid_;
        std::int64_t at_;   ///< ns
        std::int64_t part_; ///< fraction of a nanosecond, in units of 1 / count_
    };

private:
    std::int64_t count_;
    std::int64_t whole_; ///< integer nanoseconds per pixel …
    std::int64_t rest_;  ///< … and the remainder over all pixels
};

/// Summarises the activity of a track in time intervals, for views in which one pixel covers thousands of slices.
///
/// A leaf starts at every 16th slice of a track, so leaves are short where slices are dense. Each leaf, each group of
/// eight leaves, and so on, stores its busy time and the key with most of that time. An interval is composed of the
/// largest nodes inside it; at its borders, slices are read individually. Therefore, times and counts are exact at
/// every zoom level, and a pixel costs O(log n).
///
/// Uses 2.3 bytes per slice, plus 8 bytes for each slice that is open at the start of a leaf. Immutable; any number of
/// threads may read it. Keeps the trace alive.
class Pyramid {
public:
    /// `keys` distinguish slices (by name or category) and have one entry per slice of the trace. Uses all cores.
    /// Errors: Cancelled.
    [[nodiscard]] static Result<Pyramid> build(std::shared_ptr<const Trace> trace, std::vector<StringId> keys,
                                               const JobControl& control);
    [[nodiscard]] static Result<Pyramid> build(std::shared_ptr<const Trace> trace, const JobControl& control);

    struct Column {
        TimeNs busy{0};           ///< time during which at least one slice runs
        std::uint32_t slices = 0; ///< number of slices that start in the interval
        /// Key of the innermost slices for more than half of `busy`; if there is none, a key with a large share. 0 if
        /// no slice runs.
        StringId key = 0;

        friend bool operator==(const Column&, const Column&) = default;
    };
    /// Divides [from, to) into out.size() columns of nearly equal width; see border().
    void columns(TrackId track, TimeNs from, TimeNs to, std::span<Column> out) const;
    /// As above, for the pixels of a grid starting with `first`.
    void columns(TrackId track, const PixelGrid& grid, std::int64_t first, std::span<Column> out) const;
    /// Start of column `index` out of `count` columns.
    [[nodiscard]] static TimeNs border(TimeNs from, TimeNs to, std::size_t index, std::size_t count);

    /// The slices that run or start in [from, to), sorted by start, outer slices first.
    [[nodiscard]] std::vector<SliceId> slices(TrackId track, TimeNs from, TimeNs to) const;

    /// True if so few slices start in [from, to) that most of them can be drawn individually on `pixels` pixels.
    [[nodiscard]] bool few(TrackId track, TimeNs from, TimeNs to, std::size_t pixels) const;

    [[nodiscard]] std::size_t bytes() const;

private:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    /// Busy time and the leading key, determined by a time-weighted majority vote (Boyer and Moore). Votes can be
    /// merged, and a key with more than half of the time always wins.
    struct Node {
        std::int64_t busy = 0;
        std::int64_t lead = 0;
        StringId key = 0;
        std::uint32_t open =
            kNone; ///< for a leaf: index into open_ of the innermost slice that is open at the start of the leaf

        void add(StringId other, std::int64_t time, std::int64_t ahead);
    };
    /// A slice that is open at the start of a leaf, and the slice that encloses it.
    struct Open {
        SliceId slice;
        std::uint32_t outer;
    };
    /// The nodes of one track: its leaves, followed by each higher level.
    struct Index {
        SliceId first = 0;
        SliceId end = 0;
        std::int64_t last_end = 0;
        std::vector<Node> nodes;
        std::vector<std::int64_t>
            begins; ///< start of each leaf; these are stored contiguously because columns() searches them
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
    std::vector<StringId> keys_; ///< keys of the slices; if empty, their names
    std::vector<Index> tracks_;
};

} // namespace bubblescope
