#include "app/cli/capture_output.h"
#include "app/cli/command.h"
#include "app/cli/output.h"
#include "core/base/shell_word.h"
#include "profiler/job/run_job.h"

#include <fmt/format.h>

#include <memory>
#include <string>

namespace bubblescope::cli {
namespace {

struct EnvArguments {
    CaptureCommandOptions capture;
    bool json = false;
};

CommandResult env(const EnvArguments& options) {
    BUBBLESCOPE_ASSIGN(const profiler::CaptureOptions capture, options.capture.options());
    BUBBLESCOPE_ASSIGN(const std::filesystem::path library, profiler::findInjectLibrary(profiler::ownVariable));
    report::Document document;
    BUBBLESCOPE_ASSIGN(const auto variables, profiler::captureEnvironment(library, capture, profiler::ownVariable));
    for (const auto& [name, value] : variables) {
        document.data(name, value);
        document.line(fmt::format("export {}={}", name, inQuotes(value)));
    }
    print(document, options.json);
    return 0;
}

} // namespace

void addEnvCommand(Command app, Action& action) {
    const Command command = app.addCommand("env", "Print environment variables that make jobs record themselves");
    const auto options = std::make_shared<EnvArguments>();
    command.examples({"env --out my-trace", "env --out my-trace --json"});
    options->capture.addTo(command);
    command.addFlag("--json", options->json, "Print a JSON document, instead of shell commands for eval");
    command.onParsed([&action, options] { action = [options] { return env(*options); }; });
}

} // namespace bubblescope::cli
