#include "app/gui/timeline/row_layout.h"

#include <algorithm>
#include <array>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr int kMargin = 6; ///< above and below a row's lanes
constexpr int kLaneGap = 2;
constexpr int kComputeMin = 24;
constexpr int kComputeMax = 110;
constexpr int kCommHeight = 12;
constexpr int kGhostHeight = 16;
constexpr std::array kCommLanes{LaneKind::Send, LaneKind::Receive, LaneKind::Wait, LaneKind::Collective};

} // namespace

RowLayout::RowLayout(const Lanes& lanes, int view_height, RowExtras extras)
    : rows_(static_cast<int>(lanes.rankCount())), extras_(std::move(extras)) {
    int comm_lanes = 0;
    for (const LaneKind kind : kCommLanes)
        comm_lanes += lanes.uses(kind);
    const int ghost = extras_.ghost ? kGhostHeight + kLaneGap : 0;
    const int fixed = 2 * kMargin + comm_lanes * (kCommHeight + kLaneGap) + ghost;
    const int room = rows_ > 0 ? view_height / rows_ - fixed : kComputeMax;
    const int compute = std::clamp(room, kComputeMin, kComputeMax);

    int top = kMargin;
    bands_.push_back({LaneKind::Compute, top, compute});
    top += compute + kLaneGap;
    if (extras_.ghost) ghost_ = {LaneKind::Compute, top, kGhostHeight};
    top += ghost;
    for (const LaneKind kind : kCommLanes) {
        if (!lanes.uses(kind)) continue;
        bands_.push_back({kind, top, kCommHeight});
        top += kCommHeight + kLaneGap;
    }
    row_height_ = compute + fixed;
    tops_.push_back(0);
    for (int row = 0; row < rows_; ++row) {
        const int raw = rawCount(row);
        tops_.push_back(tops_.back() + row_height_ + (raw > 0 ? raw * kRawPitch + kMargin : 0));
    }
}

int RowLayout::rawCount(int row) const {
    const auto at = static_cast<std::size_t>(row);
    return row >= 0 && at < extras_.raw_lanes.size() ? extras_.raw_lanes[at] : 0;
}

int RowLayout::rowAt(int y) const {
    if (y < 0 || y >= contentHeight()) return -1;
    return static_cast<int>(std::upper_bound(tops_.begin(), tops_.end(), y) - tops_.begin()) - 1;
}

std::optional<LaneBand> RowLayout::bandAt(int y) const {
    const int row = rowAt(y);
    if (row < 0) return std::nullopt;
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
