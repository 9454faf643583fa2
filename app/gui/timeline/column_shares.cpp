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

namespace {

/// A part of a column. The last one is the time outside of steps.
struct StackPart {
    std::size_t role;
    bool op;
    bool inside;
    TimeNs time;
    double exact;
    double rest;
    int pixels;
};

/// Gives all ops together, and all idle parts together, a pixel if their time is not 0. The pixel is taken from the
/// part outside steps, or else from the part of the other kind that exceeds its share most.
void keepVisible(std::span<StackPart> all, bool ops) {
    StackPart* largest = nullptr;
    StackPart* from = &all.back();
    int others = 0;
    double too_high = -2;
    for (StackPart& part : all.first(all.size() - 1)) {
        if (part.op == ops) {
            if (part.time > TimeNs{0} && (largest == nullptr || part.time > largest->time)) largest = &part;
            continue;
        }
        if (all.back().pixels != 0 || part.pixels == 0) continue;
        others += part.pixels;
        const double over = part.pixels - part.exact;
        if (over <= too_high) continue;
        too_high = over;
        from = &part;
    }
    if (from->pixels == 0 || (from != &all.back() && others < 2)) return; // a single pixel cannot be divided
    --from->pixels;
    ++largest->pixels;
}

} // namespace

namespace {

/// Like stackHeights(), with loops of fixed length for the usual number of parts, N. Returns false if a kind of time
/// would be invisible, in which case the general function must be used.
template <std::size_t N>
bool heightsOfFew(const std::array<Role, N>& roles, const RoleTimes& shares, TimeNs length, int pixels,
                  StackHeights& heights) {
    std::array<double, N + 1> rest; // the last one is the part outside steps
    std::array<int, N + 1> high;
    const double scale = pixels / static_cast<double>(length.count());
    double outside = pixels;
    int left = pixels;
    const auto place = [&](std::size_t i, double exact) {
        exact = std::clamp(exact, 0.0, static_cast<double>(pixels));
        high[i] = static_cast<int>(exact + 1e-9); // not negative
        rest[i] = exact - high[i];
        left -= high[i];
    };
    for (std::size_t i = 0; i < N; ++i) {
        const double exact = static_cast<double>(shares[placeOfRole(roles[i])].count()) * scale;
        outside -= exact;
        place(i, exact);
    }
    place(N, outside);
    for (; left > 0; --left) {
        const auto most = static_cast<std::size_t>(std::ranges::max_element(rest) - rest.begin());
        ++high[most];
        rest[most] = -1;
    }
    std::array<bool, 2> any{};
    std::array<int, 2> shown{};
    for (std::size_t i = 0; i < N; ++i) {
        any[isOpRole(roles[i])] = true;
        shown[isOpRole(roles[i])] += high[i];
    }
    if ((any[0] && shown[0] == 0) || (any[1] && shown[1] == 0)) return false;
    for (std::size_t i = 0; i < N; ++i)
        heights[placeOfRole(roles[i])] = static_cast<std::uint16_t>(high[i]);
    return true;
}

} // namespace

StackHeights stackHeights(const RoleTimes& shares, TimeNs length, int pixels) {
    StackHeights heights{};
    if (length <= TimeNs{0} || pixels <= 0) return heights;
    // Loops only over existing parts. These are found without branches, because they change from column to column.
    std::array<Role, kStackOrder.size()> present;
    std::size_t some = 0;
    bool positive = true;
    for (const Role role : kStackOrder) {
        present[some] = role;
        some += shares[placeOfRole(role)] != TimeNs{0} ? 1 : 0;
        positive = positive && shares[placeOfRole(role)] >= TimeNs{0};
    }
    if (positive && some == 1 && heightsOfFew<1>({present[0]}, shares, length, pixels, heights)) return heights;
    if (positive && some == 2 && heightsOfFew<2>({present[0], present[1]}, shares, length, pixels, heights))
        return heights;
    if (positive && some == 3 && heightsOfFew<3>({present[0], present[1], present[2]}, shares, length, pixels, heights))
        return heights;
    std::array<StackPart, kStackOrder.size() + 1> parts; // not initialised, because they are set before use
    std::size_t count = 0;
    const double scale = pixels / static_cast<double>(length.count());
    double outside = pixels;
    int left = pixels;
    const auto add = [&](std::size_t role, bool op, bool inside, TimeNs time, double exact) {
        exact = std::clamp(exact, 0.0, static_cast<double>(pixels));
        const int whole = static_cast<int>(exact + 1e-9); // not negative
        left -= whole;
        parts[count++] = {role, op, inside, time, exact, exact - whole, whole};
    };
    for (std::size_t i = 0; i < some; ++i) {
        const Role role = present[i];
        const TimeNs time = shares[placeOfRole(role)];
        const double exact = static_cast<double>(time.count()) * scale;
        outside -= exact;
        add(placeOfRole(role), isOpRole(role), true, time, exact);
    }
    add(0, false, false, TimeNs{0}, outside);
    const std::span<StackPart> all(parts.data(), count);
    for (; left > 0; --left) {
        StackPart& most = *std::ranges::max_element(all, {}, &StackPart::rest);
        ++most.pixels;
        most.rest = -1;
    }
    // Ensures that every existing kind of time is visible.
    for (const bool ops : {true, false}) {
        bool any = false;
        int shown = 0;
        for (const StackPart& part : all) {
            if (!part.inside || part.op != ops || part.time <= TimeNs{0}) continue;
            any = true;
            shown += part.pixels;
        }
        if (any && shown == 0) keepVisible(all, ops);
    }
    for (const StackPart& part : all) {
        if (part.inside) heights[part.role] = static_cast<std::uint16_t>(part.pixels);
    }
    return heights;
}

std::optional<Role> StackPiece::only(int height) const {
    const auto* const found = std::ranges::find(kStackOrder, height, [this](Role role) { return this->height(role); });
    return found == kStackOrder.end() ? std::nullopt : std::optional(*found);
}

int StackPiece::busy() const {
    int sum = 0;
    for (const Role role : kStackOrder)
        sum += isOpRole(role) ? height(role) : 0;
    return sum;
}

int StackPiece::idle() const {
    int sum = 0;
    for (const Role role : kStackOrder)
        sum += isOpRole(role) ? 0 : height(role);
    return sum;
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
