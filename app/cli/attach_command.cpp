#include "app/cli/capture_output.h"
#include "app/cli/command.h"
#include "app/cli/load_watch.h"
#include "app/cli/output.h"

#include <memory>
#include <string>

namespace bubblescope::cli {
namespace {

struct AttachArguments {
    std::string dir;
    bool json = false;
};

CommandResult attach(const AttachArguments& options) {
    JobControl control;
    BUBBLESCOPE_ASSIGN(const profiler::CaptureReport captured,
                       watchLoad(control, [&] { return profiler::reportCapture(options.dir, control); }));
    if (!options.json) printProblems(captured.problems);
    print(captureDocument(captured, options.dir), options.json);
    return 0;
}

} // namespace

void addAttachCommand(Command app, Action& action) {
    const Command command = app.addCommand(
        "attach", "What jobs recorded and lost that were started in the environment that `env` prints, while they run "
                  "or afterwards");
    const auto options = std::make_shared<AttachArguments>();
    command.addOption("DIR", options->dir, "Folder that the environment names").required();
    command.addFlag("--json", options->json, "As a JSON document");
    command.onParsed([&action, options] { action = [options] { return attach(*options); }; });
}

} // namespace bubblescope::cli
