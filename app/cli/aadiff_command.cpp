#include "app/cli/aadiff_compare.h"
#include "app/cli/command.h"
#include "app/cli/memory_options.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "app/cli/table.h"
#include "core/aadiff/plan.h"
#include "core/base/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace bubblescope::cli {
namespace {

struct AadiffArguments {
    ScheduleOptions schedule;
    MemoryOptions memory;
    int layers = 1;
    double margin = 10;
    std::string latency = "0";
    bool steps = false;
    bool json = false;
};

/// The numbers of a plan that both outputs show.
struct Totals {
    TimeNs idle{0};
    TimeNs checked{0};
    std::size_t units = 0;
    std::size_t never = 0;
    std::int64_t kept_bytes = 0;
};

Totals totalsOf(const AadiffPlan& plan) {
    Totals out;
    for (const RankPlan& rank : plan.ranks) {
        out.idle += rank.idle();
        out.checked += rank.checkedPerStep();
        out.units += rank.units.size();
        out.never += rank.never.size();
        out.kept_bytes = std::max(out.kept_bytes, rank.peak_kept_bytes);
    }
    return out;
}

std::string stepsText(std::optional<int> steps) {
    return steps ? fmt::format("{}", *steps) : "never";
}

/// "F of layer 2, chunk 0".
std::string unitText(const CheckUnit& unit, bool layers) {
    return fmt::format("{} of {}chunk {}", opLetter(unit.kind),
                       layers ? fmt::format("layer {}, ", unit.layer) : std::string(), unit.chunk.value);
}

std::string slotsText(const AadiffStudy& study) {
    Table table({{"rank"}, {"position", kLeft}, {"idle, as executed"}, {"with slack used"}, {"slots"}});
    for (std::size_t r = 0; r < study.with_slack.ranks.size(); ++r) {
        PerPosition<TimeNs> executed{};
        PerPosition<TimeNs> retimed{};
        for (const Slot& slot : study.as_executed.ranks[r].slots)
            executed[positionIndex(slot.position)] += slot.duration();
        for (const Slot& slot : study.with_slack.ranks[r].slots)
            retimed[positionIndex(slot.position)] += slot.duration();
        for (std::size_t at = 0; at < kPositionCount; ++at) {
            const int count = study.counts ? study.counts->ranks[r][at] : 0;
            if (executed[at] == TimeNs{0} && retimed[at] == TimeNs{0} && count == 0) continue;
            table.row({fmt::format("{}", r), std::string(positionName(static_cast<Position>(at))),
                       formatTime(executed[at]), formatTime(retimed[at]),
                       study.counts ? fmt::format("{}", count) : "–"});
        }
    }
    if (table.empty()) return "There are no bubbles.\n";
    return table.text() + (study.counts ? "\nA slot is one op's time in the closed form.\n" : "");
}

std::string planText(const AadiffStudy& study) {
    Table table({{"rank"}, {"idle"}, {"checked a step"}, {"checks a step"}, {"units"}, {"never"}, {"steps to all"}});
    const AadiffPlan& plan = study.plan();
    for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
        const RankPlan& rank = plan.ranks[r];
        std::size_t checks = 0;
        for (const auto& step : rank.steps)
            checks += step.size();
        const auto steps = static_cast<double>(std::max<std::size_t>(rank.steps.size(), 1));
        table.row({fmt::format("{}", r), formatTime(rank.idle()), formatTime(rank.checkedPerStep()),
                   fmt::format("{:.1f}", static_cast<double>(checks) / steps), fmt::format("{}", rank.units.size()),
                   fmt::format("{}", rank.never.size()), stepsText(rank.stepsToFull())});
    }
    return table.text();
}

