#include "app/gui/timeline/column_shares.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

std::size_t placeOfRole(Role role) {
    return static_cast<std::size_t>(role);
}

TimeNs coveredIn(const Lane& lane, const TimeRange& range) {
    const std::size_t first = lane.firstStartingFrom(range.begin);
    return lane.coveredBefore(range.end, lane.firstStartingFrom(range.end, first)) -
           lane.coveredBefore(range.begin, first);
}

} // namespace

StackHeights stackHeights(const RoleTimes& shares, TimeNs length, int pixels) {
    StackHeights heights{};
    if (length <= TimeNs{0} || pixels <= 0) return heights;
    constexpr std::size_t kParts = kStackOrder.size() + 1; // and what is outside
    std::array<double, kParts> rest{};
    std::array<int, kParts> floors{};
    std::array<double, kParts> exact_of{};
    const double scale = pixels / static_cast<double>(length.count());
    double exact_outside = pixels;
    int left = pixels;
    const auto split = [&](std::size_t part, double exact) {
        exact = std::clamp(exact, 0.0, static_cast<double>(pixels));
        exact_of[part] = exact;
        floors[part] = static_cast<int>(std::floor(exact + 1e-9));
        rest[part] = exact - floors[part];
        left -= floors[part];
    };
    for (std::size_t part = 0; part < kStackOrder.size(); ++part) {
        const double exact = static_cast<double>(shares[placeOfRole(kStackOrder[part])].count()) * scale;
        exact_outside -= exact;
        split(part, exact);
    }
    split(kParts - 1, exact_outside);
    for (; left > 0; --left) {
        const auto most = static_cast<std::size_t>(std::ranges::max_element(rest) - rest.begin());
        ++floors[most];
        rest[most] = -1;
    }
    // Every kind of time that there is stays visible.
    for (const bool ops : {true, false}) {
        std::size_t largest = kParts;
        int total = 0;
        for (std::size_t part = 0; part < kStackOrder.size(); ++part) {
            const TimeNs time = shares[placeOfRole(kStackOrder[part])];
            if (isOpRole(kStackOrder[part]) != ops || time <= TimeNs{0}) continue;
            total += floors[part];
            if (largest == kParts || time > shares[placeOfRole(kStackOrder[largest])]) largest = part;
        }
        if (largest == kParts || total > 0) continue;
        // From what is outside of steps, else from the part of the other kind that is most too high.
        std::size_t from = kParts - 1;
        int others = 0;
        double too_high = -2;
        for (std::size_t part = 0; floors[kParts - 1] == 0 && part < kStackOrder.size(); ++part) {
            if (isOpRole(kStackOrder[part]) == ops || floors[part] == 0) continue;
            others += floors[part];
            const double over = floors[part] - exact_of[part];
            if (over <= too_high) continue;
            too_high = over;
            from = part;
        }
        if (floors[from] == 0 || (from != kParts - 1 && others < 2)) continue; // a single pixel is not divided
        --floors[from];
        ++floors[largest];
    }
    for (std::size_t part = 0; part < kStackOrder.size(); ++part)
        heights[placeOfRole(kStackOrder[part])] = static_cast<std::uint16_t>(floors[part]);
    return heights;
}

LaneCursor::LaneCursor(const Lane& lane, TimeNs begin)
    : lane_(lane), next_(lane.firstStartingFrom(begin)), covered_(lane.coveredBefore(begin, next_)) {}

TimeNs LaneCursor::advance(TimeNs to) {
    before_ = next_;
    next_ = lane_.firstStartingFrom(to, next_);
    const TimeNs covered = lane_.coveredBefore(to, next_);
    const TimeNs busy = covered - covered_;
    covered_ = covered;
    return busy;
}

std::size_t LaneCursor::firstMet(TimeNs begin) const {
    std::size_t first = before_;
    while (first > 0 && lane_.spans()[first - 1].end > begin)
        --first;
    return first;
}

TimeNs LaneCursor::nextStart() const {
    return next_ < lane_.spans().size() ? lane_.spans()[next_].start : TimeNs::max();
}

RoleTimes sharesOf(const Lanes& lanes, std::size_t line, const TimeRange& range) {
    const Lane& ops = lanes.lane(line, LaneKind::Compute);
    const std::size_t first = ops.firstStartingFrom(range.begin);
    const RoleTimes before = ops.coveredByRole(range.begin, first);
    RoleTimes out = ops.coveredByRole(range.end, ops.firstStartingFrom(range.end, first));
    for (std::size_t role = 0; role < kRoleCount; ++role)
        out[role] -= before[role];
    const TimeNs exposed = coveredIn(lanes.lane(line, LaneKind::Exposed), range);
    out[placeOfRole(Role::Send)] = exposed;
    out[placeOfRole(Role::Bubble)] = coveredIn(lanes.lane(line, LaneKind::Bubble), range) - exposed;
    out[placeOfRole(Role::ReplicaWait)] = coveredIn(lanes.lane(line, LaneKind::ReplicaWait), range);
    return out;
}

} // namespace bubblescope::gui
