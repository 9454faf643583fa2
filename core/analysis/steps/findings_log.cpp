#include "core/analysis/steps/findings_log.h"

#include "core/analysis/anomalies/occurrence.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <iterator>
#include <set>

namespace bubblescope {
namespace {

/// The data that a search adds to a known finding.
struct Fresh {
    int steps = 0; ///< steps with a case
    std::int64_t cases = 0;
    TimeNs total{0};
    int searched = 0; ///< steps searched since the finding was last found
};

/// The number of the `fresh` latest steps, after `newest`, that have a case; at least one.
int casesAfter(int newest, const Occurrence& seen, int fresh) {
    constexpr std::int64_t kBits = 64;
    const auto after = std::clamp<std::int64_t>(std::int64_t{seen.last} - newest, 1, kBits);
    const std::uint64_t cases = after == kBits ? seen.latest : seen.latest & ((std::uint64_t{1} << after) - 1);
    return std::clamp(std::popcount(cases), 1, std::max(1, fresh));
}

/// `newest` is the last known step with a case.
Fresh freshIn(const Anomaly& found, int newest, const SearchedSteps& searched) {
    const Occurrence& seen = found.seen;
    if (seen.steps == 0) return {searched.fresh, 0, TimeNs{0}, 0}; // it concerns the whole run
    if (seen.last <= newest) return {};
    if (seen.first > newest) return {seen.steps, seen.cases, seen.total, 0};
    const int steps = casesAfter(newest, seen, searched.fresh);
    return {steps, steps, steps * found.cost, 0};
}

/// Combines the known occurrence with that of the latest search.
Occurrence together(const Occurrence& before, const Occurrence& now, const Fresh& fresh) {
    constexpr int kBits = 64;
    Occurrence all = now;
    all.first = std::min(before.first, now.first);
    all.cases = std::max(now.cases, before.cases + fresh.cases);
    all.steps = std::max(now.steps, before.steps + fresh.steps);
    all.since_first = std::max(now.since_first, before.since_first + fresh.searched);
    all.of_steps = std::max(now.of_steps, before.of_steps + fresh.searched);
    all.total = std::max(now.total, before.total + fresh.total);
    const int distance = now.last - before.last;
    if (distance >= 0 && distance < kBits) all.latest |= before.latest << distance;
    return all;
}

/// A change of the step time compares the steps before it with those since; the former may have been dropped by now.
void keepComparison(const Anomaly& before, Anomaly& now) {
    if (now.kind != AnomalyKind::StepTimeChange) return;
    now.step = before.step;
    now.when = before.when;
    now.severity = before.severity;
    now.evidence = before.evidence;
    now.message = before.message;
    now.suggestion = before.suggestion;
}

/// Merges the result of one more search into `worst`, which summarises the earlier ones.
void addToWorst(const Anomaly& found, const Fresh& fresh, Anomaly& worst) {
    if (found.seen.steps == 0) {
        worst = found;
        return;
    }
    const Occurrence seen = together(worst.seen, found.seen, fresh);
    const std::int64_t steps = std::int64_t{worst.seen.steps} + fresh.steps;
    const TimeNs cost = steps == 0 ? std::max(worst.cost, found.cost)
                                   : (worst.cost * worst.seen.steps + found.cost * fresh.steps) / steps;
    const Severity severity = std::max(worst.severity, found.severity);
    if (found.cost > worst.cost) worst = found;
    worst.seen = seen;
    worst.cost = cost;
    worst.severity = severity;
}

} // namespace

bool FindingsLog::isWorthTelling(const Known& known) const {
    const TimeNs step_time = searched_.step_time;
    const Anomaly& anomaly = known.told.anomaly;
    if (anomaly.kind == AnomalyKind::BubbleAboveForm && causes_found_) return false; // a symptom of those
    const auto share = [&](TimeNs cost) {
        return step_time > TimeNs{0} ? static_cast<double>(cost.count()) / static_cast<double>(step_time.count()) : 1;
    };
    if (anomaly.cost <= TimeNs{0} || share(anomaly.cost) >= limits_.worth) return true;
    return share(anomaly.meanCost()) >= limits_.least && known.in_succession >= limits_.in_succession;
}

FindingsLog::Known* FindingsLog::openOfAllRanks(const Anomaly& anomaly) {
    if (anomaly.kind != AnomalyKind::SlowOp || !anomaly.rank) return nullptr;
    const auto entry = std::ranges::find_if(known_, [](const auto& known) {
        return known.second.open && known.second.told.anomaly.kind == AnomalyKind::SlowOp &&
               !known.second.told.anomaly.rank;
    });
    return entry == known_.end() ? nullptr : &entry->second;
}

bool FindingsLog::isStraggler(const Anomaly& anomaly) const {
    return anomaly.kind == AnomalyKind::SlowOp &&
           std::ranges::find(stragglers_, std::pair(anomaly.rank, anomaly.replica)) != stragglers_.end();
}

void FindingsLog::take(Known& known, Anomaly anomaly, Changes& changes) {
    const int step = searched_.last;
    const bool is_first = known.found_last < 0;
    const int newest = anomaly.seen.steps > 0 ? anomaly.seen.last : step;
    Fresh fresh = freshIn(anomaly, known.newest, searched_);
    fresh.searched = std::max(0, step - known.found_last);
    if (is_first)
        known.worst = anomaly;
    else
        addToWorst(anomaly, fresh, known.worst);
    const Occurrence& seen = known.told.anomaly.seen;
    if (known.open && seen.steps > 0 && seen.first < searched_.oldest && anomaly.seen.first > seen.first) {
        anomaly.seen = together(seen, anomaly.seen, fresh);
        keepComparison(known.told.anomaly, anomaly);
    }
    const int times = std::min(fresh.steps, std::max(1, searched_.fresh)); // at first, earlier steps also count
    known.told.times += times;
    known.newest = std::max(known.newest, newest);
    ++known.in_succession;
    known.found_last = step;
    known.told.anomaly = std::move(anomaly);
    known.told.last_at = step;
    if (known.open || known.newest <= known.resolved_at || !isWorthTelling(known)) return;
    if (Known* const all = openOfAllRanks(known.told.anomaly)) {
        all->told.times += times;
        all->newest = std::max(all->newest, newest);
        return;
    }
    if (isStraggler(known.told.anomaly)) return;
    known.open = true;
    known.told.found_at = step;
    known.told.resolved_at.reset();
    known.quiet = known.quiet == 0 ? limits_.quiet : std::min(2 * known.quiet, limits_.most_quiet);
    changes.opened.push_back(known.told);
}

/// Resolves findings that have been quiet for long enough.
void FindingsLog::resolve(Changes& changes) {
    const int step = searched_.last;
    for (auto& [identity, known] : known_) {
        const bool missed = known.found_last != step;
        if (missed) known.in_succession = 0;
        // A finding without a cost stays open while it is in the trace. A finding with a cost stays open while it
        // continues.
        const Anomaly& told = known.told.anomaly;
        const int since = step - (told.cost > TimeNs{0} ? known.newest : known.found_last);
        const bool explained = missed && (isStraggler(told) || openOfAllRanks(told) != nullptr);
        if (known.open && (since > known.quiet || explained)) {
            known.open = false;
            known.resolved_at = step;
            known.told.resolved_at = step;
            changes.resolved.push_back(known.told);
        }
        if (known.open && missed) current_.push_back(known.told);
    }
}

FindingsLog::Changes FindingsLog::update(std::vector<Anomaly> found, const SearchedSteps& searched) {
    searched_ = searched;
    Changes changes;
    stragglers_.clear();
    current_.clear();
    causes_found_ = std::ranges::any_of(found, [](const Anomaly& one) { return one.cost > TimeNs{0}; });
    std::vector<const Known*> taken;
    for (Anomaly& anomaly : found) {
        std::string identity = identityOf(anomaly);
        const auto before = known_.find(identity);
        if (before == known_.end() && known_.size() >= limits_.most_known) continue;
        if (before != known_.end() && before->second.found_last == searched.last) continue; // a duplicate
        Known& known = known_[std::move(identity)];
        if (known.found_last < 0) known.order = known_.size();
        take(known, std::move(anomaly), changes);
        taken.push_back(&known);
        const Anomaly& told = known.told.anomaly;
        if (told.kind == AnomalyKind::Straggler) stragglers_.emplace_back(told.rank, told.replica);
    }
    resolve(changes);
    std::vector<LoggedFinding> held; // in the order in which they were found
    for (const Known* const known : taken) {
        if (known->open) held.push_back(known->told);
    }
    current_.insert(current_.begin(), std::move_iterator(held.begin()), std::move_iterator(held.end()));
    std::ranges::stable_sort(current_, std::ranges::greater{}, [](const LoggedFinding& one) {
        return std::pair(one.anomaly.meanCost(), one.anomaly.severity);
    });
    if (known_.size() >= limits_.most_known) {
        std::erase_if(known_, [&](const auto& entry) {
            return !entry.second.open && searched.last - entry.second.found_last > 2 * limits_.most_quiet;
        });
    }
    return changes;
}

std::vector<Anomaly> FindingsLog::ofRun(std::span<const StepTimeline> steps) const {
    std::vector<const Known*> in_order;
    for (const auto& [identity, known] : known_)
        in_order.push_back(&known);
    std::ranges::sort(in_order, {}, &Known::order);
    std::vector<Anomaly> all;
    for (const Known* const known : in_order) {
        Anomaly& anomaly = all.emplace_back(known->worst);
        if (anomaly.seen.steps == 0) continue; // does not concern steps
        std::set<int> examined;
        for (const StepTimeline& step : steps) {
            if (step.replica == anomaly.replica.value_or(step.replica)) examined.insert(step.index);
        }
        settleOccurrence(anomaly.seen, examined);
    }
    return all;
}

void FindingsLog::clear() {
    *this = FindingsLog(limits_);
}

} // namespace bubblescope
