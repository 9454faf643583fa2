#pragma once

#include "core/base/result.h"
#include "core/families/registry.h"
#include "core/theory/forms/form.h"

#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// The bubbles and the makespan of a schedule at these costs according to theory: the closed form of its family if one
/// covers them, otherwise orderBound(), with the reason in `note`. Adds peaks and published forms if known.
/// Thread-safe. Errors: Input if the schedule is invalid or deadlocks; Usage if `costs` do not fit it.
[[nodiscard]] Result<ClosedForm> closedForm(const Schedule& schedule, const CostModel& costs);

/// A lower bound on a step's makespan for any order. Totals only. O(ops). `costs` must cover every stage or none;
/// ignores queues of transfers and blocking sends, so the bound is valid with them too. Errors: Input if the schedule
/// is invalid or deadlocks; Usage if `costs` name single ops.
[[nodiscard]] Result<ClosedForm> orderBound(const Schedule& schedule, const CostModel& costs);

/// A family's closed form in symbols, without values: p, m, v, k slices of a sequence, the rank s, the op
/// times t_f, t_b = t_i + t_w and t_fb (an overlapped pair), the latency c of a transfer.
struct FamilyForm {
    struct AtPosition {
        std::string_view position; ///< positionName()
        std::string expression;
        FormKind kind = FormKind::Exact;
        friend bool operator==(const AtPosition&, const AtPosition&) = default;
    };

    std::vector<std::string_view> flavors; ///< flavors whose orders it covers; empty if there is only one order
    bool latency = false; ///< valid for transfers of latency c; otherwise for transfers that take no time
    FormKind kind = FormKind::Exact;
    std::string bubble; ///< per rank; empty if the family has no form
    std::string makespan;
    std::string domain;
    std::string note; ///< why there is no exact form; empty if there is one
    std::vector<AtPosition> positions;
    std::string peaks; ///< activations, in forward ops of one chunk; empty if no form is known
    std::string peaks_domain;
};

/// All forms of a family for equal stages; flavors with the same form are listed together. Found by calling
/// closedForm() for orders of four ranks, at sizes and times inside and outside of the families' domains. Forms for
/// transfers with latency come after the others.
[[nodiscard]] std::vector<FamilyForm> familyForms(const ScheduleFamily& family);

} // namespace bubblescope
