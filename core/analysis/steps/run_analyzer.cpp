#include "core/analysis/steps/run_analyzer.h"

#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/steps/findings_log.h"
#include "core/analysis/steps/step_window.h"
#include "core/base/median.h"
#include "core/base/parallel.h"
#include "core/recognise/match_schedule.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace bubblescope {
namespace {

ClockOptions clockOptions(const Thresholds& thresholds, ClockUse use) {
    const auto microseconds = [](double value) { return TimeNs{static_cast<std::int64_t>(1e3 * value)}; };
    ClockOptions options;
    options.use = use;
    options.limits.most_drift_ppm = thresholds.clock_drift;
    options.collective_spread = microseconds(thresholds.clock_spread);
    options.tolerance = microseconds(thresholds.clock_tolerance);
    options.largest_residual = microseconds(thresholds.clock_residual);
    return options;
}

/// The part of the request that concerns a window; empty if it has none of the requested steps.
std::optional<StepRequest> requestIn(std::span<const StepTimeline> steps, const StepRequest& request) {
    const auto isMissing = [steps](const StepRequest& one) {
        return std::ranges::none_of(steps, [&](const StepTimeline& step) { return one.holds(step); });
    };
    StepRequest part = request;
    std::erase_if(part.steps, [&](const StepRequest::Range& range) { return isMissing({{range}, {}, {}}); });
    std::erase_if(part.replicas, [&](int replica) { return isMissing({{}, {replica}, {}}); });
    const bool has_none =
        (part.steps.empty() && !request.steps.empty()) || (part.replicas.empty() && !request.replicas.empty());
    // A request that is invalid for the complete run is reported at the end of the run.
    if (has_none || !selectSteps(steps, part).ok()) return std::nullopt;
    return part;
}

template <class T>
void appendFrom(std::vector<T>& to, std::vector<T>& more, std::size_t from) {
    std::move(more.begin() + static_cast<std::ptrdiff_t>(from), more.end(), std::back_inserter(to));
}

struct WindowSteps {
    std::vector<SourceStep> steps;
    std::vector<Diagnostic> problems; ///< from reading these steps, and possibly a few further ones
};

/// Divides the steps of a source into windows.
class WindowReader {
public:
    WindowReader(StepSource& source, const WindowLimits& limits) : source_(source), limits_(limits) {}

    /// The steps of the next window. At the end, the rest joins the last window unless it is at least half a window.
    /// Empty when no steps are left.
    [[nodiscard]] Result<WindowSteps> next() {
        while (!ended_ && !limits_.isFullAndAHalf(steps_.size(), records_)) {
            BUBBLESCOPE_ASSIGN(std::optional<SourceStep> step, source_.next());
            ended_ = !step;
            if (!step) break;
            sizes_.push_back(0);
            for (const StepTimeline& timeline : step->timelines)
                sizes_.back() += recordsOf(timeline);
            records_ += sizes_.back();
            steps_.push_back(*std::move(step));
        }
        const bool takes_all = !limits_.isFullAndAHalf(steps_.size(), records_);
        WindowSteps window;
        std::size_t records = 0;
        while (!steps_.empty() && (takes_all || !limits_.isFull(window.steps.size(), records))) {
            records += sizes_.front();
            window.steps.push_back(std::move(steps_.front()));
            steps_.pop_front();
            sizes_.pop_front();
        }
        records_ -= records;
        window.problems = source_.problems();
        return window;
    }
    /// The window, and everything that follows it.
    [[nodiscard]] Result<WindowSteps> withAllThatFollow(WindowSteps window) {
        limits_ = WindowLimits::none();
        BUBBLESCOPE_ASSIGN(WindowSteps rest, next());
        std::ranges::move(rest.steps, std::back_inserter(window.steps));
        window.problems = std::move(rest.problems);
        return window;
    }
    [[nodiscard]] bool atEnd() const { return ended_ && steps_.empty(); }

private:
    StepSource& source_;
    WindowLimits limits_;
    std::deque<SourceStep> steps_;  ///< not in a window yet
    std::deque<std::size_t> sizes_; ///< the number of their ops and transfers
    std::size_t records_ = 0;       ///< sum of `sizes_`
    bool ended_ = false;
};

/// Collects the results of all windows of a run.
class RunAnalyzer {
public:
    RunAnalyzer(Run about, const DiagnosisOptions& options)
        : run_(std::move(about)), options_(options), is_explained_(!run_.explanation.evidence.empty()) {}

