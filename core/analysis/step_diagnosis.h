#pragma once

#include "core/analysis/accounting/accounting.h"
#include "core/analysis/accounting/usual_times.h"
#include "core/analysis/attribution/attribution.h"
#include "core/analysis/attribution/critical_path.h"
#include "core/recognise/run.h"
#include "core/timeline/checks.h"
#include "core/timeline/step_selection.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// Index of a unit's op in StepTimeline::ranks. The second half of a pair is the next op.
struct UnitPlace {
    Rank rank;

    UnitPlace(Rank of, std::int32_t op, bool pair) : rank(of), op_(pair ? ~op : op) {}
    [[nodiscard]] std::size_t op() const { return static_cast<std::size_t>(pair() ? ~op_ : op_); }
    [[nodiscard]] bool pair() const { return op_ < 0; }
    [[nodiscard]] const TimelineOp& in(const StepTimeline& step) const { return step.ranks[rank.index()][op()]; }
    friend constexpr bool operator==(const UnitPlace&, const UnitPlace&) = default;

private:
    std::int32_t op_; ///< negative for a pair; 32 bits, because a step with full data has one per unit
};

/// Name such as "F3.1", or "F3.1+B0.1" for an overlapped pair.
[[nodiscard]] std::string unitName(const StepTimeline& step, const UnitPlace& place);

/// The reasons for the length of a step.
struct StepDiagnosis {
    std::shared_ptr<const std::vector<UnitPlace>> units; ///< place of each unit; shared by steps with the same order
    StepAccounting accounting;
    CriticalPath path;
    StepAttribution attribution;

    [[nodiscard]] const UnitPlace& place(UnitIndex unit) const { return (*units)[static_cast<std::size_t>(unit)]; }
};

/// Data of a run that the diagnosis of every step needs.
struct StepStandards {
    UsualTimes usual;    ///< usual times in the steady steps
    Schedule plan;       ///< plannedOrder()
    StepKnowledge known; ///< information without re-executed work

    /// `clock_error` is the maximum error between two ranks' clocks; delays shorter than this are ignored. `selection`
    /// must belong to the run's steps. Linear in ops.
    [[nodiscard]] static StepStandards of(const Run& run, const StepSelection& selection,
                                          TimeNs clock_error = TimeNs{0});
    /// Same as above, but faster; `samples` must have been taken from the run's steps.
    [[nodiscard]] static StepStandards of(const Run& run, std::span<const StepSamples> samples,
                                          const StepSelection& selection, TimeNs clock_error);
};

/// Diagnoses steps one after another. Steps with the same order share work. Not thread-safe. Linear in ops and
/// transfers. Large steps are processed in parallel.
class StepDiagnoser {
public:
    /// `standards` must outlive this object.
    explicit StepDiagnoser(const StepStandards& standards);
    ~StepDiagnoser();
    StepDiagnoser(StepDiagnoser&&) noexcept;

    /// `replays` must belong to the step or be empty. `ran` contains the step's units; if null, they are computed.
    [[nodiscard]] StepAccounting account(const StepTimeline& step, const StepReplays& replays = {},
                                         std::shared_ptr<const ExecutedUnits> ran = {});
    [[nodiscard]] StepDiagnosis diagnose(const StepTimeline& step, const StepReplays& replays = {},
                                         std::shared_ptr<const ExecutedUnits> ran = {});

private:
    struct Ordered;
    Ordered& take(const StepTimeline& step, const StepReplays& replays, std::shared_ptr<const ExecutedUnits> ran);

    const StepStandards& standards_;
    std::unique_ptr<Ordered> latest_; ///< null before the first step
};

/// The diagnoses of a run's steps, computed on demand. Immutable.
class StepDiagnoses {
public:
    /// `run` must outlive this object. `selection` and `clock_error` are used as in StepStandards.
    StepDiagnoses(const Run& run, const StepSelection& selection, TimeNs clock_error = TimeNs{0});
    /// `standards` must belong to the run.
    StepDiagnoses(const Run& run, std::shared_ptr<const StepStandards> standards);

    /// Diagnoses the steps [begin, end) of Run::steps on all cores.
    [[nodiscard]] std::vector<StepDiagnosis> of(std::size_t begin, std::size_t end) const;
    [[nodiscard]] StepDiagnosis of(std::size_t step) const;
    [[nodiscard]] std::vector<StepDiagnosis> all() const { return of(0, run_.steps.size()); }

private:
    const Run& run_;
    std::shared_ptr<const StepStandards> standards_;
    std::vector<StepReplays> replays_; ///< re-executed work per step; empty if checks took no time
};

/// The accounting's result for the time that each step would save without any communication.
[[nodiscard]] std::vector<TimeNs> communicationCosts(const std::vector<StepAccounting>& accounts);

/// Display name such as "rank 3, chunk 1: slow stage". `step` must be the diagnosed step.
[[nodiscard]] std::string rootCauseName(const StepTimeline& step, const StepDiagnosis& diagnosis,
                                        const RootCause& root_cause);

} // namespace bubblescope
