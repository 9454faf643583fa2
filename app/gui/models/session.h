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
#include "core/request/recognise_request.h"

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

/// Cache for the diagnoses of individual steps, which are computed on first use. Thread-safe. A copy of the cache
/// starts empty.
class StepDiagnosisCache {
public:
    StepDiagnosisCache() = default;
    StepDiagnosisCache(const StepDiagnosisCache&) {}
    StepDiagnosisCache& operator=(const StepDiagnosisCache&) { return *this; }

    /// All calls must pass the `run` and `report` of the same session. Computes the diagnosis if necessary, which takes
    /// about 0.3 s per million ops, and waits if another thread is computing a diagnosis.
    [[nodiscard]] const StepDiagnosis& of(const Run& run, const RunReport& report, std::size_t step);
    /// Returns null if the diagnosis has not been computed. Never blocks.
    [[nodiscard]] const StepDiagnosis* known(const RunReport& report, std::size_t step) const;
    /// True if of() has thrown an exception for this step and no later call has succeeded.
    [[nodiscard]] bool failed(std::size_t step) const;

private:
    std::mutex work_mutex_;
    std::optional<StepDiagnoses> diagnoses_; ///< created on first use; guarded by work_mutex_
    mutable std::mutex cache_mutex_;
    std::map<std::size_t, std::optional<StepDiagnosis>> cache_; ///< nullopt after a failure; guarded by cache_mutex_
};

/// Parameters that were used to read a trace, for commands that read it again.
struct TraceSource {
    std::vector<std::filesystem::path> paths; ///< as opened by the user; empty for a run that was not read from files
    RecogniseRequest request;
    std::string rules; ///< a document with additional rules, which take precedence; empty = none
};

/// A loaded trace with all data for the views: the run, its analysis, and indices for finding visible items. A trace
/// without a pipeline has neither steps nor a report; its lines are ranks or processes with their tracks. Built on a
/// worker thread, immutable afterwards, and shared as shared_ptr<const Session>.
struct Session {
    TraceSource source;
    Thresholds thresholds; ///< thresholds of the findings
    Run run;
    RunReport report;         ///< includes one full analysis per element of Run::steps, in the same order
    bool files_apart = false; ///< see filesAreApart(); only for traces without a pipeline
    Answer answer;            ///< summary of the report or of the activity; may have no statements
    Lanes lanes;
    Overview overview;
    RawLanes raw;
    SliceFlows flows;                   ///< flow arrows between slices
    std::vector<TraceLine> trace_lines; ///< the lines of a trace without steps
    std::vector<FileActivity> activity; ///< activity of devices or hosts, by file, if there are no steps
    std::optional<Error> no_pipeline;   ///< the reason why there are no steps; none for the beginning of a trace
    mutable StepDiagnosisCache diagnoses;
    StepValueMap values; ///< values that the job's framework reported for the steps, such as loss and tokens

    /// Combines the values that all replicas reported for a step.
    [[nodiscard]] StepValues valuesOf(const SelectedStep& step) const;

    [[nodiscard]] bool hasSteps() const { return !run.steps.empty(); }
    /// True for a preview without steps of a trace that is still being loaded.
    [[nodiscard]] bool isBeginning() const { return !hasSteps() && !no_pipeline; }
    /// Origin of times within a step; the start of the trace if it has no steps.
    [[nodiscard]] TimeNs originOf(int step) const { return hasSteps() ? this->step(step).begin : TimeNs{0}; }
    /// Rank of a line in the pipeline or, without a pipeline, in the job. None for a process without a rank.
    [[nodiscard]] std::optional<int> rankOf(int line) const;

    [[nodiscard]] int stepCount() const { return static_cast<int>(run.steps.size()); }
    [[nodiscard]] const StepTimeline& step(int step) const { return run.steps[static_cast<std::size_t>(step)]; }
    /// Index of the step with the same number and replica; -1 if there is none.
    [[nodiscard]] int indexOf(const StepTimeline& step) const;
    [[nodiscard]] const StepAnalysis& analysis(int step) const { return report.steps[static_cast<std::size_t>(step)]; }

    /// Computes the diagnosis on first use, which can take seconds. The GUI thread should call ViewState::diagnose()
    /// instead. The reference stays valid. Requires RunReport::accounts.
    [[nodiscard]] const StepDiagnosis& diagnosis(int step) const {
        return diagnoses.of(run, report, static_cast<std::size_t>(step));
    }
    /// Returns null if the diagnosis has not been computed.
    [[nodiscard]] const StepDiagnosis* knownDiagnosis(int step) const {
        return diagnoses.known(report, static_cast<std::size_t>(step));
    }
    /// True if the diagnosis is missing but can be computed: there are accounts, and no earlier attempt failed.
    [[nodiscard]] bool lacksDiagnosis(int step) const {
        const auto index = static_cast<std::size_t>(step);
        return index < report.accounts.size() && knownDiagnosis(step) == nullptr && !diagnoses.failed(index);
    }

