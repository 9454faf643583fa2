#pragma once

#include "core/bubble/closed_form.h"

#include <functional>
#include <string>

namespace bubblescope {

/// Assembles a family's ClosedForm position by position; totals, makespan and rate follow from the parts,
/// so that they cannot contradict them.
class FormBuilder {
public:
    /// `domain` says in words where the forms are exact.
    FormBuilder(const Schedule& schedule, const OpTimes& times, std::string domain);

    /// One form for all ranks for which `value` gives one; `value` takes the rank s.
    FormBuilder& add(Position position, std::string expression, const std::function<TimeNs(int s)>& value);

    /// The usual middle of schedules with a steady phase: `before` between warm-up and steady and `after`
    /// between steady and cool-down on ranks that have one (`steady(s)`), their sum as one bubble between
    /// forward and backward on the others.
    struct Middle {
        std::string before_expression;
        TimeNs before_unit{0}; ///< multiplied by p−s−1
        std::string after_expression;
        TimeNs after_unit{0};
        std::string joint_expression;
    };
    FormBuilder& addMiddle(const Middle& middle, const std::function<bool(int s)>& steady);

    /// The makespan is the work of a rank plus the bubble of rank 0.
    [[nodiscard]] ClosedForm finish(std::string bubble_expression, std::string makespan_expression,
                                    bool f_then_b = false);

private:
    void append(int s, Position position, std::string expression, TimeNs value);

    const Schedule& schedule_;
    const OpTimes& times_;
    std::string domain_;
    ClosedForm form_;
};

/// The form of a schedule of which only the makespan is known: what a rank's ops leave of it is its bubble.
/// `domain` as in ClosedForm; the two expressions speak of the rank with the largest bubble where ranks
/// differ.
[[nodiscard]] ClosedForm makespanForm(const Schedule& schedule, const CostModel& costs, TimeNs makespan,
                                      std::string bubble_expression, std::string makespan_expression,
                                      std::string domain);

} // namespace bubblescope
