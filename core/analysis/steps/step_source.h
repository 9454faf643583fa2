#pragma once

#include "core/analysis/clocks/run_clocks.h"
#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/recognise/run.h"
#include "core/timeline/checks.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace bubblescope {

/// All timelines of a run for one step number.
struct SourceStep {
    std::vector<StepTimeline> timelines; ///< one per replica that completed the step, on one clock; at least one
    std::shared_ptr<const RunClocks> clocks;
    std::vector<CheckRecord> checks = {}; ///< checks of the step that have arrived so far
};

/// The number of ops and transfers in a step.
[[nodiscard]] std::size_t recordsOf(const StepTimeline& step);

/// Provides the steps of a run in order, regardless of where they come from. Use the object from one thread at a time,
/// but next() may run on any thread.
class StepSource {
public:
    virtual ~StepSource() = default;

    /// The next step; empty at the end. Errors: read errors, and Cancelled.
    [[nodiscard]] virtual Result<std::optional<SourceStep>> next() = 0;
    /// Moves out the run without its steps: files, format, metadata, checks and raw slices. Call this function once,
    /// after the first next(). If the schedule is unknown, the first step determines it.
    [[nodiscard]] virtual Run takeRun() = 0;
    /// Problems found so far.
    [[nodiscard]] virtual std::vector<Diagnostic> problems() const = 0;
};

/// The steps of a loaded run.
class LoadedSteps final : public StepSource {
public:
    /// `run` must be aligned to `clocks`, see alignRun().
    LoadedSteps(Run run, RunClocks clocks);

    [[nodiscard]] Result<std::optional<SourceStep>> next() override;
    [[nodiscard]] Run takeRun() override;
    [[nodiscard]] std::vector<Diagnostic> problems() const override { return problems_; }

private:
    Run run_;
    std::vector<Diagnostic> problems_;
    std::vector<StepTimeline> steps_;
    std::size_t next_ = 0; ///< index into steps_
    std::shared_ptr<const RunClocks> clocks_;
};

} // namespace bubblescope