std::string compareText(const AadiffStudy& study) {
    const auto line = [&study](const char* name, const AadiffPlan& plan) {
        return fmt::format("  {:<16} {:.1f} % of a step's work twice, {:.0f} % of the units, {}\n", name,
                           100 * study.checkedFraction(plan), 100 * AadiffStudy::coverableFraction(plan),
                           plan.stepsToFull() ? fmt::format("all of them after {} step{}", *plan.stepsToFull(),
                                                            *plan.stepsToFull() == 1 ? "" : "s")
                                              : "others never");
    };
    std::string out = line("as executed", study.as_executed) + line("with slack used", study.with_slack);
    out += study.retiming()
               ? "Ops are held back within their slack: the step takes as long, its idle time lies together.\n"
               : "Ops run as early as they can: holding them back gains nothing.\n";
    return out;
}

std::string neverText(const AadiffPlan& plan, bool layers) {
    constexpr std::size_t kShown = 3;
    std::string out;
    for (const RankPlan& rank : plan.ranks) {
        if (rank.never.empty()) continue;
        std::string units;
        for (std::size_t i = 0; i < std::min(kShown, rank.never.size()); ++i)
            units += (i == 0 ? "" : "; ") + unitText(rank.units[rank.never[i]], layers);
        if (rank.never.size() > kShown) units += fmt::format("; {} more", rank.never.size() - kShown);
        out += fmt::format("  rank {}: {}\n", rank.units.front().rank.value, units);
    }
    if (out.empty()) return out;
    return "\nNever checked: no slot is long enough in which the inputs are there (cut into --layers, or lower "
           "--margin)\n" +
           out;
}

std::string toText(const Schedule& schedule, const AadiffStudy& study, const AadiffArguments& options) {
    const Totals totals = totalsOf(study.plan());
    std::string out = fmt::format("{}; {} layer{} a chunk, margin {:g} %\n\n", scheduleTitle(schedule), options.layers,
                                  options.layers == 1 ? "" : "s", options.margin);
    out += "Slots\n" + slotsText(study) + "\nPlan\n" + planText(study) + "\n" + compareText(study);
    if (totals.kept_bytes > 0)
        out += fmt::format("Inputs kept for checks: {} at most on a rank\n", formatBytes(totals.kept_bytes));
    return out + neverText(study.plan(), options.layers > 1);
}

Json slotJson(const Slot& slot) {
    return {{"position", positionName(slot.position)},
            {"start_ns", slot.start.count()},
            {"end_ns", slot.end.count()},
            {"next_op", slot.next_op}};
}

Json checkJson(const RankPlan& rank, const PlannedCheck& check, const StepTimeline& step) {
    const CheckUnit& unit = rank.units[check.unit];
    return {{"slot", check.slot},          {"op", opName(step.ranks[unit.rank.index()][check.op].op)},
            {"layer", unit.layer},         {"start_ns", check.start.count()},
            {"end_ns", check.end.count()}, {"inputs_kept", check.kept}};
}

Json rankJson(const RankPlan& rank, const StepTimeline& step, const SlotCounts* counts, Rank number, bool with_steps) {
    Json slots = Json::array();
    for (const Slot& slot : rank.slots)
        slots.push_back(slotJson(slot));
    Json never = Json::array();
    for (const std::size_t unit : rank.never)
        never.push_back({{"kind", std::string(1, opLetter(rank.units[unit].kind))},
                         {"chunk", rank.units[unit].chunk.value},
                         {"layer", rank.units[unit].layer}});
    Json out = {{"rank", number.value},
                {"idle_ns", rank.idle().count()},
                {"before_first_ns", rank.before_first.count()},
                {"checked_per_step_ns", rank.checkedPerStep().count()},
                {"units", rank.units.size()},
                {"never", never},
                {"steps_to_full", rank.stepsToFull() ? Json(*rank.stepsToFull()) : Json()},
                {"kept_bytes", rank.peak_kept_bytes},
                {"slots", slots}};
    if (counts != nullptr) {
        for (std::size_t at = 0; at < kPositionCount; ++at)
            out["slot_counts"][std::string(positionName(static_cast<Position>(at)))] =
                counts->ranks[number.index()][at];
        out["slot_counts"]["total"] = counts->total(number);
    }
    if (!with_steps) return out;
    out["steps"] = Json::array();
    for (const auto& checks : rank.steps) {
        Json list = Json::array();
        for (const PlannedCheck& check : checks)
            list.push_back(checkJson(rank, check, step));
        out["steps"].push_back(std::move(list));
    }
    return out;
}

