#include "core/live/live_analyzer.h"
#include "core/live/live_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

// What other collectors tell an engine that watches the whole job.
namespace bubblescope::profiler {

void LiveAnalyzer::onShare(Source& source, ShareRecord record) {
    if (const auto* const begin = std::get_if<ShareBegin>(&record.what)) return onShareBegin(source, *begin);
    if (!source.share || !shared_) return;
    if (const auto* const rank = std::get_if<LiveRank>(&record.what)) return onShareRank(source, *rank);
    if (auto* const step = std::get_if<ShareStep>(&record.what)) return onShareStep(source, std::move(*step));
    const ShareCounts& counts = std::get<ShareEnd>(record.what).counts;
    ShareCounts all{counts_, checks_};
    add(all, counts);
    counts_ = all.records;
    checks_ = all.checks;
    source.ended = true;
}

void LiveAnalyzer::onShareBegin(Source& source, const ShareBegin& begin) {
    const RunInfo& info = begin.said.info;
    if (!StepAssembler::sizesCanBe(info) || begin.first < 0 || begin.last < begin.first || begin.last >= info.dp) {
        ++counts_.bad;
        return;
    }
    const bool other = info_ && !sameSizes(*info_, info);
    if (!info_ || (other && source.returned) || (shared_ && begin.run > shared_run_)) {
        beginRun(info);
        shared_run_ = begin.run;
    } else if (other) {
        ++counts_.bad; // of another run, whose files lie with this one's
        return;
    }
    source.said = begin.said;
    source.share = ReplicaRange{begin.first, begin.last};
    // A step is given up when a collector has: that of the whole job waits longer than any.
    if (!shared_) shared_ = std::make_unique<ReducedBoard>(info.dp, options_.board);
}

LiveRank* LiveAnalyzer::rankOfShare(const Source& source, const LiveRank& told) {
    if (!source.share->has(told.replica) || told.rank.value < 0 || told.rank.value >= info_->pp) {
        ++counts_.bad;
        return nullptr;
    }
    return &ranks_[board_->placeOf(told.rank.value, told.replica)];
}

void LiveAnalyzer::onShareRank(const Source& source, const LiveRank& told) {
    LiveRank* const rank = rankOfShare(source, told);
    if (rank == nullptr) return;
    rank->host = told.host;
    rank->pid = told.pid;
    rank->why = told.why;
    setState(*rank, told.state);
}

void LiveAnalyzer::onShareStep(Source& source, ShareStep told) {
    const auto fits = [&](const ReducedReplica& replica) {
        return source.share->has(replica.replica) &&
               (!replica.complete || static_cast<int>(replica.ranks.size()) == info_->pp);
    };
    if (told.step.index < 0 || !std::ranges::all_of(told.step.replicas, fits)) {
        ++counts_.bad;
        return;
    }
    if (told.step.index <= shared_->lastClosed() && source.returned) return; // a collector that began anew
    source.returned = false;
    for (const LiveRank& heard : told.ranks) {
        LiveRank* const rank = rankOfShare(source, heard);
        if (rank == nullptr) continue;
        rank->step = heard.step;
        rank->records = heard.records;
        rank->dropped = heard.dropped;
        rank->unheard = heard.unheard;
    }
    ShareCounts all{counts_, checks_};
    add(all, told.counts);
    counts_ = all.records;
    checks_ = all.checks;
    source.findings = std::move(told.anomalies);
    for (LiveAnomaly& finding : source.findings) {
        // Who sees one replica does not say which.
        const bool one = source.share->first == source.share->last;
        if (one && finding.anomaly.rank && !finding.anomaly.replica) finding.anomaly.replica = source.share->first;
    }
    for (const auto& [who, what] : told.step.mismatches)
        tell(LiveEvent::Kind::Mismatch, told.step.index, fmt::format("{}: {} does not agree", who, what));
    count(shared_->add(std::move(told.step), now_));
}

/// Whether no other collector will tell more.
bool LiveAnalyzer::sharesOver() const {
    return !shared_ || (shared_->open() == 0 && std::ranges::all_of(sources_, [](const auto& source) {
                            return !source || !source->share || source->ended;
                        }));
}

void LiveAnalyzer::closeShared(ReducedStep step) {
    for (int replica = 0; replica < info_->dp; ++replica) {
        const auto at = std::ranges::lower_bound(step.replicas, replica, {}, &ReducedReplica::replica);
        if (at != step.replicas.end() && at->replica == replica) continue;
        ReducedReplica& lacking = *step.replicas.insert(at, ReducedReplica{});
        lacking.replica = replica;
        lacking.fault = fmt::format("nothing was heard of replica {}", replica);
        for (int rank = 0; rank < info_->pp; ++rank)
            lacking.unknown.push_back(Rank{rank});
    }
    // What concerns all replicas, each collector finds.
    std::set<std::string> known;
    std::vector<Anomaly> found;
    for (const auto& source : sources_) {
        if (!source || !source->share) continue;
        for (const LiveAnomaly& finding : source->findings) {
            if (known.insert(identityOf(finding.anomaly)).second) found.push_back(finding.anomaly);
        }
    }
    std::ranges::stable_sort(found, [](const Anomaly& a, const Anomaly& b) {
        return std::pair(a.cost, a.severity) > std::pair(b.cost, b.severity);
    });
    tellAnomalies(std::move(found), step.index);
    keepStep(std::move(step));
}

} // namespace bubblescope::profiler
