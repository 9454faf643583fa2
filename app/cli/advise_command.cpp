#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/run_model_options.h"
#include "core/base/bytes.h"
#include "core/optimize/advice/advise.h"
#include "core/report/results/common.h"
#include "core/report/results/whatif.h"

#include <fmt/format.h>

#include <cmath>
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

report::Value::Object memoryOf(const HeldMemory& memory) {
    return {{"activations", memory.activations}, {"memory_bytes", memory.bytes}, {"model_copies", memory.copies}};
}

report::Value suggestionsOf(const AdviseArguments& options, const Advice& advice) {
    report::Value::List list;
    for (const Suggestion& suggestion : advice.suggestions) {
        report::Value::Object entry{{"changes", suggestion.texts},
                                    {"predicted_ns", suggestion.prediction.predicted()},
                                    {"change_ns", suggestion.prediction.change()},
                                    {"change", suggestion.prediction.relativeChange()},
                                    {"model_error", suggestion.prediction.check.error()},
                                    {"error_bar_ns", suggestion.prediction.bar.time}};
        std::ranges::move(memoryOf(suggestion.memory), std::back_inserter(entry));
        entry.push_back({"effort", effortName(suggestion.effort)});
        entry.push_back({"frameworks", suggestion.frameworks});
        if (!suggestion.moved.empty()) entry.push_back({"moved", suggestion.moved});
        entry.push_back({"command", commandOf(options, suggestion)});
        list.emplace_back(std::move(entry));
    }
    return list;
}

void addLarger(report::Section& document, const Advice& advice) {
    report::Value data;
    if (advice.larger) {
        document.paragraph(
            "", fmt::format("Fewer, larger micro-batches cannot be predicted: the trace has one size, and what a "
                            "device gains with larger ones it does not tell. With {} twice as large the step "
                            "gets shorter if ops then take less than {:.2f} times what they take now; it "
                            "holds {:.2f} activations then.",
                            advice.larger->microbatches, advice.larger->break_even, advice.larger->memory.activations));
        data = report::Value::Object{{"microbatches", advice.larger->microbatches},
                                     {"break_even_op_time", advice.larger->break_even},
                                     {"activations", advice.larger->memory.activations}};
    }
    document.data("larger_microbatches", std::move(data));
}

report::Table suggestionsTable(TimeNs observed, const Advice& advice) {
    const bool bytes = advice.present.bytes.has_value();
    report::Table table({}, {report::shown("step"), report::shown("change"), report::shown("activations")});
    if (bytes) table.columns.push_back(report::shown("memory"));
    table.columns.push_back(report::shown("what", report::Align::Left));
    table.columns.push_back(report::shown("in", report::Align::Left));
    const auto row = [&](TimeNs step, const std::string& change, const HeldMemory& memory, const std::string& what,
                         const std::string& frameworks) {
        table.row(step, change, report::Cell(memory.activations).as(fmt::format("{:.2f}", memory.activations)));
        if (bytes) table.rows.back().emplace_back(memory.bytes.value_or(0), report::Look::Bytes);
        table.rows.back().emplace_back(memory.copies == 1 ? what : what + " (holds the model twice)");
        table.rows.back().emplace_back(frameworks);
    };
    row(observed, "", advice.present, "as it ran", "");
    for (const Suggestion& suggestion : advice.suggestions) {
        row(suggestion.prediction.predicted(),
            fmt::format("{:+.1f} % ± {:.1f}", 100 * suggestion.prediction.relativeChange(),
                        100 * fractionOf(suggestion.prediction.bar.time, observed)),
            suggestion.memory, fmt::format("{}", fmt::join(suggestion.texts, " ")),
            suggestion.frameworks.empty() ? "none that is known"
                                          : fmt::format("{}", fmt::join(suggestion.frameworks, ", ")));
    }
    return table;
}

/// Which stages would give or take how much.
void addMoved(report::Section& document, const Advice& advice) {
    constexpr double kWorthMoving = 0.02;
    for (const Suggestion& suggestion : advice.suggestions) {
        std::string text;
        for (std::size_t stage = 0; stage < suggestion.moved.size(); ++stage) {
            const double share = suggestion.moved[stage];
            if (std::abs(share) < kWorthMoving) continue;
            text += fmt::format("{}stage {} {:+.0f} %", text.empty() ? "" : ", ", stage, 100 * share);
        }
        if (text.empty()) continue;
        document.paragraph(
            "", fmt::format("Balanced means, of each stage's time: {}. With --layers it is said in layers.", text));
    }
}

report::Document toDocument(const AdviseArguments& options, const RunModel& model, const Advice& advice) {
    const TimeNs observed = model.step_time;
    report::Document document;
    report::addSchemaVersion(document);
    report::addSelection(document, model.selection);
    document.data("observed_ns", observed);
    document.data("present", memoryOf(advice.present));
    document.data("tried", advice.tried);
    document.data("suggestions", suggestionsOf(options, advice));
    document.line(fmt::format("A step takes {} ({}). {} orders were tried.", formatTime(observed),
                              model.selection.summary().text(), advice.tried));
    if (!advice.no_orders.empty())
        document.paragraph("", fmt::format("Other orders were not tried: {}.", advice.no_orders));
    document.data("no_orders", advice.no_orders.empty() ? report::Value() : report::Value(advice.no_orders));
    if (advice.suggestions.empty()) {
        document.line("None of them is predicted to save half a percent of it.");
        report::addReplayCheck(document, model.check);
        addLarger(document, advice);
        return document;
    }
    document.line("");
    document.add(suggestionsTable(observed, advice));
    document.line("");
    document.paragraph(
        "", std::string("Activations are those on the fullest rank, counted in what its whole share of the model keeps "
                        "of a micro-batch as it ran. Smaller micro-batches and chunks are taken to be as efficient as "
                        "large ones, which devices are not quite."));
    report::addReplayCheck(document, model.check);
    addMoved(document, advice);
    addLarger(document, advice);
    document.line("\nEach in turn:");
    for (const Suggestion& suggestion : advice.suggestions)
        document.line(commandLine(commandOf(options, suggestion)));
    return document;
}

CommandResult adviseOn(const AdviseArguments& options) {
    BUBBLESCOPE_ASSIGN(const AlignedRun run, options.run.load());
    BUBBLESCOPE_ASSIGN(const RunModel model, options.run.model(run));
    AdviceOptions advice_options;
    if (!options.memory_model.empty()) {
        BUBBLESCOPE_ASSIGN(advice_options.sizes, readModelSizes(options.memory_model));
    }
    if (!options.memory_budget.empty()) {
        BUBBLESCOPE_ASSIGN(advice_options.budget, parseBytes(options.memory_budget));
    }
    BUBBLESCOPE_ASSIGN(const Advice advice,
                       advise(model, run.run.schedule, options.run.cut(), advice_options, options.run.mostError()));
    printProblems(run.run.problems);
    print(toDocument(options, model, advice), options.json);
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
