#include "core/live/collector_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace bubblescope::live {

void CollectorMerge::reset() {
    replicas_ = 0;
    steps_.clear();
    last_closed_ = -1;
}

void CollectorMerge::open(Stream collector, ReplicaRange replicas, const RunInfo& info) {
    collectors_[collector].replicas = replicas;
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

StepAssembler::AddResult CollectorMerge::add(Stream collector, ReducedStep part, std::vector<LiveAnomaly> findings,
                                             TimeNs now) {
    Collector& from = collectors_[collector];
    from.findings = std::move(findings);
    for (LiveAnomaly& finding : from.findings) {
        // The stream of a collector of one replica does not name the replica.
        const bool one = from.replicas && from.replicas->first == from.replicas->last;
        if (one && finding.anomaly.rank && !finding.anomaly.replica) finding.anomaly.replica = from.replicas->first;
    }
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

std::optional<CollectorMerge::Merged> CollectorMerge::close(TimeNs now) {
    if (!isActive() || steps_.empty()) return std::nullopt;
    const auto first = steps_.begin();
    const bool all = static_cast<int>(first->second.step.replicas.size()) >= replicas_;
    const bool given_up = now - first->second.since >= 2 * limits_.patience;
    if (!all && !given_up && steps_.size() <= limits_.open_steps) return std::nullopt;
    last_closed_ = first->first;
    Merged merged;
    merged.step = std::move(first->second.step);
    steps_.erase(first);
    addMissing(merged.step);
    merged.found = findings();
    return merged;
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

/// Anomalies that concern all replicas are found by each collector.
std::vector<Anomaly> CollectorMerge::findings() const {
    std::set<std::string> known;
    std::vector<Anomaly> found;
    for (const auto& [stream, collector] : collectors_) {
        if (!collector.replicas) continue;
        for (const LiveAnomaly& finding : collector.findings) {
            if (known.insert(identityOf(finding.anomaly)).second) found.push_back(finding.anomaly);
        }
    }
    std::ranges::stable_sort(found, [](const Anomaly& a, const Anomaly& b) {
        return std::pair(a.meanCost(), a.severity) > std::pair(b.meanCost(), b.severity);
    });
    return found;
}

} // namespace bubblescope::live
