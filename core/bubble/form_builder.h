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

    /// The positions that F-then-B, 1F1B and their relatives share: s·t_f before the first op, s·t_b after
    /// the last; (p−s−1)·t_b between warm-up and steady and (p−s−1)·t_f between steady and cool-down on ranks
    /// whose order has a steady phase, their sum as one bubble between forward and backward on the others.
    FormBuilder& addFillAndDrain();

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
