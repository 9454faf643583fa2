#pragma once

#include "core/base/result.h"
#include "core/bubble/position.h"
#include "core/cost/cost_model.h"

#include <string>
#include <vector>

namespace bubblescope {

/// A closed form's value at one rank and position, with the text it came from.
struct PositionForm {
    Rank rank;
    Position position = Position::BeforeWarmup;
    std::string expression; ///< such as "(p−s−1)·t_b"; s is the rank
    TimeNs value{0};
    bool exact = true;  ///< false: a bound, `domain` says which
    std::string domain; ///< where the form is exact, in words
};

/// Closed-form bubbles of one step. Positions refer to the consolidated timeline (consolidate.h).
struct ClosedForm {
    /// By rank, then position; positions whose form is 0 for every rank are left out. Empty where only the
    /// totals are known.
    std::vector<PositionForm> positions;
    std::vector<TimeNs> bubble;    ///< total per rank
    std::string bubble_expression; ///< such as "(p−1)·(t_f+t_b)"
    TimeNs makespan{0};
    std::string makespan_expression;
    double bubble_rate = 0; ///< idle over makespan
    bool f_then_b = false;  ///< positions are worded for F-then-B
    std::string domain;     ///< where makespan and totals are exact, in words; for a bound, which one it is
    bool exact = true;      ///< false: makespan and totals are a bound

    /// 0 where no form is listed.
    [[nodiscard]] TimeNs at(Rank rank, Position position) const;
    /// The forms between warm-up and steady, per rank: what consolidate() takes.
    [[nodiscard]] std::vector<TimeNs> beforeSteady() const;
};

/// The closed form of a schedule by its family name, for equal stages and zero transfer time.
/// Errors: Usage when the family has no closed form, when the parameters lie outside its domain, or when
/// `costs` has per-stage times or transfer latency that no form covers.
[[nodiscard]] Result<ClosedForm> closedForm(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
