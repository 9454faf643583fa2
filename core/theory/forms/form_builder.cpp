#include "core/theory/forms/form_builder.h"

#include "core/timeline/bubbles.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

/// Sets idle over makespan and over the ideal, from makespan and bubbles.
void setRates(ClosedForm& form) {
    TimeNs idle{0};
    for (const TimeNs bubble : form.bubble)
        idle += bubble;
    const TimeNs least = std::ranges::min(form.bubble);
    form.bubble_rate = fractionOf(idle, form.makespan * static_cast<std::int64_t>(form.bubble.size()));
    form.over_ideal = fractionOf(least, form.makespan - least);
}

/// Takes the rank whose span, from first start to last end, is longest.
void setSpanRate(ClosedForm& form) {
    TimeNs longest{0};
    for (std::size_t r = 0; r < form.bubble.size(); ++r) {
        const TimeNs outside = form.at(Rank{r}, Position::BeforeWarmup) + form.at(Rank{r}, Position::AfterCooldown);
        const TimeNs span = form.makespan - outside;
        if (span <= longest) continue;
        longest = span;
        form.span_bubble_rate = fractionOf(form.bubble[r] - outside, span);
    }
}

} // namespace

TimeNs busyTime(const Schedule& schedule, Rank rank, const CostModel& costs) {
    const auto& ops = schedule.ranks[rank.index()];
    TimeNs busy{0};
    const auto alone = [&](const Op& op) { return costs.opTime(op.kind, schedule.stageOf(rank, op.chunk)); };
    const std::size_t count = findPhases(ops).end;
    for (std::size_t i = 0; i < count; ++i) {
        const bool pair = ops[i].overlapped && i + 1 < count;
        busy += pair ? costs.pairTime(ops[i].kind, alone(ops[i]), ops[i + 1].kind, alone(ops[i + 1])) : alone(ops[i]);
        i += pair ? 1 : 0;
    }
    return busy;
}

FormBuilder::FormBuilder(const Schedule& schedule, const CostModel& costs, std::string domain)
    : schedule_(schedule), costs_(costs), domain_(std::move(domain)) {
    form_.bubble.assign(static_cast<std::size_t>(schedule.pp), TimeNs{0});
}

void FormBuilder::append(int s, Position position, std::string expression, TimeNs value) {
    form_.bubble[Rank{s}.index()] += value;
    form_.positions.push_back({.rank = Rank{s},
                               .position = position,
                               .expression = std::move(expression),
                               .value = value,
                               .kind = FormKind::Exact,
                               .domain = domain_});
}

FormBuilder& FormBuilder::add(Position position, std::string expression, const std::function<TimeNs(int)>& value) {
    for (int s = 0; s < schedule_.pp; ++s)
        append(s, position, expression, value(s));
    return *this;
}

FormBuilder& FormBuilder::addRank(int s, std::vector<PositionTerm> terms) {
    const bool steady = findPhases(schedule_.ranks[Rank{s}.index()]).hasSteady();
    PositionTerm middle{Position::ForwardToBackward, "", TimeNs{0}};
    for (PositionTerm& term : terms) {
        const bool joins =
            !steady && (term.position == Position::WarmupToSteady || term.position == Position::InsideSteady ||
                        term.position == Position::SteadyToCooldown);
        if (!joins) {
            append(s, term.position, std::move(term.expression), term.value);
            continue;
        }
        middle.expression += (middle.expression.empty() ? "" : " + ") + term.expression;
        middle.value += term.value;
    }
    if (!middle.expression.empty()) append(s, middle.position, std::move(middle.expression), middle.value);
    return *this;
}

FormBuilder& FormBuilder::addEnds() {
    const bool latency = costs_.comm.count() > 0;
    add(Position::BeforeWarmup, latency ? "s·(t_f+c)" : "s·t_f",
        [&](int s) { return s * (costs_.times.forward + costs_.comm); });
    return add(Position::AfterCooldown, latency ? "s·(t_b+c)" : "s·t_b",
               [&](int s) { return s * (costs_.times.backward + costs_.comm); });
}

