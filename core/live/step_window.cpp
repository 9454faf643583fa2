#include "core/live/step_window.h"

#include "core/analysis/anomalies/find_anomalies.h"
#include "core/cost/measured_times.h"
#include "core/recognise/match_schedule.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>

namespace bubblescope::live {
namespace {

constexpr std::size_t kMaxChecks = 400'000; ///< of all steps in the window

ReducedReplica reduced(const StepAnalysis& analysis, const StepAccounting& accounting) {
    ReducedReplica replica;
    replica.replica = analysis.replica;
    replica.wall = analysis.wall;
    replica.bubble_rate = analysis.rates.over_makespan;
    if (analysis.form) replica.expected_rate = analysis.form->bubble_rate;
    const std::vector<RankAccounting> accounts = accounting.ranks.list();
    for (const RankAccount& account : analysis.ranks) {
        const auto causes = std::ranges::find(accounts, account.rank, &RankAccounting::rank);
        replica.ranks.push_back({account.rank, account.busy, account.bubble,
                                 analysis.form ? account.expected_bubble : std::nullopt,
                                 causes == accounts.end() ? PerCause<TimeNs>{} : causes->causes});
    }
    return replica;
}

} // namespace

std::size_t recordsOf(const StepTimeline& step) {
    std::size_t records = step.opCount();
    for (const auto& spans : step.comm)
        records += spans.size();
    return records;
}

StepWindow::StepWindow(const RunInfo& info, const Thresholds& thresholds, Limits limits)
    : thresholds_(thresholds), limits_(limits) {
    run_.info = info;
    run_.format = "perfetto";
    run_.annotation = "Bubblescope";
}

void StepWindow::nameSchedule(const StepTimeline& first) {
    bubblescope::nameSchedule(run_, executedOrder(first), typicalCosts(first));
    analyzer_ = std::make_unique<StepAnalyzer>(run_.schedule);
}

std::vector<ReducedReplica> StepWindow::add(std::vector<StepTimeline> timelines, const RunClocks& clocks,
                                            std::vector<CheckRecord> checks) {
    if (timelines.empty()) return {};
    ++changes_;
    if (analyzer_ == nullptr) nameSchedule(timelines.front());
    clocks_ = clocks;
    const std::size_t from = run_.steps.size();
    for (StepTimeline& timeline : timelines) {
        analyses_.push_back(analyzer_->analyze(timeline));
        records_ += recordsOf(timeline);
        samples_.emplace_back(timeline);
        run_.steps.push_back(std::move(timeline));
    }
    takeChecks(std::move(checks));
    countChecks(from);
    std::vector<ReducedReplica> replicas;
    const StepStandards standards = StepStandards::of(run_, samples_, selectSteps(run_.steps), clocks_.bound());
    const std::vector<StepReplays> replays = replaysOf(run_.checks, std::span(run_.steps).subspan(from));
    StepDiagnoser diagnoser(standards);
    for (std::size_t s = from; s < run_.steps.size(); ++s) {
        accounts_.push_back(diagnoser.account(run_.steps[s], replays.empty() ? StepReplays{} : replays[s - from]));
        replicas.push_back(reduced(analyses_[s], accounts_.back()));
    }
    trim();
    return replicas;
}

void StepWindow::addChecks(std::vector<CheckRecord> checks) {
    std::erase_if(checks, [this](const CheckRecord& check) {
        return std::ranges::find(run_.steps, check.step, &StepTimeline::index) == run_.steps.end();
    });
    if (checks.empty()) return;
    ++changes_;
    takeChecks(std::move(checks));
    countChecks(0);
}

void StepWindow::takeChecks(std::vector<CheckRecord> checks) {
    if (checks.empty()) return;
    // Bounds what a file may claim about the steps in the window.
    const std::size_t room = kMaxChecks - std::min(kMaxChecks, run_.checks.checks.size());
    checks.resize(std::min(checks.size(), room));
    std::ranges::move(checks, std::back_inserter(run_.checks.checks));
    run_.checks.sort();
}

/// Adds how much of the bubbles was filled with checks, for the steps from there on.
void StepWindow::countChecks(std::size_t from) {
    const std::vector<StepReplays> replays = replaysOf(run_.checks, std::span(run_.steps).subspan(from));
    for (std::size_t step = 0; step < replays.size(); ++step) {
        StepAnalysis& analysis = analyses_[from + step];
        for (RankAccount& account : analysis.ranks.edit())
            account.replay = TimeNs{0};
        countReplays(analysis, replays[step]);
    }
}

void StepWindow::setDevice(const CheckPlace& place, CheckedDevice device) {
    run_.checks.devices.insert_or_assign(place, std::move(device));
}

/// The first steps stay: they are the reference for what changes later.
void StepWindow::trim() {
    std::set<int> numbers;
    for (const StepTimeline& step : run_.steps)
        numbers.insert(step.index);
    if (numbers.size() <= limits_.first + limits_.last) return;
    const int goes = *std::next(numbers.begin(), static_cast<std::ptrdiff_t>(limits_.first));
    // Replicas are adjacent, so one range is removed from each list.
    const auto begin = std::ranges::find(run_.steps, goes, &StepTimeline::index) - run_.steps.begin();
    const auto count = std::ranges::count(run_.steps, goes, &StepTimeline::index);
    for (const StepTimeline& step :
         std::span(run_.steps).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)))
        records_ -= recordsOf(step);
    const auto drop = [begin, count](auto& list) { list.erase(list.begin() + begin, list.begin() + begin + count); };
    drop(run_.steps);
    drop(samples_);
    drop(analyses_);
    drop(accounts_);
    std::erase_if(run_.checks.checks, [goes](const CheckRecord& check) { return check.step == goes; });
}

std::vector<Anomaly> StepWindow::findings() const {
    constexpr int kFewest = 3;
    // Findings based on a median of all steps are reconsidered with every step while there are few.
    constexpr int kSteady = 8;
    const int steps = run_.steps.empty() ? 0 : run_.steps.back().index - run_.steps.front().index + 1;
    if (steps < kFewest) return {};
    const StepSelection selection = selectSteps(run_.steps);
    std::vector<Anomaly> found = findAnomalies({run_,
                                                analyses_,
                                                selection,
                                                clocks_,
                                                thresholds_,
                                                {},
                                                knownOfSteps(run_, clocks_.bound()),
                                                replaysOf(run_.checks, run_.steps),
                                                nullptr,
                                                {},
                                                communicationCosts(accounts_)});
    if (steps < kSteady)
        std::erase_if(found, [](const Anomaly& one) { return one.kind == AnomalyKind::BubbleAboveForm; });
    return found;
}

} // namespace bubblescope::live
