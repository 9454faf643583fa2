#pragma once

#include "core/schedule/schedule.h"
#include "core/theory/forms/form.h"

#include <functional>
#include <string>

namespace bubblescope {

/// What a quote says, apart from its values.
struct QuoteText {
    std::string name;
    std::string source;
    std::string expression;
    std::string verdict; ///< two sentences
};

// Each makes one QuotedForm; `holds` says whether it is right for the schedule and costs at hand.

/// Of a bubble at one position; `value` takes the rank s.
[[nodiscard]] QuotedForm positionQuote(const Schedule& schedule, QuoteText text, Position position,
                                       const std::function<TimeNs(int s)>& value, bool holds);

/// Of every rank's bubble in all.
[[nodiscard]] QuotedForm bubbleQuote(const Schedule& schedule, QuoteText text, TimeNs value, bool holds);

/// Of one time for the whole step: a makespan or the longest span's bubble.
[[nodiscard]] QuotedForm timeQuote(Quantity quantity, QuoteText text, TimeNs value, bool holds);

/// Of one of the rates.
[[nodiscard]] QuotedForm ratioQuote(Quantity quantity, QuoteText text, double ratio, bool holds);

/// The share of the span that sail-sg's README (zero-bubble-pipeline-parallelism, 2024) gives an order, in sixths of
/// 1F1B's B = (p−1)/(m+p−1); `expression` is its wording. The order really idles `units` ops beside the 3·m·v of its
/// work, t_f = t_i = t_w; a limit may meet that at single sizes.
[[nodiscard]] QuotedForm sailSgShareQuote(const Schedule& schedule, int sixths, int units, std::string name,
                                          std::string expression);

/// The "bubble fraction" (p−1)/(m·v) of the Megatron-LM papers, which divides by the ideal time. Right on equal stages
/// with free transfers where m ≥ p or v = 1.
[[nodiscard]] QuotedForm overIdealQuote(const Schedule& schedule, const CostModel& costs, int v);

} // namespace bubblescope
