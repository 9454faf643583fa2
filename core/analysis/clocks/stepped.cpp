#include "core/analysis/clocks/solve.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace bubblescope {
namespace {

constexpr std::size_t kMostSteps = 8;
constexpr std::size_t kNearby = 8;        ///< contradicting events whose clocks may be the ones that were set
constexpr std::size_t kMostLeftOut = 256; ///< events on each side of a step
constexpr std::size_t kPerPair = 256;     ///< parts of the run; each pair of clocks has one tightest event per part

/// A clock was set when it showed a time between these; events in between are not used.
struct SetClock {
    int clock = 0;
    TimeNs last_before{0};
    TimeNs first_after{0};
};

TimeNs largestResidual(const std::vector<ClockFit>& fits) {
    TimeNs most{0};
    for (const ClockFit& fit : fits)
        most = std::max(most, fit.residual);
    return most;
}

/// Events of a run in order of time, with clocks that count as different ones from some time on.
class Search {
public:
    Search(int clocks, std::span<const Precedence> all, const std::vector<ClockFit>& coarse, const ClockLimits& limits,
           TimeNs tolerance)
        : clocks_(clocks), limits_(limits), tolerance_(tolerance) {
        const auto timeOf = [&](const Precedence& p) {
            return coarse[static_cast<std::size_t>(p.before_clock)].toReference(p.before);
        };
        TimeNs first = TimeNs::max();
        TimeNs last = TimeNs::min();
        for (const Precedence& p : all) {
            first = std::min(first, timeOf(p));
            last = std::max(last, timeOf(p));
        }
        stretch_ = (last - first) / static_cast<std::int64_t>(kPerPair) + TimeNs{1};
        std::map<std::tuple<int, int, std::int64_t>, Precedence> tightest;
        for (const Precedence& p : all) {
            const auto [known, fresh] =
                tightest.try_emplace({p.before_clock, p.after_clock, (timeOf(p) - first) / stretch_}, p);
            if (!fresh && p.after - p.before < known->second.after - known->second.before) known->second = p;
        }
        for (const auto& [key, p] : tightest)
            events_.push_back(p);
        std::ranges::stable_sort(events_, {}, timeOf);
    }

    [[nodiscard]] std::size_t size() const { return events_.size(); }
    /// Within this time, one event per pair is kept.
    [[nodiscard]] TimeNs stretch() const { return stretch_; }
    [[nodiscard]] const Precedence& event(std::size_t index) const { return events_[index]; }

    /// The number of events, counted from the first, that some offsets satisfy together.
    [[nodiscard]] std::size_t consistent(const std::vector<SetClock>& set) const {
        std::size_t low = 0;
        std::size_t high = events_.size();
        while (low < high) {
            const std::size_t middle = (low + high + 1) / 2;
            if (obeyed(set, middle))
                low = middle;
            else
                high = middle - 1;
        }
        return low;
    }

    /// The readings of a clock in the events from `first` to `last`; empty if it is in none of them.
    [[nodiscard]] std::optional<std::pair<TimeNs, TimeNs>> shown(int clock, std::size_t first, std::size_t last) const {
        std::optional<std::pair<TimeNs, TimeNs>> range;
        const auto take = [&](TimeNs time) {
            if (!range) range.emplace(time, time);
            range = {std::min(range->first, time), std::max(range->second, time)};
        };
        for (std::size_t i = first; i <= last && i < events_.size(); ++i) {
            if (events_[i].before_clock == clock) take(events_[i].before);
            if (events_[i].after_clock == clock) take(events_[i].after);
        }
        return range;
    }

    /// The number of a clock between its steps: a clock that was set counts as several. Empty while the clock was being
    /// set.
    static std::optional<int> numberOf(int clock, TimeNs time, const std::vector<SetClock>& set, int clocks) {
        int number = clock;
        for (std::size_t s = 0; s < set.size(); ++s) {
            if (set[s].clock != clock || time < set[s].last_before) continue;
            if (time < set[s].first_after) return std::nullopt;
            number = clocks + static_cast<int>(s);
        }
        return number;
    }

    [[nodiscard]] static std::vector<Precedence> renumbered(std::span<const Precedence> events,
                                                            const std::vector<SetClock>& set, int clocks) {
        std::vector<Precedence> out;
        for (Precedence event : events) {
            const auto before = numberOf(event.before_clock, event.before, set, clocks);
            const auto after = numberOf(event.after_clock, event.after, set, clocks);
            if (!before || !after) continue;
            event.before_clock = *before;
            event.after_clock = *after;
            out.push_back(event);
        }
        return out;
    }

private:
    [[nodiscard]] bool obeyed(const std::vector<SetClock>& set, std::size_t count) const {
        const auto events = renumbered(std::span(events_).first(count), set, clocks_);
        return largestResidual(solveClocks(clocks_ + static_cast<int>(set.size()), events, {}, limits_)) <= tolerance_;
    }