    /// The following functions require an item from this session, of the kind in their name.
    [[nodiscard]] const TimelineOp& op(const ItemRef& item) const;
    [[nodiscard]] const Bubble& bubble(const ItemRef& item) const;
    [[nodiscard]] const CommSpan& comm(const ItemRef& item) const;
    [[nodiscard]] const CheckRecord& check(const ItemRef& item) const;
    [[nodiscard]] SliceId slice(const ItemRef& item) const { return static_cast<SliceId>(item.index); }
    /// Item for a slice on a raw lane of a line.
    [[nodiscard]] ItemRef sliceItem(int line, SliceId slice) const;
    /// Item for a slice on the first line that shows the slice's track; none if there is no such line.
    [[nodiscard]] ItemRef sliceItem(SliceId slice) const;
    /// Index of the step with the same number in the line's replica, or `step` if there is none.
    [[nodiscard]] int stepOn(int line, int step) const;
    /// Time range of any item; empty if there is no item.
    [[nodiscard]] TimeRange range(const ItemRef& item) const;
    /// Time range of the pipeline in a step.
    [[nodiscard]] TimeRange window(int step) const;
};

using SessionPtr = std::shared_ptr<const Session>;

/// Hints from the user for a trace in which no pipeline was recognised.
struct Taught {
    std::string rules;                  ///< a document for `--rules`; empty = none
    std::optional<ScheduleSpec> family; ///< name and sizes of the schedule that ran
    std::vector<RankRule> ranks = {};   ///< assigns ranks to files and processes

    /// Errors: those of rulesFrom().
    [[nodiscard]] Result<LoadOptions> options() const;
    /// Combines these hints with the app's options for all traces.
    [[nodiscard]] RecogniseRequest with(RecogniseRequest of_app) const;
};

/// Loads files as a trace, with a pipeline if there is one. Calls loadTrace(), which tests can replace. For worker
/// threads.
class RunLoader {
public:
    using Paths = std::vector<std::filesystem::path>;

    /// `load` receives the user's hints about the trace and returns a LoadedTrace. `request` contains the options for
    /// all traces.
    template <class Load>
    requires std::is_invocable_r_v < Result<LoadedTrace>,
    const Load&, const Paths&, JobControl&,
        const LoadOptions& > RunLoader(Load load, RecogniseRequest request = {})
        : load_(std::move(load)),
    request_(std::move(request)) {}
    /// Like the previous constructor, for a function that returns a Run.
    template <class Load>
    requires std::is_invocable_r_v < Result<Run>,
    const Load&, const Paths&,
        JobControl& > RunLoader(Load load)
        : load_([load = std::move(load)](const Paths& paths, JobControl& control,
                                         const LoadOptions&) -> Result<LoadedTrace> {
              BUBBLESCOPE_ASSIGN(Run run, load(paths, control));
              return LoadedTrace{std::move(run)};
          }) {}

    /// `taught` takes precedence over all other information about the trace.
    [[nodiscard]] Result<LoadedTrace> trace(const Paths& paths, JobControl& control,
                                            const LoadOptions& taught = {}) const {
        return load_(paths, control, taught);
    }
    /// Returns an error if the trace has no pipeline.
    [[nodiscard]] Result<Run> run(const Paths& paths, JobControl& control) const;
    [[nodiscard]] const RecogniseRequest& request() const { return request_; }

private:
    std::function<Result<LoadedTrace>(const Paths&, JobControl&, const LoadOptions&)> load_;
    RecogniseRequest request_;
};

/// Sets the thresholds of findings for sessions that are created later in this process. Any thread.
void setFindingThresholds(const Thresholds& thresholds);
[[nodiscard]] Thresholds findingThresholds();

/// Analyses every step of `run`. Errors: Cancelled if `control.stop` was requested.
[[nodiscard]] Result<SessionPtr> makeSession(Run run, const JobControl& control, TraceSource source = {});
/// Creates a session for a run that has already been analysed. Errors: those of the previous function.
[[nodiscard]] Result<SessionPtr> makeSession(DiagnosedRun diagnosed, const JobControl& control,
                                             TraceSource source = {});

/// Analyses a run that was just loaded. Errors: Input if the run has no step, and Cancelled.
[[nodiscard]] Result<SessionPtr> sessionOf(Run run, TraceSource source, const JobControl& control);

/// Creates a session for a trace without a pipeline, or for the first part of a trace. If there is no pipeline,
/// `loaded` contains the reason. Errors: Cancelled; the error in `loaded`; Input if there are no slices or counters.
[[nodiscard]] Result<SessionPtr> traceSession(LoadedTrace loaded, const JobControl& control, TraceSource source = {});

/// Loads and analyses a trace, with or without a pipeline. For worker threads. Errors: those of Taught::options(), of
/// the loader, and of the functions above.
[[nodiscard]] Result<SessionPtr> loadSession(const RunLoader& loader, const std::vector<std::filesystem::path>& paths,
                                             JobControl& control, const Taught& taught = {});

/// Converts an interval that was visible in a preview to an interval of the complete trace, on the clock of
/// Trace::originInFile(). None if the interval and the trace do not overlap.
[[nodiscard]] std::optional<TimeRange> rangeInWhole(const TimeRange& seen, const Trace& whole);

} // namespace bubblescope::gui
