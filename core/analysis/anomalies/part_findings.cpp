#include "core/analysis/anomalies/part_findings.h"

#include "core/analysis/anomalies/occurrence.h"

#include <algorithm>
#include <set>
#include <utility>

namespace bubblescope {
namespace {

/// Of cases before and after; what depends on all steps of the run is set by settleOccurrence().
Occurrence together(const Occurrence& before, const Occurrence& after) {
    constexpr int kBits = 64;
    Occurrence sum = after;
    sum.cases += before.cases;
    sum.steps += before.steps;
    sum.first = before.first;
    sum.total += before.total;
    const int distance = after.last - before.last;
    if (distance < kBits) sum.latest |= before.latest << std::max(0, distance);
    return sum;
}

TimeNs meanCost(const Anomaly& a, const Anomaly& b) {
    const std::int64_t steps = std::int64_t{a.seen.steps} + b.seen.steps;
    if (steps == 0) return std::max(a.cost, b.cost);
    return (a.cost * a.seen.steps + b.cost * b.seen.steps) / steps;
}

void merge(Anomaly& known, Anomaly more) {
    const Occurrence seen = together(known.seen, more.seen);
    const TimeNs cost = meanCost(known, more);
    const Severity severity = std::max(known.severity, more.severity);
    if (more.cost > known.cost) known = std::move(more);
    known.seen = seen;
    known.cost = cost;
    known.severity = severity;
}

} // namespace

void PartFindings::add(std::vector<Anomaly> found) {
    for (Anomaly& anomaly : found) {
        const auto [place, is_new] = places_.try_emplace(identityOf(anomaly), found_.size());
        if (is_new)
            found_.push_back(std::move(anomaly));
        else
            merge(found_[place->second], std::move(anomaly));
    }
}

std::vector<Anomaly> PartFindings::take(std::span<const StepTimeline> steps) {
    for (Anomaly& anomaly : found_) {
        if (anomaly.seen.steps == 0) continue; // it concerns no steps
        std::set<int> examined;
        for (const StepTimeline& step : steps) {
            if (step.replica == anomaly.replica.value_or(step.replica)) examined.insert(step.index);
        }
        settleOccurrence(anomaly.seen, examined);
    }
    places_.clear();
    return std::exchange(found_, {});
}

} // namespace bubblescope
