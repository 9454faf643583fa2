#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "core/schedule/schedule_json.h"
#include "core/simulate/simulate.h"
#include "core/timeline/text_chart.h"

#include <fmt/format.h>

#include <memory>

namespace bubblescope::cli {
namespace {

CommandResult print(const ScheduleOptions& options, bool json) {
    BUBBLESCOPE_ASSIGN(const CostModel costs, options.costs(TimeNs{1'000'000}));
    BUBBLESCOPE_ASSIGN(const Schedule schedule, options.schedule(costs));
    if (json) {
        printText(scheduleToJson(schedule) + "\n");
        return 0;
    }
    BUBBLESCOPE_ASSIGN(const StepTimeline step, simulate(schedule, costs));
    printText(fmt::format("{}{}, p = {}, m = {}, v = {}, {} placement\n", schedule.name,
                          schedule.flavor.empty() ? "" : " (" + schedule.flavor + ")", schedule.pp,
                          schedule.microbatches, schedule.vpp, placementName(schedule.placement)));
    const std::string chart = textChart(step);
    if (chart.empty()) {
        printText("The order alone, since a chart to scale would be too wide:\n" + orderText(schedule));
    } else {
        printText(fmt::format("To scale at forward {}, backward {}; '.' is a bubble:\n{}",
                              formatTime(costs.times.forward), formatTime(costs.times.backward), chart));
    }
    return 0;
}

} // namespace

void addScheduleCommand(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("schedule", "Print a schedule's order");
    const auto options = std::make_shared<ScheduleOptions>();
    const auto json = std::make_shared<bool>(false);
    options->addSchedule(*command);
    options->addTimes(*command);
    command->add_flag("--json", *json, "As a JSON document");
    command->callback([&action, options, json] { action = [options, json] { return print(*options, *json); }; });
}

} // namespace bubblescope::cli
