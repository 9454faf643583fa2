#include "app/cli/command.h"
#include "app/cli/memory_options.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "app/cli/table.h"
#include "core/base/bytes.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"

#include <fmt/format.h>

#include <memory>

namespace bubblescope::cli {
namespace {

struct MemoryArguments {
    ScheduleOptions schedule;
    MemoryOptions memory;
    std::vector<std::string> fail_on;
    bool curve = false;
    bool json = false;
};

Json curveJson(const StepTimeline& step, Rank rank, const MemoryModel& model) {
    Json points = Json::array();
    for (const MemoryPoint& point : memoryCurve(step, rank, model))
        points.push_back({point.time.count(), point.bytes});
    return points;
}

Result<Json> toJson(const Planned& planned, const MemoryReport& report, bool curve) {
    Json ranks = Json::array();
    for (std::size_t r = 0; r < report.ranks.size(); ++r) {
        Json rank = {{"rank", r}};
        rank.update(memoryJson(planned.schedule, report, Rank{r}));
        ranks.push_back(std::move(rank));
    }
    if (curve) {
        BUBBLESCOPE_ASSIGN(const StepTimeline step, simulate(planned.schedule, planned.costs));
        for (std::size_t r = 0; r < report.ranks.size(); ++r)
            ranks[r]["curve"] = curveJson(step, Rank{r}, report.model);
    }
    return Json{{"schedule", planned.schedule.name},
                {"flavor", planned.schedule.flavor},
                {"budget_bytes", report.budget ? Json(*report.budget) : Json()},
                {"ranks", ranks}};
}

std::string toText(const Schedule& schedule, const MemoryReport& report) {
    Table table({{"rank"},
                 {"weights"},
                 {"gradients"},
                 {"optimizer"},
                 {"activations, peak"},
                 {"total, peak"},
                 {"at", Table::Align::Left}});
    for (std::size_t r = 0; r < report.ranks.size(); ++r) {
        const RankMemory& memory = report.ranks[r];
        const auto& ops = schedule.ranks[r];
        table.row({fmt::format("{}", r), formatBytes(memory.weights), formatBytes(memory.gradients),
                   formatBytes(memory.optimizer), formatBytes(memory.peak_activations), formatBytes(memory.peak()),
                   ops.empty() ? "" : opName(ops[memory.peak_op])});
    }
    const std::string budget = budgetText(schedule, report);
    return fmt::format("{}\n\n{}{}", scheduleTitle(schedule), table.text(), budget.empty() ? "" : "\n" + budget);
}

CommandResult print(const MemoryArguments& options) {
    BUBBLESCOPE_ASSIGN(const Planned planned, options.schedule.plan(TimeNs{1'000'000}));
    // An order with missing ops would release what it never took.
    BUBBLESCOPE_TRY(completeGraph(planned.schedule));
    BUBBLESCOPE_ASSIGN(const auto report, options.memory.report(planned.schedule));
    if (!report) return usageError("no tensor sizes are given", "use --memory-model FILE");
    if (options.json) {
        BUBBLESCOPE_ASSIGN(const Json document, toJson(planned, *report, options.curve));
        printJson(document);
    } else {
        printText(toText(planned.schedule, *report));
    }
    return report->overBudget() && !options.fail_on.empty() ? 1 : 0;
}

} // namespace

void addMemoryCommand(Command app, Action& action) {
    const Command command = app.addCommand("memory", "Estimate each rank's weights, optimizer state and activations");
    const auto options = std::make_shared<MemoryArguments>();
    options->schedule.addSchedule(command);
    options->schedule.addTimes(command);
    options->memory.add(command);
    command.addOption("--fail-on", options->fail_on, "Exit with 1 if a rank exceeds the budget: over-budget, any")
        .typeName("KIND")
        .delimiter(',')
        .oneOf({"any", "over-budget"});
    const Option json = command.addFlag("--json", options->json, "As a JSON document");
    command.addFlag("--curve", options->curve, "With each rank's memory over time, as [time_ns, bytes]").needs(json);
    command.onParsed([&action, options] { action = [options] { return print(*options); }; });
}

} // namespace bubblescope::cli
