#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "app/cli/table.h"
#include "core/bubble/closed_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace bubblescope::cli {
namespace {

Json toJson(const ClosedForm& form) {
    Json positions = Json::array();
    for (const PositionForm& part : form.positions) {
        positions.push_back({{"rank", part.rank.value},
                             {"position", positionName(part.position, form.f_then_b)},
                             {"expression", part.expression},
                             {"value_ns", part.value.count()},
                             {"exact", part.exact},
                             {"domain", part.domain}});
    }
    Json bubbles = Json::array();
    for (const TimeNs bubble : form.bubble)
        bubbles.push_back(bubble.count());
    return {{"positions", positions},
            {"bubble_ns", bubbles},
            {"bubble_expression", form.bubble_expression},
            {"bubble_rate", form.bubble_rate},
            {"makespan_ns", form.makespan.count()},
            {"makespan_expression", form.makespan_expression},
            {"exact", form.exact},
            {"domain", form.domain}};
}

std::string bubblesText(const ClosedForm& form) {
    Table table({{"rank s"}, {"bubble"}});
    for (std::size_t s = 0; s < form.bubble.size(); ++s)
        table.row({fmt::format("{}", s), formatTime(form.bubble[s])});
    return table.text();
}

std::string toText(const Schedule& schedule, const CostModel& costs, const ClosedForm& form) {
    std::string out = fmt::format("{}, p = {}, m = {}, v = {}; t_f = {}, t_b = {}\n", schedule.name, schedule.pp,
                                  schedule.microbatches, schedule.vpp, formatTime(costs.times.forward),
                                  formatTime(costs.times.backward));
    out += fmt::format("  makespan     {} = {}\n", form.makespan_expression, formatTime(form.makespan));
    const bool equal = std::ranges::all_of(form.bubble, [&](TimeNs bubble) { return bubble == form.bubble.front(); });
    out += fmt::format("  bubble       {} = {}{}\n", form.bubble_expression, formatTime(std::ranges::max(form.bubble)),
                       equal ? " on each rank" : "");
    out += fmt::format("  bubble rate  {:.2f} % of the makespan\n", 100 * form.bubble_rate);
    if (!form.domain.empty()) out += fmt::format("  {}    {}\n", form.exact ? "exact for" : "a bound: ", form.domain);
    if (!equal) out += "\n" + bubblesText(form);
    if (form.positions.empty()) return out;
    Table table({{"rank s"}, {"position", Table::Align::Left}, {"expression", Table::Align::Left}, {"value"}});
    for (const PositionForm& part : form.positions) {
        table.row({fmt::format("{}", part.rank.value), std::string(positionName(part.position, form.f_then_b)),
                   part.expression, formatTime(part.value)});
    }
    return out + "\n" + table.text();
}

CommandResult print(const ScheduleOptions& options, bool json) {
    BUBBLESCOPE_ASSIGN(const CostModel costs, options.costs(TimeNs{1'000'000}));
    BUBBLESCOPE_ASSIGN(const Schedule schedule, options.schedule(costs));
    BUBBLESCOPE_ASSIGN(const ClosedForm form, closedForm(schedule, costs));
    if (json) {
        printJson(toJson(form));
    } else {
        printText(toText(schedule, costs, form));
    }
    return 0;
}

} // namespace

void addFormulaCommand(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("formula", "Print a schedule's closed-form bubbles, by rank and position");
    const auto options = std::make_shared<ScheduleOptions>();
    const auto json = std::make_shared<bool>(false);
    options->addSchedule(*command);
    options->addTimes(*command);
    command->add_flag("--json", *json, "As a JSON document");
    command->callback([&action, options, json] { action = [options, json] { return print(*options, *json); }; });
}

} // namespace bubblescope::cli
