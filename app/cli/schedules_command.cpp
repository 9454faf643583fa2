#include "app/cli/command.h"
#include "app/cli/output.h"
#include "core/schedule/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

namespace bubblescope::cli {
namespace {

Json toJson(const ScheduleFamily& family) {
    return {{"name", family.name},
            {"title", family.title},
            {"aliases", family.aliases},
            {"flavors", family.flavors},
            {"placement", placementName(family.placement)},
            {"limits", family.limits},
            {"closed_form", family.closed_form != nullptr}};
}

std::string toText(const ScheduleFamily& family) {
    std::string out = fmt::format("{}  {}\n", family.name, family.title);
    if (!family.aliases.empty()) out += fmt::format("    also       {}\n", fmt::join(family.aliases, ", "));
    if (!family.flavors.empty()) out += fmt::format("    flavors    {}\n", fmt::join(family.flavors, ", "));
    out += fmt::format("    limits     {}\n", family.limits);
    out += fmt::format("    placement  {}; {}\n", placementName(family.placement),
                       family.closed_form != nullptr ? "closed form known" : "no closed form known");
    return out;
}

CommandResult list(bool json) {
    Json families = Json::array();
    std::string text;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        families.push_back(toJson(family));
        text += (text.empty() ? "" : "\n") + toText(family);
    }
    if (json) {
        printJson({{"schedules", families}});
    } else {
        printText(text);
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