FormBuilder& FormBuilder::withTotal(TimeNs bubble) {
    std::ranges::fill(form_.bubble, bubble);
    return *this;
}

FormBuilder& FormBuilder::addFillAndDrain() {
    addEnds();
    const bool latency = costs_.comm.count() > 0;
    const std::string f = latency ? "(t_f+c)" : "t_f";
    const std::string b = latency ? "(t_b+c)" : "t_b";
    const std::string both = latency ? "(t_f+t_b+2·c)" : "(t_f+t_b)";
    const TimeNs forward = costs_.times.forward + costs_.comm;
    const TimeNs backward = costs_.times.backward + costs_.comm;
    for (int s = 0; s < schedule_.pp; ++s) {
        const int below = schedule_.pp - s - 1;
        if (findPhases(schedule_.ranks[Rank{s}.index()]).hasSteady()) {
            append(s, Position::WarmupToSteady, "(p−s−1)·" + b, below * backward);
            append(s, Position::SteadyToCooldown, "(p−s−1)·" + f, below * forward);
        } else {
            append(s, Position::ForwardToBackward, "(p−s−1)·" + both, below * (forward + backward));
        }
    }
    return *this;
}

ClosedForm FormBuilder::finish(std::string bubble_expression, std::string makespan_expression, bool f_then_b) {
    std::ranges::sort(form_.positions, {}, [](const PositionForm& f) { return std::pair(f.rank, f.position); });
    form_.bubble_expression = std::move(bubble_expression);
    form_.makespan_expression = std::move(makespan_expression);
    form_.makespan = busyTime(schedule_, Rank{0}, costs_) + form_.bubble.front();
    form_.f_then_b = f_then_b;
    form_.domain = domain_;
    setRates(form_);
    setSpanRate(form_);
    return std::move(form_);
}

ClosedForm makespanForm(const Schedule& schedule, const CostModel& costs, TimeNs makespan,
                        std::string bubble_expression, std::string makespan_expression, std::string domain) {
    ClosedForm form;
    for (int s = 0; s < schedule.pp; ++s)
        form.bubble.push_back(makespan - busyTime(schedule, Rank{s}, costs));
    form.bubble_expression = std::move(bubble_expression);
    form.makespan_expression = std::move(makespan_expression);
    form.makespan = makespan;
    form.domain = std::move(domain);
    setRates(form);
    return form;
}

Status requireEqualStages(const CostModel& costs) {
    if (costs.stages.empty()) return {};
    return usageError("the closed form holds only for equal stages", "use `bubblescope simulate` for times per stage");
}

ClosedForm withSpan(ClosedForm form, TimeNs idle, TimeNs work) {
    form.span_bubble_rate = fractionOf(idle, idle + work);
    return form;
}

PeakForm peakForm(const Schedule& schedule, std::string expression, std::string domain,
                  const std::function<int(int)>& value, FormKind kind) {
    PeakForm form{std::move(expression), {}, kind, std::move(domain)};
    for (int s = 0; s < schedule.pp; ++s)
        form.values.push_back(value(s));
    return form;
}

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

QuotedForm sailSgFractionQuote(const Schedule& schedule, int sixths, int units, std::string name,
                               std::string expression) {
    const int p = schedule.pp;
    const int m = schedule.microbatches;
    const int work = 3 * m * schedule.vpp;
    const double b = (p - 1.0) / (m + p - 1.0);
    const bool met = 6 * units * (m + p - 1) == sixths * (p - 1) * (work + units);
    return ratioQuote(Quantity::SpanBubbleRate,
                      {std::move(name), "sail-sg README", std::move(expression),
                       "It is a limit for t_f = t_i = t_w, many ranks and m much larger than p. The order's own form "
                       "gives the idle time for a given size."},
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
