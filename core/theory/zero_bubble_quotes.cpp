#include "core/theory/zero_bubble_quotes.h"

#include "core/theory/quotes.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace bubblescope {
namespace {

bool isFree(const CostModel& costs) {
    return costs.comm.count() == 0;
}

bool equalTimes(const OpTimes& t) {
    return t.forward == t.input_grad && t.input_grad == t.weight_grad;
}

/// Of sail-sg's README, whose table is in terms of 1F1B's B = (p−1)/(m+p−1). Our order idles `units` ops beside the
/// 3·m·v of its work; a limit may meet that at single sizes.
QuotedForm readmeShare(const Schedule& schedule, int sixths, int units, QuoteText text) {
    const int p = schedule.pp;
    const int m = schedule.microbatches;
    const int work = 3 * m * schedule.vpp;
    text.source = "sail-sg README";
    const double b = (p - 1.0) / (m + p - 1.0);
    const bool met = 6 * units * (m + p - 1) == sixths * (p - 1) * (work + units);
    return ratioQuote(Quantity::SpanBubbleRate, std::move(text), sixths * b / 6, met);
}

constexpr const char* kLimit = "It is a limit for t_f = t_i = t_w, many ranks and m much larger than p. What the order "
                               "idles at a given size is in "
                               "its own form.";

std::vector<QuotedForm> paddleH1Quotes(const Schedule& schedule, const OpTimes& t) {
    const std::int64_t p = schedule.pp;
    const bool holds = p == 1 || ((p - 1) * t.weight_grad <= t.forward && t.weight_grad <= t.input_grad);
    return {
        bubbleQuote(schedule,
                    {"ZB-H1 as the paper has it", "zero-bubble paper (ICLR)", "(p−1)·(t_f+t_i−t_w)",
                     "Paddle's order splits only the first s backwards and the last one, so its gain over 1F1B is no "
                     "more than one forward, min((p−1)·t_w, t_f). The paper's (p−1)·t_w is reached where (p−1)·t_w ≤ "
                     "t_f and t_w ≤ t_i."},
                    (p - 1) * (t.forward + t.input_grad - t.weight_grad), holds)};
}

} // namespace

std::vector<QuotedForm> zbH1Quotes(const Schedule& schedule, const CostModel& costs) {
    if (!isFree(costs)) return {};
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const int m = schedule.microbatches;
    const auto& first = schedule.ranks.front();
    if (std::ranges::find(first, OpKind::Backward, &Op::kind) != first.end()) return paddleH1Quotes(schedule, t);

    const bool short_weights = t.weight_grad <= std::min(t.forward, t.input_grad);
    if (m < p && !short_weights) return {};
    const bool holds = p == 1 || (short_weights && (m >= p || t.weight_grad.count() == 0));
    const TimeNs bubble = (p - 1) * (t.forward + t.input_grad - t.weight_grad);
    std::vector<QuotedForm> list{
        bubbleQuote(
            schedule,
            {"ZB-H1", "zero-bubble paper (ICLR)", "(p−1)·(t_f+t_i−t_w)",
             "It holds for m ≥ p while t_w is no longer than t_f and t_i. With longer weight gradients the bubble is "
             "(p−1)·max(t_f, t_i)."},
            bubble, holds),
        bubbleQuote(
            schedule,
            {"ZB1P", "DeepSeek-V3 report and DualPipe README", "(p−1)·(t_f+t_b−2·t_w)",
             "Its B is the whole backward, so this is the paper's (p−1)·(t_f+t_i−t_w) in other letters, with the same "
             "domain. Read with B as the input gradient it would be too small by (p−1)·t_w."},
            bubble, holds)};
    if (equalTimes(t) && m >= p)
        list.push_back(readmeShare(schedule, 2, schedule.pp - 1, {"ZB1P", "", "B/3, B = (p−1)/(m+p−1)", kLimit}));
    return list;
}

std::vector<QuotedForm> zbH2Quotes(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    if (!isFree(costs) || schedule.microbatches < 2 * p - 1) return {};
    const TimeNs paper = t.forward + t.input_grad - 2 * t.weight_grad;
    const TimeNs late = t.input_grad - t.forward;
    const bool none = std::max(paper, late).count() <= 0;
    return {
        timeQuote(Quantity::SpanBubble,
                  {"ZB-H2", "zero-bubble paper (ICLR)", "(p−1)·(t_f+t_i−2·t_w)",
                   "It counts a rank's span and holds while t_w ≤ t_f and 2·t_w ≤ t_f+t_i; else the span's bubble is "
                   "(p−1)·max(t_i−t_f, 0). From the step's start to its end ranks idle (p−1)·max(t_f, t_f+t_i−2·t_w, "
                   "t_i−t_f)."},
                  (p - 1) * paper, p == 1 || (paper >= late && paper.count() >= 0)),
        ratioQuote(Quantity::SpanBubbleRate,
                   {"ZB2P has no bubble", "sail-sg README", "0",
                    "It counts a rank's span, from its first op to its last, and holds only where t_f+t_i ≤ 2·t_w and "
                    "t_i ≤ t_f. From the step's start to its end each rank still idles at least (p−1)·t_f."},
                   0, p == 1 || none)};
}

std::vector<QuotedForm> zbVQuotes(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const bool known = t.weight_grad <= t.forward && t.forward <= t.input_grad;
    const bool fixed = schedule.flavor == "handcrafted" || schedule.flavor == "torch"; // the others follow the times
    if (!isFree(costs) || !fixed || schedule.microbatches < 2 * p - 1 || !known) return {};
    return {ratioQuote(
        Quantity::SpanBubbleRate,
        {"ZB-V has no bubble", "sail-sg README", "0",
         "It counts a rank's span, from its first op to its last, and holds for t_f = t_i = t_w. Else the "
         "span's bubble is 2·(p−1)·(t_i−t_w), and from the step's start to its end each rank idles (p−1)·t_i "
         "at least."},
        0, p == 1 || t.input_grad == t.weight_grad)};
}

std::vector<QuotedForm> vHalfQuotes(const Schedule& schedule, const CostModel& costs) {
    if (!isFree(costs) || !equalTimes(costs.times) || schedule.microbatches < schedule.pp + 2) return {};
    const int p = schedule.pp;
    const int units = p <= 2 ? p - 1 : 6 * ((p - 1) / 2) - 1; // as in v_half_min.cpp
    return {readmeShare(schedule, 3, units, {"V-Half", "", "B/2, B = (p−1)/(m+p−1)", kLimit})};
}

std::vector<QuotedForm> vMinQuotes(const Schedule& schedule, const CostModel& costs) {
    if (!isFree(costs) || !equalTimes(costs.times) || schedule.microbatches < schedule.pp + 2) return {};
    const int p = schedule.pp;
    const int units = p == 1 ? 0 : 4 * p - (p % 3 == 0 ? 7 : 5); // as in v_half_min.cpp
    return {readmeShare(schedule, 4, units, {"V-Min", "", "2·B/3 + O(n), B = (p−1)/(m+p−1)", kLimit})};
}

} // namespace bubblescope
