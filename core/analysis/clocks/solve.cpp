#include "core/analysis/clocks/solve.h"

#include "core/analysis/clocks/line_set.h"
#include "core/analysis/statistics/robust.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace bubblescope {

void addPing(const Ping& ping, std::vector<Precedence>& into) {
    into.push_back({ping.asker, ping.replier, ping.t0, ping.t1});
    into.push_back({ping.replier, ping.asker, ping.t2, ping.t3});
}

TimeNs ClockFit::toReference(TimeNs shown) const {
    ClockSpan span{{}, {}, offset, drift};
    for (const ClockSpan& next : later) {
        if (shown >= next.from) span = next;
    }
    const TimeNs since = shown - span.offset - origin;
    // since = elapsed * (1 + drift)
    return origin + since - TimeNs{std::llround(static_cast<double>(since.count()) * (span.drift / (1 + span.drift)))};
}

TimeNs ClockFit::fromReference(TimeNs time) const {
    const auto shown = [&](TimeNs by_offset, double by_drift) {
        return time + by_offset + TimeNs{std::llround(static_cast<double>((time - origin).count()) * by_drift)};
    };
    TimeNs at = shown(offset, drift);
    for (const ClockSpan& next : later) {
        if (const TimeNs then = shown(next.offset, next.drift); then >= next.from) at = then;
    }
    return at;
}

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double number(TimeNs time) {
    return static_cast<double>(time.count());
}

/// offset(to) - offset(from) <= most.
struct Difference {
    int from = 0;
    int to = 0;
    double most = 0;
};

/// Shortest paths over differences from one clock (or, `reversed`, to it); empty if there is a negative cycle, so that
/// no offsets satisfy them all.
std::optional<std::vector<double>> shortest(std::size_t clocks, int source, std::span<const Difference> edges,
                                            bool reversed) {
    std::vector<double> way(clocks, kNever);
    way[static_cast<std::size_t>(source)] = 0;
    for (std::size_t round = 0; round <= clocks; ++round) {
        bool changed = false;
        for (const Difference& edge : edges) {
            const auto from = static_cast<std::size_t>(reversed ? edge.to : edge.from);
            const auto to = static_cast<std::size_t>(reversed ? edge.from : edge.to);
            // Sums of doubles along different paths differ in their last bits.
            if (way[from] + edge.most < way[to] - 1e-3) {
                way[to] = way[from] + edge.most;
                changed = true;
            }
        }
        if (!changed) return way;
    }
    return std::nullopt;
}

/// The bounds that the events imply for two clocks, on offset(second) - offset(first) over time.
struct PairBounds {
    std::vector<BoundPoint> upper;
    std::vector<BoundPoint> lower;
};

using Pairs = std::map<std::pair<int, int>, PairBounds>;

/// The bounds of a precedence; places are nanoseconds on the reference's clock until scaled.
void addBounds(const Precedence& p, const std::vector<TimeNs>& coarse, Pairs& pairs) {
    const TimeNs before = p.before - coarse[static_cast<std::size_t>(p.before_clock)];
    const TimeNs after = p.after - coarse[static_cast<std::size_t>(p.after_clock)];
    const double most = number(after - before); // on offset(after) - offset(before)
    if (p.before_clock < p.after_clock) {
        pairs[{p.before_clock, p.after_clock}].upper.push_back({number(after), most});
    } else if (p.before_clock > p.after_clock) {
        pairs[{p.after_clock, p.before_clock}].lower.push_back({number(before), -most});
    }
}

/// Each clock's offset may be anywhere in these ranges at the first and at the last event.
struct Ranges {
    std::vector<LineSet::Interval> begin;
    std::vector<LineSet::Interval> end;
};

class Group {
public:
    Group(std::size_t clocks, int reference, Pairs pairs, double most_drift)
        : clocks_(clocks), reference_(reference), pairs_(std::move(pairs)) {
        double first = kNever;
        double last = -kNever;
        for (auto& [key, bounds] : pairs_) {
            for (const auto* side : {&bounds.upper, &bounds.lower}) {
                for (const BoundPoint& point : *side) {
                    first = std::min(first, point.place);
                    last = std::max(last, point.place);
                }
            }
        }
        first_ = first;
        length_ = std::max(1.0, last - first);
        most_change_ = most_drift * length_;
        for (auto& [key, bounds] : pairs_) {
            for (auto* side : {&bounds.upper, &bounds.lower}) {
                for (BoundPoint& point : *side)
                    point.place = std::clamp((point.place - first_) / length_, 0.0, 1.0);
            }
            bounds.upper = tightestUpper(std::move(bounds.upper));
            bounds.lower = tightestLower(std::move(bounds.lower));
        }
    }

