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

/// One step number of a run.
struct SourceStep {
    std::vector<StepTimeline> timelines; ///< one per replica that ran it completely, on one clock; at least one
    std::shared_ptr<const RunClocks> clocks;
    std::vector<CheckRecord> checks = {}; ///< checks that ran in the step, as far as they have arrived
};

/// The number of ops and transfers in a step.
[[nodiscard]] std::size_t recordsOf(const StepTimeline& step);

/// Yields the steps of a run, in order. The analysis does not depend on where they come from. Use from one thread at a
/// time, but next() may run on any thread.
class StepSource {
public:
    virtual ~StepSource() = default;

    /// The next step; empty at the end. Errors: those of reading, and Cancelled.
    [[nodiscard]] virtual Result<std::optional<SourceStep>> next() = 0;
    /// Moves out the run without its steps: files, format, metadata, checks, raw slices. Call it once, after the first
    /// next(). If no schedule is known, the first step determines it.
    [[nodiscard]] virtual Run takeRun() = 0;
    /// Problems found so far.
    [[nodiscard]] virtual std::vector<Diagnostic> problems() const = 0;
};

/// The steps of a loaded run.
class LoadedSteps final : public StepSource {
public:
    /// `run` must be on `clocks`, see alignRun().
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
