#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/overlap_output.h"
#include "core/overlap/op_costs_json.h"
#include "core/schedule/registry.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace bubblescope::cli {
namespace {

using namespace overlap;

struct Options {
    std::string file;
    int pp = 0;
    int microbatches = 0;
    std::optional<int> layers;
    std::string comm = "0";
    std::string explain = "paddle";
    std::vector<std::string> charts;
    int width = 110;
    bool json = false;
};

Result<OverlapStudy> study(const Options& options) {
    OverlapStudy study;
    study.pp = options.pp;
    study.microbatches = options.microbatches;
    BUBBLESCOPE_ASSIGN(study.costs, readOpCosts(options.file));
    BUBBLESCOPE_ASSIGN(const TimeNs comm, parseTime(options.comm));
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
        BUBBLESCOPE_ASSIGN(entry.paddle_order, simulateStep(paddle, entry.pair.plans, study.costs.rules, comm));
        BUBBLESCOPE_ASSIGN(entry.deeper_order, simulateStep(deeper, entry.pair.plans, study.costs.rules, comm));
        study.entries.push_back(std::move(entry));
    }
    return study;
}

CommandResult print(const Options& options) {
    BUBBLESCOPE_ASSIGN(const Variant explained, variantNamed(options.explain));
    std::vector<Variant> charted;
    for (const std::string& name : options.charts) {
        BUBBLESCOPE_ASSIGN(charted.emplace_back(), variantNamed(name));
    }
    BUBBLESCOPE_ASSIGN(const OverlapStudy result, study(options));
    if (options.json) {
        printJson(overlapJson(result));
        return 0;
    }
    printText(overlapText(result, explained.name));
    for (const Variant& variant : charted)
        printText(overlapChart(result, variant.name, options.width));
    return 0;
}

} // namespace

void addOverlapCommand(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand(
        "overlap", "Tensor-parallel all-reduces behind computation: what is hidden, and why not more");
    const auto options = std::make_shared<Options>();
    command->add_option("--op-costs", options->file, "Cost model: a layer's operators and their times")
        ->type_name("FILE")
        ->required();
    command->add_option("--pp", options->pp, "Pipeline ranks, p")->type_name("P")->required();
    command->add_option("--microbatches", options->microbatches, "Micro-batches of a step, m")
        ->type_name("M")
        ->required();
    command->add_option("--layers", options->layers, "Layers of a stage, instead of the file's")
        ->type_name("N")
        ->check(CLI::Range(1, 1000));
    command->add_option("--comm", options->comm, "Latency of a transfer between ranks (0)")->type_name("TIME");
    command->add_option("--explain", options->explain, "Variant whose exposed all-reduces are explained (paddle)")
        ->type_name("NAME");
    command->add_option("--chart", options->charts, "Draw the two streams of a pair under these variants")
        ->type_name("LIST")
        ->delimiter(',');
    command->add_option("--width", options->width, "Columns of a chart (110)")
        ->type_name("N")
        ->check(CLI::Range(20, 10'000));
    command->add_flag("--json", options->json, "As a JSON document");
    command->callback([&action, options] { action = [options] { return print(*options); }; });
}

} // namespace bubblescope::cli
