#include "app/cli/command.h"
#include "app/cli/load_options.h"
#include "app/cli/memory_options.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "app/cli/step_options.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/base/bytes.h"
#include "core/base/open_input.h"
#include "core/base/text.h"
#include "core/graph/simulate.h"
#include "core/optimize/fill/fill.h"
#include "core/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>

namespace bubblescope::cli {
namespace {

struct FillArguments {
    std::vector<std::string> files;
    ScheduleRequest schedule;
    StepRequest steps;
    MemoryRequest memory;
    FillOptions fill;         ///< settings that require neither another option nor a file
    double margin = 10;       ///< percent
    double weight_share = 50; ///< percent
    std::optional<std::int64_t> checkpoint;
    std::int64_t copy_bandwidth = 0;
    std::string side_job;
    bool json = false;
    bool csv = false;
};

/// Parses kernel durations with units, one per line or separated by commas. '#' starts a comment.
Result<std::vector<TimeNs>> readKernels(const std::string& file) {
    BUBBLESCOPE_ASSIGN(std::string text, readInputText(file, "kernel durations"));
    std::vector<TimeNs> kernels;
    std::istringstream lines(std::move(text));
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        line.resize(std::min(line.find('#'), line.size()));
        std::ranges::replace(line, ',', ' ');
        std::istringstream words(line);
        for (std::string word; words >> word;) {
            const auto time = parseTime(word);
            if (!time.ok() || time.value() <= TimeNs{0}) {
                return inputError(fmt::format("{}, line {}", file, number),
                                  fmt::format("'{}' is not a kernel duration", word), "write times such as 120us");
            }
            kernels.push_back(time.value());
        }
    }
    if (kernels.empty())
        return inputError(file, "contains no kernel duration", "write times such as 120us, one per line");
    return kernels;
}

Result<TimeNs> parseLength(std::string_view text) {
    BUBBLESCOPE_ASSIGN(const TimeNs time, parseTime(text));
    if (time <= TimeNs{0}) return usageError(fmt::format("'{}' is not greater than 0", text), "use a time such as 2ms");
    return time;
}

Result<FillOptions> fillOptions(const FillArguments& options, const Schedule& schedule) {
    FillOptions fill = options.fill;
    fill.margin = options.margin / 100;
    fill.weight_share = options.weight_share / 100;
    if (options.checkpoint) {
        if (*options.checkpoint < 1)
            return usageError("--checkpoint copies nothing", "specify the size of a rank's weights");
        fill.checkpoint = transmissionTime(*options.checkpoint, options.copy_bandwidth);
    }
    if (!options.side_job.empty()) {
        BUBBLESCOPE_ASSIGN(fill.side_job, readKernels(options.side_job));
    }
    BUBBLESCOPE_ASSIGN(fill.memory, options.memory.use(schedule));
    if (fill.memory && !options.memory.budget)
        return usageError("--memory-model does not set a limit", "also use --memory-budget");
    fill.budget = options.memory.budget.value_or(0);
    return fill;
}

/// "F3.1", or the end of the step.
std::string nextOpText(const FillBubble& bubble, const StepTimeline& typical) {
    const auto& ops = typical.ranks[bubble.rank.index()];
    return bubble.next_op < ops.size() ? opName(ops[bubble.next_op].op) : std::string("the end");
}

report::Table bubblesTable(const FillStudy& study, const StepTimeline& typical) {
    using report::column;
    using report::data;
    const bool memory =
        std::ranges::any_of(study.bubbles, [](const auto& each) { return each.free_bytes.has_value(); });
    report::Table table("bubbles",
                        {column("rank", "rank"), column("position", "position", report::Align::Left), data("next_op"),
                         column("before", "before", report::Align::Left), column("start_ns", "begins"),
                         column("mean_ns", "mean"), column("sure_ns", "in 9 of 10 steps"),
                         column("free_bytes", memory ? "free memory" : "")});
    table.most_in_text = 24;
    table.more = "… and {} more; --csv lists all";
    for (const FillBubble& bubble : study.bubbles) {
        report::Cell free = report::Cell(report::Value()).as("");
        if (bubble.free_bytes) free = report::Cell(*bubble.free_bytes, report::Look::Bytes);
        table.row(bubble.rank, positionName(bubble.position), bubble.next_op, nextOpText(bubble, typical), bubble.start,
                  bubble.mean, bubble.sure, std::move(free));
    }
    return table;
}

std::string piecesText(const FilledWork& work) {
    return work.offered > 0 ? fmt::format("{} of {}", work.placed, work.offered) : fmt::format("{}", work.placed);
}

report::Table worksTable(const FillStudy& study) {
    using report::column;
    using report::data;
    using report::shown;
    report::Table table("works",
                        {column("kind", "work", report::Align::Left), shown("pieces"), data("offered"), data("placed"),
                         data("offered_time_ns"), column("time_ns", "time"), column("share", "of idle"),
                         column("delay_ns", "delay"), data("late_delay_ns"), column("gain_ns", "gain"), data("worth"),
                         column("reason", "verdict", report::Align::Left), data("bubbles")});
    for (const FilledWork& work : study.works) {
        report::Value::List bubbles;
        for (const FilledBubble& filled : work.bubbles) {
            const FillBubble& bubble = study.bubbles[filled.bubble];
            bubbles.emplace_back(report::Value::Object{{"rank", bubble.rank},
                                                       {"next_op", bubble.next_op},
                                                       {"pieces", filled.pieces},
                                                       {"time_ns", filled.time}});
        }
        table.row(fillKindName(work.kind), piecesText(work), work.offered, work.placed, work.offered_time, work.time,
                  report::Cell(work.share, report::Look::Percent), work.delay, work.late_delay, work.gain, work.worth,
                  work.reason, std::move(bubbles));
    }
    return table;
}

report::Document toDocument(const FillStudy& study, const StepTimeline& typical, bool recorded) {
    report::Document document;
    document.data("recorded", recorded);
    document.data("steps", study.steps);
    document.data("step_time_ns", study.step_time);
    document.data("idle_ns", study.idle);
    document.data("idle_share", study.idle_share);
    document.data("busiest_rank", study.busiest);
    document.line(fmt::format(
        "A step takes {} ({}). Ranks spend {} of their time waiting for inputs, rank {} the least.\n",
        formatTime(study.step_time),
        recorded ? "mean of " + pluralize(static_cast<std::size_t>(study.steps), "step") : std::string("simulated"),
        formatPercent(study.idle_share), study.busiest.value));
    document.add(bubblesTable(study, typical));
    document.line("");
    document.add(worksTable(study));
    document.line("");
    document.paragraph("", "Each kind of work is tried separately. Delay and gain are means over the steps, replayed "
                           "with the work in the bubbles.");
    return document;
}

/// Prints one line per bubble and kind of work in it.
void printCsv(const FillStudy& study, const StepTimeline& typical) {
    std::string text = "rank,position,before,start_ns,mean_ns,sure_ns,free_bytes,work,pieces,time_ns\n";
    for (std::size_t b = 0; b < study.bubbles.size(); ++b) {
        const FillBubble& bubble = study.bubbles[b];
        const std::string line =
            fmt::format("{},{},{},{},{},{},{}", bubble.rank.value, positionName(bubble.position),
                        nextOpText(bubble, typical), bubble.start.count(), bubble.mean.count(), bubble.sure.count(),
                        bubble.free_bytes ? fmt::format("{}", *bubble.free_bytes) : std::string{});
        bool held = false;
        for (const FilledWork& work : study.works) {
            const auto filled = std::ranges::find(work.bubbles, b, &FilledBubble::bubble);
            if (filled == work.bubbles.end()) continue;
            held = true;
            text += fmt::format("{},{},{},{}\n", line, fillKindName(work.kind), filled->pieces, filled->time.count());
        }
        if (!held) text += line + ",,0,0\n";
    }
    printText(text);
}

CommandResult answer(const FillArguments& options, std::span<const StepTimeline* const> steps,
                     const StepTimeline& typical, bool recorded) {
    BUBBLESCOPE_ASSIGN(const FillOptions fill, fillOptions(options, executedOrder(typical)));
    BUBBLESCOPE_ASSIGN(const FillStudy study, studyFill(steps, typical, fill));
    if (options.csv)
        printCsv(study, typical);
    else
        print(toDocument(study, typical, recorded), options.json);
    return 0;
}

CommandResult fillTrace(const FillArguments& options) {
    if (options.schedule.timed()) return usageError("a trace already contains op times", "omit the times or the files");
    LoadOptions known;
    if (options.schedule.given()) BUBBLESCOPE_TRY(options.schedule.open(known));
    BUBBLESCOPE_ASSIGN(Run loaded, loadWatched(options.files, known));
    BUBBLESCOPE_TRY(rejectMoving(loaded.schedule.placement, "filling bubbles"));
    BUBBLESCOPE_ASSIGN(const AlignedRun run, alignedRun(std::move(loaded)));
    BUBBLESCOPE_ASSIGN(const StepSelection selection, selectSteps(run.run.steps, options.steps));
    std::vector<const StepTimeline*> steps;
    for (std::size_t i = 0; i < run.run.steps.size(); ++i) {
        if (selection.takes(i)) steps.push_back(&run.run.steps[i]);
    }
    printProblems(run.run.problems);
    return answer(options, steps, run.run.steps[selection.typicalTimeline()], true);
}

CommandResult fillSchedule(const FillArguments& options) {
    if (!options.steps.empty())
        return usageError("--step and --replica select from a trace, but no file is given", "omit them");
    BUBBLESCOPE_ASSIGN(const Planned planned, options.schedule.plan(TimeNs{1'000'000}));
    BUBBLESCOPE_ASSIGN(const StepTimeline step, simulate(planned.schedule, planned.costs));
    const StepTimeline* const only = &step;
    return answer(options, {&only, 1}, step, false);
}

} // namespace

void addFillCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("fill", "Find work that fits into the bubbles of a trace or schedule, and whether it pays off");
    const auto options = std::make_shared<FillArguments>();
    command.examples({"fill my-run --optimizer 12ms", "fill --schedule 1f1b --pp 4 --microbatches 8 --encoder 2ms"});
    command.addOption("FILES", options->files, "Trace files or folders; if none are given, the schedule is simulated");
    addScheduleOptions(command, options->schedule);
    addTimeOptions(command, options->schedule);
    addStepOptions(command, options->steps,
                   "Use only these steps of the trace (default: all but warm-up and outliers)");
    command.optionGroup("Cost of a piece");
    command
        .addOption("--margin", options->margin,
                   "Safety margin in percent: a piece of work may take this much longer than stated (10)")
        .typeName("PERCENT")
        .range(0.0, 1000.0);
    command.addParsed("--latency", options->fill.latency, parseTime, "Cost of starting a piece of work (10us)")
        .typeName("TIME");
    command
        .addOption("--weight-share", options->weight_share,
                   "Share of weight gradients in the time of a whole backward, in percent (50)")
        .typeName("PERCENT")
        .range(0.0, 100.0);
    const std::string group = "Work to put into bubbles";
    command
        .addParsed("--optimizer", options->fill.optimizer, parseLength,
                   "Time of a rank's optimizer step (default: as recorded)")
        .typeName("TIME")
        .group(group);
    const Option encoder = command
                               .addParsed("--encoder", options->fill.encoder, parseLength,
                                          "Time of an encoder's forward for one micro-batch")
                               .typeName("TIME")
                               .group(group);
    command
        .addParsed("--encoder-memory", options->fill.encoder_bytes, parseBytes,
                   "Memory that each encoder forward keeps")
        .typeName("SIZE")
        .needs(encoder)
        .group(group);
    const Option bandwidth = command
                                 .addParsed("--copy-bandwidth", options->copy_bandwidth, parseBandwidth,
                                            "Bandwidth of copies to the host, such as 20GB/s")
                                 .typeName("RATE")
                                 .group(group);
    command
        .addParsed("--checkpoint", options->checkpoint, parseBytes,
                   "Size of a rank's weights, which are copied for a checkpoint, such as 12GiB")
        .typeName("SIZE")
        .needs(bandwidth)
        .group(group);
    const Option side = command
                            .addOption("--side-job", options->side_job,
                                       "File with the kernel durations of another job, one per line, such as 120us")
                            .typeName("FILE")
                            .group(group);
    command.addParsed("--side-memory", options->fill.side_bytes, parseBytes, "Memory that the other job needs per rank")
        .typeName("SIZE")
        .needs(side)
        .group(group);
    command.optionGroup("Output");
    const Option json = command.addFlag("--json", options->json, "Print a JSON document");
    command.addFlag("--csv", options->csv, "Print CSV, with one line per piece of work in a bubble").excludes(json);
    addSimulationOptions(command, options->schedule);
    addMemoryOptions(command, options->memory);
    command.onParsed([&action, options] {
        action = [options] { return options->files.empty() ? fillSchedule(*options) : fillTrace(*options); };
    });
}

} // namespace bubblescope::cli
