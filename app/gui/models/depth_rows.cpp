#include "app/gui/models/depth_rows.h"

#include "core/base/parallel.h"

#include <algorithm>

namespace bubblescope::gui {

void DepthRows::Node::add(StringId other, std::int64_t time, std::int64_t ahead) {
    busy += time;
    const std::int64_t left = other == key ? lead + ahead : lead - ahead;
    key = left < 0 ? other : key;
    lead = left < 0 ? -left : left;
}

/// Reads one row.
class DepthRows::Reader {
public:
    Reader(const Trace& trace, const Row& row) : trace_(trace), row_(row) {}

    [[nodiscard]] std::size_t size() const { return row_.slices.size(); }
    [[nodiscard]] TimeNs start(std::size_t at) const { return trace_.start(row_.slices[at]); }
    [[nodiscard]] TimeNs end(std::size_t at) const { return trace_.end(row_.slices[at]); }

    /// Index of the first slice that ends after `time` or starts at `time`. Slices do not overlap, so their ends are
    /// also ascending.
    [[nodiscard]] std::size_t firstFrom(TimeNs time) const {
        const auto before = [&](SliceId slice) { return trace_.end(slice) <= time && trace_.start(slice) < time; };
        return static_cast<std::size_t>(std::ranges::partition_point(row_.slices, before) - row_.slices.begin());
    }
    /// Index of the first slice that starts at `time` or later, but at least `from`. Fast if the slice is near `from`.
    [[nodiscard]] std::size_t firstStarting(TimeNs time, std::size_t from = 0) const {
        std::size_t reach = from;
        for (std::size_t stride = 1; reach < size() && start(reach) < time; stride *= 2) {
            from = reach + 1;
            reach += stride;
        }
        const auto begin = row_.slices.begin();
        const auto found = std::partition_point(begin + static_cast<std::ptrdiff_t>(from),
                                                begin + static_cast<std::ptrdiff_t>(std::min(size(), reach)),
                                                [&](SliceId slice) { return trace_.start(slice) < time; });
        return static_cast<std::size_t>(found - begin);
    }

    /// Adds the time of the slices [begin, end) in an interval. Only the first and last may extend beyond it.
    void add(std::size_t begin, std::size_t end, TimeNs from, TimeNs to, Node& sum) const {
        if (begin >= end) return;
        addPart(begin, from, to, sum);
        if (end - begin == 1) return;
        addWhole(begin + 1, end - 1, sum);
        addPart(end - 1, from, to, sum);
    }

private:
    void addPart(std::size_t at, TimeNs from, TimeNs to, Node& sum) const {
        const std::int64_t time = (std::min(end(at), to) - std::max(start(at), from)).count();
        if (time > 0) sum.add(trace_.sliceNames()[row_.slices[at]], time, time);
    }
    void addWhole(std::size_t begin, std::size_t end, Node& sum) const {
        const auto ends = [&](const auto& add) {
            for (; begin < end && begin % kFanOut != 0; ++begin)
                add(begin);
            for (; begin < end && end % kFanOut != 0; --end)
                add(end - 1);
        };
        ends([&](std::size_t at) { addPart(at, TimeNs::min(), TimeNs::max(), sum); });
        for (const std::vector<Node>& level : row_.levels) {
            begin /= kFanOut;
            end /= kFanOut;
            ends([&](std::size_t at) { sum.add(level[at].key, level[at].busy, level[at].lead); });
        }
    }

