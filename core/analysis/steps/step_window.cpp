#include "core/analysis/steps/step_window.h"

#include "core/aadiff/coverage.h"
#include "core/analysis/anomalies/find_anomalies.h"
#include "core/base/median.h"
#include "core/base/parallel.h"
#include "core/cost/measured_times.h"
#include "core/recognise/dispatch_match.h"
#include "core/recognise/match_schedule.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <span>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kMaxChecks = 400'000; ///< limit on added checks; a loaded run has as many as its files contain

template <class T>
std::vector<T> tail(const std::vector<T>& all, std::size_t from) {
    return {all.begin() + static_cast<std::ptrdiff_t>(from), all.end()};
}

/// The first of the steps that latest() shows. A sliding window also keeps a run's first steps; on one axis with the
/// latest ones, hours later, neither would be visible.
std::size_t firstOfLatest(const std::vector<StepTimeline>& steps, std::size_t max_ops) {
    constexpr int kMaxMissing = 4; // incompletely recorded steps may lie between
    std::size_t from = steps.size() - 1;
    std::size_t ops = steps[from].opCount();
    while (from > 0) {
        const StepTimeline& before = steps[from - 1];
        ops += before.opCount();
        const bool same = before.index == steps[from].index;
        if (!same && (steps[from].index - before.index > 1 + kMaxMissing || ops > max_ops)) break;
        --from;
    }
    return from;
}

} // namespace

std::vector<StageTimes> stageTimes(std::span<const StepTimeline> steps, const StepSelection& selection) {
    if (steps.empty()) return {};
    const StepTimeline& shape = steps.front();
    const auto chunks = static_cast<std::size_t>(shape.vpp);
    using PerKind = std::array<std::vector<TimeNs>, 4>;
    std::vector<PerKind> durations(chunks); // one rank at a time, because those of all ranks take 8 bytes per op
    std::vector<StageTimes> result;
    for (int r = 0; r < shape.pp; ++r) {
        for (PerKind& kinds : durations) {
            for (auto& of_kind : kinds)
                of_kind.clear();
        }
        for (std::size_t s = 0; s < steps.size(); ++s) {
            if (!selection.isSteady(s) || Rank{r}.index() >= steps[s].ranks.size()) continue;
            for (const TimelineOp& op : steps[s].ranks[Rank{r}.index()]) {
                if (op.op.kind == OpKind::Optimizer || op.op.overlapped) continue;
                durations[op.op.chunk.index()][static_cast<std::size_t>(op.op.kind)].push_back(op.duration());
            }
        }
        for (int c = 0; c < shape.vpp; ++c) {
            PerKind& kinds = durations[Chunk{c}.index()];
            const auto of = [&](OpKind kind) { return medianInPlace(kinds[static_cast<std::size_t>(kind)]); };
            StageTimes times{Rank{r}, Chunk{c}, shape.stageOf(Rank{r}, Chunk{c}), {}};
            times.median.forward = of(OpKind::Forward);
            times.median.backward = of(OpKind::Backward);
            times.median.input_grad = of(OpKind::BackwardInput);
            times.median.weight_grad = of(OpKind::BackwardWeight);
            result.push_back(times);
        }
    }
    return result;
}

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
    about.places = run.places;
    about.communicators = run.communicators;
    about.timing = run.timing;
    about.trace = run.trace;
    return about;
}

StepWindow::StepWindow(Run run, WindowOptions options)
    : run_(std::move(run)), options_(std::move(options)), reference_(run_.steps.size()) {}

void StepWindow::add(SourceStep step) {
    if (step.timelines.empty()) return;
    ++changes_;
    if (run_.schedule.ranks.empty()) {
        const StepTimeline& first = step.timelines.front();
        nameSchedule(run_, observedOrder(first), typicalCosts(first));
    }
    if (step.clocks != nullptr && step.clocks != clocks_) {
        clocks_ = std::move(step.clocks);
        report_.clocks = *clocks_;
    }
    for (StepTimeline& timeline : step.timelines) {
        records_ += recordsOf(timeline);
        if (options_.slides) samples_.emplace_back(timeline);
        run_.steps.push_back(std::move(timeline));
    }
    takeChecks(std::move(step.checks));
}

