#include "app/gui/timeline/column_shares.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

std::size_t placeOfRole(Role role) {
    return static_cast<std::size_t>(role);
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
        floors[part] = static_cast<int>(exact + 1e-9); // not negative
        rest[part] = exact - floors[part];
        left -= floors[part];
    };
    for (std::size_t part = 0; part < kStackOrder.size(); ++part) {
        const TimeNs time = shares[placeOfRole(kStackOrder[part])];
        if (time == TimeNs{0}) continue;
        const double exact = static_cast<double>(time.count()) * scale;
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

LineCursor::LineCursor(const Lanes& lanes, std::size_t line, TimeNs begin)
    : ops_(lanes.lane(line, LaneKind::Compute), begin), bubbles_(lanes.lane(line, LaneKind::Bubble), begin),
      exposed_(lanes.lane(line, LaneKind::Exposed), begin), waits_(lanes.lane(line, LaneKind::ReplicaWait), begin),
      begin_(begin), end_(begin), begin_next_(ops_.next()) {}

void LineCursor::advance(TimeNs to) {
    begin_ = end_;
    end_ = to;
    begin_next_ = ops_.next();
    busy = ops_.advance(to);
    idle = bubbles_.advance(to);
    exposed = exposed_.advance(to);
    waiting = waits_.advance(to);
}

TimeNs LineCursor::nextStart() const {
    return std::min({ops_.nextStart(), exposed_.nextStart(), waits_.nextStart()});
}

/// Neighbouring columns share a border, which is computed once.
RoleTimes LineCursor::opsUntil(TimeNs time, std::size_t next) {
    if (time == until_time_) return until_;
    known_ = ops_.lane().startedByRole(next, known_, known_next_);
    known_next_ = next;
    until_time_ = time;
    return until_ = ops_.lane().coveredByRole(time, next, known_);
}

RoleTimes LineCursor::shares() {
    const RoleTimes before = opsUntil(begin_, begin_next_);
    RoleTimes out = opsUntil(end_, ops_.next());
    for (std::size_t role = 0; role < kRoleCount; ++role)
        out[role] -= before[role];
    out[placeOfRole(Role::Send)] = exposed;
    out[placeOfRole(Role::Bubble)] = idle - exposed;
    out[placeOfRole(Role::ReplicaWait)] = waiting;
    return out;
}

RoleTimes sharesOf(const Lanes& lanes, std::size_t line, const TimeRange& range) {
    LineCursor cursor(lanes, line, range.begin);
    cursor.advance(range.end);
    return cursor.shares();
}

} // namespace bubblescope::gui
