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

/// The diagnoses of single steps; each is made when it is first needed, and then kept. Thread-safe. A copy starts
/// empty.
class StepDiagnosisCache {
public:
    StepDiagnosisCache() = default;
    StepDiagnosisCache(const StepDiagnosisCache&) {}
    StepDiagnosisCache& operator=(const StepDiagnosisCache&) { return *this; }

    /// `run` and `report` must always be those of the same session. If necessary, makes the diagnosis first, which
    /// takes a third of a second per million ops, and waits for a thread that is already making one.
    [[nodiscard]] const StepDiagnosis& of(const Run& run, const RunReport& report, std::size_t step);
    /// Null unless the diagnosis has been made. Never waits.
    [[nodiscard]] const StepDiagnosis* known(const RunReport& report, std::size_t step) const;
    /// True if of() has thrown an exception for this step and has never succeeded since.
    [[nodiscard]] bool failed(std::size_t step) const;

private:
    std::mutex work_mutex_;
    std::optional<StepDiagnoses> diagnoses_; ///< makes the diagnoses; created for the first one; guarded by work_mutex_
    mutable std::mutex cache_mutex_;
    std::map<std::size_t, std::optional<StepDiagnosis>> cache_; ///< nullopt: failed; guarded by cache_mutex_
};

/// How a trace was read, for commands that read it in the same way.
struct TraceSource {
    std::vector<std::filesystem::path> paths; ///< as the user opened them; empty for a run without files here
    RecogniseRequest request;
    std::string rules; ///< a document with further rules, which take precedence; empty: none
};

/// All data of a loaded trace that the views show: the run, its analysis, and the indices for finding visible items. A
/// trace without a pipeline has neither steps nor a report; its lines are ranks or processes with their tracks. Built
/// on a worker thread, immutable afterwards, shared as shared_ptr<const Session>.
struct Session {
    TraceSource source;
    Thresholds thresholds; ///< of the findings
    Run run;
    RunReport report;         ///< with one full analysis for each of Run::steps, in the same order
    bool files_apart = false; ///< see filesAreApart(); for traces without a pipeline
    Answer answer;            ///< for the report or the activity; has no statements if there is neither
    Lanes lanes;
    Overview overview;
    RawLanes raw;
    SliceFlows flows;                   ///< between slices
    std::vector<TraceLine> trace_lines; ///< for a trace without steps: the content of its lines,
    std::vector<FileActivity> activity; ///< the activity of devices or hosts, by file,
    std::optional<Error> no_pipeline;   ///< and the reason why it has no steps; none for the beginning of a trace
    mutable StepDiagnosisCache diagnoses;
    StepValueMap values; ///< values of its steps reported by the job's framework: loss, tokens

    /// The values of all replicas of a step together.
    [[nodiscard]] StepValues valuesOf(const SelectedStep& step) const;

    [[nodiscard]] bool hasSteps() const { return !run.steps.empty(); }
    /// True for the beginning of a trace, without steps so far, that is shown while the rest is loaded.
    [[nodiscard]] bool isBeginning() const { return !hasSteps() && !no_pipeline; }
    /// The origin of times within a step; without steps, the beginning of the trace.
    [[nodiscard]] TimeNs originOf(int step) const { return hasSteps() ? this->step(step).begin : TimeNs{0}; }
    /// The rank of a line: its number in the pipeline or, without one, in the job; none for a process without a rank.
    [[nodiscard]] std::optional<int> rankOf(int line) const;

    [[nodiscard]] int stepCount() const { return static_cast<int>(run.steps.size()); }
    [[nodiscard]] const StepTimeline& step(int step) const { return run.steps[static_cast<std::size_t>(step)]; }
    /// The index of the step with the same number and replica; -1 if there is none.
    [[nodiscard]] int indexOf(const StepTimeline& step) const;
    [[nodiscard]] const StepAnalysis& analysis(int step) const { return report.steps[static_cast<std::size_t>(step)]; }

    /// Makes the diagnosis if it does not exist yet, which can take seconds. The GUI thread should use
    /// ViewState::diagnose() instead. The reference stays valid. Requires RunReport::accounts.
    [[nodiscard]] const StepDiagnosis& diagnosis(int step) const {
        return diagnoses.of(run, report, static_cast<std::size_t>(step));
    }
    /// Null unless the diagnosis has been made.
    [[nodiscard]] const StepDiagnosis* knownDiagnosis(int step) const {
        return diagnoses.known(report, static_cast<std::size_t>(step));
    }
    /// True if the diagnosis can still be made. False without accounts, or if an earlier attempt failed.
    [[nodiscard]] bool lacksDiagnosis(int step) const {
        const auto index = static_cast<std::size_t>(step);
        return index < report.accounts.size() && knownDiagnosis(step) == nullptr && !diagnoses.failed(index);
    }

