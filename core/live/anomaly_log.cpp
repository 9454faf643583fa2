#include "core/live/anomaly_log.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <utility>

namespace bubblescope::live {

bool AnomalyLog::isWorthTelling(const Known& known) const {
    const TimeNs step_time = search_.step_time;
    const Anomaly& anomaly = known.told.anomaly;
    if (anomaly.kind == AnomalyKind::BubbleAboveForm && causes_found_) return false; // a symptom of those
    const auto share = [&](TimeNs cost) {
        return step_time > TimeNs{0} ? static_cast<double>(cost.count()) / static_cast<double>(step_time.count()) : 1;
    };
    if (anomaly.cost <= TimeNs{0} || share(anomaly.cost) >= limits_.worth) return true;
    return share(anomaly.meanCost()) >= limits_.least && known.in_succession >= limits_.in_succession;
}

AnomalyLog::Known* AnomalyLog::openOfAllRanks(const Anomaly& anomaly) {
    if (anomaly.kind != AnomalyKind::SlowOp || !anomaly.rank) return nullptr;
    const auto entry = std::ranges::find_if(known_, [](const auto& known) {
        return known.second.open && known.second.told.anomaly.kind == AnomalyKind::SlowOp &&
               !known.second.told.anomaly.rank;
    });
    return entry == known_.end() ? nullptr : &entry->second;
}

bool AnomalyLog::isStraggler(const Anomaly& anomaly) const {
    return anomaly.kind == AnomalyKind::SlowOp &&
           std::ranges::find(stragglers_, std::pair(anomaly.rank, anomaly.replica)) != stragglers_.end();
}

namespace {

/// Of the last `steps` steps, those after `newest` that have a case of the finding; at least one.
int casesAfter(int newest, const Occurrence& seen, int steps) {
    constexpr std::int64_t kBits = 64;
    const auto after = std::clamp<std::int64_t>(std::int64_t{seen.last} - newest, 1, kBits);
    const std::uint64_t cases = after == kBits ? seen.latest : seen.latest & ((std::uint64_t{1} << after) - 1);
    return std::clamp(std::popcount(cases), 1, std::max(1, steps));
}

/// Adds to a finding of the kept steps what was known of those that are gone; `cases` are new.
void addPast(const Anomaly& before, int steps_since, int cases, Anomaly& now) {
    now.seen.first = before.seen.first;
    now.seen.steps = std::max(now.seen.steps, before.seen.steps + cases);
    now.seen.since_first = std::max(now.seen.since_first, before.seen.since_first + steps_since);
    now.seen.of_steps = std::max(now.seen.of_steps, before.seen.of_steps + steps_since);
    now.seen.cases = std::max(now.seen.cases, before.seen.cases + cases);
    now.seen.total = std::max(now.seen.total, before.seen.total + cases * now.cost);
    if (now.kind != AnomalyKind::StepTimeChange) return;
    // It compares the steps before with those since; the former are gone.
    now.step = before.step;
    now.when = before.when;
    now.severity = before.severity;
    now.evidence = before.evidence;
    now.message = before.message;
    now.suggestion = before.suggestion;
}

} // namespace

void AnomalyLog::take(Known& known, Anomaly anomaly, Changes& changes) {
    const int step = search_.step;
    const bool of_steps = anomaly.seen.steps > 0;
    const int newest = of_steps ? anomaly.seen.last : step;
    const int more = newest <= known.newest ? 0
                     : of_steps             ? casesAfter(known.newest, anomaly.seen, search_.steps)
                                            : search_.steps;
    const Occurrence& seen = known.told.anomaly.seen;
    if (known.open && seen.steps > 0 && seen.first < search_.oldest && anomaly.seen.first > seen.first)
        addPast(known.told.anomaly, std::max(0, step - known.found_last), more, anomaly);
    known.told.times += more;
    known.newest = std::max(known.newest, newest);
    ++known.in_succession;
    known.found_last = step;
    known.told.anomaly = std::move(anomaly);
    known.told.last_at = step;
    if (known.open || known.newest <= known.resolved_at || !isWorthTelling(known)) return;
    if (Known* const all = openOfAllRanks(known.told.anomaly)) {
        all->told.times += more;
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

AnomalyLog::Changes AnomalyLog::update(std::vector<Anomaly> found, int step, TimeNs step_time, int oldest, int steps) {
    constexpr std::size_t kMaxKnown = 4096;
    search_ = {step, step_time, oldest, steps};
    Changes changes;
    stragglers_.clear();
    current_.clear();
    causes_found_ = std::ranges::any_of(found, [](const Anomaly& one) { return one.cost > TimeNs{0}; });
    for (Anomaly& anomaly : found) {
        const std::string identity = identityOf(anomaly);
        if (known_.size() >= kMaxKnown && !known_.contains(identity)) continue;
        Known& known = known_[identity];
        if (known.found_last == step) continue; // a duplicate
        take(known, std::move(anomaly), changes);
        const Anomaly& told = known.told.anomaly;
        if (told.kind == AnomalyKind::Straggler) stragglers_.emplace_back(told.rank, told.replica);
        if (known.open) current_.push_back(known.told);
    }
    for (auto& [identity, known] : known_) {
        const bool missed = known.found_last != step;
        if (missed) known.in_succession = 0;
        // A fact stays open while the trace shows it; a finding that costs time, while it continues.
        const Anomaly& told = known.told.anomaly;
        const int since = step - (told.cost > TimeNs{0} ? known.newest : known.found_last);
        const bool explained = missed && (isStraggler(told) || openOfAllRanks(told) != nullptr);
        if (known.open && (since > known.quiet || explained)) {
            known.open = false;
            known.resolved_at = step;
            known.told.resolved_at = step;
            const std::string over = identity;
            std::erase_if(current_, [&over](const LiveAnomaly& one) { return identityOf(one.anomaly) == over; });
            changes.resolved.push_back(known.told);
        } else if (known.open && missed) {
            current_.push_back(known.told);
        }
    }
    std::ranges::stable_sort(current_, std::ranges::greater{}, [](const LiveAnomaly& one) {
        return std::pair(one.anomaly.meanCost(), one.anomaly.severity);
    });
    std::erase_if(known_, [&](const auto& entry) {
        return !entry.second.open && step - entry.second.found_last > 2 * limits_.most_quiet;
    });
    return changes;
}

void AnomalyLog::clear() {
    current_.clear();
    stragglers_.clear();
    known_.clear();
}

} // namespace bubblescope::live
