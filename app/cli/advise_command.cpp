#include "app/cli/command.h"
#include "app/cli/load_watch.h"
#include "app/cli/output.h"
#include "app/cli/run_model_options.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/base/bytes.h"
#include "core/formats/source/replacing_file.h"
#include "core/optimize/advice/advise.h"
#include "core/report/results/advice.h"
#include "core/report/results/simulation.h"
#include "core/request/weight_choices.h"
#include "core/schedule/schedule_files.h"

#include <filesystem>
#include <memory>
#include <optional>

namespace bubblescope::cli {
namespace {

struct AdviseArguments {
    RunModelRequest run;
    std::string memory_model;
    std::optional<std::int64_t> memory_budget;
    TimeNs search_time = std::chrono::seconds(10);
    std::optional<TimeNs> unshard;
    std::string orders;
    bool json = false;
};

/// Writes the orders from searches into the folder of --orders.
Status writeOrders(const AdviseArguments& options, const Advice& advice) {
    if (options.orders.empty()) return {};
    std::optional<ReplacingFiles> files;
    for (const auto* const list : {&advice.suggestions, &advice.less_memory}) {
        for (const Suggestion& suggestion : *list) {
            if (!suggestion.searched) continue;
            if (!files) {
                BUBBLESCOPE_ASSIGN(files, ReplacingFiles::in(options.orders));
            }
            const std::string& text = suggestion.texts.front();
            const std::filesystem::path named(text.substr(text.find('=') + 1)); // relative to that folder
            BUBBLESCOPE_ASSIGN(ReplacingFile* const file, files->begin(named.filename().string()));
            BUBBLESCOPE_ASSIGN(const std::string csv, scheduleToCsv(*suggestion.change.order));
            file->write(csv);
        }
    }
    return files ? files->commit() : Status();
}

CommandResult adviseOn(const AdviseArguments& options) {
    BUBBLESCOPE_ASSIGN(const AlignedRun run, loadAligned(options.run));
    BUBBLESCOPE_ASSIGN(const RunModel model, options.run.model(run.run, run.clocks));
    AdviceOptions advice_options;
    if (!options.memory_model.empty()) {
        BUBBLESCOPE_ASSIGN(advice_options.sizes, readModelSizes(options.memory_model));
    }
    advice_options.budget = options.memory_budget;
    BUBBLESCOPE_ASSIGN(const ModelCut cut, options.run.cut(run.run));
    if (options.search_time > TimeNs{0}) advice_options.search_time = options.search_time;
    if (!options.orders.empty()) advice_options.order_folder = (std::filesystem::path(options.orders) / "").string();
    BUBBLESCOPE_ASSIGN(const Advice advice, watchTime("Trying schedules", [&] {
                           return advise(model, run.run.schedule, cut, advice_options, options.run.mostError());
                       }));
    BUBBLESCOPE_TRY(writeOrders(options, advice));
    report::Document document = report::adviceDocument(model, advice, options.run.words(), !options.orders.empty());
    if (options.unshard) {
        BUBBLESCOPE_ASSIGN(const std::vector<EarlierUnshard> late,
                           earlierUnshards(model, run.run.schedule, cut, *options.unshard));
        if (late.empty()) document.line("\nAn earlier UNSHARD would hide no wait for weights.");
        report::addEarlierUnshards(document, late);
    }
    printProblems(run.run.problems);
    print(document, options.json);
    return 0;
}

} // namespace

void addAdviseCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("advise", "Find schedules, chunk counts or layer splits that would shorten a trace's step");
    const auto options = std::make_shared<AdviseArguments>();
    command.examples({"advise my-run", "advise my-run --layers 9,9,9,5 --orders found"});
    addRunModelOptions(command, options->run);
    const Option model =
        command.addOption("--memory-model", options->memory_model, "Tensor sizes of the model's layers, as JSON")
            .typeName("FILE");
    command
        .addParsed("--memory-budget", options->memory_budget, parseBytes,
                   "Memory per rank, such as 80GiB; schedules that need more are not suggested")
        .typeName("SIZE")
        .needs(model);
    command
        .addParsed("--search-time", options->search_time, parseTime,
                   "Time to search for an order outside the named schedules, for each layer split; 0 = no search (10s)")
        .typeName("TIME");
    command
        .addParsed("--unshard", options->unshard, parseTime,
                   "Time to gather a stage's weights in PyTorch; names gathers that should start earlier")
        .typeName("TIME");
    command
        .addOutput("--orders", options->orders, OutputKind::Tables,
                   "Write the orders found by the search to this folder, in PyTorch's CSV format")
        .typeName("FOLDER");
    command.addFlag("--json", options->json, "Print a JSON document");
    command.onParsed([&action, options] { action = [options] { return adviseOn(*options); }; });
}

} // namespace bubblescope::cli