    int clocks_;
    ClockLimits limits_;
    TimeNs tolerance_;
    TimeNs stretch_{0};
    std::vector<Precedence> events_;
};

/// The step that makes most of the further events fit; empty if none makes enough of them fit. Around a step, the order
/// of events is known only to within the size of the step, so as few events as possible are left out there.
std::optional<SetClock> nextStep(const Search& search, std::vector<SetClock> set, std::size_t reached,
                                 std::size_t& reaches) {
    std::vector<int> candidates;
    for (std::size_t i = reached; i < std::min(search.size(), reached + kNearby); ++i) {
        candidates.push_back(search.event(i).before_clock);
        candidates.push_back(search.event(i).after_clock);
    }
    std::ranges::sort(candidates, std::greater());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    std::optional<SetClock> best;
    set.emplace_back();
    reaches = reached;
    for (std::size_t pad = 1; pad <= kMostLeftOut && reaches < search.size(); pad *= 2) {
        const std::size_t first = reached - std::min(reached, pad);
        for (const int clock : candidates) {
            const auto around = search.shown(clock, first, reached + pad);
            if (!around) continue;
            set.back() = {clock, around->first - search.stretch(), around->second};
            const std::size_t consistent = search.consistent(set);
            // The step explains the events after those that are left out.
            if (consistent < std::min(search.size(), reached + pad + kNearby) || consistent <= reaches) continue;
            reaches = consistent;
            best = set.back();
        }
    }
    return best;
}

} // namespace

std::vector<ClockFit> solveSteppedClocks(int clocks, std::span<const Precedence> precedences,
                                         std::span<const Coincidence> coincidences, const ClockLimits& limits,
                                         TimeNs tolerance) {
    std::vector<ClockFit> plain = solveClocks(clocks, precedences, coincidences, limits);
    const TimeNs before = largestResidual(plain);
    if (before <= tolerance || clocks < 2) return plain;
    const Search search(clocks, precedences, plain, limits, tolerance);
    std::vector<SetClock> set;
    std::size_t reached = search.consistent(set);
    while (reached < search.size() && set.size() < kMostSteps) {
        std::size_t reaches = 0;
        const auto step = nextStep(search, set, reached, reaches);
        if (!step) return plain;
        set.push_back(*step);
        reached = reaches;
    }
    if (reached < search.size() || set.empty()) return plain;

    std::vector<Coincidence> together;
    for (Coincidence event : coincidences) {
        const auto first = Search::numberOf(event.first_clock, event.first, set, clocks);
        const auto second = Search::numberOf(event.second_clock, event.second, set, clocks);
        if (!first || !second) continue;
        event.first_clock = *first;
        event.second_clock = *second;
        together.push_back(event);
    }
    std::vector<ClockFit> fits = solveClocks(clocks + static_cast<int>(set.size()),
                                             Search::renumbered(precedences, set, clocks), together, limits);
    constexpr int kLess = 4; // otherwise the steps explain too little to be credible
    if (largestResidual(fits) > std::max(tolerance, before / kLess)) return plain;
    std::vector<ClockFit> out(fits.begin(), fits.begin() + clocks);
    for (std::size_t s = 0; s < set.size(); ++s) {
        const ClockFit& from_then = fits[static_cast<std::size_t>(clocks) + s];
        ClockFit& clock = out[static_cast<std::size_t>(set[s].clock)];
        if (from_then.group != clock.group) return plain; // nothing relates the events after the step
        const TimeNs within = (set[s].first_after - set[s].last_before) / 2;
        clock.later.push_back({set[s].last_before + within, within, from_then.offset, from_then.drift});
        clock.bound = std::max(clock.bound, from_then.bound);
    }
    for (ClockFit& fit : out) {
        std::ranges::sort(fit.later, {}, &ClockSpan::from);
        TimeNs offset = fit.offset;
        for (const ClockSpan& span : fit.later) { // otherwise single wrong events were
                                                  // left out, and no clock was set
            if (std::chrono::abs(span.offset - offset) <= 2 * tolerance) return plain;
            offset = span.offset;
        }
    }
    return out;
}

} // namespace bubblescope