    /// The following functions require an item of the matching kind from this session.
    [[nodiscard]] const TimelineOp& op(const ItemRef& item) const;
    [[nodiscard]] const Bubble& bubble(const ItemRef& item) const;
    [[nodiscard]] const CommSpan& comm(const ItemRef& item) const;
    [[nodiscard]] const CheckRecord& check(const ItemRef& item) const;
    [[nodiscard]] SliceId slice(const ItemRef& item) const { return static_cast<SliceId>(item.index); }
    /// The item of a slice on one of a line's raw lanes.
    [[nodiscard]] ItemRef sliceItem(int line, SliceId slice) const;
    /// As above, on the first line that shows the slice's track; none if there is no such line.
    [[nodiscard]] ItemRef sliceItem(SliceId slice) const;
    /// The index of the part of `step` that belongs to the line's replica; `step` itself if there is none.
    [[nodiscard]] int stepOn(int line, int step) const;
    /// The interval of any item; empty if there is no item.
    [[nodiscard]] TimeRange range(const ItemRef& item) const;
    /// The pipeline window of a step.
    [[nodiscard]] TimeRange window(int step) const;
};

using SessionPtr = std::shared_ptr<const Session>;

/// The user's statements about a trace in which no pipeline was recognised.
struct Taught {
    std::string rules;                  ///< a document for `--rules`; empty: none
    std::optional<ScheduleSpec> family; ///< name and sizes of the schedule that ran
    std::vector<RankRule> ranks = {};   ///< ranks of files and processes

    /// Errors: those of rulesFrom().
    [[nodiscard]] Result<LoadOptions> options() const;
    /// These statements, and those for all traces of the app.
    [[nodiscard]] RecogniseRequest with(RecogniseRequest of_app) const;
};

/// Loads files as a trace, including its pipeline if it has one: loadTrace(), or a test's replacement. For worker
/// threads.
class RunLoader {
public:
    using Paths = std::vector<std::filesystem::path>;

    /// A function that returns a LoadedTrace, given the user's statements about the trace, and `request`, which it
    /// applies to all traces …
    template <class Load>
    requires std::is_invocable_r_v < Result<LoadedTrace>,
    const Load&, const Paths&, JobControl&,
        const LoadOptions& > RunLoader(Load load, RecogniseRequest request = {})
        : load_(std::move(load)),
    request_(std::move(request)) {}
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

    /// `taught` takes precedence over everything else known about the trace.
    [[nodiscard]] Result<LoadedTrace> trace(const Paths& paths, JobControl& control,
                                            const LoadOptions& taught = {}) const {
        return load_(paths, control, taught);
    }
    /// A trace without a pipeline is an error.
    [[nodiscard]] Result<Run> run(const Paths& paths, JobControl& control) const;
    [[nodiscard]] const RecogniseRequest& request() const { return request_; }

private:
    std::function<Result<LoadedTrace>(const Paths&, JobControl&, const LoadOptions&)> load_;
    RecogniseRequest request_;
};

/// Sets the thresholds of findings for sessions that are created later. They apply to the whole process. Any thread.
void setFindingThresholds(const Thresholds& thresholds);
[[nodiscard]] Thresholds findingThresholds();

/// Analyses every step of `run`. Errors: Cancelled if `control.stop` was requested.
[[nodiscard]] Result<SessionPtr> makeSession(Run run, const JobControl& control, TraceSource source = {});
/// The session of a run that has already been analysed. Errors: like those of the previous function.
[[nodiscard]] Result<SessionPtr> makeSession(DiagnosedRun diagnosed, const JobControl& control,
                                             TraceSource source = {});

/// Analyses a run that was just loaded. Errors: Input if it has no step, and Cancelled.
[[nodiscard]] Result<SessionPtr> sessionOf(Run run, TraceSource source, const JobControl& control);

/// The session of a trace without a pipeline, or of the beginning of a trace. `loaded` contains the reason if there is
/// no pipeline. Errors: Cancelled; that reason; Input if the trace contains neither slices nor counters.
[[nodiscard]] Result<SessionPtr> traceSession(LoadedTrace loaded, const JobControl& control, TraceSource source = {});

/// Loads and analyses, with or without a pipeline. For worker threads. Errors are those of Taught::options(), of the
/// loader, and of both kinds of sessions.
[[nodiscard]] Result<SessionPtr> loadSession(const RunLoader& loader, const std::vector<std::filesystem::path>& paths,
                                             JobControl& control, const Taught& taught = {});

/// The interval `seen` in a trace whose beginning was shown, on the clock of Trace::originInFile(). None if the
/// interval and the trace do not overlap.
[[nodiscard]] std::optional<TimeRange> rangeInWhole(const TimeRange& seen, const Trace& whole);

} // namespace bubblescope::gui
