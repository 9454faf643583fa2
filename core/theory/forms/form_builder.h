#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"
#include "core/theory/forms/form.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bubblescope {

/// Total time of a rank's ops, excluding optimizer ops after all others.
[[nodiscard]] TimeNs busyTime(const Schedule& schedule, Rank rank, const CostModel& costs);

/// Rejects per-stage times, for families whose form covers transfers with latency but requires equal stages. Errors:
/// Usage.
[[nodiscard]] Status requireEqualStages(const CostModel& costs);

/// True if transfers take no time.
[[nodiscard]] inline bool freeTransfers(const CostModel& costs) {
    return costs.comm.count() == 0;
}

/// True if F, I and W take the same time.
[[nodiscard]] inline bool equalTimes(const OpTimes& times) {
    return times.forward == times.input_grad && times.input_grad == times.weight_grad;
}

/// A rank's bubble at one position.
struct PositionTerm {
    Position position;
    std::string expression;
    TimeNs value{0};
};

/// Builds a family's ClosedForm one position at a time. Totals, makespan and rates are computed from the positions, so
/// that they are consistent. The schedule and the costs must outlive this object.
class FormBuilder {
public:
    /// `domain` describes the conditions under which the forms are exact.
    FormBuilder(const Schedule& schedule, const CostModel& costs, std::string domain);

    /// Adds a form that applies to all ranks; `value` is called with the rank s.
    FormBuilder& add(Position position, std::string expression, const std::function<TimeNs(int s)>& value);

    /// Adds the forms of rank s, one per position, for orders whose ranks differ. If the rank's order has no steady
    /// phase, the terms between warm-up and cool-down are merged into one bubble between forward and backward.
    FormBuilder& addRank(int s, std::vector<PositionTerm> terms);

    /// Adds only the first and the last position of addFillAndDrain().
    FormBuilder& addEnds();

    /// Sets the total of each rank if not all positions are known; otherwise, the total is the sum of the positions.
    FormBuilder& withTotal(TimeNs bubble);

    /// Adds the positions common to F-then-B, 1F1B and related schedules, where c is the latency of transfers:
    /// s·(t_f+c) before the first op and s·(t_b+c) after the last; (p−s−1)·(t_b+c) between warm-up and steady phase and
    /// (p−s−1)·(t_f+c) between steady phase and cool-down. On ranks whose order has no steady phase, the last two terms
    /// add up to one bubble between forward and backward.
    FormBuilder& addFillAndDrain();

    /// The makespan is the sum of rank 0's work and its bubble. The span bubble rate follows from the forms before
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

/// Form of a schedule if only its makespan is known: a rank's bubble is the makespan minus the time of its ops.
/// `domain` is that of ClosedForm; if ranks differ, the two expressions are those of the rank with the largest bubble.
[[nodiscard]] ClosedForm makespanForm(const Schedule& schedule, const CostModel& costs, TimeNs makespan,
                                      std::string bubble_expression, std::string makespan_expression,
                                      std::string domain);

/// Adds the span bubble rate to a form without positions: the longest span consists of `work` and a bubble of `idle`.
[[nodiscard]] ClosedForm withSpan(ClosedForm form, TimeNs idle, TimeNs work);

/// Peak activations per rank; `value` is called with the rank s.
[[nodiscard]] PeakForm peakForm(const Schedule& schedule, std::string expression, std::string domain,
                                const std::function<int(int s)>& value, FormKind kind = FormKind::Exact);

// Additional bubble caused by latency and narrow loops on equal stages, beyond the (p−1)·(t_f+t_b+2·c) of filling and
// draining. t_f and t_b are the times of one chunk, c is the latency of a transfer.

/// Loss from turning between forward and backward. Let each rank of a 1F1B order run d more warm-up forwards than the
/// next rank (1F1B: 1, eager: 2). Follow a forward from rank 0 to rank k, then the next backward in rank k's list back
/// to rank 0, and then the next forward in rank 0's list. This takes (k+1)·(t_f+t_b) + 2·k·c, and the new
/// forward is d·k+1 micro-batches later, whose work alone takes (d·k+1)·(t_f+t_b). Each border between ranks on this
/// path thus adds 2·c − (d−1)·(t_f+t_b), if this is positive. At full depth, k = p−1, the m−1 micro-batches after the
/// first have room for ⌊(m−1)·(p−1) / (d·(p−1)+1)⌋ borders: complete turns and a partial one.
[[nodiscard]] inline TimeNs turningLoss(std::int64_t p, std::int64_t m, std::int64_t d, const CostModel& costs) {
    const TimeNs border = 2 * costs.comm - (d - 1) * (costs.times.forward + costs.times.backward);
    return (m - 1) * (p - 1) / (d * (p - 1) + 1) * std::max(TimeNs{0}, border);
}

/// Loss from transitions between chunks. After leaving a rank's chunk, a micro-batch returns for the next chunk
/// p·(t_f+c) later; meanwhile, the rank has work of n·t_f for the n micro-batches that pass the chunk together. The
/// rank waits for the difference between these times at each of the v−1 transitions, both forward and backward.
struct WrapLoss {
    TimeNs forward{0};
    TimeNs backward{0};

    [[nodiscard]] TimeNs both() const { return forward + backward; }
};

[[nodiscard]] inline WrapLoss wrapLoss(std::int64_t p, std::int64_t v, std::int64_t n, const CostModel& costs) {
    const auto missing = [&](TimeNs op) { return (v - 1) * std::max(TimeNs{0}, p * (op + costs.comm) - n * op); };
    return {missing(costs.times.forward), missing(costs.times.backward)};
}

/// The text of a quoted form, without its values.
struct QuoteText {
    std::string name;
    std::string source;
    std::string expression;
    std::string verdict; ///< two sentences
};

// Functions that return one QuotedForm each; `holds` is true if the form is correct for the given schedule and costs.

/// A bubble at a single position; `value` is called with the rank s.
[[nodiscard]] QuotedForm positionQuote(const Schedule& schedule, QuoteText text, Position position,
                                       const std::function<TimeNs(int s)>& value, bool holds);

/// The total bubble of every rank.
[[nodiscard]] QuotedForm bubbleQuote(const Schedule& schedule, QuoteText text, TimeNs value, bool holds);

/// A single time for the entire step: a makespan or the bubble on the longest span.
[[nodiscard]] QuotedForm timeQuote(Quantity quantity, QuoteText text, TimeNs value, bool holds);

/// One of the rates.
[[nodiscard]] QuotedForm ratioQuote(Quantity quantity, QuoteText text, double ratio, bool holds);

/// The span bubble rate that the sail-sg README (Qi et al., 2023) states for an order, in sixths of 1F1B's B =
/// (p−1)/(m+p−1); `expression` quotes the README. In fact, the order idles for `units` ops in addition to the 3·m·v ops
/// of its work, where t_f = t_i = t_w. The README states a limit, which is reached exactly at some sizes.
[[nodiscard]] QuotedForm sailSgFractionQuote(const Schedule& schedule, int sixths, int units, std::string name,
                                             std::string expression);

/// The "bubble fraction" (p−1)/(m·v) of Narayanan et al., 2021, which is relative to the ideal time. Correct for equal
/// stages and transfers that take no time if m ≥ p or v = 1.
[[nodiscard]] QuotedForm overIdealQuote(const Schedule& schedule, const CostModel& costs, int v);

} // namespace bubblescope
