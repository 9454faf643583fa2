#include "app/cli/command.h"
#include "app/cli/memory_options.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "core/aadiff/plan.h"
#include "core/base/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace bubblescope::cli {
namespace {

struct AadiffArguments {
    ScheduleRequest schedule;
    MemoryRequest memory;
    int layers = 1;
    double margin = 10;
    TimeNs latency{0};
    bool steps = false;
    bool json = false;
};

/// Figures of a plan, for both forms of output.
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

/// Such as "F of layer 2, chunk 0".
std::string unitText(const CheckUnit& unit, bool layers) {
    return fmt::format("{} of {}chunk {}", opLetter(unit.kind),
                       layers ? fmt::format("layer {}, ", unit.layer) : std::string(), unit.chunk.value);
}

/// Table for text output.
report::Table slotsTable(const AadiffStudy& study) {
    using report::shown;
    report::Table table({}, {shown("rank"), shown("position", report::Align::Left), shown("idle, as executed"),
                             shown("with slack used"), shown("slots")});
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
            table.row(r, positionName(static_cast<Position>(at)), executed[at], retimed[at],
                      study.counts ? fmt::format("{}", count) : "–");
        }
    }
    return table;
}

std::int64_t checksIn(const RankPlan& rank) {
    std::int64_t checks = 0;
    for (const auto& step : rank.steps)
        checks += static_cast<std::int64_t>(step.size());
    return checks;
}

/// Table for text output.
report::Table planTable(const AadiffStudy& study) {
    using report::shown;
    report::Table table({}, {shown("rank"), shown("idle"), shown("checked per step"), shown("checks per step"),
                             shown("units"), shown("never"), shown("steps to all")});
    const AadiffPlan& plan = study.plan();
    for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
        const RankPlan& rank = plan.ranks[r];
        const auto steps = static_cast<double>(std::max<std::size_t>(rank.steps.size(), 1));
        table.row(r, rank.idle(), rank.checkedPerStep(),
                  fmt::format("{:.1f}", static_cast<double>(checksIn(rank)) / steps), rank.units.size(),
                  rank.never.size(), stepsText(rank.stepsToFull()));
    }
    return table;
}

std::string compareText(const AadiffStudy& study) {
    const auto line = [&study](const char* name, const AadiffPlan& plan) {
        return fmt::format("  {:<16} repeats {:.1f} % of a step's work, covers {:.0f} % of the units, {}\n", name,
                           100 * study.checkedFraction(plan), 100 * AadiffStudy::coverableFraction(plan),
                           plan.stepsToFull() ? fmt::format("all of them after {} step{}", *plan.stepsToFull(),
                                                            *plan.stepsToFull() == 1 ? "" : "s")
                                              : "others: never");
    };
    std::string out = line("as executed", study.as_executed) + line("with slack used", study.with_slack);
    out += study.retiming()
               ? "Ops are delayed within their slack: idle time is gathered, and the step does not get longer."
               : "Ops run as early as possible: delaying them would not help.";
    return out;
}

void addNever(report::Section& document, const AadiffPlan& plan, bool layers) {
    constexpr std::size_t kShown = 3;
    report::Section section;
    section.heading = "Never checked: no slot is long enough before the inputs are freed (split chunks with --layers, "
                      "or lower --margin)";
    for (const RankPlan& rank : plan.ranks) {
        if (rank.never.empty()) continue;
        std::string units;
        for (std::size_t i = 0; i < std::min(kShown, rank.never.size()); ++i)
            units += (i == 0 ? "" : "; ") + unitText(rank.units[rank.never[i]], layers);
        if (rank.never.size() > kShown) units += fmt::format("; {} more", rank.never.size() - kShown);
        section.line(fmt::format("  rank {}: {}", rank.units.front().rank.value, units));
    }
    document.add(std::move(section));
}

void addForPeople(report::Section& document, const Schedule& schedule, const AadiffStudy& study,
                  const AadiffArguments& options) {
    document.line(fmt::format("{}; {} layer{} per chunk, margin {:g} %\n", scheduleTitle(schedule), options.layers,
                              options.layers == 1 ? "" : "s", options.margin));
    document.line("Slots");
    report::Table slots = slotsTable(study);
    if (slots.rows.empty()) {
        document.line("There are no bubbles.");
    } else {
        document.add(std::move(slots));
        if (study.counts) document.line("\nIn the closed form, a slot is the time of one op.");
    }
    document.line("\nPlan");
    document.add(planTable(study));
    document.line("\n" + compareText(study));
    const Totals totals = totalsOf(study.plan());
    if (totals.kept_bytes > 0)
        document.line(fmt::format("Inputs kept for checks: at most {} per rank", formatBytes(totals.kept_bytes)));
    addNever(document, study.plan(), options.layers > 1);
}

report::Table slotRows(const RankPlan& rank) {
    using report::data;
    report::Table table("slots", {data("position"), data("start_ns"), data("end_ns"), data("next_op")});
    for (const Slot& slot : rank.slots)
        table.row(positionName(slot.position), slot.start, slot.end, slot.next_op);
    return table;
}

report::Table neverRows(const RankPlan& rank) {
    using report::data;
    report::Table table("never", {data("kind"), data("chunk"), data("layer")});
    for (const std::size_t unit : rank.never)
        table.row(std::string(1, opLetter(rank.units[unit].kind)), rank.units[unit].chunk, rank.units[unit].layer);
    return table;
}

