#include "core/report/results/formula.h"

#include "core/graph/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace bubblescope::report {
namespace {

std::string_view formRelation(FormKind kind) {
    switch (kind) {
    case FormKind::Exact: return "=";
    case FormKind::LowerBound: return "≥";
    case FormKind::UpperBound: return "≤";
    }
    return "";
}

std::string formulaHead(const Formula& formula) {
    const Schedule& schedule = formula.schedule;
    const OpTimes& t = formula.costs.times;
    std::string out = fmt::format("{}, {}; ", schedule.name, sizesText(schedule));
    if (!formula.costs.stages.empty()) {
        out += "times per stage";
    } else {
        const bool split = std::ranges::any_of(schedule.ranks, [](const auto& ops) {
            return std::ranges::find(ops, OpKind::BackwardInput, &Op::kind) != ops.end();
        });
        out += fmt::format("t_f = {}, t_b = {}", formatTime(t.forward), formatTime(t.backward));
        if (split) out += fmt::format(" (t_i = {}, t_w = {})", formatTime(t.input_grad), formatTime(t.weight_grad));
    }
    if (formula.costs.overlapped) out += fmt::format(", t_fb = {}", formatTime(*formula.costs.overlapped));
    if (formula.costs.all_reduce.count() > 0) out += fmt::format(", t_ar = {}", formatTime(formula.costs.all_reduce));
    if (formula.costs.comm.count() > 0) out += fmt::format(", c = {}", formatTime(formula.costs.comm));
    return out + "\n";
}

std::string formulaTotals(const Formula& formula) {
    const ClosedForm& form = formula.form;
    const auto sign = formRelation(form.kind);
    const bool equal = std::ranges::all_of(form.bubble, [&](TimeNs bubble) { return bubble == form.bubble.front(); });
    std::string out;
    out += fmt::format("  makespan     {} {} {}\n", form.makespan_expression, sign, formatTime(form.makespan));
    out += fmt::format("  bubble       {} {} {}{}\n", form.bubble_expression, sign,
                       formatTime(std::ranges::max(form.bubble)), equal ? " on each rank" : "");
    out += fmt::format("  bubble rate  {} {:.2f} % of the makespan", sign, 100 * form.bubble_rate);
    if (form.span_bubble_rate) out += fmt::format(", {:.2f} % on the longest span", 100 * *form.span_bubble_rate);
    out += fmt::format(", {:.2f} % over the ideal\n", 100 * form.over_ideal);
    out += fmt::format("  {:<11}  {}\n", form.exact() ? "exact for" : formKindName(form.kind), form.domain);
    if (!form.note.empty()) out += fmt::format("  no exact     {}\n", form.note);
    if (formula.simulated) out += fmt::format("  simulated:   {}\n", formatTime(*formula.simulated));
    if (form.peaks) {
        out +=
            fmt::format("  activations  {} {} at most {}, in forward ops of one chunk ({})\n", form.peaks->expression,
                        formRelation(form.peaks->kind), std::ranges::max(form.peaks->values), form.peaks->domain);
    }
    return out;
}

/// One row per rank, and for programs an array of numbers.
Table formulaRanks(const ClosedForm& form) {
    Table table({}, {shown("rank s"), shown("bubble")});
    if (form.peaks) table.columns.push_back(shown("peak activations"));
    for (std::size_t s = 0; s < form.bubble.size(); ++s) {
        table.row(s, form.bubble[s]);
        if (form.peaks) table.rows.back().emplace_back(form.peaks->values[s]);
    }
    return table;
}

Table formulaPositions(const ClosedForm& form) {
    Table table("positions", {column("rank", "rank s"), column("position", "position", Align::Left),
                              column("expression", "expression", Align::Left), shown("", Align::Left),
                              column("value_ns", "value"), data("exact"), data("kind"), data("domain")});
    for (const PositionForm& part : form.positions) {
        table.row(part.rank, positionName(part.position, form.f_then_b), part.expression, formRelation(part.kind),
                  part.value, part.kind == FormKind::Exact, formKindName(part.kind), part.domain);
    }
    return table;
}

Value quotedForms(const ClosedForm& form) {
    Value::List list;
    for (const QuotedForm& quoted : form.quoted) {
        Value::Object entry{{"name", quoted.name},
                            {"source", quoted.source},
                            {"quantity", quantityName(quoted.quantity)},
                            {"expression", quoted.expression},
                            {"holds", quoted.holds},
                            {"verdict", quoted.verdict}};
        if (quoted.quantity == Quantity::PositionBubble)
            entry.push_back({"position", positionName(quoted.position, form.f_then_b)});
        if (quoted.values.empty())
            entry.push_back({"ratio", quoted.ratio});
        else
            entry.push_back({"values_ns", quoted.values});
        list.emplace_back(std::move(entry));
    }
    return list;
}

Value formulaPeaks(const ClosedForm& form) {
    if (!form.peaks) return {};
    return Value::Object{{"expression", form.peaks->expression},
                         {"values", form.peaks->values},
                         {"exact", form.peaks->kind == FormKind::Exact},
                         {"kind", formKindName(form.peaks->kind)},
                         {"domain", form.peaks->domain}};
}

std::string quotedWords(const ClosedForm& form) {
    if (form.quoted.empty()) return "\nNo published formulas are quoted for this schedule.";
    std::string out = "\nPublished formulas";
    for (const QuotedForm& quoted : form.quoted) {
        const bool at_position = quoted.quantity == Quantity::PositionBubble;
        out += fmt::format("\n  {} ({})\n    {}: {}", quoted.name, quoted.source,
                           at_position ? positionName(quoted.position, form.f_then_b) : quantityName(quoted.quantity),
                           quoted.expression);
        if (quoted.values.empty()) {
            out += fmt::format(" = {:.2f} %", 100 * quoted.ratio);
        } else {
            const auto [least, most] = std::ranges::minmax(quoted.values);
            out += least == most ? fmt::format(" = {}", formatTime(most))
                                 : fmt::format(" = {} to {}", formatTime(least), formatTime(most));
        }
        out += fmt::format("\n    {} here. {}", quoted.holds ? "right" : "wrong", quoted.verdict);
    }
    return out;
}

} // namespace

