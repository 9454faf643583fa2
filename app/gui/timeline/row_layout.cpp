#include "app/gui/timeline/row_layout.h"

#include <algorithm>
#include <array>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr int kLaneMargin = 6; ///< above and below a row's lanes
constexpr int kLaneGap = 2;
constexpr int kComfortable = 110; ///< height of the ops that suits most screens
constexpr int kCommHeight = 12;
constexpr int kGhostHeight = 16;
constexpr int kMaxViews = 4;     ///< to scroll through; more of them are shown as strips
constexpr int kLeastFree = 80;   ///< pixels below pinned rows; with less they do not stay
constexpr int kManyRows = 32;    ///< fewer are never made strips unasked
constexpr int kStripGapFrom = 4; ///< strips at least this high leave a line to the next
constexpr std::array kCommLanes{LaneKind::Send, LaneKind::Receive, LaneKind::Wait, LaneKind::Collective};
/// Heights of the ops to choose from.
constexpr std::array kHeights{RowLayout::kThinnest, 5, 8, 12, 18, RowLayout::kReadable, 36, 54, 80, 110, 160,
                              RowLayout::kHighest};

} // namespace

RowLayout::RowLayout(const Lanes& lanes, int view_height, RowExtras extras)
    : row_of_line_(lanes.lineCount(), -1), extras_(std::move(extras)) {
    if (extras_.rows) {
        plan_ = *std::move(extras_.rows);
    } else {
        for (int line = 0; line < static_cast<int>(lanes.lineCount()); ++line)
            plan_.push_back({.line = line});
    }
    int rows = 0;
    for (int row = 0; row < rowCount(); ++row) {
        if (isHeader(row)) continue;
        row_of_line_[static_cast<std::size_t>(lineAt(row))] = row;
        ++rows;
    }
    const int for_rows = view_height - (rowCount() - rows) * kGroupHeight;
    layBands(lanes, 0);
    const int fixed = row_height_;
    const int room = rows > 0 ? for_rows / rows : fixed + kComfortable;
    if (extras_.height > 0) {
        strips_ = extras_.height < kReadable;
    } else {
        strips_ = rows >= kManyRows && rows * (fixed + kReadable) > kMaxViews * std::max(1, view_height);
    }
    if (strips_) {
        layStrip(std::clamp(extras_.height > 0 ? extras_.height : room, kThinnest, kReadable - 1));
    } else {
        layBands(lanes, extras_.height > 0 ? std::min(extras_.height, kHighest)
                                           : std::clamp(room - fixed, kReadable, kComfortable));
    }
    tops_.push_back(0);
    int pinned = 0;
    for (int row = 0; row < rowCount(); ++row) {
        const int counters = counterCount(row);
        tops_.push_back(tops_.back() + (isHeader(row)
                                            ? kGroupHeight
                                            : row_height_ + rawHeight(row) +
                                                  (counters > 0 ? counters * kCounterPitch + kLaneMargin : 0)));
        if (plan_[static_cast<std::size_t>(row)].pinned) pinned = tops_.back();
    }
    if (pinned <= view_height - kLeastFree) sticky_ = pinned;
}

int RowLayout::rowOf(int line) const {
    const auto at = static_cast<std::size_t>(line);
    return line >= 0 && at < row_of_line_.size() ? row_of_line_[at] : -1;
}

int RowLayout::rawHeight(int row) const {
    const int raw = rawCount(row);
    return raw > 0 ? raw * kRawPitch + kLaneMargin : 0;
}

int RowLayout::counterCount(int row) const {
    if (strips_ || row < 0 || row >= rowCount() || isHeader(row)) return 0;
    const auto at = static_cast<std::size_t>(lineAt(row));
    return at < extras_.counters.size() ? extras_.counters[at] : 0;
}

int RowLayout::counterTop(int row, int lane) const {
    return rowTop(row) + row_height_ + rawHeight(row) + lane * kCounterPitch;
}

void RowLayout::layStrip(int height) {
    bands_ = {{LaneKind::Compute, 0, height >= kStripGapFrom ? height - 1 : height}};
    ghost_ = {};
    row_height_ = height;
}

void RowLayout::layBands(const Lanes& lanes, int compute) {
    int top = kLaneMargin;
    bands_ = {{LaneKind::Compute, top, compute}};
    top += compute + kLaneGap;
    if (extras_.ghost) {
        ghost_ = {LaneKind::Compute, top, kGhostHeight};
        top += kGhostHeight + kLaneGap;
    }
    for (const LaneKind kind : kCommLanes) {
        if (!lanes.uses(kind) || !extras_.transfers) continue;
        bands_.push_back({kind, top, kCommHeight});
        top += kCommHeight + kLaneGap;
    }
    row_height_ = top - kLaneGap + kLaneMargin;
}

int RowLayout::otherHeight(int direction) const {
    const int now = strips_ ? row_height_ : bands_.empty() ? kReadable : bands_.front().height;
    if (direction > 0) {
        const auto* const higher = std::ranges::upper_bound(kHeights, now);
        return higher == kHeights.end() ? kHeights.back() : *higher;
    }
    const auto* const lower = std::ranges::lower_bound(kHeights, now);
    return lower == kHeights.begin() ? kHeights.front() : *(lower - 1);
}

RowExtras::RawPart RowLayout::rawPart(int row) const {
    if (row < 0 || row >= rowCount() || isHeader(row)) return {};
    const auto at = static_cast<std::size_t>(lineAt(row));
    return at < extras_.raw_lanes.size() ? extras_.raw_lanes[at] : RowExtras::RawPart{};
}

int RowLayout::rowAt(int y) const {
    if (y < 0 || y >= contentHeight()) return -1;
    return static_cast<int>(std::upper_bound(tops_.begin(), tops_.end(), y) - tops_.begin()) - 1;
}

std::optional<LaneBand> RowLayout::bandAt(int y) const {
    const int row = rowAt(y);
    if (row < 0 || isHeader(row)) return std::nullopt;
    const int inside = y - rowTop(row);
    for (const LaneBand& band : bands_) {
        if (inside >= band.top && inside < band.top + band.height) return band;
    }
    return std::nullopt;
}

std::optional<RowLayout::RawPlace> RowLayout::rawAt(int y) const {
    const int row = rowAt(y);
    if (row < 0 || y < rawTop(row, 0)) return std::nullopt;
    const int lane = (y - rawTop(row, 0)) / kRawPitch;
    if (lane >= rawCount(row) || y >= rawTop(row, lane) + kRawHeight) return std::nullopt;
    return RawPlace{row, lane};
}

} // namespace bubblescope::gui
