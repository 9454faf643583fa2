#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/overlap_output.h"
#include "core/optimize/overlap/operators.h"
#include "core/schedule/families/registry.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace bubblescope::cli {
namespace {

using namespace overlap;

struct OverlapArguments {
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

Result<OverlapStudy> study(const OverlapArguments& options) {
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

CommandResult print(const OverlapArguments& options) {
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

void addOverlapCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("overlap", "Tensor-parallel all-reduces behind computation: what is hidden, and why not more");
    const auto options = std::make_shared<OverlapArguments>();
    command.addOption("--op-costs", options->file, "Cost model: a layer's operators and their times")
        .typeName("FILE")
        .required();
    command.addOption("--pp", options->pp, "Pipeline ranks, p").typeName("P").required();
    command.addOption("--microbatches", options->microbatches, "Micro-batches of a step, m").typeName("M").required();
    command.addOption("--layers", options->layers, "Layers of a stage, instead of the file's")
        .typeName("N")
        .range(1, 1000);
    command.addOption("--comm", options->comm, "Latency of a transfer between ranks (0)").typeName("TIME");
    command.addOption("--explain", options->explain, "Variant whose exposed all-reduces are explained (paddle)")
        .typeName("NAME");
    command.addOption("--chart", options->charts, "Draw the two streams of a pair under these variants")
        .typeName("LIST")
        .delimiter(',');
    command.addOption("--width", options->width, "Columns of a chart (110)").typeName("N").range(20, 10'000);
    command.addFlag("--json", options->json, "As a JSON document");
    command.onParsed([&action, options] { action = [options] { return print(*options); }; });
}

} // namespace bubblescope::cli
