#pragma once

#include "core/schedule/schedule.h"
#include "core/theory/forms/form.h"

#include <functional>
#include <string>

namespace bubblescope {

/// The text of a quote, apart from its values.
struct QuoteText {
    std::string name;
    std::string source;
    std::string expression;
    std::string verdict; ///< two sentences
};

// Each makes one QuotedForm; `holds` states whether it is right for the given schedule and costs.

/// A bubble at one position; `value` takes the rank s.
[[nodiscard]] QuotedForm positionQuote(const Schedule& schedule, QuoteText text, Position position,
                                       const std::function<TimeNs(int s)>& value, bool holds);

/// The total bubble of every rank.
[[nodiscard]] QuotedForm bubbleQuote(const Schedule& schedule, QuoteText text, TimeNs value, bool holds);

/// One time for the whole step: a makespan or the longest span's bubble.
[[nodiscard]] QuotedForm timeQuote(Quantity quantity, QuoteText text, TimeNs value, bool holds);

/// One of the rates.
[[nodiscard]] QuotedForm ratioQuote(Quantity quantity, QuoteText text, double ratio, bool holds);

/// The span bubble rate that the sail-sg README (Qi et al. 2023) gives an order, in sixths of 1F1B's
/// B = (p−1)/(m+p−1); `expression` is its wording. In truth the order idles for `units` ops beside the 3·m·v ops of its
/// work, t_f = t_i = t_w. The README gives a limit, which can be met exactly at single sizes.
[[nodiscard]] QuotedForm sailSgShareQuote(const Schedule& schedule, int sixths, int units, std::string name,
                                          std::string expression);

/// The "bubble fraction" (p−1)/(m·v) of Narayanan et al. 2021, which divides by the ideal time. Right on equal stages
/// with free transfers where m ≥ p or v = 1.
[[nodiscard]] QuotedForm overIdealQuote(const Schedule& schedule, const CostModel& costs, int v);

} // namespace bubblescope