    const Trace& trace_;
    const Row& row_;
};

Result<DepthRows> DepthRows::build(std::shared_ptr<const Trace> trace, const std::vector<TrackId>& tracks,
                                   const JobControl& control) {
    DepthRows out;
    out.trace_ = std::move(trace);
    out.tracks_.resize(out.trace_->tracks().size());
    const bool whole = parallelFor(tracks.size(), [&](std::size_t i) {
        if (control.stopRequested()) return false;
        Rows& rows = out.tracks_[tracks[i]];
        out.divide(tracks[i], rows);
        if (rows.size() < 2) rows.clear();
        for (Row& row : rows)
            out.sumUp(row);
        return true;
    });
    if (!whole) return cancelledError();
    return out;
}

void DepthRows::divide(TrackId track, Rows& rows) const {
    const Track& of = trace_->tracks()[track];
    std::vector<TimeNs> ends; // ends of the slices that enclose the next one
    for (SliceId slice = of.first_slice; slice < of.end_slice; ++slice) {
        while (!ends.empty() && ends.back() <= trace_->start(slice))
            ends.pop_back();
        if (rows.size() <= ends.size() && rows.size() < kMost) rows.emplace_back();
        if (ends.size() < rows.size()) rows[ends.size()].slices.push_back(slice);
        ends.push_back(trace_->end(slice));
    }
}

/// Builds levels until a level is small enough for summing during drawing.
void DepthRows::sumUp(Row& row) const {
    const Reader slices(*trace_, row);
    row.slices.shrink_to_fit();
    std::vector<Node> level(row.slices.size() / kFanOut);
    for (std::size_t i = 0; i < level.size() * kFanOut; ++i) {
        const std::int64_t time = (slices.end(i) - slices.start(i)).count();
        level[i / kFanOut].add(trace_->sliceNames()[row.slices[i]], time, time);
    }
    while (!level.empty()) {
        std::vector<Node> above(level.size() / kFanOut);
        for (std::size_t i = 0; i < above.size() * kFanOut; ++i)
            above[i / kFanOut].add(level[i].key, level[i].busy, level[i].lead);
        row.levels.push_back(std::move(level));
        level = std::move(above);
    }
}

int DepthRows::depthOf(TrackId track) const {
    return track < tracks_.size() ? std::max(1, static_cast<int>(tracks_[track].size())) : 1;
}

int DepthRows::depthOf(TrackId track, SliceId slice) const {
    if (depthOf(track) == 1) return 0;
    const Rows& rows = tracks_[track];
    const auto holds = [slice](const Row& row) { return std::ranges::binary_search(row.slices, slice); };
    const auto found = std::ranges::find_if(rows, holds);
    return static_cast<int>((found == rows.end() ? found - 1 : found) - rows.begin()); // deeper slices have no row
}

SliceId DepthRows::neighbour(TrackId track, SliceId slice, int direction) const {
    const std::vector<SliceId>& slices = row(track, depthOf(track, slice)).slices;
    const auto at = std::ranges::lower_bound(slices, slice);
    if (direction > 0) return at == slices.end() || at + 1 == slices.end() ? kNoId : *(at + 1);
    return at == slices.begin() ? kNoId : *(at - 1);
}

const DepthRows::Row& DepthRows::row(TrackId track, int depth) const {
    return tracks_[track][static_cast<std::size_t>(depth)];
}

void DepthRows::columns(TrackId track, int depth, const PixelGrid& grid, std::int64_t first,
                        std::span<Pyramid::Column> out) const {
    const Reader slices(*trace_, row(track, depth));
    TimeNs from = grid.border(first);
    PixelGrid::Walk ends(grid, first);
    std::size_t at = slices.firstFrom(from);
    for (Pyramid::Column& column : out) {
        const TimeNs to{ends.next()};
        const std::size_t next = slices.firstStarting(to, at);
        Node sum;
        slices.add(at, next, from, to, sum);
        const std::size_t earlier = at < next && slices.start(at) < from ? 1 : 0;
        column = {TimeNs{sum.busy}, static_cast<std::uint32_t>(next - at - earlier), sum.key};
        at = next > at && slices.end(next - 1) > to ? next - 1 : next;
        from = to;
    }
}

std::vector<SliceId> DepthRows::slices(TrackId track, int depth, TimeNs from, TimeNs to) const {
    const Row& of = row(track, depth);
    const Reader slices(*trace_, of);
    const std::size_t first = slices.firstFrom(from);
    const std::size_t end = std::max(first, slices.firstStarting(to, first));
    return {of.slices.begin() + static_cast<std::ptrdiff_t>(first),
            of.slices.begin() + static_cast<std::ptrdiff_t>(end)};
}

bool DepthRows::few(TrackId track, int depth, TimeNs from, TimeNs to, std::size_t pixels) const {
    constexpr std::size_t kPixelsPerSlice = 2;
    const Reader slices(*trace_, row(track, depth));
    const std::size_t first = slices.firstStarting(from);
    return slices.firstStarting(to, first) - first <= pixels / kPixelsPerSlice;
}

} // namespace bubblescope::gui
