#include "app/cli/command.h"
#include "app/cli/output.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace bubblescope::cli {
namespace {

constexpr int kUsage = 2;
constexpr int kRunFailed = 4;

int execute(const Action& action) {
    const CommandResult result = action();
    // A closed pipe or a full disk must not look like success.
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (!result.ok()) {
        printError(result.error().text());
        return exitCode(result.error().kind);
    }
    if (!written) {
        fmt::print(stderr, "bubblescope: the output could not be written\n");
        return kRunFailed;
    }
    return result.value();
}

int run(int argc, char** argv) {
    CLI::App app("Bubblescope: where are the bubbles of a training pipeline, and how far are they from theory?",
                 "bubblescope");
    app.set_version_flag("--version", "bubblescope " BUBBLESCOPE_VERSION);
    app.require_subcommand(1);
    app.footer("Exit codes: 0 fine, 1 a finding that --fail-on asked to fail on, 2 wrong usage,\n"
               "3 unreadable or invalid input, 4 a run failed. `bubblescope COMMAND --help` tells more.");
    Action action;
    addRunCommand(app, action);
    addAnalyzeCommand(app, action);
    addAnomaliesCommand(app, action);
    addDiffCommand(app, action);
    addWhatIfCommand(app, action);
    addAdviseCommand(app, action);
    addScheduleCommand(app, action);
    addSchedulesCommand(app, action);
    addSimulateCommand(app, action);
    addFormulaCommand(app, action);
    addOverlapCommand(app, action);
    addPartitionCommand(app, action);
    addInfoCommand(app, action);
    addConvertCommand(app, action);
    addMemoryCommand(app, action);
    addValidateCommand(app, action);
    addViewCommand(app, action);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kUsage;
    }
    return execute(action);
}

} // namespace
} // namespace bubblescope::cli

int main(int argc, char** argv) {
    try {
        return bubblescope::cli::run(argc, argv);
    } catch (const std::exception& error) {
        // Nothing of ours throws; this is memory running out, or a defect worth a report.
        fmt::print(stderr, "bubblescope: stopped unexpectedly: {}\n", error.what());
        return 4;
    }
}
