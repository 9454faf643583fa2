#pragma once

#include "core/graph/bindings.h"

#include <span>
#include <utility>
#include <vector>

namespace bubblescope {

/// What is known of a step beside its timeline.
struct StepKnowledge {
    TimeNs clock_error{0};     ///< delays up to this count as unknown
    bool records_lost = false; ///< delays without a record count as unknown
    /// Per rank, sorted and without overlaps, on the step's clock: replayed work. May be empty.
    std::span<const std::vector<std::pair<TimeNs, TimeNs>>> replays = {};
};

/// What of the delays of a graph's units stays when the step is replayed with other times, and what it consists of: one
/// entry a unit in each list; a list is empty where all are 0.
///
/// On the critical path that is all of a delay: it made the step as long as it was. Off it a delay made nothing longer.
/// A rank that begins late there mostly waits for another one in a way that no record shows: in a blocking send whose
/// receiver is busy, for instance. Such a wait goes when that rank gets faster. So of `peer` and of `late` no more
/// stays off the path than its units have in the mean on the path, which is what starts cost when they matter. With
/// these delays and the observed times the step takes as long as it did.
struct DelayParts {
    std::vector<TimeNs> communication; ///< a transfer of the unit's rank was under way
    std::vector<TimeNs> peer;          ///< none was, but its rank was in a send, receive or wait
    std::vector<TimeNs> replay;        ///< nor that, but it replayed work
    std::vector<TimeNs> late;          ///< nothing is known, and records cannot be lost

    /// Of all parts, per unit; empty where there is none.
    [[nodiscard]] std::vector<TimeNs> total() const;
};

/// Splits each delay by what the records say of the time from where a unit could have begun to where it did. Linear,
/// but for sorting where records are not sorted.
[[nodiscard]] DelayParts splitDelays(const StepTimeline& step, const StepGraph& graph,
                                     const std::vector<Binding>& bindings, const StepKnowledge& known = {});

} // namespace bubblescope
