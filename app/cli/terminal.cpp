#include "app/cli/terminal.h"

#include "core/base/text.h"
#include "core/report/text.h"
#include "runtime/launch/launcher.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bubblescope::cli {
namespace {

/// Minimum width of readable text.
constexpr std::size_t kLeastWidth = 40;

struct Terminal {
    TerminalOptions options;
    // Launchers may connect processes to a terminal that no user is watching.
    bool output = isatty(STDOUT_FILENO) != 0 && !launchedAs();
    bool error = isatty(STDERR_FILENO) != 0;
    pid_t pager = -1;
};

Terminal& terminal() {
    static Terminal the;
    return the;
}

std::string variable(const char* name) {
    const char* const value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): before threads start
    return value != nullptr ? value : "";
}

struct Size {
    std::size_t columns = 0; ///< 0 = unknown
    std::size_t lines = 0;
};

Size sizeOf(int file) {
    Size size;
    winsize window{};
    if (ioctl(file, TIOCGWINSZ, &window) == 0) size = {window.ws_col, window.ws_row};
    if (const auto columns = parseNumber<std::size_t>(variable("COLUMNS")); columns && *columns > 0)
        size.columns = *columns;
    if (const auto lines = parseNumber<std::size_t>(variable("LINES")); lines && *lines > 0) size.lines = *lines;
    return size;
}

/// Size of standard output when the process started, because a pager replaces standard output later.
const Size& outputSize() {
    static const Size size = terminal().output ? sizeOf(STDOUT_FILENO) : Size{};
    return size;
}

std::size_t textWidth(std::size_t columns) {
    return columns == 0 ? report::kTextWidth : std::clamp(columns, kLeastWidth, report::kTextWidth);
}

bool colors(bool is_terminal) {
    const std::string& when = terminal().options.color;
    if (when != "auto") return when == "always";
    return is_terminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

/// Shell command of the pager; empty if there is no pager.
std::string pagerCommand() {
    std::string command = terminal().options.pager;
    if (command.empty()) command = variable("BUBBLESCOPE_PAGER");
    if (command.empty()) command = variable("PAGER");
    if (command.empty()) command = "less";
    return command == "cat" ? std::string() : command;
}

} // namespace

void setTerminalOptions(const TerminalOptions& options) {
    terminal().options = options;
}

bool errorIsTerminal() {
    return terminal().error;
}

std::size_t outputWidth() {
    return textWidth(outputSize().columns);
}

std::size_t errorWidth() {
    return textWidth(terminal().error ? sizeOf(STDERR_FILENO).columns : 0);
}

std::optional<std::size_t> chartWidth() {
    if (!terminal().output || terminal().options.wide || outputSize().columns == 0) return std::nullopt;
    return std::max(outputSize().columns, kLeastWidth);
}

bool colorsOutput() {
    return colors(terminal().output);
}

bool colorsError() {
    return colors(terminal().error);
}

void startPager(std::size_t lines) {
    Terminal& the = terminal();
    const std::string command = pagerCommand();
    if (!the.output || the.options.no_pager || the.pager > 0 || command.empty()) return;
    if (outputSize().lines == 0 || lines < outputSize().lines) return;
    std::fflush(stdout);
    int ends[2];
    if (pipe(ends) != 0) return;
    const std::string line = command + " || exec cat"; // in case the pager is not installed
    setenv("LESS", "FRX", 0);                          // NOLINT(concurrency-mt-unsafe): not read concurrently
    signal(SIGPIPE, SIG_IGN);                          // if the user closes the pager early, the program ends silently
    const pid_t child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return;
    }
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
        _exit(127);
    }
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    the.pager = child;
}

bool endPager() {
    Terminal& the = terminal();
    if (the.pager <= 0) return false;
    std::fflush(stdout);
    std::fclose(stdout); // the pager reads to the end
    while (waitpid(the.pager, nullptr, 0) < 0 && errno == EINTR) {
    }
    the.pager = -1;
    return true;
}

} // namespace bubblescope::cli
