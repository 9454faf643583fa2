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

/// The total time of a rank's ops, without optimizer ops after all others.
[[nodiscard]] TimeNs busyTime(const Schedule& schedule, Rank rank, const CostModel& costs);

/// Rejects times per stage, for families whose form covers transfers with latency, but only equal stages. Errors:
/// Usage.
[[nodiscard]] Status requireEqualStages(const CostModel& costs);

/// True if transfers take no time at all.
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

/// Assembles a family's ClosedForm position by position. Totals, makespan and rates are derived from the parts, so
/// they cannot contradict them. The schedule and the costs must outlive the builder.
class FormBuilder {
public:
    /// `domain` describes in words where the forms are exact.
    FormBuilder(const Schedule& schedule, const CostModel& costs, std::string domain);

    /// One form for all ranks; `value` takes the rank s.
    FormBuilder& add(Position position, std::string expression, const std::function<TimeNs(int s)>& value);

    /// Forms of rank s alone, for orders whose ranks differ, one per position. On a rank whose order has no steady
    /// phase, merges the terms between warm-up and cool-down into one bubble between forward and backward.
    FormBuilder& addRank(int s, std::vector<PositionTerm> terms);

    /// Only the two outer positions of addFillAndDrain().
    FormBuilder& addEnds();

    /// Sets each rank's total if not all positions are known; otherwise the total is their sum.
    FormBuilder& withTotal(TimeNs bubble);

    /// The positions that F-then-B, 1F1B and related schedules share, c being the transfers' latency: s·(t_f+c) before
    /// the first op, s·(t_b+c) after the last; (p−s−1)·(t_b+c) between warm-up and steady and (p−s−1)·(t_f+c) between
    /// steady and cool-down on ranks whose order has a steady phase, or their sum as one bubble between forward and
    /// backward on the others.
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

/// The form of a schedule with a known makespan only: a rank's bubble is the makespan minus the time of its ops.
/// `domain` is that of ClosedForm; if ranks differ, the two expressions are those of the rank with the largest bubble.
[[nodiscard]] ClosedForm makespanForm(const Schedule& schedule, const CostModel& costs, TimeNs makespan,
                                      std::string bubble_expression, std::string makespan_expression,
                                      std::string domain);

/// Adds the span's rate to a form without positions: the longest span consists of `work` and a bubble of `idle`.
[[nodiscard]] ClosedForm withSpan(ClosedForm form, TimeNs idle, TimeNs work);

/// Peak activations per rank; `value` takes the rank s.
[[nodiscard]] PeakForm peakForm(const Schedule& schedule, std::string expression, std::string domain,
                                const std::function<int(int s)>& value, FormKind kind = FormKind::Exact);

// The bubble that latency and narrow loops add on equal stages, beyond the (p−1)·(t_f+t_b+2·c) of filling and
// draining. t_f and t_b are the times of one chunk, c is a transfer's latency.

/// Loss from turning between forward and backward. Let each rank of a 1F1B run d warm-up forwards more than the next
/// (1F1B: 1, eager: 2). Follow a forward from rank 0 down to rank k, the backward that follows it there in the list, up
/// again to rank 0, and the next forward of the list there. That takes (k+1)·(t_f+t_b) + 2·k·c, and the new forward is
/// d·k+1 micro-batches later, which alone would have taken (d·k+1)·(t_f+t_b). Every border passed therefore costs 2·c −
/// (d−1)·(t_f+t_b) more than the work that takes its place, if that is positive. Over the whole depth, k = p−1, the m−1
/// micro-batches after the first have room for ⌊(m−1)·(p−1) / (d·(p−1)+1)⌋ borders: full turns and part of a last one.
[[nodiscard]] inline TimeNs turningLoss(std::int64_t p, std::int64_t m, std::int64_t d, const CostModel& costs) {
    const TimeNs border = 2 * costs.comm - (d - 1) * (costs.times.forward + costs.times.backward);
    return (m - 1) * (p - 1) / (d * (p - 1) + 1) * std::max(TimeNs{0}, border);
}

/// Loss from wrapping from one chunk to the next. A micro-batch that leaves a rank's chunk returns for the next one
/// p·(t_f+c) later; meanwhile the rank has n·t_f of work on the n micro-batches that pass the chunk together. It waits
/// for the difference at each of the v−1 wraps, forward and likewise backward.
struct WrapLoss {
    TimeNs forward{0};
    TimeNs backward{0};

    [[nodiscard]] TimeNs both() const { return forward + backward; }
};

[[nodiscard]] inline WrapLoss wrapLoss(std::int64_t p, std::int64_t v, std::int64_t n, const CostModel& costs) {
    const auto missing = [&](TimeNs op) { return (v - 1) * std::max(TimeNs{0}, p * (op + costs.comm) - n * op); };
    return {missing(costs.times.forward), missing(costs.times.backward)};
}

/// The text of a quote, apart from its values.
struct QuoteText {
    std::string name;
    std::string source;
    std::string expression;
    std::string verdict; ///< two sentences
};

// Each returns one QuotedForm; `holds` is true if it is right for the given schedule and costs.

/// A bubble at one position; `value` takes the rank s.
[[nodiscard]] QuotedForm positionQuote(const Schedule& schedule, QuoteText text, Position position,
                                       const std::function<TimeNs(int s)>& value, bool holds);

/// The total bubble of every rank.
[[nodiscard]] QuotedForm bubbleQuote(const Schedule& schedule, QuoteText text, TimeNs value, bool holds);

/// One time for the whole step: a makespan or the longest span's bubble.
[[nodiscard]] QuotedForm timeQuote(Quantity quantity, QuoteText text, TimeNs value, bool holds);

/// One of the rates.
[[nodiscard]] QuotedForm ratioQuote(Quantity quantity, QuoteText text, double ratio, bool holds);

/// The span bubble rate that the sail-sg README (Qi et al. 2023) gives an order, in sixths of 1F1B's B = (p−1)/(m+p−1);
/// `expression` is its wording. The order in fact idles for `units` ops in addition to the 3·m·v ops of its work, t_f =
/// t_i = t_w. The README gives a limit, which can be met exactly at some sizes.
[[nodiscard]] QuotedForm sailSgFractionQuote(const Schedule& schedule, int sixths, int units, std::string name,
                                             std::string expression);

/// The "bubble fraction" (p−1)/(m·v) of Narayanan et al. 2021, which divides by the ideal time. Right on equal stages
/// with free transfers if m ≥ p or v = 1.
[[nodiscard]] QuotedForm overIdealQuote(const Schedule& schedule, const CostModel& costs, int v);

} // namespace bubblescope
