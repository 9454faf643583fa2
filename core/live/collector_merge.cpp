#include "core/live/collector_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

namespace bubblescope::live {

void CollectorMerge::reset() {
    replicas_ = 0;
    steps_.clear();
    last_closed_ = -1;
    searches_.clear();
    last_searched_ = -1;
}

void CollectorMerge::open(Stream collector, ReplicaRange replicas, const RunInfo& info) {
    collectors_[collector].replicas = replicas;
    // Those of replicas that are distributed otherwise now.
    std::erase_if(searches_, [&replicas](const auto& entry) {
        const auto [first, last] = entry.first;
        const bool same = first == replicas.first && last == replicas.last;
        return !same && first <= replicas.last && last >= replicas.first;
    });
    if (isActive()) return;
    replicas_ = info.dp;
    ranks_ = info.pp;
}

void CollectorMerge::end(Stream collector) {
    collectors_[collector].ended = true;
}

void CollectorMerge::restart(Stream collector) {
    const auto known = collectors_.find(collector);
    if (known == collectors_.end()) return;
    known->second.replicas.reset();
    known->second.ended = false;
}

std::optional<ReplicaRange> CollectorMerge::replicasOf(Stream collector) const {
    const auto known = collectors_.find(collector);
    return known == collectors_.end() ? std::nullopt : known->second.replicas;
}

bool CollectorMerge::hasEnded() const {
    return !isActive() || (steps_.empty() && std::ranges::all_of(collectors_, [](const auto& entry) {
                               return !entry.second.replicas || entry.second.ended;
                           }));
}

StepAssembler::AddResult CollectorMerge::add(Stream collector, ReducedStep part, TimeNs now) {
    if (!collectors_.contains(collector)) return StepAssembler::AddResult::Bad;
    if (part.index <= last_closed_) return StepAssembler::AddResult::Late;
    const auto [entry, is_new] = steps_.try_emplace(part.index);
    OpenStep& open = entry->second;
    if (is_new) {
        open.step.index = part.index;
        open.since = now;
    }
    StepAssembler::AddResult taken = StepAssembler::AddResult::Yes;
    for (ReducedReplica& replica : part.replicas) {
        auto& there = open.step.replicas;
        const auto at = std::ranges::lower_bound(there, replica.replica, {}, &ReducedReplica::replica);
        if (at != there.end() && at->replica == replica.replica)
            taken = StepAssembler::AddResult::Bad; // the one that came first is as good
        else
            there.insert(at, std::move(replica));
    }
    if (taken != StepAssembler::AddResult::Yes) return taken;
    open.step.checks.add(part.checks);
    std::ranges::move(part.mismatches, std::back_inserter(open.step.mismatches));
    return taken;
}

StepAssembler::AddResult CollectorMerge::add(Stream collector, LiveSearch search) {
    constexpr std::size_t kMostWaiting = 32; // bounds what a collector may state of steps that others lack
    const auto from = collectors_.find(collector);
    if (from == collectors_.end() || !from->second.replicas) return StepAssembler::AddResult::Bad;
    const int last_known = steps_.empty() ? last_closed_ : std::max(last_closed_, steps_.rbegin()->first);
    if (search.step < 0 || search.steps < 0 || search.step > last_known) return StepAssembler::AddResult::Bad;
    const auto [first, last] = *from->second.replicas;
    Searches& searches = searches_[{first, last}];
    if (search.step < searches.lastStep()) return StepAssembler::AddResult::Yes;
    search.steps = std::min(search.steps, search.step - searches.lastStep());
    for (LiveAnomaly& finding : search.found) {
        // The stream of a collector of one replica does not name the replica.
        if (first == last && finding.anomaly.rank && !finding.anomaly.replica) finding.anomaly.replica = first;
    }
    if (searches.waiting.size() >= kMostWaiting) {
        search.steps += searches.waiting.back().steps;
        searches.waiting.pop_back();
    }
    searches.waiting.push_back(std::move(search));
    return StepAssembler::AddResult::Yes;
}

std::optional<ReducedStep> CollectorMerge::close(TimeNs now) {
    if (!isActive() || steps_.empty()) return std::nullopt;
    const auto first = steps_.begin();
    const bool all = static_cast<int>(first->second.step.replicas.size()) >= replicas_;
    const bool given_up = now - first->second.since >= 2 * limits_.patience;
    if (!all && !given_up && steps_.size() <= limits_.open_steps) return std::nullopt;
    last_closed_ = first->first;
    ReducedStep merged = std::move(first->second.step);
    steps_.erase(first);
    addMissing(merged);
    return merged;
}

std::optional<CollectorMerge::Searched> CollectorMerge::takeSearches() {
    std::optional<int> step;
    for (auto& [replicas, searches] : searches_) {
        if (searches.waiting.empty()) continue;
        LiveSearch& next = searches.waiting.front();
        if (next.step > last_closed_) continue;
        step = std::max(step.value_or(last_searched_), next.step);
        searches.latest = std::move(next);
        searches.waiting.pop_front();
    }
    if (!step) return std::nullopt;
    const int before = std::exchange(last_searched_, *step);
    return Searched{*step, *step - before, findings()};
}

void CollectorMerge::addMissing(ReducedStep& step) const {
    for (int replica = 0; replica < replicas_; ++replica) {
        const auto at = std::ranges::lower_bound(step.replicas, replica, {}, &ReducedReplica::replica);
        if (at != step.replicas.end() && at->replica == replica) continue;
        ReducedReplica& missing = *step.replicas.insert(at, ReducedReplica{});
        missing.replica = replica;
        missing.fault = fmt::format("nothing was heard of replica {}", replica);
        for (int rank = 0; rank < ranks_; ++rank)
            missing.unknown.push_back(Rank{rank});
    }
}

/// Anomalies that concern all replicas are found by each collector: the latest counts.
std::vector<AnomalyLog::Finding> CollectorMerge::findings() const {
    std::map<std::string, std::size_t> places;
    std::vector<AnomalyLog::Finding> found;
    for (const auto& [replicas, searches] : searches_) {
        for (const LiveAnomaly& finding : searches.latest.found) {
            AnomalyLog::Finding one{finding.anomaly, std::min(finding.last_at, searches.latest.step),
                                    searches.latest.steps};
            const auto [known, is_new] = places.try_emplace(identityOf(one.anomaly), found.size());
            if (is_new)
                found.push_back(std::move(one));
            else if (one.step > found[known->second].step)
                found[known->second] = std::move(one);
        }
    }
    std::ranges::stable_sort(found, std::ranges::greater{}, [](const AnomalyLog::Finding& one) {
        return std::pair(one.anomaly.meanCost(), one.anomaly.severity);
    });
    return found;
}

} // namespace bubblescope::live
