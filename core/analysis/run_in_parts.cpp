#include "core/analysis/run_in_parts.h"

#include "core/analysis/anomalies/find_anomalies.h"
#include "core/base/median.h"
#include "core/cost/measured_times.h"
#include "core/recognise/match_schedule.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

namespace bubblescope {
namespace {

/// What a part has of the requested steps; nothing if it has none of them.
std::optional<StepRequest> requestIn(std::span<const StepTimeline> steps, const StepRequest& request) {
    const auto isMissing = [steps](const StepRequest& one) {
        return std::ranges::none_of(steps, [&](const StepTimeline& step) { return one.holds(step); });
    };
    StepRequest part = request;
    std::erase_if(part.steps, [&](const StepRequest::Range& range) { return isMissing({{range}, {}, {}}); });
    std::erase_if(part.replicas, [&](int replica) { return isMissing({{}, {replica}, {}}); });
    const bool has_none =
        (part.steps.empty() && !request.steps.empty()) || (part.replicas.empty() && !request.replicas.empty());
    // A request that is wrong for the whole run is reported at its end.
    if (has_none || !selectSteps(steps, part).ok()) return std::nullopt;
    return part;
}

template <class T>
void appendFrom(std::vector<T>& to, std::vector<T>& more, std::size_t from) {
    std::move(more.begin() + static_cast<std::ptrdiff_t>(from), more.end(), std::back_inserter(to));
}

} // namespace

Run withoutSteps(const Run& run) {
    Run about;
    about.format = run.format;
    about.annotation = run.annotation;
    about.info = run.info;
    about.schedule = run.schedule;
    about.departure = run.departure;
    about.closest = run.closest;
    about.closest_order = run.closest_order;
    about.explanation = run.explanation;
    return about;
}

PartwiseDiagnosis::PartwiseDiagnosis(Run about, const DiagnosisOptions& options)
    : run_(std::move(about)), options_(options) {}

Status PartwiseDiagnosis::add(std::vector<StepTimeline> steps, const RunClocks& clocks,
                              std::vector<Diagnostic> problems, const JobControl& control) {
    const bool is_first = run_.steps.empty();
    if (is_first) {
        observed_ = executedOrder(steps.front());
        nameSchedule(run_, observed_, typicalCosts(steps.front()));
    }
    other_orders_ += countOtherOrders(steps, observed_, log_);
    const std::optional<StepRequest> request = requestIn(steps, options_.request);
    Run part = withoutSteps(run_);
    part.steps = reference_;
    appendFrom(part.steps, steps, 0);
    part.problems = problems;
    run_.problems = std::move(problems);
    clocks_ = clocks;
    BUBBLESCOPE_ASSIGN(RunReport report, analyzeRun(part,
                                                    {.thresholds = options_.thresholds,
                                                     .clocks = clocks,
                                                     .memory_estimate = {},
                                                     .request = request.value_or(StepRequest{}),
                                                     .part_of_run = true,
                                                     .reference = reference_.size()},
                                                    control));
    if (is_first) keepReference(part, report.selection);
    keep(std::move(part), std::move(report), request.has_value());
    return {};
}

/// Steady steps of the first part, all replicas of each.
void PartwiseDiagnosis::keepReference(const Run& part, const StepSelection& selection) {
    constexpr std::size_t kMost = 16;
    constexpr std::size_t kOfPart = 4; // at most a quarter
    std::size_t left = std::min(kMost, selection.steps().size() / kOfPart);
    int number = -1;
    for (std::size_t s = 0; s < part.steps.size(); ++s) {
        if (!selection.isSteady(s)) continue;
        if (part.steps[s].index != number && left-- == 0) return;
        number = part.steps[s].index;
        reference_.push_back(part.steps[s]);
        reference_at_.push_back(s);
    }
}

void PartwiseDiagnosis::keep(Run part, RunReport report, bool typical_asked) {
    const std::size_t known = run_.steps.empty() ? 0 : reference_.size(); // the first steps of a part that follows
    const std::size_t typical = report.typicalStep();
    StepAnalysis& analysis = report.steps[typical];
    if (typical_asked) {
        const std::size_t at = typical < known ? reference_at_[typical] : run_.steps.size() + typical - known;
        candidates_.push_back(
            {at, part.steps[typical], analysis, std::move(report.typical), std::move(report.standards)});
    }
    analysis.keepTotals();
    report.accounts[typical].ranks.pack();
    for (StepTimeline& step : part.steps)
        step.dropOps();
    appendFrom(run_.steps, part.steps, known);
    appendFrom(analyses_, report.steps, known);
    appendFrom(accounts_, report.accounts, known);
    stages_.push_back(std::move(report.stages));
    findings_.add(std::move(report.anomalies));
    dropFarCandidates();
}

/// Keeps some dozens, those nearest to the median of the steps so far.
void PartwiseDiagnosis::dropFarCandidates() {
    constexpr std::size_t kMost = 64;
    if (candidates_.size() <= kMost) return;
    std::vector<TimeNs> walls;
    walls.reserve(run_.steps.size());
    for (const StepTimeline& step : run_.steps)
        walls.push_back(step.wall());
    const TimeNs middle = medianInPlace(walls);
    std::ranges::nth_element(candidates_, candidates_.begin() + kMost / 2, {}, [&](const Candidate& candidate) {
        return std::chrono::abs(run_.steps[candidate.at].wall() - middle);
    });
    candidates_.resize(kMost / 2);
}

/// The nearest to the time that the selection gives a step, among those that count if any of them does.
PartwiseDiagnosis::Candidate PartwiseDiagnosis::takeTypical(const StepSelection& selection) {
    const auto distance = [&](const Candidate& candidate) {
        const TimeNs off = std::chrono::abs(run_.steps[candidate.at].wall() - selection.stepTime());
        return std::pair(!selection.takes(candidate.at), off);
    };
    return std::move(*std::ranges::min_element(candidates_, {}, distance));
}

std::vector<StageTimes> PartwiseDiagnosis::stages() const {
    std::vector<StageTimes> medians = stages_.front();
    std::vector<TimeNs> of_parts;
    const auto over = [&](std::size_t stage, TimeNs OpTimes::*kind) {
        of_parts.clear();
        for (const std::vector<StageTimes>& part : stages_)
            of_parts.push_back(part[stage].median.*kind);
        return medianInPlace(of_parts);
    };
    for (std::size_t stage = 0; stage < medians.size(); ++stage) {
        OpTimes& times = medians[stage].median;
        for (TimeNs OpTimes::*kind :
             {&OpTimes::forward, &OpTimes::backward, &OpTimes::input_grad, &OpTimes::weight_grad})
            times.*kind = over(stage, kind);
    }
    return medians;
}

Result<DiagnosedRun> PartwiseDiagnosis::finish() {
    explainNamedOps(run_.explanation, static_cast<std::int64_t>(run_.steps.size()), other_orders_);
    for (Diagnostic& problem : log_.take())
        run_.problems.push_back(std::move(problem));

    RunReport report;
    report.request = options_.request;
    BUBBLESCOPE_ASSIGN(report.selection, selectSteps(run_.steps, options_.request));
    if (candidates_.empty()) return usageError("no step was run by the replicas asked for", "ask for others");
    Candidate typical = takeTypical(report.selection);
    report.selection.representBy(typical.at);
    run_.steps[typical.at] = std::move(typical.step);
    report.steps = std::move(analyses_);
    report.steps[typical.at] = std::move(typical.analysis);
    report.accounts = std::move(accounts_);
    report.accounts[typical.at] = typical.diagnosis.accounting;
    report.typical = std::move(typical.diagnosis);
    report.standards = std::move(typical.standards);
    report.stages = stages();
    report.parts = stages_.size();
    report.clocks = std::move(clocks_);
    report.anomalies = findings_.take(run_.steps);
    findInWholeRun({.run = run_,
                    .analyses = report.steps,
                    .selection = report.selection,
                    .clocks = report.clocks,
                    .limits = options_.thresholds,
                    .memory_estimate = {}},
                   report.anomalies);
    return DiagnosedRun{std::move(run_), std::move(report)};
}

} // namespace bubblescope
