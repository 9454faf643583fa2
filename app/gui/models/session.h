#pragma once

#include "app/gui/models/item.h"
#include "app/gui/models/lanes.h"
#include "app/gui/models/raw_lanes.h"
#include "app/gui/models/slice_flows.h"
#include "app/gui/models/trace_lines.h"
#include "core/analysis/anomalies/thresholds.h"
#include "core/analysis/devices/device_summary.h"
#include "core/analysis/report.h"
#include "core/answer/answer.h"
#include "core/recognise/run.h"
#include "core/recognise/stated_values.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bubblescope::gui {

/// The diagnoses of single steps, each made when it is first needed and then kept. Thread-safe. A copy begins empty.
class StepDiagnosisCache {
public:
    StepDiagnosisCache() = default;
    StepDiagnosisCache(const StepDiagnosisCache&) {}
    StepDiagnosisCache& operator=(const StepDiagnosisCache&) { return *this; }

    /// `run` and `report` are always those of one session. Makes it first if need be, which takes a third of a second
    /// per million ops, and waits for a thread that is making one.
    [[nodiscard]] const StepDiagnosis& of(const Run& run, const RunReport& report, std::size_t step);
    /// Null unless it is made. Waits for nothing.
    [[nodiscard]] const StepDiagnosis* known(const RunReport& report, std::size_t step) const;
    /// Whether of() has thrown for this step, and never returned since.
    [[nodiscard]] bool failed(std::size_t step) const;

private:
    std::mutex work_mutex_;
    std::optional<StepDiagnoses> diagnoses_; ///< makes them; since the first one; guarded by work_mutex_
    mutable std::mutex cache_mutex_;
    std::map<std::size_t, std::optional<StepDiagnosis>> cache_; ///< nullopt: failed; guarded by cache_mutex_
};

/// All data of a loaded trace that the views show: the run, its analysis, and the indices to find the visible items. A
/// trace without a pipeline has neither steps nor a report; its lines are ranks or processes with their tracks. Built
/// on a worker thread, immutable afterwards, shared as shared_ptr<const Session>.
struct Session {
    Run run;
    RunReport report;         ///< with one analysis per Run::steps, in the same order and in full
    bool files_apart = false; ///< see filesAreApart(); of traces without a pipeline
    Answer answer;            ///< for the report or the activity; no statements where there is neither
    Lanes lanes;
    Overview overview;
    RawLanes raw;
    SliceFlows flows;                   ///< between slices
    std::vector<TraceLine> trace_lines; ///< in a trace without steps: the content of its lines
    std::vector<FileActivity> activity; ///< and what devices or hosts did, by file
    std::optional<Error> no_pipeline;   ///< and why it has no steps; none for the beginning of one
    mutable StepDiagnosisCache diagnoses;
    StepValueMap values; ///< values of its steps that the job's framework states: loss, tokens

    /// The values of all replicas of a step together.
    [[nodiscard]] StepValues valuesOf(const SelectedStep& step) const;

    [[nodiscard]] bool hasSteps() const { return !run.steps.empty(); }
    /// The beginning of a trace without steps so far, shown while the rest is loaded.
    [[nodiscard]] bool isBeginning() const { return !hasSteps() && !no_pipeline; }
    /// Where times within a step count from: the trace's begin without steps.
    [[nodiscard]] TimeNs originOf(int step) const { return hasSteps() ? this->step(step).begin : TimeNs{0}; }
    /// The number of a line's rank, of the pipeline or, without one, of the job; none for a process without one.
    [[nodiscard]] std::optional<int> rankOf(int line) const;

    [[nodiscard]] int stepCount() const { return static_cast<int>(run.steps.size()); }
    [[nodiscard]] const StepTimeline& step(int step) const { return run.steps[static_cast<std::size_t>(step)]; }
    /// The index of the step of the same number and replica; -1 if there is none.
    [[nodiscard]] int indexOf(const StepTimeline& step) const;
    [[nodiscard]] const StepAnalysis& analysis(int step) const { return report.steps[static_cast<std::size_t>(step)]; }

    /// Makes the diagnosis if it does not exist yet, which can take seconds: the GUI thread uses ViewState::diagnose()
    /// instead if it can. The reference stays valid. Requires RunReport::accounts.
    [[nodiscard]] const StepDiagnosis& diagnosis(int step) const {
        return diagnoses.of(run, report, static_cast<std::size_t>(step));
    }
    /// Null unless it is made.
    [[nodiscard]] const StepDiagnosis* knownDiagnosis(int step) const {
        return diagnoses.known(report, static_cast<std::size_t>(step));
    }
    /// Whether the diagnosis can still be made. False without accounts, or if an earlier attempt failed.
    [[nodiscard]] bool lacksDiagnosis(int step) const {
        const auto index = static_cast<std::size_t>(step);
        return index < report.accounts.size() && knownDiagnosis(step) == nullptr && !diagnoses.failed(index);
    }