void StepWindow::takeChecks(std::vector<CheckRecord> checks) {
    if (checks.empty()) return;
    // Limits how many checks a file may add to the window.
    const std::size_t room = kMaxChecks - std::min(kMaxChecks, run_.checks.checks.size());
    checks.resize(std::min(checks.size(), room));
    std::ranges::move(checks, std::back_inserter(run_.checks.checks));
    run_.checks.sort();
}

void StepWindow::addChecks(std::vector<CheckRecord> checks) {
    std::erase_if(checks, [this](const CheckRecord& check) {
        return std::ranges::find(run_.steps, check.step, &StepTimeline::index) == run_.steps.end();
    });
    if (checks.empty()) return;
    ++changes_;
    takeChecks(std::move(checks));
    const std::vector<StepReplays> replays = replaysOf(run_.checks, run_.steps);
    for (std::size_t s = 0; s < replays.size() && s < report_.steps.size(); ++s) {
        for (RankAccount& account : report_.steps[s].ranks.edit())
            account.replay = TimeNs{0};
        countReplays(report_.steps[s], replays[s]);
    }
}

void StepWindow::setDevice(const CheckPlace& place, CheckedDevice device) {
    run_.checks.devices.insert_or_assign(place, std::move(device));
}

/// Selects steps and finds what is usual in them.
Status StepWindow::setStandards(const StepRequest& request) {
    BUBBLESCOPE_ASSIGN(report_.selection, selectSteps(run_.steps, request));
    replays_ = replaysOf(run_.checks, run_.steps);
    const TimeNs bound = report_.clocks.bound();
    report_.standards = std::make_shared<const StepStandards>(
        options_.slides ? StepStandards::of(run_, samples_, report_.selection, bound)
                        : StepStandards::of(run_, report_.selection, bound));
    return {};
}

StepsToJudge StepWindow::unjudged() const {
    const std::size_t from = report_.steps.size();
    const std::span replays(replays_);
    return {std::span(run_.steps).subspan(from), replays.empty() ? replays : replays.subspan(from), *report_.standards,
            options_.in_full};
}

void StepWindow::append(JudgedSteps judged) {
    std::ranges::move(judged.analyses, std::back_inserter(report_.steps));
    std::ranges::move(judged.accounts, std::back_inserter(report_.accounts));
    if (judged.typical) report_.typical = std::move(*judged.typical);
    only_ran_ = std::move(judged.only_ran);
}

void StepWindow::judge() {
    if (report_.steps.size() == run_.steps.size()) return;
    if (!setStandards({}).ok()) return; // cannot fail, because all steps may be requested
    if (!judge_) judge_.emplace(run_.schedule);
    const StepsToJudge wanted = unjudged();
    JudgedSteps judged(wanted.steps.size());
    (void)judge_->judge(wanted, 0, wanted.steps.size(), judged);
    append(std::move(judged));
}

Status StepWindow::describe(const StepRequest& request, const JobControl* control) {
    report_.request = request;
    explainDispatch(run_);
    BUBBLESCOPE_TRY(setStandards(request));
    if (control != nullptr && control->stopRequested()) return cancelledError();
    const std::size_t typical = report_.typicalStep();
    StepsToJudge wanted = unjudged();
    const std::size_t from = report_.steps.size();
    if (typical >= from) wanted.typical = typical - from;
    Result<JudgedSteps> judged = JudgedSteps(0);
    parallelCalls([&] { judged = judgeSteps(run_.schedule, wanted, control); }, [&] { sumUp(); });
    BUBBLESCOPE_ASSIGN(JudgedSteps steps, std::move(judged));
    append(std::move(steps));
    if (typical < from) { // it was judged before
        const StepReplays replays = replays_.empty() ? StepReplays{} : replays_[typical];
        report_.typical = StepDiagnoser(*report_.standards).diagnose(run_.steps[typical], replays);
        report_.accounts[typical] = report_.typical.accounting;
    }
    BUBBLESCOPE_ASSIGN(slices_, sliceEvidence(run_, report_.clocks));
    report_.period = periodOf(run_.steps, report_.selection, slices_.activities);
    BUBBLESCOPE_ASSIGN(report_.memory, memoryUse(run_, report_.clocks, report_.selection));
    slices_.memory_peaks = report_.memory.peaks;
    return {};
}