    /// Adds a window of at least one step. Error: Cancelled.
    [[nodiscard]] Status add(WindowSteps read, const JobControl* control) {
        if (windows_ == 1) retire(); // there is more than one window
        Run about = windows_ == 0 ? std::exchange(run_, {}) : withoutSteps(run_);
        about.problems = std::move(read.problems);
        about.steps = reference_;
        window_.emplace(std::move(about),
                        WindowOptions{options_.thresholds, options_.memory_estimate, options_.steps_in_full});
        for (SourceStep& step : read.steps)
            window_->add(std::move(step));
        const std::vector<StepTimeline>& steps = window_->run().steps;
        if (!is_explained_) {
            if (windows_ == 0) observed_ = observedOrder(steps.front());
            other_orders_ += countOtherOrders(std::span(steps).subspan(reference_.size()), observed_, log_);
        }
        // The first window may be the complete run, so an error in the request is an error of the run.
        const std::optional<StepRequest> request = requestIn(steps, options_.request);
        has_requested_ = request.has_value();
        BUBBLESCOPE_TRY(window_->describe(request.value_or(StepRequest{}), control));
        ++windows_;
        if (windows_ > 1) retire();
        return {};
    }

    [[nodiscard]] Result<DiagnosedRun> finish() {
        if (windows_ == 0) return inputError("", "no complete step", "record at least one complete step");
        return windows_ == 1 ? finishWindow() : finishWindows();
    }

private:
    /// The typical step of a window, in full.
    struct Candidate {
        std::size_t at = 0; ///< index into the run's steps
        StepTimeline step;
        StepAnalysis analysis;
        StepDiagnosis diagnosis;
        std::shared_ptr<const StepStandards> standards;
    };

    /// Finishes a run that is a single window.
    [[nodiscard]] Result<DiagnosedRun> finishWindow() {
        BUBBLESCOPE_TRY(selectSteps(window_->run().steps, options_.request));
        std::vector<Anomaly> found = window_->searchAsWhole();
        DiagnosedRun out = std::move(*window_).take();
        out.report.anomalies = std::move(found);
        out.report.request = options_.request;
        explain(out.run);
        return out;
    }

    [[nodiscard]] Result<DiagnosedRun> finishWindows() {
        explain(run_);
        RunReport report;
        report.covers = WholeRun{windows_};
        report.request = options_.request;
        BUBBLESCOPE_ASSIGN(report.selection, selectSteps(run_.steps, options_.request));
        if (candidates_.empty())
            return usageError("the selected replicas did not run any step", "choose other replicas");
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
        report.clocks = std::move(clocks_);
        report.anomalies = findings_.ofRun(run_.steps);
        BUBBLESCOPE_ASSIGN(SliceEvidence slices, sliceEvidence(run_, report.clocks));
        report.period = periodOf(run_.steps, report.selection, slices.activities);
        BUBBLESCOPE_ASSIGN(report.memory, memoryUse(run_, report.clocks, report.selection));
        slices.memory_peaks = report.memory.peaks;
        findInWholeRun({.run = run_,
                        .analyses = report.steps,
                        .selection = report.selection,
                        .clocks = report.clocks,
                        .limits = options_.thresholds,
                        .memory_estimate = options_.memory_estimate,
                        .slices = slices},
                       report.anomalies);
        return DiagnosedRun{std::move(run_), std::move(report)};
    }

    void explain(Run& run) {
        if (is_explained_) return;
        explainNamedOps(run.explanation, static_cast<std::int64_t>(run.steps.size()), other_orders_);
        for (Diagnostic& problem : log_.take())
            run.problems.push_back(std::move(problem));
    }

    /// Called when another window follows: the steps of the latest one lose their ops.
    void retire() {
        const std::size_t known = reference_.size(); // the first steps of a window after the first one
        std::vector<Anomaly> found = window_->search();
        auto [run, report] = std::move(*window_).take();
        window_.reset();
        std::vector<StepTimeline> steps = std::exchange(run.steps, {});
        const SearchedSteps searched{steps.back().index, static_cast<int>(report.selection.steps().size()),
                                     steps[known].index, report.selection.stepTime()};
        (void)findings_.update(std::move(found), searched);
        if (known == 0)
            run_ = std::move(run);
        else
            run_.problems = std::move(run.problems);
        const std::size_t typical = report.typicalStep();
        StepAnalysis& analysis = report.steps[typical];
        if (has_requested_) {
            const std::size_t at = typical < known ? reference_at_[typical] : run_.steps.size() + typical - known;
            candidates_.push_back(
                {at, steps[typical], analysis, std::move(report.typical), std::move(report.standards)});
        }
        if (known == 0) keepReference(steps, report.selection);
        for (StepAnalysis& of_step : report.steps)
            of_step.keepTotals();
        for (StepAccounting& account : report.accounts)
            account.ranks.pack();
        for (StepTimeline& step : steps)
            step.dropOps();
        appendFrom(run_.steps, steps, known);
        appendFrom(analyses_, report.steps, known);
        appendFrom(accounts_, report.accounts, known);
        stages_.push_back(std::move(report.stages));
        clocks_ = std::move(report.clocks);
        dropFarCandidates();
    }

