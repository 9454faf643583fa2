#include "app/cli/command.h"
#include "app/cli/lowering_options.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "core/base/bytes.h"
#include "core/cost/model_presets.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/report/results/memory.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

namespace bubblescope::cli {
namespace {

struct MemoryArguments {
    ScheduleRequest schedule;
    MemoryRequest memory;
    WeightTimes copies;
    std::vector<std::string> fail_on;
    bool curve = false;
    bool json = false;
};

/// Measured peak to which the model was fitted, and the deviation of the model.
report::Cell measuredCell(const MemoryReport& memory, Rank rank) {
    for (const MeasuredPeak& peak : memory.measured) {
        if (peak.rank != rank || peak.bytes <= 0) continue;
        const auto estimate = static_cast<double>(memory.ranks[rank.index()].peak());
        return report::Cell(peak.bytes)
            .as(fmt::format("{} ({:+.1f} %)", formatBytes(peak.bytes),
                            100 * (estimate / static_cast<double>(peak.bytes) - 1)));
    }
    return report::absent();
}

/// Adds the assumptions of an estimate from a preset.
void addAssumptions(report::Document& document, const TransformerShape& shape) {
    const ModelSizes usual;
    document.data("assumptions", report::Value::Object{{"sequence", shape.sequence},
                                                       {"microbatch", shape.microbatch},
                                                       {"tensor_ranks", shape.tp},
                                                       {"sequence_parallel", shape.sequence_parallel},
                                                       {"flash_attention", shape.flash_attention},
                                                       {"weight_bytes", shape.dtype_bytes},
                                                       {"gradient_bytes", shape.dtype_bytes},
                                                       {"optimizer_bytes", usual.optimizer_bytes},
                                                       {"optimizer_shards", usual.optimizer_shards}});
    document.paragraph("Assumed: ",
                       fmt::format("{} of {} tokens per micro-batch; {} tensor-parallel rank{}{}; {}{}; no "
                                   "recomputation; per parameter {} bytes of weight, {} of gradient and {} of "
                                   "optimizer state, not sharded over data-parallel ranks (no ZeRO).",
                                   shape.microbatch == 1 ? "1 sequence" : fmt::format("{} sequences", shape.microbatch),
                                   shape.sequence, shape.tp, shape.tp == 1 ? "" : "s",
                                   shape.sequence_parallel ? " with sequence parallelism" : "",
                                   shape.flash_attention ? "flash attention" : "attention scores kept",
                                   shape.experts.count > 0 ? "; all experts of a layer on its rank" : "",
                                   shape.dtype_bytes, shape.dtype_bytes, usual.optimizer_bytes));
}

Result<report::Document> toDocument(const Planned& planned, const MemoryReport& memory, bool curve) {
    using report::shown;
    const Schedule& schedule = planned.schedule;
    std::optional<StepTimeline> step;
    const bool moves = !memory.over_time.empty();
    if (curve && !moves) {
        BUBBLESCOPE_ASSIGN(step, simulate(schedule, planned.costs));
    }
    report::Document document;
    document.data("schedule", schedule.name);
    document.data("flavor", schedule.flavor);
    document.data("budget_bytes", memory.budget);
    document.line(scheduleTitle(schedule) + "\n");
    report::Value::List ranks;
    report::Table table({}, {shown("rank"), shown("weights"), shown("gradients"), shown("optimizer"),
                             shown("activations, peak"), shown("total, peak"), shown("at", report::Align::Left),
                             shown("made up of", report::Align::Left), shown("other"), shown("measured peak")});
    table.columns[8].hidden = table.columns[9].hidden = memory.measured.empty();
    constexpr auto kBytes = report::Look::Bytes;
    for (std::size_t r = 0; r < memory.ranks.size(); ++r) {
        const RankMemory& rank = memory.ranks[r];
        const auto& ops = schedule.ranks[r];
        table.row(r, report::Cell(rank.weights, kBytes), report::Cell(rank.gradients, kBytes),
                  report::Cell(rank.optimizer, kBytes), report::Cell(rank.peak_activations, kBytes),
                  report::Cell(rank.peak(), kBytes),
                  moves         ? memory.over_time[r].peak_op
                  : ops.empty() ? ""
                                : opName(ops[rank.peak_op]),
                  report::peakWords(schedule, memory, Rank{r}), report::Cell(rank.other, kBytes),
                  measuredCell(memory, Rank{r}));
        report::Value::Object object = report::memoryOf(schedule, memory, Rank{r});
        object.insert(object.begin(), {"rank", r});
        if (step) object.push_back({"curve", report::curveValue(memoryCurve(*step, Rank{r}, memory.model))});
        if (curve && moves) object.push_back({"curve", report::curveValue(memory.over_time[r].curve)});
        ranks.emplace_back(std::move(object));
    }
    document.data("ranks", std::move(ranks));
    document.add(std::move(table));
    report::addBudgetLines(document, schedule, memory);
    return document;
}

/// Memory use of the order, or of the order in a file with its moves of activations.
Result<std::optional<MemoryReport>> memoryOf(const MemoryArguments& options, const MemoryRequest& request,
                                             const Planned& planned) {
    if (options.schedule.file.empty()) return request.report(planned.schedule);
    BUBBLESCOPE_ASSIGN(LoweredSchedule lowered, readLoweredFile(options.schedule.file));
    if (!lowered.movesActivations()) return request.report(planned.schedule);
    if (!lowered.hasTransfers()) lowered = withTransfers(std::move(lowered));
    BUBBLESCOPE_ASSIGN(const LoweredStep step, simulateLowered(lowered, planned.costs, {}, options.copies));
    return request.report(lowered, step);
}

CommandResult estimate(const MemoryArguments& options) {
    BUBBLESCOPE_ASSIGN(const Planned planned, options.schedule.plan(TimeNs{1'000'000}));
    // An order with missing ops would free memory that was never allocated.
    BUBBLESCOPE_TRY(completeGraph(planned.schedule));
    MemoryRequest request = options.memory;
    BUBBLESCOPE_ASSIGN(SliceParts parts, options.schedule.slices(planned.schedule));
    request.slice_tokens = std::move(parts.tokens);
    BUBBLESCOPE_ASSIGN(const auto memory, memoryOf(options, request, planned));
    if (!memory)
        return usageError("no model given",
                          "use --preset NAME, such as --preset llama3-8b, --memory-model FILE or --peaks");
    BUBBLESCOPE_ASSIGN(report::Document document, toDocument(planned, *memory, options.curve));
    BUBBLESCOPE_ASSIGN(const auto shape, options.memory.shape());
    if (shape) addAssumptions(document, *shape);
    print(document, options.json);
    return memory->overBudget() && !options.fail_on.empty() ? 1 : 0;
}

/// Adds the options for the model, from a file or by name.
void addModelChoice(Command command, MemoryRequest& request) {
    command.optionGroup("Model");
    const Option preset = command
                              .addOption("--preset,--memory-preset", request.preset,
                                         fmt::format("A known model: {}", fmt::join(modelPresetNames(), ", ")))
                              .typeName("MODEL")
                              .suggests(modelPresetNames());
    const auto number = [&](const char* name, std::optional<int>& value, const char* about) {
        command.addOption(name, value, about).range(1, 1 << 20).typeName("N").needs(preset);
    };
    number("--tp", request.tensor_ranks, "Tensor-parallel ranks that share each layer of a preset (1)");
    number("--sequence", request.sequence, "Tokens per sequence of a preset (default: as in the model's training)");
    number("--batch", request.microbatch, "Sequences per micro-batch of a preset (1)");
    command.addOption("--memory-model", request.model, "Tensor sizes of another model's layers, as JSON")
        .typeName("FILE")
        .excludes(preset);
    command
        .addParsedList(
            "--peaks", request.peaks, parseMeasuredPeaks,
            "Fit the sizes to measured peaks of two or more ranks, such as 1=95.6GiB,6=58.1GiB; the model is "
            "then optional")
        .typeName("RANK=SIZE,...");
    command
        .addParsed("--memory-budget", request.budget, parseBytes,
                   "Memory per rank, such as 80GiB; the first op that exceeds it is reported")
        .typeName("SIZE");
}

} // namespace

void addMemoryCommand(Command app, Action& action) {
    const Command command = app.addCommand("memory", "Estimate each rank's weights, optimizer state and activations");
    const auto options = std::make_shared<MemoryArguments>();
    command.examples({"memory --preset llama3-8b --schedule 1f1b --pp 4 --microbatches 16",
                      "memory --preset gpt3-175b --tp 8 --schedule zb-h1 --pp 8 --microbatches 32"});
    addModelChoice(command, options->memory);
    addScheduleOptions(command, options->schedule);
    command.optionGroup("Output");
    command.addOption("--fail-on", options->fail_on, "Exit with 1 if a rank exceeds the budget: over-budget, any")
        .typeName("KIND")
        .delimiter(',')
        .oneOf({"any", "over-budget"});
    const Option json = command.addFlag("--json", options->json, "Print a JSON document");
    command.addFlag("--curve", options->curve, "Add each rank's memory over time, as [time_ns, bytes]").needs(json);
    addTimeOptions(command, options->schedule, Listed::InFullHelp);
    addCopyTimeOptions(command, options->copies);
    addSliceOptions(command, options->schedule);
    command.onParsed([&action, options] { action = [options] { return estimate(*options); }; });
}

} // namespace bubblescope::cli
