#pragma once

#include "core/base/result.h"
#include "core/theory/forms/form.h"

#include <functional>
#include <string>
#include <vector>

namespace bubblescope {

/// The total time of a rank's ops, without the optimizer.
[[nodiscard]] TimeNs busyTime(const Schedule& schedule, Rank rank, const CostModel& costs);

/// Rejects times per stage: for families whose form covers transfers with latency, but equal stages only. Errors:
/// Usage.
[[nodiscard]] Status requireEqualStages(const CostModel& costs);

/// Whether transfers take no time at all.
[[nodiscard]] inline bool freeTransfers(const CostModel& costs) {
    return costs.comm.count() == 0;
}

/// Whether F, I and W take the same time.
[[nodiscard]] inline bool equalTimes(const OpTimes& times) {
    return times.forward == times.input_grad && times.input_grad == times.weight_grad;
}

/// A rank's bubble at one position.
struct PositionTerm {
    Position position;
    std::string expression;
    TimeNs value{0};
};

/// Assembles a family's ClosedForm position by position. Totals, makespan and rates are derived from the parts, so
/// they cannot contradict them. The schedule and the costs must outlive the builder.
class FormBuilder {
public:
    /// `domain` states in words where the forms are exact.
    FormBuilder(const Schedule& schedule, const CostModel& costs, std::string domain);

    /// One form for all ranks; `value` takes the rank s.
    FormBuilder& add(Position position, std::string expression, const std::function<TimeNs(int s)>& value);

    /// Forms of rank s alone, for orders whose ranks differ; one for each position. On a rank whose order has no
    /// steady phase, the terms between warm-up and cool-down are added up to one bubble between forward and backward.
    FormBuilder& addRank(int s, std::vector<PositionTerm> terms);

    /// Only the two outer positions of addFillAndDrain().
    FormBuilder& addEnds();

    /// Sets each rank's total if not all positions are known; otherwise the total is their sum.
    FormBuilder& withTotal(TimeNs bubble);

    /// The positions that F-then-B, 1F1B and their relatives share, c being the transfers' latency: s·(t_f+c)
    /// before the first op, s·(t_b+c) after the last; (p−s−1)·(t_b+c) between warm-up and steady and
    /// (p−s−1)·(t_f+c) between steady and cool-down on ranks whose order has a steady phase, their sum as one
    /// bubble between forward and backward on the others.
    FormBuilder& addFillAndDrain();

    /// The makespan is the work of rank 0 plus its bubble. The span's rate follows from the forms before
    /// warm-up and after cool-down.
    [[nodiscard]] ClosedForm finish(std::string bubble_expression, std::string makespan_expression,
                                    bool f_then_b = false);

private:
    void append(int s, Position position, std::string expression, TimeNs value);

    const Schedule& schedule_;
    const CostModel& costs_;
    std::string domain_;
    ClosedForm form_;
};

/// The form of a schedule of which only the makespan is known: a rank's bubble is the makespan less the time of its
/// ops. `domain` as in ClosedForm; if ranks differ, the two expressions are those of the rank with the largest bubble.
[[nodiscard]] ClosedForm makespanForm(const Schedule& schedule, const CostModel& costs, TimeNs makespan,
                                      std::string bubble_expression, std::string makespan_expression,
                                      std::string domain);

/// Adds the span's rate to a form without positions: on the rank with the longest span, which works for `work`, `idle`
/// of the span is bubble.
[[nodiscard]] ClosedForm withSpan(ClosedForm form, TimeNs idle, TimeNs work);

/// Peak activations per rank; `value` takes the rank s.
[[nodiscard]] PeakForm peakForm(const Schedule& schedule, std::string expression, std::string domain,
                                const std::function<int(int s)>& value, FormKind kind = FormKind::Exact);

} // namespace bubblescope
