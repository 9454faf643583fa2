#include "app/gui/timeline/column_shares.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace bubblescope::gui {

namespace {

std::size_t placeOfRole(Role role) {
    return static_cast<std::size_t>(role);
}

} // namespace

StackHeights stackHeights(const RoleTimes& shares, TimeNs length, int pixels) {
    StackHeights heights{};
    if (length <= TimeNs{0} || pixels <= 0) return heights;
    // Most columns have two or three parts, so only those that are there are gone through. The last is what is outside.
    struct Part {
        std::size_t role = 0;
        bool op = false;
        bool inside = true;
        TimeNs time{0};
        double exact = 0;
        double rest = 0;
        int pixels = 0;
    };
    std::array<Part, kStackOrder.size() + 1> parts;
    std::size_t count = 0;
    const double scale = pixels / static_cast<double>(length.count());
    double outside = pixels;
    int left = pixels;
    const auto add = [&](Part part) {
        part.exact = std::clamp(part.exact, 0.0, static_cast<double>(pixels));
        part.pixels = static_cast<int>(part.exact + 1e-9); // not negative
        part.rest = part.exact - part.pixels;
        left -= part.pixels;
        parts[count++] = part;
    };
    for (const Role role : kStackOrder) {
        const TimeNs time = shares[placeOfRole(role)];
        if (time == TimeNs{0}) continue;
        const double exact = static_cast<double>(time.count()) * scale;
        outside -= exact;
        add({.role = placeOfRole(role), .op = isOpRole(role), .time = time, .exact = exact});
    }
    add({.inside = false, .exact = outside});
    const std::span<Part> all(parts.data(), count);
    for (; left > 0; --left) {
        Part& most = *std::ranges::max_element(all, {}, &Part::rest);
        ++most.pixels;
        most.rest = -1;
    }
    // Every kind of time that there is stays visible.
    Part& last = all.back();
    for (const bool ops : {true, false}) {
        Part* largest = nullptr;
        int total = 0;
        for (Part& part : all) {
            if (!part.inside || part.op != ops || part.time <= TimeNs{0}) continue;
            total += part.pixels;
            if (largest == nullptr || part.time > largest->time) largest = &part;
        }
        if (largest == nullptr || total > 0) continue;
        // From what is outside of steps, else from the part of the other kind that is most too high.
        Part* from = &last;
        int others = 0;
        double too_high = -2;
        for (Part& part : all) {
            if (last.pixels != 0 || !part.inside || part.op == ops || part.pixels == 0) continue;
            others += part.pixels;
            const double over = part.pixels - part.exact;
            if (over <= too_high) continue;
            too_high = over;
            from = &part;
        }
        if (from->pixels == 0 || (from != &last && others < 2)) continue; // a single pixel is not divided
        --from->pixels;
        ++largest->pixels;
    }
    for (const Part& part : all) {
        if (part.inside) heights[part.role] = static_cast<std::uint16_t>(part.pixels);
    }
    return heights;
}

LaneCursor::LaneCursor(const Lane& lane, TimeNs begin)
    : lane_(lane), next_(lane.firstStartingFrom(begin)), covered_(lane.coveredBefore(begin, next_)) {}

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

RoleTimes LineCursor::shares() {
    const Lane& ops = ops_.lane();
    RoleTimes out{};
    ops.addByRole(begin_next_, ops_.next(), out);
    const Lane::Overhang before = begin_ == known_time_ ? known_ : ops.overhang(begin_, begin_next_);
    known_ = ops.overhang(end_, ops_.next());
    known_time_ = end_;
    for (std::size_t i = 0; i < before.roles.size(); ++i) {
        out[before.roles[i]] += before.times[i];
        out[known_.roles[i]] -= known_.times[i];
    }
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
