#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/paragraph.h"
#include "app/cli/run_model_options.h"
#include "app/cli/table.h"
#include "core/base/bytes.h"
#include "core/optimize/advice/advise.h"

#include <fmt/format.h>

#include <memory>

namespace bubblescope::cli {
namespace {

struct AdviseArguments {
    RunModelOptions run;
    std::string memory_model;
    std::string memory_budget;
    bool json = false;
};

/// The command that shows what a suggestion does.
std::vector<std::string> commandOf(const AdviseArguments& options, const Suggestion& suggestion) {
    std::vector<std::string> words{"whatif"};
    for (std::string& word : options.run.words())
        words.push_back(std::move(word));
    for (const std::string& text : suggestion.texts) {
        words.emplace_back("--if");
        words.push_back(text);
    }
    return words;
}

/// For a shell.
std::string commandLine(const std::vector<std::string>& words) {
    std::string line = "bubblescope";
    for (const std::string& word : words) {
        const bool plain = word.find_first_of(" '\"\\$&|;<>()*?`~#") == std::string::npos;
        std::string quoted;
        for (const char c : word)
            quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += plain ? " " + word : " '" + quoted + "'";
    }
    return line;
}

Json memoryJson(const HeldMemory& memory) {
    return {{"activations", memory.activations},
            {"memory_bytes", memory.bytes ? Json(*memory.bytes) : Json()},
            {"model_copies", memory.copies}};
}

Json adviceJson(const AdviseArguments& options, TimeNs observed, const Advice& advice) {
    Json suggestions = Json::array();
    for (const Suggestion& suggestion : advice.suggestions) {
        Json entry = {{"changes", suggestion.texts},
                      {"predicted_ns", suggestion.prediction.predicted().count()},
                      {"change_ns", suggestion.prediction.change().count()},
                      {"change", suggestion.prediction.relativeChange()},
                      {"model_error", suggestion.prediction.fit.error()}};
        entry.update(memoryJson(suggestion.memory));
        entry["command"] = commandOf(options, suggestion);
        suggestions.push_back(std::move(entry));
    }
    return {{"observed_ns", observed.count()},
            {"present", memoryJson(advice.present)},
            {"tried", advice.tried},
            {"suggestions", suggestions},
            {"larger_microbatches", advice.larger ? Json{{"microbatches", advice.larger->microbatches},
                                                         {"break_even_op_time", advice.larger->break_even},
                                                         {"activations", advice.larger->memory.activations}}
                                                  : Json()}};
}

std::string largerText(const Advice& advice) {
    if (!advice.larger) return {};
    return paragraph(
        "", fmt::format("Fewer, larger micro-batches cannot be predicted: the trace has one size, and what a "
                        "device gains with larger ones it does not tell. With {} twice as large the step "
                        "gets shorter if ops then take less than {:.2f} times what they take now; it "
                        "holds {:.2f} activations then.",
                        advice.larger->microbatches, advice.larger->break_even, advice.larger->memory.activations));
}

std::string adviceText(const AdviseArguments& options, TimeNs observed, const Advice& advice) {
    std::string out = fmt::format("A step takes {}. {} orders were tried.\n", formatTime(observed), advice.tried);
    if (advice.suggestions.empty())
        return out + "None of them is predicted to save half a percent of it.\n" + largerText(advice);
    const bool bytes = advice.present.bytes.has_value();
    std::vector<Table::Column> columns{{"step"}, {"change"}, {"activations"}, {"", Table::Align::Left}};
    if (bytes) columns.insert(columns.begin() + 3, {"memory"});
    Table table(std::move(columns));
    const auto row = [&](TimeNs step, const std::string& change, const HeldMemory& memory, const std::string& what) {
        std::vector<std::string> cells{formatTime(step), change, fmt::format("{:.2f}", memory.activations)};
        if (bytes) cells.push_back(formatBytes(memory.bytes.value_or(0)));
        cells.push_back(memory.copies == 1 ? what : what + " (holds the model twice)");
        table.row(std::move(cells));
    };
    row(observed, "", advice.present, "as it ran");
    std::string commands;
    double error = 0;
    for (const Suggestion& suggestion : advice.suggestions) {
        const Prediction& prediction = suggestion.prediction;
        row(prediction.predicted(), fmt::format("{:+.1f} %", 100 * prediction.relativeChange()), suggestion.memory,
            fmt::format("{}", fmt::join(suggestion.texts, " ")));
        commands += commandLine(commandOf(options, suggestion)) + "\n";
        error = prediction.fit.error();
    }
    out += "\n" + table.text() + "\n";
    out +=
        paragraph("", fmt::format("Activations are those on the fullest rank, counted in what its whole share of the "
                                  "model keeps of a micro-batch as it ran. Smaller micro-batches and chunks are "
                                  "taken to be as efficient as large ones, which devices are not quite. The model "
                                  "is {:.1f} % off on the unchanged steps.",
                                  100 * error));
    return out + largerText(advice) + "\nEach in turn:\n" + commands;
}

CommandResult adviseOn(const AdviseArguments& options) {
    BUBBLESCOPE_ASSIGN(const Run run, options.run.load());
    BUBBLESCOPE_ASSIGN(const RunModel model, options.run.model(run));
    AdviceOptions advice_options;
    if (!options.memory_model.empty()) {
        BUBBLESCOPE_ASSIGN(advice_options.sizes, readModelSizes(options.memory_model));
    }
    if (!options.memory_budget.empty()) {
        BUBBLESCOPE_ASSIGN(advice_options.budget, parseBytes(options.memory_budget));
    }
    BUBBLESCOPE_ASSIGN(const Advice advice,
                       advise(model, run.schedule, options.run.cut(), advice_options, options.run.mostError()));
    printProblems(run.problems);
    if (options.json) {
        printJson(adviceJson(options, model.observed(), advice));
    } else {
        printText(adviceText(options, model.observed(), advice));
    }
    return 0;
}

} // namespace

void addAdviseCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("advise", "Which schedule, chunks, micro-batches or layers would shorten a trace's steps");
    const auto options = std::make_shared<AdviseArguments>();
    options->run.add(command);
    const Option model =
        command.addOption("--memory-model", options->memory_model, "Tensor sizes of the model's layers, as JSON")
            .typeName("FILE");
    command
        .addOption("--memory-budget", options->memory_budget,
                   "Memory of a rank, such as 80GiB: suggests nothing beyond")
        .typeName("SIZE")
        .needs(model);
    command.addFlag("--json", options->json, "As a JSON document");
    command.onParsed([&action, options] { action = [options] { return adviseOn(*options); }; });
}

} // namespace bubblescope::cli
