#include "app/cli/capture_output.h"
#include "app/cli/command.h"
#include "app/cli/load_watch.h"
#include "app/cli/output.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

namespace bubblescope::cli {
namespace {

struct AttachArguments {
    std::string dir;
    bool json = false;
};

CommandResult attach(const AttachArguments& options) {
    std::error_code error;
    if (!std::filesystem::is_directory(options.dir, error))
        return inputError(options.dir, "does not exist",
                          "specify the folder that was passed to `bubblescope env --out`");
    JobControl control;
    BUBBLESCOPE_ASSIGN(const profiler::CaptureReport captured,
                       watchLoad(control, [&] { return profiler::reportCapture(options.dir, control); }));
    if (!options.json) printProblems(captured.problems);
    print(captureDocument(captured, options.dir), options.json);
    return 0;
}

} // namespace

void addAttachCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("attach", "Report on recordings of jobs that were started with `bubblescope env`");
    command.examples({"attach my-trace", "attach my-trace --json"});
    const auto options = std::make_shared<AttachArguments>();
    command.addOption("DIR", options->dir, "The folder that was passed to `bubblescope env --out`").required();
    command.addFlag("--json", options->json, "Print a JSON document");
    command.onParsed([&action, options] { action = [options] { return attach(*options); }; });
}

} // namespace bubblescope::cli