Result<Formula> formulaOf(Schedule schedule, CostModel costs) {
    Formula formula{std::move(schedule), std::move(costs), {}, {}};
    BUBBLESCOPE_ASSIGN(formula.form, closedForm(formula.schedule, formula.costs));
    if (!formula.form.exact()) {
        BUBBLESCOPE_ASSIGN(const StepTimeline step, simulate(formula.schedule, formula.costs));
        formula.simulated = step.wall();
    }
    return formula;
}

Document formulaDocument(const Formula& formula, bool explain) {
    const ClosedForm& form = formula.form;
    Document document;
    document.line(formulaHead(formula) + formulaTotals(formula));
    document.add(formulaRanks(form));
    if (!form.positions.empty()) document.line("");
    Table positions = formulaPositions(form);
    if (form.positions.empty()) positions.reader = Reader::Programs;
    document.add(std::move(positions));
    document.data("bubble_ns", form.bubble);
    document.data("bubble_expression", form.bubble_expression);
    document.data("bubble_rate", form.bubble_rate);
    document.data("span_bubble_rate", form.span_bubble_rate);
    document.data("over_ideal", form.over_ideal);
    document.data("makespan_ns", form.makespan);
    document.data("makespan_expression", form.makespan_expression);
    document.data("exact", form.exact());
    document.data("kind", formKindName(form.kind));
    document.data("domain", form.domain);
    document.data("peak_activations", formulaPeaks(form));
    document.data("quoted", quotedForms(form));
    if (!form.note.empty()) document.data("note", form.note);
    if (formula.simulated) document.data("simulated_makespan_ns", *formula.simulated);
    if (explain) document.line(quotedWords(form));
    return document;
}

} // namespace bubblescope::report
