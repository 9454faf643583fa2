#include "core/theory/forms/quotes.h"

#include <utility>

namespace bubblescope {
namespace {

QuotedForm quote(Quantity quantity, QuoteText text, bool holds) {
    QuotedForm form;
    form.name = std::move(text.name);
    form.source = std::move(text.source);
    form.quantity = quantity;
    form.expression = std::move(text.expression);
    form.holds = holds;
    form.verdict = std::move(text.verdict);
    return form;
}

} // namespace

QuotedForm positionQuote(const Schedule& schedule, QuoteText text, Position position,
                         const std::function<TimeNs(int)>& value, bool holds) {
    QuotedForm form = quote(Quantity::PositionBubble, std::move(text), holds);
    form.position = position;
    for (int s = 0; s < schedule.pp; ++s)
        form.values.push_back(value(s));
    return form;
}

QuotedForm bubbleQuote(const Schedule& schedule, QuoteText text, TimeNs value, bool holds) {
    QuotedForm form = quote(Quantity::Bubble, std::move(text), holds);
    form.values.assign(static_cast<std::size_t>(schedule.pp), value);
    return form;
}

QuotedForm timeQuote(Quantity quantity, QuoteText text, TimeNs value, bool holds) {
    QuotedForm form = quote(quantity, std::move(text), holds);
    form.values = {value};
    return form;
}

QuotedForm ratioQuote(Quantity quantity, QuoteText text, double ratio, bool holds) {
    QuotedForm form = quote(quantity, std::move(text), holds);
    form.ratio = ratio;
    return form;
}

QuotedForm sailSgShareQuote(const Schedule& schedule, int sixths, int units, std::string name, std::string expression) {
    const int p = schedule.pp;
    const int m = schedule.microbatches;
    const int work = 3 * m * schedule.vpp;
    const double b = (p - 1.0) / (m + p - 1.0);
    const bool met = 6 * units * (m + p - 1) == sixths * (p - 1) * (work + units);
    return ratioQuote(Quantity::SpanBubbleRate,
                      {std::move(name), "sail-sg README", std::move(expression),
                       "It is a limit for t_f = t_i = t_w, many ranks and m much larger than p. What the order "
                       "idles at a given size is in its own form."},
                      sixths * b / 6, met);
}

QuotedForm overIdealQuote(const Schedule& schedule, const CostModel& costs, int v) {
    const double ratio = (schedule.pp - 1.0) / (static_cast<double>(schedule.microbatches) * v);
    const bool plain = costs.stages.empty() && costs.comm.count() == 0;
    return ratioQuote(Quantity::OverIdeal,
                      {"bubble fraction", "Megatron-LM papers", v == 1 ? "(p−1)/m" : "(p−1)/(m·v)",
                       v == 1
                           ? "It divides by the ideal time m·(t_f+t_b), so it can exceed 1. The share of the makespan "
                             "is (p−1)/(m+p−1)."
                           : "It divides by the ideal time m·v·(t_f+t_b) and needs groups of at least p micro-batches "
                             "and free transfers. The share of the makespan is then (p−1)/(m·v+p−1)."},
                      ratio, plain && (v == 1 || schedule.microbatches >= schedule.pp));
}

} // namespace bubblescope