/// Computes the results that concern all steps together.
void StepWindow::sumUp() {
    report_.stages = stageTimes(run_.steps, report_.selection);
    if (run_.checks.checks.empty()) return;
    constexpr int kMaxTensorRanks = 1024; // a damaged file may contain any number
    report_.coverage =
        coverageOf(run_.checks, run_.steps, run_.info ? std::clamp(run_.info->tp, 1, kMaxTensorRanks) : 1);
}

AnomalyInput StepWindow::searched() const {
    return {.run = run_,
            .analyses = report_.steps,
            .selection = report_.selection,
            .clocks = report_.clocks,
            .limits = options_.thresholds,
            .memory_estimate = options_.memory_estimate,
            .known = report_.standards->known,
            .replays = replays_,
            .coverage = report_.coverage ? &*report_.coverage : nullptr,
            .slices = slices_,
            .communication = communicationCosts(report_.accounts),
            .first_ran = only_ran_.get(),
            .reference = reference_};
}

std::vector<Anomaly> StepWindow::search() const {
    return findInSteps(searched());
}

std::vector<Anomaly> StepWindow::searchAsWhole() const {
    return findAnomalies(searched());
}

void StepWindow::trim(std::size_t first, std::size_t last) {
    std::set<int> numbers;
    for (const StepTimeline& step : run_.steps)
        numbers.insert(step.index);
    if (numbers.size() <= first + last) return;
    const auto begin = std::next(numbers.begin(), static_cast<std::ptrdiff_t>(first));
    const auto end = std::prev(numbers.end(), static_cast<std::ptrdiff_t>(last));
    const auto goes = [from = *begin, until = *end](int number) { return number >= from && number < until; };
    // Steps are sorted by number, so one range is removed from each list.
    const auto from = std::ranges::find_if(run_.steps, goes, &StepTimeline::index) - run_.steps.begin();
    const auto count = std::ranges::count_if(run_.steps, goes, &StepTimeline::index);
    for (auto step = run_.steps.begin() + from; step != run_.steps.begin() + from + count; ++step)
        records_ -= recordsOf(*step);
    const auto drop = [from, count](auto& list) {
        if (!list.empty()) list.erase(list.begin() + from, list.begin() + from + count);
    };
    drop(run_.steps);
    drop(samples_);
    drop(replays_);
    drop(report_.steps);
    drop(report_.accounts);
    std::erase_if(run_.checks.checks, [&](const CheckRecord& check) { return goes(check.step); });
    report_.selection = selectSteps(run_.steps);
}

std::optional<DiagnosedRun> StepWindow::latest(std::vector<Anomaly> found, std::size_t max_ops) const {
    if (run_.steps.empty()) return std::nullopt;
    const std::size_t from = firstOfLatest(run_.steps, max_ops);
    Run run = withoutSteps(run_);
    run.steps = tail(run_.steps, from);
    run.span = run.steps.back().end - run.steps.front().begin;
    for (const CheckRecord& check : run_.checks.checks) {
        if (check.step >= run.steps.front().index) run.checks.checks.push_back(check);
    }
    if (!run.checks.checks.empty()) run.checks.devices = run_.checks.devices;
    StepWindow recent(std::move(run), {.thresholds = options_.thresholds, .in_full = true});
    recent.reference_ = 0;
    recent.report_.steps = tail(report_.steps, from);
    recent.report_.accounts = tail(report_.accounts, from);
    recent.report_.clocks = report_.clocks;
    if (!recent.describe({}).ok())
        return std::nullopt; // cannot fail, because all steps are requested and nothing stops it
    recent.report_.covers = LatestSteps();
    // Earlier steps may have covered work that these did not.
    std::vector<Anomaly> checked;
    findAadiffFaults(recent.searched(), checked);
    std::erase_if(checked, [](const Anomaly& anomaly) { return anomaly.kind == AnomalyKind::AadiffUnchecked; });
    recent.report_.anomalies = std::move(found);
    std::ranges::move(checked, std::back_inserter(recent.report_.anomalies));
    return std::move(recent).take();
}

} // namespace bubblescope