    /// The following require an item of the matching kind from this session.
    [[nodiscard]] const TimelineOp& op(const ItemRef& item) const;
    [[nodiscard]] const Bubble& bubble(const ItemRef& item) const;
    [[nodiscard]] const CommSpan& comm(const ItemRef& item) const;
    [[nodiscard]] const CheckRecord& check(const ItemRef& item) const;
    [[nodiscard]] SliceId slice(const ItemRef& item) const { return static_cast<SliceId>(item.index); }
    /// The item of a slice on one of a line's raw lanes.
    [[nodiscard]] ItemRef sliceItem(int line, SliceId slice) const;
    /// As above, on the first line that shows its track; none if no line does.
    [[nodiscard]] ItemRef sliceItem(SliceId slice) const;
    /// The index of the line's replica's part of `step`; `step` itself if it has none.
    [[nodiscard]] int stepOn(int line, int step) const;
    /// The interval of any item; empty for none.
    [[nodiscard]] TimeRange range(const ItemRef& item) const;
    /// The pipeline window of a step.
    [[nodiscard]] TimeRange window(int step) const;
};

using SessionPtr = std::shared_ptr<const Session>;

/// The user's statements about a trace in which a pipeline was not recognised.
struct Taught {
    std::string rules;                  ///< a document for `--rules`; empty: none
    std::optional<ScheduleSpec> family; ///< name and sizes of the schedule that ran
    std::vector<RankRule> ranks = {};   ///< of files and processes

    /// Errors: those of rulesFrom().
    [[nodiscard]] Result<LoadOptions> options() const;
};

/// Loads files as a trace, with the pipeline in it if there is one: loadTrace(), or a test's replacement. For worker
/// threads.
class RunLoader {
public:
    using Paths = std::vector<std::filesystem::path>;

    /// A function that returns a LoadedTrace, given what the user states about the trace …
    template <class Load>
    requires std::is_invocable_r_v < Result<LoadedTrace>,
    const Load&, const Paths&, JobControl&, const LoadOptions& > RunLoader(Load load) : load_(std::move(load)) {}
    /// … or one that returns a Run.
    template <class Load>
    requires std::is_invocable_r_v < Result<Run>,
    const Load&, const Paths&,
        JobControl& > RunLoader(Load load)
        : load_([load = std::move(load)](const Paths& paths, JobControl& control,
                                         const LoadOptions&) -> Result<LoadedTrace> {
              BUBBLESCOPE_ASSIGN(Run run, load(paths, control));
              return LoadedTrace{std::move(run)};
          }) {}

    /// `taught` takes precedence over other knowledge about the trace.
    [[nodiscard]] Result<LoadedTrace> trace(const Paths& paths, JobControl& control,
                                            const LoadOptions& taught = {}) const {
        return load_(paths, control, taught);
    }
    /// A trace without a pipeline is an error.
    [[nodiscard]] Result<Run> run(const Paths& paths, JobControl& control) const;

private:
    std::function<Result<LoadedTrace>(const Paths&, JobControl&, const LoadOptions&)> load_;
};

/// From which limits on findings are reported, in sessions that are made from now on. One choice for the process; any
/// thread.
void setFindingThresholds(const Thresholds& thresholds);
[[nodiscard]] Thresholds findingThresholds();

/// Analyses every step of `run`. Errors: Cancelled when `control.stop` was requested.
[[nodiscard]] Result<SessionPtr> makeSession(Run run, const JobControl& control);
/// The session of a run that is already analysed. Errors: like the previous function.
[[nodiscard]] Result<SessionPtr> makeSession(DiagnosedRun diagnosed, const JobControl& control);

/// Analyses a run that was just loaded. Errors: Input if it has no step, and Cancelled.
[[nodiscard]] Result<SessionPtr> sessionOf(Run run, const std::vector<std::filesystem::path>& paths,
                                           const JobControl& control);

/// The session of a trace without a pipeline, or of the beginning of a trace: `loaded` states the reason if it has
/// none. Errors: Cancelled, that reason, and Input if the trace contains neither slices nor counters.
[[nodiscard]] Result<SessionPtr> traceSession(LoadedTrace loaded, const JobControl& control);

/// Loads and analyses, with or without a pipeline. `taught` is what the user states about the trace. For worker
/// threads. Errors are those of the loader and of both kinds of session.
[[nodiscard]] Result<SessionPtr> loadSession(const RunLoader& loader, const std::vector<std::filesystem::path>& paths,
                                             JobControl& control, const LoadOptions& taught = {});

/// The interval of a trace whose beginning was shown as `seen`, on the clock of Trace::originInFile(). None if the two
/// do not overlap.
[[nodiscard]] std::optional<TimeRange> rangeInWhole(const TimeRange& seen, const Trace& whole);

} // namespace bubblescope::gui
