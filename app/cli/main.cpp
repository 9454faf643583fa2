#include "app/cli/command.h"
#include "app/cli/output.h"
#include "runtime/comm/process_transport.h"
#include "runtime/launch/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace bubblescope::cli {
namespace {

constexpr int kRunFailed = 4;

/// Commands in which all processes of a job take part. Of the others the root does all.
constexpr std::array<std::string_view, 3> kTogether{"analyze", "run", "aadiff run"};

bool isTogether(const CommandLine& line) {
    return std::ranges::any_of(kTogether, [&line](std::string_view name) { return line.names(std::string(name)); });
}

/// The root speaks for all processes, and its exit code is the job's.
int execute(const Action& action, const LaunchSession& session) {
    const CommandResult result = action();
    if (!session.isRoot()) return 0;
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

/// Whether the run is to join processes that find each other by themselves. That must be known before the line is
/// parsed, since of several processes the root alone says what is wrong with it.
bool joinsByItself(std::span<char*> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == "--transport=nccl") return true;
        if (word == "--transport" && i + 1 < words.size() && std::string_view(words[i + 1]) == "nccl") return true;
    }
    return false;
}

/// A process that is not part of any job, whatever started it.
class NoSession final : public LaunchSession {
public:
    NoSession() : LaunchSession(0, 1) {}
};

Result<std::unique_ptr<LaunchSession>> startSession(std::span<char*> words) {
    // Of a launcher's job the program that is recorded is part, not the one that records it: MPI cannot start twice.
    if (words.size() > 1 && std::string_view(words[1]) == "record")
        return std::unique_ptr<LaunchSession>(std::make_unique<NoSession>());
    return LaunchSession::start(joinsByItself(words));
}

int run(int argc, char** argv) {
    const auto started = startSession(std::span(argv, static_cast<std::size_t>(argc)));
    if (!started.ok()) {
        printError(started.error().text());
        return exitCode(started.error().kind);
    }
    LaunchSession& session = *started.value();
    CommandLine line("Bubblescope: where are the bubbles of a training pipeline, and how far are they from theory?",
                     "bubblescope", "bubblescope " BUBBLESCOPE_VERSION,
                     "Exit codes: 0 fine, 1 a finding that --fail-on asked to fail on, 2 wrong usage,\n"
                     "3 unreadable or invalid input, 4 a run failed. `bubblescope COMMAND --help` tells more.");
    const Command app = line.root();
    app.needsCommand();
    Action action;
    addRunCommand(app, action, session.team());
    addAnalyzeCommand(app, action, session.team());
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
    addSearchCommand(app, action);
    addFillCommand(app, action);
    addInfoCommand(app, action);
    addConvertCommand(app, action);
    addMemoryCommand(app, action);
    addValidateCommand(app, action);
    addAadiffCommand(app, action, session.team());
    addMonitorCommand(app, action);
    addViewCommand(app, action);
    addRecordCommand(app, action);
    addEnvCommand(app, action);
    addAttachCommand(app, action);
    if (const auto ended = line.parse(argc, argv, session.isRoot())) return session.isRoot() ? *ended : 0;
    if (!session.isRoot() && !isTogether(line)) return 0;
    Status writable = session.isRoot() ? line.prepareOutputs() : Status();
    if (isTogether(line) && session.team() != nullptr) writable = runtime::agree(std::move(writable), *session.team());
    if (!writable.ok()) return execute([&]() -> CommandResult { return writable.error(); }, session);
    if (session.size() > 1 && session.team() == nullptr) {
        fmt::print(stderr, "bubblescope: built without MPI, so the first of the {} processes does all the work\n",
                   session.size());
    }
    return execute(action, session);
}

} // namespace
} // namespace bubblescope::cli

int main(int argc, char** argv) {
    // Writing beyond a limit of the shell's is an error like a full disk, not an end without a word. Not ignored: that
    // would be inherited by the jobs that `record` starts.
    std::signal(SIGXFSZ, [](int) {}); // NOLINT(cert-err33-c)
    try {
        return bubblescope::cli::run(argc, argv);
    } catch (const std::exception& error) {
        // Nothing of ours throws; this is memory running out, or a defect worth a report.
        fmt::print(stderr, "bubblescope: stopped unexpectedly: {}\n", error.what());
        return 4;
    }
}
