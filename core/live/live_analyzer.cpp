#include "core/live/live_analyzer.h"

#include "core/base/median.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace bubblescope::live {

LiveAnalyzer::LiveAnalyzer(LiveOptions options)
    : RunStreams({options.assembly, options.own_clock}), options_(std::move(options)),
      findings_({.least = options_.thresholds.least_cost}) {}

std::optional<ModelUse> LiveAnalyzer::use() const {
    if (!info() || !options_.model) return {};
    auto known = modelUse(*info(), *options_.model);
    return known.ok() ? std::optional(std::move(known).value()) : std::nullopt;
}

std::optional<DiagnosedRun> LiveAnalyzer::latest(std::size_t max_ops) const {
    if (window_ == nullptr) return std::nullopt;
    std::vector<Anomaly> open;
    for (const LoggedFinding& finding : anomalies())
        open.push_back(finding.anomaly);
    return window_->latest(std::move(open), max_ops);
}

void LiveAnalyzer::onBegin(const RunInfo& info) {
    if (unsearched_ > 0) search(std::nullopt); // the last steps of the previous run may show why the run ended
    Run run;
    run.info = info;
    run.format = "perfetto";
    run.annotation = "Bubblescope";
    window_ = std::make_unique<StepWindow>(
        std::move(run), WindowOptions{.thresholds = options_.thresholds, .in_full = true, .slides = true});
    findings_.clear();
    unsearched_ = 0;
    last_closed_ = -1;
    steps_.clear();
}

void LiveAnalyzer::onDevice(const CheckPlace& place, CheckedDevice device) {
    window_->setDevice(place, std::move(device));
}

void LiveAnalyzer::onLateChecks(std::vector<CheckRecord> checks) {
    window_->addChecks(std::move(checks));
}

void LiveAnalyzer::onStep(ClosedStep closed, FollowingSteps following) {
    last_closed_ = closed.index;
    if (!closed.timelines.empty()) ++unsearched_;
    LiveStep step = judge(std::move(closed));
    if (searchIsDue(following)) search(step.wall);
    keepStep(std::move(step));
}

void LiveAnalyzer::onNoMoreSteps(std::size_t open) {
    if (searchIsDue({false, open})) search(std::nullopt);
}

/// The data about a step for views.
LiveStep LiveAnalyzer::judge(ClosedStep closed) {
    const std::size_t complete = closed.timelines.size();
    window_->add({std::move(closed.timelines), std::move(closed.clocks), std::move(closed.checks)});
    window_->judge();
    const std::span analyses = std::span(window_->report().steps).last(complete);
    LiveStep step = summed(analyses, std::span(window_->report().accounts).last(complete));
    step.index = closed.index;
    step.checks = closed.check_counts;
    step.mismatches = std::move(closed.mismatches);
    step.complete = static_cast<int>(complete) == info()->dp;
    if (!step.complete) {
        step.fault = closed.fault ? closed.fault->where.text() : "no ops were recorded for a replica";
        for (const std::size_t place : closed.missing) {
            const LiveRank& rank = ranks()[place];
            if (std::ranges::find(analyses, rank.replica, &StepAnalysis::replica) == analyses.end())
                step.unknown.emplace_back(rank.replica, rank.rank);
        }
    } else {
        std::vector<StepValues> values;
        for (const auto& [replica, stated] : closed.values)
            values.push_back(stated);
        step.values = together(values);
    }
    for (const StepAnalysis& analysis : analyses) {
        for (const RankAccount& account : analysis.ranks) {
            LiveRank& rank = rankAt(analysis.replica, account.rank);
            rank.busy += account.busy;
            rank.bubble += account.bubble;
        }
    }
    window_->trim(options_.window.first, options_.window.last);
    return step;
}

/// Reports a step, and keeps its data for views.
void LiveAnalyzer::keepStep(LiveStep step) {
    report(LiveEvent::Kind::StepClosed, step.index);
    steps_.push_back(std::move(step));
    if (steps_.size() > options_.history) steps_.pop_front();
}

bool LiveAnalyzer::searchIsDue(const FollowingSteps& following) const {
    constexpr std::int64_t kMostAtOnce = 8; // as many as resolve a finding
    constexpr std::size_t kPartOfRun = 8;   // a search may be delayed by at most this part of the run
    constexpr TimeNs kOfRecord{250};        // a search uses a tenth of this time
    if (unsearched_ == 0) return false;
    const auto kept = static_cast<std::int64_t>(options_.window.last / 3); // prevents that a finding is missed
    const auto part = static_cast<std::int64_t>(steps_.size() / kPartOfRun);
    if (unsearched_ >= std::clamp<std::int64_t>(std::min(kept, part), 1, kMostAtOnce)) return true;
    // Findings with a low cost are reported after two searches, so the last two steps are searched individually.
    if (following.isAmongLastTwo()) return true;
    const auto records = static_cast<std::int64_t>(window_->records());
    return !following.closes_next && now() - searched_at_ >= kOfRecord * records;
}

/// Findings in the window, the most expensive per step first. Empty before the third step.
std::vector<Anomaly> LiveAnalyzer::searchWindow() const {
    constexpr int kFewest = 3;
    // Findings based on a median of all steps are reconsidered with every step while there are few.
    constexpr int kSteady = 8;
    const std::vector<StepTimeline>& kept = window_->run().steps;
    const int steps = kept.empty() ? 0 : kept.back().index - kept.front().index + 1;
    if (steps < kFewest) return {};
    std::vector<Anomaly> found = window_->searchAsWhole();
    if (steps < kSteady)
        std::erase_if(found, [](const Anomaly& one) { return one.kind == AnomalyKind::BubbleAboveForm; });
    return found;
}

/// Searches the window after the latest closed step. `longest_replica` is the time of this step's longest replica,
/// unless the step is in steps_.
void LiveAnalyzer::search(std::optional<TimeNs> longest_replica) {
    searched_at_ = now();
    // The median of the last steps, because one long step is not typical.
    constexpr std::size_t kRecent = 9;
    std::vector<TimeNs> recent;
    if (longest_replica) recent.push_back(*longest_replica);
    for (auto before = steps_.rbegin(); before != steps_.rend() && recent.size() < kRecent; ++before) {
        if (before->complete) recent.push_back(before->wall);
    }
    if (recent.empty()) recent.emplace_back(0);
    const SearchedSteps searched{last_closed_, std::exchange(unsearched_, 0),
                                 last_closed_ - static_cast<int>(options_.window.last) + 1, median(std::move(recent))};
    FindingsLog::Changes changes = findings_.update(searchWindow(), searched);
    for (LoggedFinding& finding : changes.opened)
        report(LiveEvent::Kind::AnomalyFound, last_closed_).anomaly = std::move(finding);
    for (LoggedFinding& finding : changes.resolved)
        report(LiveEvent::Kind::AnomalyResolved, last_closed_).anomaly = std::move(finding);
}

std::vector<LiveEvent> LiveAnalyzer::conclude() {
    if (unsearched_ > 0) search(std::nullopt);
    return takeEvents();
}

} // namespace bubblescope::live