report::Value checkOf(const RankPlan& rank, const PlannedCheck& check, const StepTimeline& step) {
    const CheckUnit& unit = rank.units[check.unit];
    return report::Value::Object{{"slot", check.slot},  {"op", opName(step.ranks[unit.rank.index()][check.op].op)},
                                 {"layer", unit.layer}, {"start_ns", check.start},
                                 {"end_ns", check.end}, {"inputs_kept", check.kept}};
}

report::Section rankSection(const RankPlan& rank, const AadiffStudy& study, Rank number, bool with_steps) {
    report::Section section;
    section.data("rank", number);
    section.data("idle_ns", rank.idle());
    section.data("before_first_ns", rank.before_first);
    section.data("checked_per_step_ns", rank.checkedPerStep());
    section.data("units", rank.units.size());
    section.add(neverRows(rank));
    section.data("steps_to_full", rank.stepsToFull());
    section.data("kept_bytes", rank.peak_kept_bytes);
    section.add(slotRows(rank));
    if (study.counts) {
        report::Value::Object counts;
        for (std::size_t at = 0; at < kPositionCount; ++at) {
            counts.push_back(
                {std::string(positionName(static_cast<Position>(at))), study.counts->ranks[number.index()][at]});
        }
        counts.push_back({"total", study.counts->total(number)});
        section.data("slot_counts", std::move(counts));
    }
    if (!with_steps) return section;
    report::Value::List steps;
    for (const auto& checks : rank.steps) {
        report::Value::List list;
        for (const PlannedCheck& check : checks)
            list.push_back(checkOf(rank, check, study.timeline()));
        steps.emplace_back(std::move(list));
    }
    section.data("steps", std::move(steps));
    return section;
}

void addForPrograms(report::Section& document, const Schedule& schedule, const AadiffStudy& study,
                    const AadiffArguments& options) {
    const auto summary = [&study](const AadiffPlan& of) {
        return report::Value::Object{{"share_of_work", study.checkedFraction(of)},
                                     {"coverable", AadiffStudy::coverableFraction(of)},
                                     {"steps_to_full", of.stepsToFull()}};
    };
    document.data("schedule", schedule.name);
    document.data("flavor", schedule.flavor);
    document.data("makespan_ns", study.timeline().wall());
    document.data("retimed", study.retiming());
    document.data("as_executed", summary(study.as_executed));
    document.data("with_slack", summary(study.with_slack));
    report::Sections ranks;
    ranks.key = "ranks";
    const AadiffPlan& plan = study.plan();
    for (std::size_t r = 0; r < plan.ranks.size(); ++r)
        ranks.list.push_back(rankSection(plan.ranks[r], study, Rank{r}, options.steps));
    document.add(std::move(ranks));
}

CommandResult plan(const AadiffArguments& options) {
    BUBBLESCOPE_ASSIGN(const Planned planned, options.schedule.plan(TimeNs{1'000'000}));
    PlanLimits limits;
    limits.layers.assign(planned.schedule.ranks.size() * static_cast<std::size_t>(planned.schedule.vpp),
                         options.layers);
    limits.margin = options.margin / 100;
    limits.latency = options.latency;
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
    report::Document document;
    if (options.json)
        addForPrograms(document, planned.schedule, study, options);
    else
        addForPeople(document, planned.schedule, study, options);
    print(document, options.json);
    return 0;
}

} // namespace

void addAadiffCommand(Command app, Action& action, ProcessTeam* team) {
    const Command aadiff =
        app.addCommand("aadiff", "Recompute ops in bubbles and compare the bits, to catch hardware that miscomputes");
    aadiff.needsCommand();
    aadiff.examples({"aadiff run --schedule 1f1b --pp 4 --microbatches 8 --forward 5ms --backward 10ms",
                     "aadiff compare before after"});
    addCheckedRunCommand(aadiff, action, team);
    addAadiffCompareCommand(aadiff, action);
    const Command command = aadiff.addCommand(
        "plan",
        "Show which ops can be repeated in a schedule's bubbles, and how many steps it takes to check all of them");
    const auto options = std::make_shared<AadiffArguments>();
    command.examples({"aadiff plan --schedule 1f1b --pp 4 --microbatches 8 --forward 5ms --backward 10ms",
                      "aadiff plan --schedule zb-h1 --pp 8 --microbatches 32 --layers 4"});
    addScheduleOptions(command, options->schedule);
    addTimeOptions(command, options->schedule);
    command.optionGroup("Checks");
    command.addOption("--layers", options->layers, "Layers per chunk; each is checked separately")
        .typeName("N")
        .range(1, 4096)
        .showDefault();
    command
        .addOption("--margin", options->margin,
                   "Safety margin in percent: a check may take this much longer than its op without delaying the step")
        .typeName("PERCENT")
        .range(0.0, 1000.0)
        .showDefault();
    command
        .addParsed("--latency", options->latency, parseTime, "Delay between the request for a check and its start (0)")
        .typeName("TIME");
    command.optionGroup("Output");
    const Option json = command.addFlag("--json", options->json, "Print a JSON document");
    command.addFlag("--steps", options->steps, "List the checks of each step until all work is covered").needs(json);
    addSimulationOptions(command, options->schedule);
    addMemoryOptions(command, options->memory);
    command.onParsed([&action, options] { action = [options] { return plan(*options); }; });
}

} // namespace bubblescope::cli
