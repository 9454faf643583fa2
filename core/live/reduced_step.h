#pragma once

#include "core/live/live_view.h"
#include "core/live/step_assembler.h"

#include <map>
#include <optional>

namespace bubblescope::profiler {

/// What a view keeps of a step that should have so many replicas.
[[nodiscard]] LiveStep summed(const ReducedStep& step, int replicas);

/// Puts steps together of which several collectors see some replicas each. A step is closed when all replicas are
/// there, or the first to come has waited for `patience` twice: the collectors themselves wait once. Steps close in
/// order.
class ReducedBoard {
public:
    ReducedBoard(int replicas, StepAssembler::Limits limits) : replicas_(replicas), limits_(limits) {}

    /// Yes, Late, or Bad where a replica came before.
    StepAssembler::Taken add(ReducedStep part, TimeNs now);
    [[nodiscard]] std::optional<ReducedStep> close(TimeNs now);

    [[nodiscard]] int lastClosed() const { return last_closed_; }
    [[nodiscard]] std::size_t open() const { return steps_.size(); }

private:
    struct Open {
        ReducedStep step;
        TimeNs since{0};
    };

    int replicas_;
    StepAssembler::Limits limits_;
    std::map<int, Open> steps_;
    int last_closed_ = -1;
};

} // namespace bubblescope::profiler