    [[nodiscard]] double first() const { return first_; }
    [[nodiscard]] double length() const { return length_; }

    /// Empty if the bounds, each relaxed by `ease`, allow no offsets.
    [[nodiscard]] std::optional<Ranges> ranges(double ease) const {
        std::vector<Difference> begin;
        std::vector<Difference> end;
        for (const auto& [key, bounds] : pairs_) {
            LineSet lines(most_change_);
            for (const BoundPoint& point : bounds.upper)
                lines.keepBelow(point.place, point.value + ease);
            for (const BoundPoint& point : bounds.lower)
                lines.keepAbove(point.place, point.value - ease);
            if (lines.empty()) return std::nullopt;
            addDifferences(key, lines.atBegin(), begin);
            addDifferences(key, lines.atEnd(), end);
        }
        Ranges out;
        if (!solveSide(begin, out.begin) || !solveSide(end, out.end)) return std::nullopt;
        return out;
    }

    /// The least relaxation that allows some offsets, accurate to a hundredth.
    [[nodiscard]] double leastEase() const {
        if (ranges(0)) return 0;
        double high = 1;
        while (!ranges(high) && high < LineSet::kFar)
            high *= 2;
        double low = high / 2;
        while (high - low > 0.01 * high) {
            const double middle = (low + high) / 2;
            (ranges(middle) ? high : low) = middle;
        }
        return high;
    }

private:
    static void addDifferences(std::pair<int, int> key, LineSet::Interval range, std::vector<Difference>& into) {
        if (range.high < LineSet::kFar / 2) into.push_back({key.first, key.second, range.high});
        if (range.low > -LineSet::kFar / 2) into.push_back({key.second, key.first, -range.low});
    }

    bool solveSide(const std::vector<Difference>& edges, std::vector<LineSet::Interval>& out) const {
        const auto highest = shortest(clocks_, reference_, edges, false);
        const auto lowest = shortest(clocks_, reference_, edges, true);
        if (!highest || !lowest) return false;
        for (std::size_t i = 0; i < clocks_; ++i)
            out.push_back({-(*lowest)[i], (*highest)[i]});
        return true;
    }

    std::size_t clocks_;
    int reference_;
    Pairs pairs_;
    double first_ = 0;
    double length_ = 1;
    double most_change_ = 0;
};

/// Groups clocks that bounds relate in both directions, by the number of their first.
std::vector<int> groupClocks(int clocks, std::span<const Precedence> precedences) {
    const auto count = static_cast<std::size_t>(clocks);
    std::vector<std::vector<int>> ahead(count);
    std::vector<std::vector<int>> back(count);
    for (const Precedence& p : precedences) {
        ahead[static_cast<std::size_t>(p.before_clock)].push_back(p.after_clock);
        back[static_cast<std::size_t>(p.after_clock)].push_back(p.before_clock);
    }
    for (auto* edges : {&ahead, &back}) {
        for (std::vector<int>& to : *edges) {
            std::ranges::sort(to);
            to.erase(std::unique(to.begin(), to.end()), to.end());
        }
    }
    const auto reach = [&](int from, const std::vector<std::vector<int>>& edges) {
        std::vector<bool> seen(count);
        std::vector<int> open{from};
        seen[static_cast<std::size_t>(from)] = true;
        while (!open.empty()) {
            const int at = open.back();
            open.pop_back();
            for (const int to : edges[static_cast<std::size_t>(at)]) {
                if (seen[static_cast<std::size_t>(to)]) continue;
                seen[static_cast<std::size_t>(to)] = true;
                open.push_back(to);
            }
        }
        return seen;
    };
    std::vector<int> group(count, -1);
    for (int first = 0; first < clocks; ++first) {
        if (group[static_cast<std::size_t>(first)] >= 0) continue;
        const std::vector<bool> there = reach(first, ahead);
        const std::vector<bool> from = reach(first, back);
        for (std::size_t i = 0; i < count; ++i) {
            if (there[i] && from[i]) group[i] = first;
        }
    }
    return group;
}

