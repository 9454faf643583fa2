#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/statistics/robust.h"
#include "core/analysis/statistics/tests.h"

#include <algorithm>
#include <map>
#include <optional>

// Compares links with each other and with their earlier times. The time of a transfer starts when both sides have
// posted it, so that waiting for the peer is not attributed to the link. This time includes the error of both clocks,
// so smaller differences are not reported.
namespace bubblescope {
namespace {

constexpr double kFewestDeviations = 6;
/// Larger ratios say nothing: recordings may contain no time at all for the usual transfer.
constexpr double kLargestRatioNamed = 1000;

using Links = std::map<LinkKey, std::vector<Transferred>>;

double typical(const std::vector<Transferred>& transfers) {
    std::vector<double> times;
    times.reserve(transfers.size());
    for (const Transferred& transfer : transfers)
        times.push_back(transfer.time);
    return statistics::median(std::move(times));
}

/// The time that a step would save if the link's transfers, in one direction or both, took at most this time.
TimeNs costOf(const AnomalyInput& input, std::size_t s, const LinkKey& link, double usual, bool both_ways = false) {
    return StepCosts(input.run.steps[s], input.knownOf(s))
        .savedByLink(link.from, link.to, TimeNs{static_cast<std::int64_t>(usual)}, both_ways);
}

Anomaly describe(const AnomalyInput& input, AnomalyKind kind, const LinkKey& link, std::size_t s, double time,
                 double usual, TimeNs cost) {
    const auto& [replica, from, to] = link;
    Anomaly anomaly;
    anomaly.kind = kind;
    anomaly.severity = input.severityOf(cost, s);
    anomaly.rank = from;
    anomaly.peer = to;
    if (replica != 0) anomaly.replica = replica;
    anomaly.cost = cost;
    anomaly.evidence = {{"transfer_ns", time},
                        {"usual_ns", usual},
                        {"ratio", time / std::max(1.0, usual)},
                        {"clock_error_bound_ns", static_cast<double>(input.clocks.bound().count())}};
    return anomaly;
}

std::optional<std::size_t> stepOf(const std::vector<Transferred>& transfers, std::size_t preferred) {
    if (transfers.empty()) return std::nullopt;
    const bool there = std::ranges::any_of(transfers, [&](const Transferred& t) { return t.step == preferred; });
    return there ? preferred : transfers[transfers.size() / 2].step;
}

std::string timeText(double ns) {
    return formatTime(TimeNs{static_cast<std::int64_t>(ns)});
}

/// `other_way`: the time of transfers in the other direction, if that direction is slow as well.
void tell(Anomaly& anomaly, double time, double usual, std::optional<double> other_way, bool of_two, double share) {
    const auto from = anomaly.rank->value;
    const auto to = anomaly.peer->value;
    const std::string cost = formatTime(anomaly.cost);
    const double ratio = time / std::max(1.0, usual);
    anomaly.suggestion =
        say("Check this direction of the link: its adapter, cable and switch port, other traffic, and its route.");
    if (other_way) {
        anomaly.evidence.emplace_back("reverse_ns", *other_way);
        anomaly.message = say("transfers between rank {} and rank {} take {} one way and {} the other (median link: "
                              "{}); at the median the step would be {} shorter ({:.1f} %).",
                              from, to, timeText(time), timeText(*other_way), timeText(usual), cost, 100 * share);
        anomaly.suggestion = say("Check that link: its adapters, cable and switch port, other traffic, and its route.");
    } else if (of_two && ratio >= kLargestRatioNamed) {
        anomaly.message = say("transfers from rank {} to rank {} take {} (other direction: {}); with equal times the "
                              "step would be {} shorter ({:.1f} %).",
                              from, to, timeText(time), timeText(usual), cost, 100 * share);
    } else if (of_two) {
        anomaly.message = say("transfers from rank {} to rank {} take {}, {:.1f} × the other direction's {}; with "
                              "equal times the step would be {} shorter ({:.1f} %).",
                              from, to, timeText(time), ratio, timeText(usual), cost, 100 * share);
    } else if (ratio >= kLargestRatioNamed) {
        anomaly.message = say("transfers from rank {} to rank {} take {} (median link: {}); at the median the step "
                              "would be {} shorter ({:.1f} %).",
                              from, to, timeText(time), timeText(usual), cost, 100 * share);
    } else {
        anomaly.message = say("transfers from rank {} to rank {} take {}, {:.1f} × the median link's {}; at the median "
                              "the step would be {} shorter ({:.1f} %).",
                              from, to, timeText(time), ratio, timeText(usual), cost, 100 * share);
    }
}

void findSlow(const AnomalyInput& input, const Links& links, Anomalies& found) {
    if (links.size() < 2) return;
    const bool of_two = links.size() == 2;
    std::vector<double> all;
    for (const auto& [link, transfers] : links)
        all.push_back(typical(transfers));
    const double usual = of_two ? std::min(all[0], all[1]) : statistics::median(all);
    const double deviation = of_two ? 0 : statistics::medianDeviation(all);
    const auto bound = static_cast<double>(input.clocks.bound().count());
    std::vector<double> chances;
    bool any_slow = false;
    for (const auto& [link, transfers] : links) {
        const double own_typical = all[chances.size()];
        const double excess = own_typical - usual;
        const bool slow =
            own_typical > input.limits.link_ratio * usual && excess > bound && excess > kFewestDeviations * deviation;
        chances.push_back(1);
        if (!slow) continue;
        std::vector<double> own;
        std::vector<double> others;
        for (const auto& [other, its] : links) {
            for (const Transferred& transfer : its)
                (other == link ? own : others).push_back(transfer.time);
        }
        any_slow = true;
        chances.back() = statistics::mannWhitney(thinned(std::move(own)), thinned(std::move(others))).p_greater;
    }
    if (!any_slow) return;
    const std::vector<double> corrected = statistics::holm(chances);
    std::map<LinkKey, double> slow_links; // with the p-value of each
    std::size_t place = 0;
    for (const auto& [link, transfers] : links) {
        const double chance = corrected[place++];
        if (chance <= input.limits.chance) slow_links.emplace(link, chance);
    }
    for (const auto& [link, chance] : slow_links) {
        const std::vector<Transferred>& transfers = links.at(link);
        const LinkKey back{link.replica, link.to, link.from};
        // Both directions use one cable and form one finding, because repairing a single direction may have no effect.
        const bool both = slow_links.contains(back);
        if (both && back < link) continue;
        const std::size_t s = *stepOf(transfers, input.typicalStep());
        const TimeNs cost = costOf(input, s, link, usual, both);
        if (!input.worthReporting(cost, s)) continue;
        Anomaly anomaly = describe(input, AnomalyKind::SlowLink, link, s, typical(transfers), usual, cost);
        input.setLasting(anomaly);
        anomaly.evidence.emplace_back("p_value", chance);
        const std::optional<double> other_way = both ? std::optional(typical(links.at(back))) : std::nullopt;
        tell(anomaly, typical(transfers), usual, other_way, of_two, input.fraction(cost, s));
        found.push_back(std::move(anomaly));
    }
}

void findDegrading(const AnomalyInput& input, const Links& links, Anomalies& found) {
    const auto bound = static_cast<double>(input.clocks.bound().count());
    std::vector<double> chances;
    struct Candidate {
        LinkKey link;
        std::size_t step = 0; ///< the last one
        std::size_t late = 0; ///< start of the last third
        double before = 0;
        double after = 0;
        std::size_t place = 0;
    };
    std::vector<Candidate> candidates;
    for (const auto& [link, transfers] : links) { // by step
        chances.push_back(1);
        std::vector<std::size_t> steps; // those with transfers
        for (const Transferred& transfer : transfers) {
            if (steps.empty() || steps.back() != transfer.step) steps.push_back(transfer.step);
        }
        constexpr std::size_t kFewestSteps = 6;
        if (steps.size() < kFewestSteps) continue;
        // Compare the first third with the last: this detects a slope as well as a step.
        const std::size_t third = steps.size() / 3;
        Candidate candidate{link, 0, steps[steps.size() - third], 0, 0, chances.size() - 1};
        std::vector<double> early;
        std::vector<double> late;
        for (const Transferred& transfer : transfers) {
            if (transfer.step < steps[third]) early.push_back(transfer.time);
            if (transfer.step < steps[steps.size() - third]) continue;
            late.push_back(transfer.time);
        }
        candidate.step = transfers.back().step;
        candidate.before = statistics::median(early);
        candidate.after = statistics::median(late);
        if (candidate.after < input.limits.link_ratio * candidate.before || candidate.after - candidate.before <= bound)
            continue;
        chances.back() = statistics::mannWhitney(thinned(std::move(late)), thinned(std::move(early))).p_greater;
        candidates.push_back(std::move(candidate));
    }
    const std::vector<double> corrected = statistics::holm(chances);
    for (const Candidate& candidate : candidates) {
        if (corrected[candidate.place] > input.limits.chance) continue;
        const std::size_t s = candidate.step;
        const TimeNs cost = costOf(input, s, candidate.link, candidate.before);
        if (!input.worthReporting(cost, s)) continue;
        Anomaly anomaly =
            describe(input, AnomalyKind::DegradingLink, candidate.link, s, candidate.after, candidate.before, cost);
        input.setLasting(anomaly, input.run.steps[candidate.late].index);
        anomaly.evidence.emplace_back("p_value", corrected[candidate.place]);
        anomaly.message = say("transfers from rank {} to rank {} took {} in the first third of the steps and {} in the "
                              "last ({:.1f} ×); had they not slowed down, step {} would be {} shorter ({:.1f} %).",
                              anomaly.rank->value, anomaly.peer->value,
                              formatTime(TimeNs{static_cast<std::int64_t>(candidate.before)}),
                              formatTime(TimeNs{static_cast<std::int64_t>(candidate.after)}),
                              candidate.after / std::max(1.0, candidate.before), input.run.steps[s].index,
                              formatTime(cost), 100 * input.fraction(cost, s));
        anomaly.suggestion = say("Find out what else uses that link, and check its error counters.");
        found.push_back(std::move(anomaly));
    }
}

} // namespace

void findSlowLinks(const AnomalyInput& input, const TransferSamples& transfers, Anomalies& found) {
    // A message also waits if the receiving process waits for a core.
    if (std::ranges::any_of(found, [](const Anomaly& each) { return each.kind == AnomalyKind::HostStarved; })) return;
    const std::size_t before = found.size();
    findSlow(input, transfers.links, found);
    // A link that is slow now is reported only once.
    if (found.size() == before) findDegrading(input, transfers.links, found);
}

} // namespace bubblescope
