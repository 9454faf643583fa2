#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "core/cost/partition.h"
#include "core/frameworks/layer_layout.h"
#include "core/optimize/partition/layer_times.h"
#include "core/optimize/partition/optimise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>

namespace bubblescope::cli {
namespace {

struct PartitionArguments {
    ScheduleRequest schedule;
    std::optional<int> layers;
    std::vector<int> per_rank;
    int first_less = 0;
    int last_less = 0;
    std::string placement;
    std::string layout;
    std::string parts;
    std::string framework;
    std::string layer_times;
    TimeNs comm{0};
    std::optional<std::int64_t> memory_budget;
    bool json = false;
};

Result<Partition> byRank(const PartitionArguments& options, int vpp, Placement placement) {
    const std::int64_t sum = std::accumulate(options.per_rank.begin(), options.per_rank.end(), std::int64_t{0});
    if (options.layers && *options.layers != sum) {
        return usageError(fmt::format("--layers-per-rank adds up to {}, but --layers is {}", sum, *options.layers),
                          "omit --layers or correct one of them");
    }
    const int pp = options.schedule.spec.pp;
    if (pp != 0 && options.per_rank.size() != static_cast<std::size_t>(pp)) {
        return usageError(fmt::format("--layers-per-rank lists {} ranks, but --pp is {}", options.per_rank.size(), pp),
                          "omit --pp or correct one of them");
    }
    return partitionByRank(options.per_rank, vpp, placement);
}

/// A split in the syntax of a framework.
struct GivenSplit {
    std::string name; ///< the option with its value; empty if there is none
    Partition partition;
    std::vector<LayerKind> kinds; ///< the kind of each unit in order; empty if the syntax does not specify kinds
};

Result<GivenSplit> givenSplit(const PartitionArguments& options, int pp) {
    if (!options.layout.empty()) {
        BUBBLESCOPE_ASSIGN(const LayerLayout layout, layoutFromMegatron(options.layout, pp));
        GivenSplit given{fmt::format("--layout {}", options.layout), layout.units(), {}};
        for (const auto& stage : layout.stages)
            given.kinds.insert(given.kinds.end(), stage.begin(), stage.end());
        return given;
    }
    if (!options.parts.empty()) {
        BUBBLESCOPE_ASSIGN(Partition partition, partitionFromDeepSpeed(options.parts));
        return GivenSplit{fmt::format("--parts {}", options.parts), std::move(partition), {}};
    }
    return GivenSplit{};
}

/// Converts the split to the syntax of the framework in --for.
Result<std::string> frameworkText(const PartitionArguments& options, const Partition& partition,
                                  const std::vector<LayerKind>& kinds, int pp, Placement placement) {
    if (options.framework == "deepspeed") {
        if (static_cast<int>(partition.layers_per_stage.size()) != pp)
            return usageError("DeepSpeed has one stage per rank", "omit --vpp");
        return fmt::format("parts = {}", partitionToDeepSpeed(partition));
    }
    const LayerLayout layout = layoutOf(partition, kinds);
    if (options.framework == "megatron") {
        if (placement != Placement::Loop)
            return usageError("Megatron-core supports only loop placement", "omit --placement");
        BUBBLESCOPE_ASSIGN(const std::string text, layoutToMegatron(layout, pp));
        return fmt::format("--pipeline-model-parallel-layout '{}'", text);
    }
    BUBBLESCOPE_ASSIGN(const std::string names, modulesPerStage(layout, options.framework == "automodel"));
    return fmt::format("module_fqns_per_model_part = {}", names);
}

Status addFrameworkText(report::Section& document, const PartitionArguments& options, const Partition& partition,
                        const std::vector<LayerKind>& kinds, int pp, Placement placement) {
    if (options.framework.empty()) return {};
    BUBBLESCOPE_ASSIGN(const std::string text, frameworkText(options, partition, kinds, pp, placement));
    document.line("");
    document.line(fmt::format("For {}:", options.framework));
    document.line("  " + text);
    document.data("for", report::Value::Object{{"framework", options.framework}, {"text", text}});
    return {};
}

Result<Partition> byRule(const PartitionArguments& options, Placement placement) {
    const int vpp = options.schedule.chunks();
    if (!options.per_rank.empty()) return byRank(options, vpp, placement);
    if (!options.layers)
        return usageError("no layers given", "use --layers N, --layers-per-rank a,b,… or --layer-times FILE");
    if (options.schedule.spec.pp < 1) return usageError("no ranks given", "use --pp P");
    if (vpp < 1) return usageError(fmt::format("--vpp {} is not a valid number of chunks", vpp), "use 1 or more");
    constexpr std::int64_t kMaxStages = 1'000'000;
    const std::int64_t stages = std::int64_t{options.schedule.spec.pp} * vpp;
    if (stages > kMaxStages) return usageError("more than a million stages", "lower --pp or --vpp");
    return partitionEvenly(*options.layers, static_cast<int>(stages), options.first_less, options.last_less);
}

/// Layers of each stage, for text output.
report::Table splitTable(const Partition& partition, int pp, Placement placement) {
    using report::shown;
    report::Table table(
        {}, {shown("stage"), shown("rank"), shown("chunk"), shown("layers"), shown("which", report::Align::Left)});
    table.indent = 0;
    int first = 0;
    for (std::size_t s = 0; s < partition.layers_per_stage.size(); ++s) {
        const Location at = locate(placement, pp, Stage{s});
        const int count = partition.layers_per_stage[s];
        table.row(s, at.rank, at.chunk, count,
                  count == 0   ? std::string("none")
                  : count == 1 ? fmt::format("{}", first)
                               : fmt::format("{} to {}", first, first + count - 1));
        first += count;
    }
    return table;
}

/// Checks options for a rule, which depends only on sizes.
Status checkRule(const PartitionArguments& options) {
    const ScheduleRequest& schedule = options.schedule;
    const ScheduleSpec& spec = schedule.spec;
    const std::string_view unused = !spec.name.empty()                   ? "--schedule"
                                    : !schedule.file.empty()             ? "--schedule-file"
                                    : spec.microbatches != 0             ? "--microbatches"
                                    : !spec.flavor.empty()               ? "--flavor"
                                    : spec.group_size != 0               ? "--group-size"
                                    : spec.memory_limit != 0             ? "--memory-limit"
                                    : spec.sequence_slices != 1          ? "--sequence-slices"
                                    : !schedule.activation_sizes.empty() ? "--activation-sizes"
                                    : spec.encoders.ranks() != 0         ? "--encoders"
                                                                         : "";
    if (!unused.empty())
        return usageError(fmt::format("{} has no effect on a split by rule", unused),
                          "add --layer-times FILE, or use --pp, --vpp and --placement alone");
    const bool stated = !options.layout.empty() || !options.parts.empty();
    if (stated && options.layers) return usageError("--layout and --parts already define the layers", "omit --layers");
    if (stated && (options.first_less != 0 || options.last_less != 0))
        return usageError("--layout and --parts already define each stage's layers",
                          "omit --first-less and --last-less");
    return {};
}

CommandResult printRule(const PartitionArguments& options) {
    BUBBLESCOPE_TRY(checkRule(options));
    const auto placement = placementFromName(options.placement.empty() ? "loop" : options.placement);
    if (!placement || routes(*placement) != 1)
        return usageError(fmt::format("unknown placement '{}'", options.placement), "use loop or v");
    int pp = options.per_rank.empty() ? options.schedule.spec.pp : static_cast<int>(options.per_rank.size());
    BUBBLESCOPE_ASSIGN(const GivenSplit given, givenSplit(options, pp));
    if (pp == 0 && !options.parts.empty()) pp = static_cast<int>(given.partition.layers_per_stage.size());
    BUBBLESCOPE_ASSIGN(const Partition result,
                       given.name.empty() ? byRule(options, *placement) : Result<Partition>(given.partition));
    if (result.layers_per_stage.size() % static_cast<std::size_t>(std::max(1, pp)) != 0)
        return usageError(
            fmt::format("{} stages cannot be split evenly over {} ranks", result.layers_per_stage.size(), pp));
    report::Document document;
    document.data("layers_per_chunk", result.layers_per_stage);
    document.data("layers", result.layers());
    document.add(splitTable(result, pp, *placement));
    BUBBLESCOPE_TRY(addFrameworkText(document, options, result, given.kinds, pp, *placement));
    print(document, options.json);
    return 0;
}

/// Mean times of each stage, for orders that depend on times.
CostModel meanCosts(const std::vector<Layer>& layers, int stages, TimeNs comm) {
    CostModel costs;
    costs.comm = comm;
    OpTimes& times = costs.times;
    for (const Layer& layer : layers) {
        times.forward += layer.times.forward;
        times.input_grad += layer.times.input_grad;
        times.weight_grad += layer.times.weight_grad;
    }
    for (TimeNs* const time : {&times.forward, &times.input_grad, &times.weight_grad})
        *time /= std::max(1, stages);
    times.backward = times.input_grad + times.weight_grad;
    return costs;
}

double percentOver(TimeNs time, TimeNs base) {
    return base.count() > 0 ? 100.0 * static_cast<double>((time - base).count()) / static_cast<double>(base.count())
                            : 0;
}

report::Document bestDocument(const OptimalPartition& found, const Schedule& schedule, bool budget) {
    using report::shown;
    report::Document document;
    document.line(fmt::format("{}, {}\n", schedule.name, sizesText(schedule)));
    report::Table table({}, {shown("split", report::Align::Left), shown("step"), shown("longer"),
                             shown("layers per stage", report::Align::Left)});
    report::Table rules("rules", {report::data("rule"), report::data("layers_per_chunk"), report::data("step_ns"),
                                  report::data("fits")});
    rules.reader = report::Reader::Programs;
    const auto row = [&](const std::string& name, const RatedPartition& rated) {
        table.row(name, rated.step, fmt::format("{:.2f} %", percentOver(rated.step, found.best.step)),
                  fmt::format("{}{}", fmt::join(rated.partition.layers_per_stage, " "),
                              rated.fits ? "" : "  (over the memory budget)"));
    };
    row("best", found.best);
    for (const RatedPartition& rule : found.rules) {
        row(rule.name, rule);
        rules.row(rule.name, rule.partition.layers_per_stage, rule.step, rule.fits);
    }
    document.add(std::move(table));
    document.line(found.proven()
                      ? fmt::format("\nProven optimal: no split{} has a shorter step.", budget ? " that fits" : "")
                      : fmt::format("\nNot proven optimal: the lower bound is {}, so at most {:.2f} % can be gained.",
                                    formatTime(found.lower_bound), -percentOver(found.lower_bound, found.best.step)));
    document.line("");
    document.add(splitTable(found.best.partition, schedule.pp, schedule.placement));
    document.data("layers_per_chunk", found.best.partition.layers_per_stage);
    document.data("layers", found.best.partition.layers());
    document.data("schedule", schedule.name);
    document.data("flavor", schedule.flavor);
    document.data("step_ns", found.best.step);
    document.data("lower_bound_ns", found.lower_bound);
    document.data("proven", found.proven());
    document.data("simulations", found.simulations);
    document.add(std::move(rules));
    return document;
}

CommandResult printBest(const PartitionArguments& options) {
    if (!options.placement.empty())
        return usageError("--placement and --layer-times cannot be combined", "the schedule determines the placement");
    BUBBLESCOPE_ASSIGN(const std::vector<Layer> layers, readLayerTimes(options.layer_times));
    const auto count = static_cast<int>(layers.size());
    if (options.layers && *options.layers != count) {
        return usageError(
            fmt::format("{} has {} layers, but --layers is {}", options.layer_times, count, *options.layers),
            "omit --layers");
    }
    PartitionOptions search;
    search.comm = options.comm;
    search.memory_per_rank = options.memory_budget;
    const int stages = std::max(1, options.schedule.spec.pp) * std::max(1, options.schedule.chunks());
    BUBBLESCOPE_ASSIGN(const Schedule schedule, options.schedule.schedule(meanCosts(layers, stages, search.comm)));
    BUBBLESCOPE_TRY(options.schedule.checkUsed({&schedule, 1}));
    if (options.first_less != 0 || options.last_less != 0) {
        BUBBLESCOPE_ASSIGN(Partition given,
                           partitionEvenly(count, schedule.stages(), options.first_less, options.last_less));
        search.rules.push_back(
            {fmt::format("--first-less {} --last-less {}", options.first_less, options.last_less), std::move(given)});
    }
    if (!options.per_rank.empty()) {
        BUBBLESCOPE_ASSIGN(Partition given, byRank(options, schedule.vpp, schedule.placement));
        search.rules.push_back(
            {fmt::format("--layers-per-rank {}", fmt::join(options.per_rank, ",")), std::move(given)});
    }
    BUBBLESCOPE_ASSIGN(GivenSplit given, givenSplit(options, schedule.pp));
    if (!given.name.empty()) search.rules.push_back({given.name, std::move(given.partition)});
    BUBBLESCOPE_ASSIGN(const OptimalPartition found, optimisePartition(schedule, layers, search));
    report::Document document = bestDocument(found, schedule, options.memory_budget.has_value());
    std::vector<LayerKind> kinds;
    for (const Layer& layer : layers)
        kinds.push_back(layer.kind);
    BUBBLESCOPE_TRY(addFrameworkText(document, options, found.best.partition, kinds, schedule.pp, schedule.placement));
    print(document, options.json);
    return 0;
}

} // namespace

void addPartitionCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("partition", "Split a model's layers into stages, by rule or by measured times");
    const auto options = std::make_shared<PartitionArguments>();
    command.examples({"partition --layers 32 --pp 4 --vpp 2",
                      "partition --layer-times times.csv --schedule 1f1b --pp 4 --microbatches 16"});
    addScheduleOptions(command, options->schedule);
    command.optionGroup("Layers");
    command.addOption("--layers", options->layers, "Layers of the model").typeName("N");
    const Option per_rank = command.addOption("--layers-per-rank", options->per_rank, "Layers per rank, a,b,…")
                                .typeName("LIST")
                                .delimiter(',');
    command.addOption("--first-less", options->first_less, "Layers to remove from the first stage, for the embedding")
        .typeName("N")
        .excludes(per_rank);
    command.addOption("--last-less", options->last_less, "Layers to remove from the last stage, for the output head")
        .typeName("N")
        .excludes(per_rank);
    command.addOption("--placement", options->placement, "loop or v (default: loop)").typeName("NAME");
    const Option times =
        command
            .addOption("--layer-times", options->layer_times,
                       "Times per layer, as JSON or CSV; finds the split with the shortest step for --schedule")
            .typeName("FILE");
    command.addParsed("--comm", options->comm, parseTime, "With --layer-times: latency of a transfer between ranks (0)")
        .typeName("TIME")
        .needs(times);
    command
        .addOption("--memory-budget", options->memory_budget, "Memory limit for a rank's layers, in the file's units")
        .typeName("N")
        .positive()
        .needs(times);
    const Option layout = command
                              .addOption("--layout", options->layout,
                                         "A split in Megatron-core's syntax: E, t, m and L, with | between stages")
                              .typeName("TEXT")
                              .excludes(per_rank);
    command
        .addOption("--parts", options->parts, "A split in DeepSpeed's form: the first layer of each stage, and the end")
        .typeName("LIST")
        .excludes(per_rank)
        .excludes(layout);
    command
        .addOption("--for", options->framework,
                   "Also print it in a framework's syntax: megatron, deepspeed, torchtitan, graph-pp or automodel")
        .typeName("FRAMEWORK")
        .oneOf({"megatron", "deepspeed", "torchtitan", "graph-pp", "automodel"});
    command.addFlag("--json", options->json, "Print a JSON document");
    command.onParsed([&action, options] {
        action = [options] { return options->layer_times.empty() ? printRule(*options) : printBest(*options); };
    });
}

} // namespace bubblescope::cli