    /// Keeps steady steps of the first window, with all their replicas.
    void keepReference(const std::vector<StepTimeline>& steps, const StepSelection& selection) {
        constexpr std::size_t kMost = 16;
        constexpr std::size_t kOfWindow = 4; // at most a quarter
        std::size_t left = std::min(kMost, selection.steps().size() / kOfWindow);
        int number = -1;
        for (std::size_t s = 0; s < steps.size(); ++s) {
            if (!selection.isSteady(s)) continue;
            if (steps[s].index != number && left-- == 0) return;
            number = steps[s].index;
            reference_.push_back(steps[s]);
            reference_at_.push_back(s);
        }
    }

    /// Keeps a few dozen candidates that are closest to the median of the steps so far.
    void dropFarCandidates() {
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

    /// Takes the candidate closest to the step time of the selection, among those that count if any do.
    [[nodiscard]] Candidate takeTypical(const StepSelection& selection) {
        const auto distance = [&](const Candidate& candidate) {
            const TimeNs off = std::chrono::abs(run_.steps[candidate.at].wall() - selection.stepTime());
            return std::pair(!selection.takes(candidate.at), off);
        };
        return std::move(*std::ranges::min_element(candidates_, {}, distance));
    }

    [[nodiscard]] std::vector<StageTimes> stages() const {
        std::vector<StageTimes> medians = stages_.front();
        std::vector<TimeNs> of_windows;
        const auto over = [&](std::size_t stage, TimeNs OpTimes::*kind) {
            of_windows.clear();
            for (const std::vector<StageTimes>& window : stages_)
                of_windows.push_back(window[stage].median.*kind);
            return medianInPlace(of_windows);
        };
        for (std::size_t stage = 0; stage < medians.size(); ++stage) {
            OpTimes& times = medians[stage].median;
            for (TimeNs OpTimes::*kind :
                 {&OpTimes::forward, &OpTimes::backward, &OpTimes::input_grad, &OpTimes::weight_grad})
                times.*kind = over(stage, kind);
        }
        return medians;
    }

    Run run_; ///< before the first window, what is known about the run; then the steps so far, without their ops
    DiagnosisOptions options_;
    bool is_explained_;                ///< true if the origin of its schedule is known
    std::optional<StepWindow> window_; ///< the only window so far
    std::size_t windows_ = 0;
    bool has_requested_ = false; ///< true if the latest window has requested steps
    RunClocks clocks_;           ///< of the latest retired window
    Schedule observed_;          ///< order in which the first step ran
    std::int64_t other_orders_ = 0;
    DiagnosticLog log_;
    std::vector<StepTimeline> reference_;         ///< of the first window, with their ops
    std::vector<std::size_t> reference_at_;       ///< their indices in the run's steps
    std::vector<StepAnalysis> analyses_;          ///< totals, one per run_.steps
    std::vector<StepAccounting> accounts_;        ///< one per run_.steps
    std::vector<Candidate> candidates_;           ///< from windows with requested steps
    std::vector<std::vector<StageTimes>> stages_; ///< per window
    FindingsLog findings_{FindingsLog::Limits{}};
};

} // namespace

Result<DiagnosedRun> diagnoseSteps(StepSource& source, const DiagnosisOptions& options, const WindowLimits& limits,
                                   const JobControl* control) {
    WindowReader reader(source, limits);
    BUBBLESCOPE_ASSIGN(WindowSteps window, reader.next());
    Run about = source.takeRun();
    // Only all steps together show whether all work was checked.
    if (!about.checks.empty()) {
        BUBBLESCOPE_ASSIGN(window, reader.withAllThatFollow(std::move(window)));
    }
    RunAnalyzer analyzer(std::move(about), options);
    while (!window.steps.empty()) {
        if (reader.atEnd()) {
            BUBBLESCOPE_TRY(analyzer.add(std::move(window), control));
            break;
        }
        Status judged;
        Result<WindowSteps> following = WindowSteps();
        parallelCalls([&] { judged = analyzer.add(std::move(window), control); }, [&] { following = reader.next(); });
        BUBBLESCOPE_TRY(judged);
        BUBBLESCOPE_ASSIGN(window, std::move(following));
    }
    return analyzer.finish();
}

Result<AlignedRun> alignedRun(Run run, const DiagnosisOptions& options) {
    BUBBLESCOPE_ASSIGN(RunClocks clocks, estimateClocks(run, clockOptions(options.thresholds, options.clocks)));
    run = alignRun(std::move(run), clocks);
    return AlignedRun{std::move(run), std::move(clocks)};
}

Result<DiagnosedRun> diagnoseRun(Run recorded, const DiagnosisOptions& options, const JobControl* control) {
    BUBBLESCOPE_ASSIGN(AlignedRun aligned, alignedRun(std::move(recorded), options));
    LoadedSteps source(std::move(aligned.run), std::move(aligned.clocks));
    return diagnoseSteps(source, options, WindowLimits::none(), control);
}

RunReport analyzeRun(Run run, const DiagnosisOptions& options, RunClocks clocks) {
    LoadedSteps source(std::move(run), std::move(clocks));
    return std::move(diagnoseSteps(source, options, WindowLimits::none()).value().report);
}

} // namespace bubblescope
