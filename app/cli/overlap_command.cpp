#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/terminal.h"
#include "core/base/text.h"
#include "core/cost/model_presets.h"
#include "core/families/registry.h"
#include "core/optimize/overlap/operators.h"
#include "core/optimize/overlap/streams.h"
#include "core/optimize/overlap/study.h"
#include "core/report/text.h"
#include "core/request/model_costs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::cli {
namespace {

using namespace overlap;

struct OverlapArguments {
    std::string file;
    std::string preset;
    int tensor_ranks = 8;
    int pp = 0;
    int microbatches = 0;
    std::optional<int> layers;
    TimeNs comm{0};
    std::string explain = "paddle";
    std::vector<std::string> charts;
    std::optional<int> width;
    bool json = false;
};

/// Results of the `overlap` command.
struct OverlapStudy {
    struct Entry {
        PairStudy pair;
        StepRun paddle_order; ///< warm-up of p−s forwards
        StepRun deeper_order; ///< warm-up of 2(p−s−1)+1 forwards
    };

    OpCosts costs;
    int pp = 1;
    int microbatches = 1;
    std::vector<Entry> entries; ///< one per variant; the first one hides nothing

    [[nodiscard]] const Entry& of(std::string_view variant) const {
        return *std::ranges::find(entries, variant, [](const Entry& one) { return one.pair.variant.name; });
    }
};

using StudyEntry = OverlapStudy::Entry;
using report::Value;

constexpr std::size_t kBackward = passIndex(Pass::Backward);
constexpr std::size_t kForward = passIndex(Pass::Forward);

std::string percentOf(TimeNs part, TimeNs whole) {
    return whole.count() == 0 ? "none" : formatPercent(fractionOf(part, whole));
}

/// Percentage by which `time` is shorter than `before`.
std::string gain(TimeNs time, TimeNs before) {
    return fmt::format("{:+.1f} %", 100 * fractionOf(before - time, before));
}

std::string layerText(const Operators& layer, int layers) {
    const auto reduces = std::ranges::count_if(layer, &Operator::all_reduce);
    return fmt::format("{} of compute + {} of all-reduce ({})", formatTime(computeTime(layer) * layers),
                       formatTime(allReduceTime(layer) * layers), reduces * layers);
}

std::string headText(const OverlapStudy& study) {
    const OpCosts& costs = study.costs;
    std::string out = costs.name.empty() ? std::string{} : costs.name + "\n";
    out += fmt::format("  {} layers per stage; the all-reduce stream has {} priority", costs.layers,
                       costs.rules.high_priority ? "a higher" : "the compute stream's");
    if (costs.rules.cut_time.count() > 0) out += fmt::format("; each cut costs {}", formatTime(costs.rules.cut_time));
    return out + fmt::format("\n  forward   {}\n  backward  {}\n", layerText(costs.forward, costs.layers),
                             layerText(costs.backward, costs.layers));
}

report::Table pairTable(const OverlapStudy& study) {
    using report::shown;
    report::Table table({}, {shown("a pair", report::Align::Left), shown("time"), shown("gain"), shown("hidden of B"),
                             shown("of F"), shown("cuts"), shown("", report::Align::Left)});
    table.indent = 0;
    const TimeNs none = study.entries.front().pair.pairTime();
    for (const StudyEntry& entry : study.entries) {
        const PairStudy& pair = entry.pair;
        table.row(pair.variant.name, pair.pairTime(), gain(pair.pairTime(), none),
                  percentOf(pair.hidden[kBackward], pair.all_reduce[kBackward]),
                  percentOf(pair.hidden[kForward], pair.all_reduce[kForward]), pair.cuts(), pair.variant.title);
    }
    const TimeNs compute = (computeTime(study.costs.forward) + computeTime(study.costs.backward)) * study.costs.layers;
    table.row("ideal", compute, gain(compute, none), "", "", "", "all-reduces cost nothing");
    return table;
}

report::Table stepTable(const OverlapStudy& study) {
    using report::shown;
    report::Table table(
        {}, {shown(fmt::format("a step, p = {}, m = {}", study.pp, study.microbatches), report::Align::Left),
             shown("1F1B warm-up"), shown("gain"), shown("hidden of B"), shown("deeper warm-up"), shown("gain"),
             shown("hidden of B")});
    table.indent = 0;
    const StudyEntry& none = study.entries.front();
    for (const StudyEntry& entry : study.entries) {
        table.row(entry.pair.variant.name);
        std::vector<report::Cell>& cells = table.rows.back();
        const auto add = [&](const StepRun& run, const StepRun& before) {
            cells.emplace_back(run.makespan);
            cells.emplace_back(gain(run.makespan, before.makespan));
            cells.emplace_back(percentOf(run.hidden[kBackward], run.all_reduce[kBackward]));
        };
        add(entry.paddle_order, none.paddle_order);
        add(entry.deeper_order, none.deeper_order);
    }
    const TimeNs ideal = idealMakespan(study.costs, study.pp, study.microbatches);
    table.row("ideal", ideal, gain(ideal, none.paddle_order.makespan), "", ideal,
              gain(ideal, none.deeper_order.makespan), "");
    return table;
}

std::string legendText() {
    return report::wrapped(
        "  ", "Hidden: the share of all-reduce time that overlaps compute, for the backward (B) and the forward (F). "
              "The 1F1B warm-up, which Paddle's pass keeps, runs p−s forwards on rank s. The deeper warm-up runs "
              "2(p−s−1)+1, so each input arrives before its forward-backward pair starts.");
}

std::string timesText(const std::vector<TimeNs>& times) {
    constexpr std::size_t kMost = 8;
    std::string out;
    for (std::size_t i = 0; i < std::min(times.size(), kMost); ++i)
        out += fmt::format("{}{}", i == 0 ? "" : ", ", formatTime(times[i]));
    return times.size() > kMost ? out + fmt::format(" … {} in all", times.size()) : out;
}

/// Reason why the cutting rule stopped.
std::string stopText(const PairStudy& pair, const OpCosts& costs) {
    if (pair.stop == CutStop::ForwardUsedUp) return "no forward op remains to overlap with";
    if (pair.stop == CutStop::None) return "nothing is cut";
    const Operators& forward = pair.plans.pair.of(Pass::Forward);
    const Operator& op = forward[static_cast<std::size_t>(pair.stopped_at)];
    const auto layer = std::count_if(forward.begin(), forward.begin() + pair.stopped_at + 1,
                                     [&](const Operator& other) { return other.name == op.name; });
    const TimeNs budget = costs.cut_budget.value_or(longestAllReduce(costs.backward));
    return fmt::format(
        "the next forward op, '{}' of layer {}, takes {}, but the rule has only {} to fill and never skips an op",
        op.name, layer, formatTime(op.assumed), formatTime(budget));
}

std::string exposuresText(const PairStudy& pair, const OpCosts& costs) {
    struct Group {
        std::vector<TimeNs> pieces; ///< at the same time
        TimeNs hidden{0};
        TimeNs exposed{0};
        TimeNs surplus{0}; ///< excess of the pieces over the all-reduces
    };
    Group longer;
    Group shorter;
    Group blocking;
    for (const Exposure& one : backwardExposures(pair)) {
        Group& group = !one.own_stream ? blocking : one.beside < one.span.time ? shorter : longer;
        group.pieces.push_back(one.beside);
        group.hidden += one.span.hidden;
        group.exposed += one.span.time - one.span.hidden;
        group.surplus += std::max(TimeNs{0}, one.beside - one.span.time);
    }
    const auto line = [](const Group& group, const std::string& text) {
        return group.pieces.empty() ? std::string{}
                                    : report::wrapped(fmt::format("  {:4}  ", group.pieces.size()), text);
    };
    return fmt::format("  A pair's backward hides {} of its {} all-reduce time. The all-reduces of the backward:\n",
                       formatTime(pair.hidden[kBackward]), formatTime(pair.all_reduce[kBackward])) +
           line(longer, fmt::format("overlap with a piece at least as long; {} stays exposed, and the pieces' extra {} "
                                    "delays the backward",
                                    formatTime(longer.exposed), formatTime(longer.surplus))) +
           line(shorter,
                fmt::format("overlap with a shorter piece, {}; {} is hidden, {} is not", timesText(shorter.pieces),
                            formatTime(shorter.hidden), formatTime(shorter.exposed))) +
           line(blocking, fmt::format("block the compute stream for {}: {}", formatTime(blocking.exposed),
                                      stopText(pair, costs)));
}

std::string stepText(const StepRun& run, std::string_view order) {
    return report::wrapped("  ", fmt::format("With {}, {} of {} backwards are in pairs; the other {} have no forward "
                                             "to overlap with. The step hides {} of its backward all-reduces.",
                                             order, run.pairs, run.pairs + run.singles, run.singles,
                                             percentOf(run.hidden[kBackward], run.all_reduce[kBackward])));
}

std::string explanationText(const OverlapStudy& study, std::string_view variant) {
    const StudyEntry& entry = study.of(variant);
    const PairStudy& pair = entry.pair;
    std::string out = fmt::format("Limits of {} ({})\n", variant, pair.variant.title);
    out += exposuresText(pair, study.costs);
    out += stepText(entry.paddle_order, "1F1B warm-up");
    if (pair.cuts() > 0 && study.pp > 1) {
        const TimeNs gradient = pair.pair.ends[kBackward];
        out += report::wrapped(
            "  ",
            fmt::format(
                "With this warm-up, a pair's forward gets its input only after the backward ends, {} after the pair's "
                "start. The forward's first piece would start {} after the pair's start, so the pairs wait.",
                formatTime(gradient), formatTime(forwardStart(pair))));
    }
    return out + stepText(entry.deeper_order, "the deeper warm-up");
}

Value passesOf(const PerPass<TimeNs>& times) {
    return Value::Object{{"forward", times[kForward]}, {"backward", times[kBackward]}};
}

Value stepOf(const StepRun& run, TimeNs before, std::string_view flavor) {
    return Value::Object{{"flavor", flavor},
                         {"makespan_ns", run.makespan},
                         {"gain", fractionOf(before - run.makespan, before)},
                         {"pairs", run.pairs},
                         {"single_backwards", run.singles},
                         {"all_reduce_ns", passesOf(run.all_reduce)},
                         {"hidden_ns", passesOf(run.hidden)},
                         {"backward_hidden_share", fractionOf(run.hidden[kBackward], run.all_reduce[kBackward])}};
}

Value pairOf(const PairStudy& pair) {
    Value::List reduces;
    for (const Exposure& one : backwardExposures(pair)) {
        reduces.emplace_back(Value::Object{{"op", one.span.op},
                                           {"time_ns", one.span.time},
                                           {"hidden_ns", one.span.hidden},
                                           {"own_stream", one.own_stream},
                                           {"beside_ns", one.beside}});
    }
    Value::List pieces;
    for (const Piece& piece : pair.plans.pair.pieces)
        pieces.emplace_back(Value::List{piece.pass == Pass::Backward ? "B" : "F", piece.first, piece.end});
    return Value::Object{{"pair_ns", pair.pairTime()},
                         {"forward_ns", pair.forward},
                         {"backward_ns", pair.backward},
                         {"all_reduce_ns", passesOf(pair.all_reduce)},
                         {"hidden_ns", passesOf(pair.hidden)},
                         {"backward_hidden_share", fractionOf(pair.hidden[kBackward], pair.all_reduce[kBackward])},
                         {"backward_end_ns", pair.pair.ends[kBackward]},
                         {"forward_start_ns", forwardStart(pair)},
                         {"cuts", pair.cuts()},
                         {"extra_slices", pair.slices},
                         {"pieces", std::move(pieces)},
                         {"backward_all_reduces", std::move(reduces)}};
}

report::Document toDocument(const OverlapStudy& study, std::string_view explained) {
    report::Document document;
    document.line(headText(study));
    document.add(pairTable(study));
    document.line("");
    document.add(stepTable(study));
    document.line(legendText());
    std::string explanation = explanationText(study, explained);
    explanation.pop_back(); // lines end automatically
    document.line(std::move(explanation));
    document.data("name", study.costs.name);
    document.data("layers_per_stage", study.costs.layers);
    document.data("pp", study.pp);
    document.data("microbatches", study.microbatches);
    document.data("ideal_makespan_ns", idealMakespan(study.costs, study.pp, study.microbatches));
    const StudyEntry& none = study.entries.front();
    report::Table rows("variants",
                       {report::data("variant"), report::data("title"), report::data("pair"), report::data("steps")});
    rows.reader = report::Reader::Programs;
    for (const StudyEntry& entry : study.entries) {
        rows.row(entry.pair.variant.name, entry.pair.variant.title, pairOf(entry.pair),
                 Value::List{stepOf(entry.paddle_order, none.paddle_order.makespan, "paddle-mp"),
                             stepOf(entry.deeper_order, none.deeper_order.makespan, "combined")});
    }
    document.add(std::move(rows));
    return document;
}

std::string chartText(const OverlapStudy& study, std::string_view variant, int width) {
    const PairStudy& pair = study.of(variant).pair;
    return fmt::format("\n{}, {}\n{}", variant, formatTime(pair.pairTime()),
                       streamChart(pair.plans.pair, pair.pair, width));
}

Result<OverlapStudy> study(const OverlapArguments& options) {
    OverlapStudy study;
    study.pp = options.pp;
    study.microbatches = options.microbatches;
    if (options.file.empty() && options.preset.empty())
        return usageError("no model given", "use --preset, such as --preset llama3-8b, or --op-costs FILE");
    constexpr int kUsualLayers = 4;
    BUBBLESCOPE_ASSIGN(study.costs, options.file.empty() ? modelOpCosts(options.preset, options.tensor_ranks,
                                                                        options.layers.value_or(kUsualLayers))
                                                         : readOpCosts(options.file));
    if (options.layers) {
        BUBBLESCOPE_ASSIGN(study.costs, withLayers(std::move(study.costs), *options.layers));
    }
    BUBBLESCOPE_ASSIGN(const Schedule paddle,
                       makeSchedule({"1f1b-overlap", "paddle-mp", options.pp, options.microbatches}));
    BUBBLESCOPE_ASSIGN(const Schedule deeper,
                       makeSchedule({"1f1b-overlap", "combined", options.pp, options.microbatches}));
    for (const Variant& variant : variants()) {
        OverlapStudy::Entry entry;
        entry.pair = studyPair(study.costs, variant);
        BUBBLESCOPE_ASSIGN(entry.paddle_order, simulateStep(paddle, entry.pair.plans, study.costs.rules, options.comm));
        BUBBLESCOPE_ASSIGN(entry.deeper_order, simulateStep(deeper, entry.pair.plans, study.costs.rules, options.comm));
        study.entries.push_back(std::move(entry));
    }
    return study;
}

int chartColumns(const OverlapArguments& options) {
    constexpr std::size_t kUsual = 110;
    constexpr std::size_t kLabels = 16; // next to the chart
    if (options.width) return *options.width;
    return static_cast<int>(std::min(kUsual, chartWidth().value_or(kUsual + kLabels) - kLabels));
}

CommandResult run(const OverlapArguments& options) {
    BUBBLESCOPE_ASSIGN(const Variant explained, variantNamed(options.explain));
    std::vector<Variant> charted;
    for (const std::string& name : options.charts) {
        BUBBLESCOPE_ASSIGN(charted.emplace_back(), variantNamed(name));
    }
    BUBBLESCOPE_ASSIGN(const OverlapStudy result, study(options));
    print(toDocument(result, explained.name), options.json);
    if (options.json) return 0;
    for (const Variant& variant : charted)
        printText(chartText(result, variant.name, chartColumns(options)));
    return 0;
}

} // namespace

void addOverlapCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("overlap", "Show which tensor-parallel all-reduces are hidden by computation, and why");
    const auto options = std::make_shared<OverlapArguments>();
    command.examples({"overlap --preset llama3-70b --pp 4 --microbatches 16",
                      "overlap --op-costs layer.json --pp 4 --microbatches 16 --chart paddle"});
    command.optionGroup("Model");
    const Option preset =
        command
            .addOption("--preset", options->preset,
                       fmt::format("A known model, with estimated times: {}", fmt::join(modelPresetNames(), ", ")))
            .typeName("MODEL")
            .suggests(modelPresetNames());
    command.addOption("--tp", options->tensor_ranks, "Tensor-parallel ranks of a preset (8)")
        .typeName("N")
        .range(1, 1024)
        .needs(preset);
    command.addOption("--op-costs", options->file, "Your own cost model: a layer's operators and their times")
        .typeName("FILE")
        .excludes(preset);
    command.optionGroup("Schedule");
    command.addOption("--pp", options->pp, "Pipeline ranks, p").typeName("P").required();
    command.addOption("--microbatches", options->microbatches, "Micro-batches per step, m").typeName("M").required();
    command.addOption("--layers", options->layers, "Layers per stage (default: from the file, or 4 for a preset)")
        .typeName("N")
        .range(1, 1000);
    command.addParsed("--comm", options->comm, parseTime, "Latency of a transfer between ranks (0)").typeName("TIME");
    command.optionGroup("Output");
    const Option explained =
        command.addOption("--explain", options->explain, "Variant to explain (default: paddle)").typeName("NAME");
    const Option chart =
        command.addOption("--chart", options->charts, "Draw the two streams of a pair for these variants")
            .typeName("LIST")
            .delimiter(',');
    command.addOption("--width", options->width, "Width of a chart in columns (default: the terminal's, or 110)")
        .typeName("N")
        .range(20, 10'000)
        .needs(chart);
    command.addFlag("--json", options->json, "Print a JSON document with explanations and charts of all variants")
        .excludes(explained)
        .excludes(chart);
    command.onParsed([&action, options] { action = [options] { return run(*options); }; });
}

} // namespace bubblescope::cli
