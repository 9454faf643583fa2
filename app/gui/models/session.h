#pragma once

#include "app/gui/models/item.h"
#include "app/gui/models/lanes.h"
#include "core/analysis/report.h"
#include "core/recognise/run.h"

#include <functional>
#include <memory>

namespace bubblescope::gui {

/// Everything the views show of one loaded run: the run, its analysis by step and the index that finds
/// what is visible. Built on a worker thread, immutable afterwards, shared as shared_ptr<const Session>.
struct Session {
    Run run;
    RunReport report; ///< its steps: one per Run::steps, same order
    Lanes lanes;
    Overview overview;
    RawLanes raw;

    [[nodiscard]] int stepCount() const { return static_cast<int>(run.steps.size()); }
    [[nodiscard]] const StepTimeline& step(int step) const { return run.steps[static_cast<std::size_t>(step)]; }
    [[nodiscard]] const StepAnalysis& analysis(int step) const { return report.steps[static_cast<std::size_t>(step)]; }

    /// The following need a reference of the matching kind that came from this session.
    [[nodiscard]] const TimelineOp& op(const ItemRef& item) const;
    [[nodiscard]] const Bubble& bubble(const ItemRef& item) const;
    [[nodiscard]] const CommSpan& comm(const ItemRef& item) const;
    [[nodiscard]] const CheckRecord& check(const ItemRef& item) const;
    [[nodiscard]] SliceId slice(const ItemRef& item) const { return static_cast<SliceId>(item.index); }
    /// A slice of a raw lane of a line.
    [[nodiscard]] ItemRef sliceItem(int line, SliceId slice) const;
    /// The step that a line's replica ran as its part of `step`; `step` itself where it ran none.
    [[nodiscard]] int stepOn(int line, int step) const;
    /// Where any item lies; an empty range for none.
    [[nodiscard]] TimeRange range(const ItemRef& item) const;
    /// A step's pipeline window.
    [[nodiscard]] TimeRange window(int step) const;
};

using SessionPtr = std::shared_ptr<const Session>;

/// How files become a Run; loadRun, or what a test puts in its place.
using RunLoader = std::function<Result<Run>(const std::vector<std::filesystem::path>&, JobControl&)>;

/// Analyses every step of `run`. Errors: Cancelled when `control.stop` was requested.
[[nodiscard]] Result<SessionPtr> makeSession(Run run, const JobControl& control);
/// The session of a run that is analysed already. Errors: likewise.
[[nodiscard]] Result<SessionPtr> makeSession(DiagnosedRun diagnosed, const JobControl& control);

/// Loads and analyses; meant for a worker thread. Errors are those of the loader.
[[nodiscard]] Result<SessionPtr> loadSession(const RunLoader& loader, const std::vector<std::filesystem::path>& paths,
                                             JobControl& control);

} // namespace bubblescope::gui
