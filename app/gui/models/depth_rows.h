#pragma once

#include "core/trace/pyramid.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bubblescope::gui {

/// Groups the slices of tracks by nesting depth, so that views can draw one row per depth at any zoom. Slices of the
/// same depth do not overlap. Tracks without nested slices have a single row, drawn with their Pyramid. Memory: 6 bytes
/// per nested slice. Immutable; any thread.
class DepthRows {
public:
    /// Maximum number of rows; more deeply nested slices have no row.
    static constexpr int kMost = 64;

    DepthRows() = default;
    /// Creates the rows of these tracks. Linear in the number of slices; uses all cores. Errors: Cancelled.
    [[nodiscard]] static Result<DepthRows> build(std::shared_ptr<const Trace> trace, const std::vector<TrackId>& tracks,
                                                 const JobControl& control);

    /// Number of rows of a track, at least 1.
    [[nodiscard]] int depthOf(TrackId track) const;
    /// Row of a slice on one of these tracks.
    [[nodiscard]] int depthOf(TrackId track, SliceId slice) const;

    /// Slice after (1) or before (−1) `slice` in the same row; kNoId if there is none.
    [[nodiscard]] SliceId neighbour(TrackId track, SliceId slice, int direction) const;

    // Like Pyramid::columns(), for a single row of a track with several rows.
    void columns(TrackId track, int depth, const PixelGrid& grid, std::int64_t first,
                 std::span<Pyramid::Column> out) const;
    [[nodiscard]] std::vector<SliceId> slices(TrackId track, int depth, TimeNs from, TimeNs to) const;
    [[nodiscard]] bool few(TrackId track, int depth, TimeNs from, TimeNs to, std::size_t pixels) const;

private:
    static constexpr std::size_t kFanOut = 16;

    /// Busy time, and the name that accounts for most of it, if any; computed by majority vote as in Pyramid.
    struct Node {
        std::int64_t busy = 0;
        std::int64_t lead = 0;
        StringId key = 0;

        void add(StringId other, std::int64_t time, std::int64_t ahead);
    };
    struct Row {
        std::vector<SliceId> slices;           ///< ascending, and therefore in time order
        std::vector<std::vector<Node>> levels; ///< each node summarises kFanOut slices or nodes of the level below
    };
    using Rows = std::vector<Row>;

    class Reader;
    [[nodiscard]] const Row& row(TrackId track, int depth) const;
    void divide(TrackId track, Rows& rows) const;
    void sumUp(Row& row) const;

    std::shared_ptr<const Trace> trace_;
    std::vector<Rows> tracks_; ///< by track; empty for tracks with a single row
};

} // namespace bubblescope::gui
