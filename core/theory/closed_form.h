#pragma once

#include "core/base/result.h"
#include "core/families/registry.h"
#include "core/theory/forms/form.h"

#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Theoretical bubbles and makespan of a schedule at these costs: the closed form of its family if one covers these
/// costs, otherwise orderBound(), with the reason in `note`. Includes peaks and published forms if they are known.
/// Thread-safe. Errors: Input if the schedule is invalid or deadlocks; Usage if `costs` do not match it.
[[nodiscard]] Result<ClosedForm> closedForm(const Schedule& schedule, const CostModel& costs);

/// Lower bound on a step's makespan for any order. Contains only totals. O(ops). `costs` must cover either every stage
/// or none. Ignores transfer queues and blocking sends, so the bound holds with them too. Errors: Input if the schedule
/// is invalid or deadlocks; Usage if `costs` contain times of individual ops.
[[nodiscard]] Result<ClosedForm> orderBound(const Schedule& schedule, const CostModel& costs);

/// A family's closed form in symbols: p, m, v, k slices of a sequence, the rank s, the op times t_f, t_b = t_i + t_w
/// and t_fb (an overlapped pair), and the latency c of a transfer.
struct FamilyForm {
    struct AtPosition {
        std::string_view position; ///< positionName()
        std::string expression;
        FormKind kind = FormKind::Exact;
        friend bool operator==(const AtPosition&, const AtPosition&) = default;
    };

    std::vector<std::string_view> flavors; ///< flavors to which the form applies; empty if there is only one order
    bool latency = false; ///< true if the form includes transfers of latency c; otherwise transfers must take no time
    FormKind kind = FormKind::Exact;
    std::string bubble; ///< bubble per rank; empty if the family has no form
    std::string makespan;
    std::string domain;
    std::string note; ///< reason why there is no exact form; empty if there is one
    std::vector<AtPosition> positions;
    std::string peaks; ///< maximum activations, in units of one chunk's forward; empty if no form is known
    std::string peaks_domain;
};

/// All forms of a family for equal stages; flavors with the same form share an entry. Determined by calling
/// closedForm() for orders of four ranks, with sizes and times inside and outside the families' domains. Forms for
/// transfers with latency are listed last.
[[nodiscard]] std::vector<FamilyForm> familyForms(const ScheduleFamily& family);

} // namespace bubblescope
