#include "app/gui/timeline/row_layout.h"

#include <algorithm>
#include <array>

namespace bubblescope::gui {

namespace {

constexpr int kMargin = 6; ///< above and below a row's lanes
constexpr int kLaneGap = 2;
constexpr int kComputeMin = 24;
constexpr int kComputeMax = 110;
constexpr int kCommHeight = 12;
constexpr std::array kCommLanes{LaneKind::Send, LaneKind::Receive, LaneKind::Wait, LaneKind::Collective};

} // namespace

RowLayout::RowLayout(const Lanes& lanes, int view_height) : rows_(static_cast<int>(lanes.rankCount())) {
    int comm_lanes = 0;
    for (const LaneKind kind : kCommLanes)
        comm_lanes += lanes.uses(kind);
    const int fixed = 2 * kMargin + comm_lanes * (kCommHeight + kLaneGap);
    const int room = rows_ > 0 ? view_height / rows_ - fixed : kComputeMax;
    const int compute = std::clamp(room, kComputeMin, kComputeMax);

    int top = kMargin;
    bands_.push_back({LaneKind::Compute, top, compute});
    top += compute + kLaneGap;
    for (const LaneKind kind : kCommLanes) {
        if (!lanes.uses(kind)) continue;
        bands_.push_back({kind, top, kCommHeight});
        top += kCommHeight + kLaneGap;
    }
    row_height_ = compute + fixed;
}

int RowLayout::rowAt(int y) const {
    if (y < 0 || y >= contentHeight()) return -1;
    return y / row_height_;
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

} // namespace bubblescope::gui