/// Offsets as precise as drift and delays allow, so that the same time can be found on all clocks.
std::vector<TimeNs> coarseOffsets(int clocks, std::span<const Precedence> precedences, const std::vector<int>& group) {
    std::map<std::pair<int, int>, double> tightest;
    for (const Precedence& p : precedences) {
        const auto [known, fresh] = tightest.try_emplace({p.before_clock, p.after_clock}, number(p.after - p.before));
        if (!fresh) known->second = std::min(known->second, number(p.after - p.before));
    }
    // Drifts and wrong events make cycles negative; relaxing all bounds by the worst pair removes the cycles of length
    // two.
    double ease = 0;
    for (const auto& [key, most] : tightest) {
        const auto back = tightest.find({key.second, key.first});
        if (back != tightest.end()) ease = std::max(ease, -(most + back->second) / 2);
    }
    const auto count = static_cast<std::size_t>(clocks);
    for (ease += 1;; ease *= 2) {
        std::vector<Difference> edges;
        for (const auto& [key, most] : tightest)
            edges.push_back({key.first, key.second, most + ease});
        std::vector<TimeNs> offsets(count);
        bool solved = true;
        for (int first = 0; first < clocks && solved; ++first) {
            if (group[static_cast<std::size_t>(first)] != first) continue;
            const auto high = shortest(count, first, edges, false);
            const auto low = shortest(count, first, edges, true);
            solved = high && low;
            for (std::size_t i = 0; solved && i < count; ++i) {
                if (group[i] == first) offsets[i] = TimeNs{std::llround(((*high)[i] - (*low)[i]) / 2)};
            }
        }
        if (solved) return offsets;
    }
}

/// A clock's line within its feasible range, see solve.h.
ClockFit fitOne(LineSet::Interval begin, LineSet::Interval end, const std::vector<double>& coincidences,
                double length) {
    double at_begin = (begin.low + begin.high) / 2;
    double at_end = (end.low + end.high) / 2;
    const double low = std::max(begin.low, end.low);
    const double high = std::min(begin.high, end.high);
    ClockFit fit;
    if (low <= high) { // a constant offset suffices
        at_begin = at_end =
            coincidences.empty() ? (low + high) / 2 : std::clamp(statistics::median(coincidences), low, high);
    } else {
        fit.drift = (at_end - at_begin) / length;
    }
    fit.offset = TimeNs{std::llround(at_begin)};
    const double off = std::max({at_begin - begin.low, begin.high - at_begin, at_end - end.low, end.high - at_end});
    fit.bound = TimeNs{static_cast<std::int64_t>(std::ceil(off)) + 1}; // times are integer nanoseconds
    return fit;
}

} // namespace

std::vector<ClockFit> solveClocks(int clocks, std::span<const Precedence> precedences,
                                  std::span<const Coincidence> coincidences, const ClockLimits& limits) {
    const auto count = static_cast<std::size_t>(clocks);
    const std::vector<int> group = groupClocks(clocks, precedences);
    const std::vector<TimeNs> coarse = coarseOffsets(clocks, precedences, group);
    std::map<int, Pairs> pairs;
    for (const Precedence& p : precedences) {
        const int of = group[static_cast<std::size_t>(p.before_clock)];
        if (of == group[static_cast<std::size_t>(p.after_clock)]) addBounds(p, coarse, pairs[of]);
    }
    std::vector<std::vector<double>> together(count); // differences to the reference at coincidences
    for (const Coincidence& c : coincidences) {
        const auto first = static_cast<std::size_t>(c.first_clock);
        const auto second = static_cast<std::size_t>(c.second_clock);
        const double apart = number((c.second - coarse[second]) - (c.first - coarse[first]));
        if (group[first] == c.first_clock && group[second] == c.first_clock) together[second].push_back(apart);
        if (group[second] == c.second_clock && group[first] == c.second_clock) together[first].push_back(-apart);
    }

    std::vector<ClockFit> fits(count);
    for (std::size_t i = 0; i < count; ++i)
        fits[i].group = group[i];
    for (auto& [reference, bounds] : pairs) {
        if (bounds.empty()) continue; // all are of one clock
        const Group solver(count, reference, std::move(bounds), limits.most_drift_ppm * 1e-6);
        const double ease = solver.leastEase();
        const auto ranges = solver.ranges(2 * ease);
        for (std::size_t i = 0; ranges && i < count; ++i) {
            if (group[i] != reference) continue;
            fits[i] = static_cast<int>(i) == reference
                          ? ClockFit{}
                          : fitOne(ranges->begin[i], ranges->end[i], together[i], solver.length());
            fits[i].group = reference;
            fits[i].origin = TimeNs{std::llround(solver.first())};
            fits[i].offset += coarse[i];
            fits[i].residual = TimeNs{static_cast<std::int64_t>(std::ceil(ease))};
        }
    }
    return fits;
}

} // namespace bubblescope
