#pragma once

#include "core/cost/cost_model.h"
#include "core/cost/measured_times.h"
#include "core/timeline/step_timeline.h"

#include <functional>
#include <optional>

namespace bubblescope {

/// Tells what a step would take with other times: it is simulated in its own order on its measured op and transfer
/// times, and once more on changed ones. A transfer's time is that after both sides were there.
class StepReplay {
public:
    /// Nothing for steps whose order cannot be executed.
    [[nodiscard]] static std::optional<StepReplay> of(const StepTimeline& step);

    /// By what the step gets shorter if `change` is applied to its times; negative if it gets longer.
    [[nodiscard]] TimeNs saved(const std::function<void(MeasuredTimes&)>& change) const;

    [[nodiscard]] TimeNs makespan() const { return makespan_; }

private:
    Schedule order_;
    MeasuredTimes times_;
    TimeNs makespan_{0};
};

/// What ops take, changed by `change(rank, op)`, for StepReplay::saved().
void changeOps(const StepTimeline& step, MeasuredTimes& times,
               const std::function<TimeNs(Rank, const TimelineOp&)>& change);

} // namespace bubblescope
