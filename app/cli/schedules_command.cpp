#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/table.h"
#include "core/schedule/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

namespace bubblescope::cli {
namespace {

CommandResult list(bool json) {
    Json families = Json::array();
    Table table({{"name", Table::Align::Left},
                 {"also", Table::Align::Left},
                 {"flavors", Table::Align::Left},
                 {"placement", Table::Align::Left},
                 {"limits", Table::Align::Left},
                 {"is", Table::Align::Left}});
    for (const ScheduleFamily& family : scheduleFamilies()) {
        families.push_back({{"name", family.name},
                            {"title", family.title},
                            {"aliases", family.aliases},
                            {"flavors", family.flavors},
                            {"placement", placementName(family.placement)},
                            {"limits", family.limits},
                            {"closed_form", family.closed_form != nullptr}});
        table.row({std::string(family.name), fmt::format("{}", fmt::join(family.aliases, ", ")),
                   fmt::format("{}", fmt::join(family.flavors, ", ")), std::string(placementName(family.placement)),
                   std::string(family.limits), std::string(family.title)});
    }
    if (json) {
        printJson({{"schedules", families}});
    } else {
        printText(table.text(0));
    }
    return 0;
}

} // namespace

void addSchedulesCommand(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("schedules", "List the schedule families and their limits");
    const auto json = std::make_shared<bool>(false);
    command->add_flag("--json", *json, "As a JSON document");
    command->callback([&action, json] { action = [json] { return list(*json); }; });
}

} // namespace bubblescope::cli