Json toJson(const Schedule& schedule, const AadiffStudy& study, const AadiffArguments& options) {
    const AadiffPlan& plan = study.plan();
    Json ranks = Json::array();
    for (std::size_t r = 0; r < plan.ranks.size(); ++r)
        ranks.push_back(
            rankJson(plan.ranks[r], study.timeline(), study.counts ? &*study.counts : nullptr, Rank{r}, options.steps));
    const auto summary = [&study](const AadiffPlan& of) {
        return Json{{"share_of_work", study.checkedFraction(of)},
                    {"coverable", AadiffStudy::coverableFraction(of)},
                    {"steps_to_full", of.stepsToFull() ? Json(*of.stepsToFull()) : Json()}};
    };
    return {{"schedule", schedule.name},
            {"flavor", schedule.flavor},
            {"makespan_ns", study.timeline().wall().count()},
            {"retimed", study.retiming()},
            {"as_executed", summary(study.as_executed)},
            {"with_slack", summary(study.with_slack)},
            {"ranks", ranks}};
}

CommandResult plan(const AadiffArguments& options) {
    BUBBLESCOPE_ASSIGN(const Planned planned, options.schedule.plan(TimeNs{1'000'000}));
    PlanLimits limits;
    limits.layers.assign(planned.schedule.ranks.size() * static_cast<std::size_t>(planned.schedule.vpp),
                         options.layers);
    limits.margin = options.margin / 100;
    BUBBLESCOPE_ASSIGN(limits.latency, parseTime(options.latency));
    BUBBLESCOPE_ASSIGN(const auto memory, options.memory.report(planned.schedule));
    if (memory) {
        for (const StageMemory& stage : memory->model.stages)
            limits.kept_bytes.push_back(stage.activations.forward);
        if (memory->budget) {
            for (const RankMemory& rank : memory->ranks)
                limits.spare_bytes.push_back(std::max<std::int64_t>(0, *memory->budget - rank.peak()));
        }
    }
    BUBBLESCOPE_ASSIGN(const AadiffStudy study, studyAadiff(planned.schedule, planned.costs, limits));
    if (options.json)
        printJson(toJson(planned.schedule, study, options));
    else
        printText(toText(planned.schedule, study, options));
    return 0;
}

} // namespace

void addAadiffCommand(Command app, Action& action, ProcessTeam* team) {
    const Command aadiff = app.addCommand("aadiff", "Check in bubbles that the hardware computes the same thing twice");
    aadiff.needsCommand();
    addCheckedRunCommand(aadiff, action, team);
    addAadiffCompareCommand(aadiff, action);
    const Command command = aadiff.addCommand("plan", "Which ops a schedule's bubbles can run again, and how soon all");
    const auto options = std::make_shared<AadiffArguments>();
    options->schedule.addSchedule(command);
    options->schedule.addTimes(command);
    options->schedule.addTransfers(command);
    options->memory.add(command);
    command.addOption("--layers", options->layers, "Layers of a chunk, each of which is checked by itself")
        .typeName("N")
        .range(1, 4096)
        .showDefault();
    command.addOption("--margin", options->margin, "By how much a check may take longer and delay nobody, in percent")
        .typeName("PERCENT")
        .range(0.0, 1000.0)
        .showDefault();
    command.addOption("--latency", options->latency, "From the decision to check to the first work")
        .typeName("TIME")
        .showDefault();
    const Option json = command.addFlag("--json", options->json, "As a JSON document");
    command.addFlag("--steps", options->steps, "With every check of every step until all is covered").needs(json);
    command.onParsed([&action, options] { action = [options] { return plan(*options); }; });
}

} // namespace bubblescope::cli
