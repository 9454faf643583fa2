#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "app/cli/table.h"
#include "core/graph/simulate.h"
#include "core/theory/closed_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace bubblescope::cli {
namespace {

struct FormulaArguments {
    ScheduleOptions schedule;
    bool explain = false;
    bool json = false;
};

/// A form and, where it is a bound, what the simulation says.
struct Formula {
    Schedule schedule;
    CostModel costs;
    ClosedForm form;
    std::optional<TimeNs> simulated;
};

Json timesJson(const std::vector<TimeNs>& times) {
    Json list = Json::array();
    for (const TimeNs time : times)
        list.push_back(time.count());
    return list;
}

Json positionsJson(const ClosedForm& form) {
    Json positions = Json::array();
    for (const PositionForm& part : form.positions) {
        positions.push_back({{"rank", part.rank.value},
                             {"position", positionName(part.position, form.f_then_b)},
                             {"expression", part.expression},
                             {"value_ns", part.value.count()},
                             {"exact", part.kind == FormKind::Exact},
                             {"kind", formKindName(part.kind)},
                             {"domain", part.domain}});
    }
    return positions;
}

Json quotedJson(const ClosedForm& form) {
    Json list = Json::array();
    for (const QuotedForm& quoted : form.quoted) {
        Json entry = {{"name", quoted.name},
                      {"source", quoted.source},
                      {"quantity", quantityName(quoted.quantity)},
                      {"expression", quoted.expression},
                      {"holds", quoted.holds},
                      {"verdict", quoted.verdict}};
        if (quoted.quantity == Quantity::PositionBubble)
            entry["position"] = positionName(quoted.position, form.f_then_b);
        if (quoted.values.empty()) {
            entry["ratio"] = quoted.ratio;
        } else {
            entry["values_ns"] = timesJson(quoted.values);
        }
        list.push_back(std::move(entry));
    }
    return list;
}

Json toJson(const Formula& formula) {
    const ClosedForm& form = formula.form;
    Json document = {{"positions", positionsJson(form)},
                     {"bubble_ns", timesJson(form.bubble)},
                     {"bubble_expression", form.bubble_expression},
                     {"bubble_rate", form.bubble_rate},
                     {"span_bubble_rate", form.span_bubble_rate ? Json(*form.span_bubble_rate) : Json()},
                     {"over_ideal", form.over_ideal},
                     {"makespan_ns", form.makespan.count()},
                     {"makespan_expression", form.makespan_expression},
                     {"exact", form.exact()},
                     {"kind", formKindName(form.kind)},
                     {"domain", form.domain},
                     {"peak_activations", nullptr},
                     {"quoted", quotedJson(form)}};
    if (form.peaks) {
        document["peak_activations"] = {{"expression", form.peaks->expression},
                                        {"values", form.peaks->values},
                                        {"exact", form.peaks->kind == FormKind::Exact},
                                        {"kind", formKindName(form.peaks->kind)},
                                        {"domain", form.peaks->domain}};
    }
    if (!form.note.empty()) document["note"] = form.note;
    if (formula.simulated) document["simulated_makespan_ns"] = formula.simulated->count();
    return document;
}

std::string_view relation(FormKind kind) {
    switch (kind) {
    case FormKind::Exact: return "=";
    case FormKind::LowerBound: return "≥";
    case FormKind::UpperBound: return "≤";
    }
    return "";
}

std::string headText(const Formula& formula) {
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
    if (formula.costs.comm.count() > 0) out += fmt::format(", c = {}", formatTime(formula.costs.comm));
    return out + "\n";
}

std::string totalsText(const Formula& formula) {
    const ClosedForm& form = formula.form;
    const auto sign = relation(form.kind);
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
            fmt::format("  activations  {} {} {} at most, in forward ops of one chunk ({})\n", form.peaks->expression,
                        relation(form.peaks->kind), std::ranges::max(form.peaks->values), form.peaks->domain);
    }
    return out;
}

std::string ranksText(const ClosedForm& form) {
    std::vector<Table::Column> columns{{"rank s"}, {"bubble"}};
    if (form.peaks) columns.push_back({"peak activations"});
    Table table(columns);
    for (std::size_t s = 0; s < form.bubble.size(); ++s) {
        std::vector<std::string> cells{fmt::format("{}", s), formatTime(form.bubble[s])};
        if (form.peaks) cells.push_back(fmt::format("{}", form.peaks->values[s]));
        table.row(std::move(cells));
    }
    return table.text();
}

std::string positionsText(const ClosedForm& form) {
    if (form.positions.empty()) return {};
    Table table({{"rank s"}, {"position", kLeft}, {"expression", kLeft}, {"", kLeft}, {"value"}});
    for (const PositionForm& part : form.positions) {
        table.row({fmt::format("{}", part.rank.value), std::string(positionName(part.position, form.f_then_b)),
                   part.expression, std::string(relation(part.kind)), formatTime(part.value)});
    }
    return "\n" + table.text();
}

std::string quotedText(const ClosedForm& form) {
    if (form.quoted.empty()) return "\nNothing is quoted of this schedule that would need a verdict.\n";
    std::string out = "\nQuoted elsewhere\n";
    for (const QuotedForm& quoted : form.quoted) {
        const bool at_position = quoted.quantity == Quantity::PositionBubble;
        out += fmt::format("  {} ({})\n    {}: {}", quoted.name, quoted.source,
                           at_position ? positionName(quoted.position, form.f_then_b) : quantityName(quoted.quantity),
                           quoted.expression);
        if (quoted.values.empty()) {
            out += fmt::format(" = {:.2f} %", 100 * quoted.ratio);
        } else {
            const auto [least, most] = std::ranges::minmax(quoted.values);
            out += least == most ? fmt::format(" = {}", formatTime(most))
                                 : fmt::format(" = {} to {}", formatTime(least), formatTime(most));
        }
        out += fmt::format("\n    {} here. {}\n", quoted.holds ? "right" : "wrong", quoted.verdict);
    }
    return out;
}

std::string toText(const Formula& formula, bool explain) {
    return headText(formula) + totalsText(formula) + "\n" + ranksText(formula.form) + positionsText(formula.form) +
           (explain ? quotedText(formula.form) : "");
}

CommandResult run(const FormulaArguments& options) {
    Formula formula;
    BUBBLESCOPE_ASSIGN(Planned planned, options.schedule.plan(TimeNs{1'000'000}));
    formula.costs = std::move(planned.costs);
    formula.schedule = std::move(planned.schedule);
    BUBBLESCOPE_ASSIGN(formula.form, closedForm(formula.schedule, formula.costs));
    if (!formula.form.exact()) {
        BUBBLESCOPE_ASSIGN(const StepTimeline step, simulate(formula.schedule, formula.costs));
        formula.simulated = step.wall();
    }
    if (options.json) {
        printJson(toJson(formula));
    } else {
        printText(toText(formula, options.explain));
    }
    return 0;
}

} // namespace

void addFormulaCommand(Command app, Action& action) {
    const Command command = app.addCommand("formula", "Print a schedule's closed-form bubbles, by rank and position");
    const auto options = std::make_shared<FormulaArguments>();
    options->schedule.addSchedule(command);
    options->schedule.addTimes(command);
    options->schedule.addTransfers(command);
    command.addFlag("--explain", options->explain, "Also what is quoted of it elsewhere, with a verdict each");
    command.addFlag("--json", options->json, "As a JSON document");
    command.onParsed([&action, options] { action = [options] { return run(*options); }; });
}

} // namespace bubblescope::cli
