#pragma once

#include "core/analysis/accounting/accounting.h"
#include "core/analysis/attribution/attribution.h"
#include "core/analysis/attribution/critical_path.h"
#include "core/recognise/run.h"
#include "core/timeline/step_selection.h"

#include <memory>
#include <string>
#include <vector>

namespace bubblescope {

/// The place of a unit's op in StepTimeline::ranks. A pair's second half is the op after it.
struct UnitPlace {
    Rank rank;
    std::int32_t op = 0;
    bool pair = false;

    [[nodiscard]] const TimelineOp& in(const StepTimeline& step) const {
        return step.ranks[rank.index()][static_cast<std::size_t>(op)];
    }
    friend constexpr bool operator==(const UnitPlace&, const UnitPlace&) = default;
};

/// "F3.1", or "F3.1+B0.1" for an overlapped pair.
[[nodiscard]] std::string unitName(const StepTimeline& step, const UnitPlace& place);

/// Why a step took as long as it did.
struct StepDiagnosis {
    std::shared_ptr<const std::vector<UnitPlace>> units; ///< what a UnitIndex means; steps of one order share it
    StepAccounting accounting;
    CriticalPath path;
    StepAttribution attribution;

    [[nodiscard]] const UnitPlace& place(UnitIndex unit) const { return (*units)[static_cast<std::size_t>(unit)]; }
};

/// One per Run::steps, from index `from` on. `selection` belongs to these steps; its steady ones define what is usual.
/// `clock_error` is how far two ranks' clocks
/// can be off: delays up to it count as unknown. Linear in ops and transfers, on all cores.
[[nodiscard]] std::vector<StepDiagnosis> diagnoseSteps(const Run& run, const StepSelection& selection,
                                                       TimeNs clock_error = TimeNs{0}, std::size_t from = 0);

/// What each step would save without any communication, by its accounting.
[[nodiscard]] std::vector<TimeNs> communicationCosts(const std::vector<StepDiagnosis>& diagnoses);

/// For people: "rank 3, chunk 1: slow stage". `step` is the one that was diagnosed.
[[nodiscard]] std::string rootCauseName(const StepTimeline& step, const StepDiagnosis& diagnosis,
                                        const RootCause& root_cause);

} // namespace bubblescope
