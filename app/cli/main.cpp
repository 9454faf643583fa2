#include "app/cli/command.h"
#include "app/cli/no_memory.h"
#include "app/cli/output.h"
#include "core/base/field.h"
#include "runtime/comm/process_transport.h"
#include "runtime/launch/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace bubblescope::cli {
namespace {

constexpr int kRunFailed = 4;

/// Commands that all processes of a job execute. Only the root executes the other commands.
constexpr std::array<std::string_view, 2> kTogether{"run", "aadiff run"};

bool isTogether(const CommandLine& line) {
    return std::ranges::any_of(kTogether, [&line](std::string_view name) { return line.names(std::string(name)); });
}

/// Adds the lines of the configuration file that set the values named in the error.
Error withSources(Error error, const std::vector<OptionDefault>& defaults) {
    for (const OptionDefault& entry : defaults) {
        const bool named = error.message.find(fmt::format("'{}'", entry.value)) != std::string::npos;
        if (error.kind == ErrorKind::Usage && error.where.empty() && named) error.where = entry.source;
    }
    return error;
}

/// Only the root prints. Its exit code is the exit code of the job.
int execute(const Action& action, const LaunchSession& session, const CommandLine& line) {
    const CommandResult result = action();
    if (!session.isRoot()) return 0;
    // A closed pipe or a full disk is an error, but a user may close a pager early.
    const bool written = endPager() || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0);
    if (!result.ok()) {
        printError(withSources(result.error(), line.usedDefaults()));
        return exitCode(result.error().kind);
    }
    if (!written) {
        fmt::print(stderr, "bubblescope: cannot write the output\n");
        return kRunFailed;
    }
    return result.value();
}

/// True if the run should join processes that find each other without arguments. This is determined before the command
/// line is parsed, because only the root reports errors in the line.
bool joinsByItself(std::span<char*> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == "--transport=nccl") return true;
        if (word == "--transport" && i + 1 < words.size() && std::string_view(words[i + 1]) == "nccl") return true;
    }
    return false;
}

/// A process that is not part of a job, regardless of its launcher.
class NoSession final : public LaunchSession {
public:
    NoSession() : LaunchSession(0, 1) {}
};

Result<std::unique_ptr<LaunchSession>> startSession(std::span<char*> words) {
    // In the job of a launcher, the recorded program participates instead of `record`, because MPI cannot start twice.
    // Processes of `extract` are independent of each other, regardless of their launcher.
    const std::string_view command = words.size() > 1 ? words[1] : "";
    if (command == "record" || command == "extract")
        return std::unique_ptr<LaunchSession>(std::make_unique<NoSession>());
    return LaunchSession::start(joinsByItself(words));
}

int run(int argc, char** argv) {
    setFieldWords({optionOf, " "});
    const auto started = startSession(std::span(argv, static_cast<std::size_t>(argc)));
    if (!started.ok()) {
        printError(started.error());
        return exitCode(started.error().kind);
    }
    LaunchSession& session = *started.value();
    CommandLine line(
        "Bubblescope shows where a training pipeline idles, how far that is from theory, and what causes it.",
        "bubblescope", "bubblescope " BUBBLESCOPE_VERSION,
        "`bubblescope help COMMAND` explains a command. Exit codes: 0 success, 1 --fail-on or a budget "
        "was triggered, 2 wrong usage, 3 bad input, 4 a run failed.");
    line.root().examples({"demo slow-last-stage && bubblescope analyze slow-last-stage.pftrace"});
    Action action;
    TerminalOptions terminal;
    Config config;
    addCommands(line, action, session.team(), terminal, config);
    if (Result<Config> read = readConfig(configFile(), line.describe()); read.ok()) {
        config = std::move(read).value();
        line.setDefaults(config.defaults);
    } else {
        if (session.isRoot()) printError(read.error());
        return exitCode(read.error().kind);
    }
    const std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
    if (const auto ended = line.parse(words, session.isRoot())) return session.isRoot() ? *ended : 0;
    setTerminalOptions(terminal);
    if (!session.isRoot() && !isTogether(line)) return 0;
    Status writable = session.isRoot() ? line.prepare() : Status();
    if (isTogether(line) && session.team() != nullptr) writable = runtime::agree(std::move(writable), *session.team());
    if (!writable.ok()) return execute([&]() -> CommandResult { return writable.error(); }, session, line);
    if (session.size() > 1 && session.team() == nullptr) {
        fmt::print(stderr, "bubblescope: built without MPI: the first of the {} processes does all the work\n",
                   session.size());
    }
    return execute(action, session, line);
}

int reportNoMemory() noexcept {
    printNoMemory();
    return no_memory_exit_code;
}

/// Also called if memory is exhausted in a function that must not throw, such as the move of a container.
[[noreturn]] void terminate() noexcept {
    const bool no_memory = errno == ENOMEM; // the library's file functions end programs without an exception
    try {
        if (std::current_exception() != nullptr) throw;
        if (no_memory) std::_Exit(reportNoMemory());
    } catch (const std::bad_alloc&) {
        std::_Exit(reportNoMemory());
    } catch (...) { // NOLINT(bugprone-empty-catch): a defect
    }
    std::abort();
}

} // namespace
} // namespace bubblescope::cli

int main(int argc, char** argv) {
    // Exceeding the shell's limit for file sizes should be an error like a full disk, instead of ending the process
    // without a message. The signal is not ignored, because jobs that `record` starts would inherit this.
    std::signal(SIGXFSZ, [](int) {}); // NOLINT(cert-err33-c)
    std::set_terminate(bubblescope::cli::terminate);
    try {
        return bubblescope::cli::run(argc, argv);
    } catch (const std::bad_alloc&) {
        return bubblescope::cli::reportNoMemory();
    } catch (const std::system_error& error) { // of std::thread; our own code reports the system's errors as results
        fmt::print(stderr, "bubblescope: cannot start a thread: {}\n  -> raise the process limit (ulimit -u)\n",
                   error.code().message());
        return 4;
    } catch (const std::exception& error) {
        // Our code does not throw exceptions, so this is a defect that should be reported.
        fmt::print(stderr, "bubblescope: stopped unexpectedly: {}\n", error.what());
        return 4;
    }
}
