#include "app/cli/command.h"
#include "app/cli/mcp_tools.h"
#include "core/mcp/session.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <string>

namespace bubblescope::cli {
namespace {

constexpr std::size_t kLongestLine = std::size_t{16} << 20;

/// The next line without its line end. Longer lines are truncated, so that they are answered with an error. Returns
/// false at the end of input.
bool readLine(std::string& line) {
    line.clear();
    std::array<char, 1 << 16> part{};
    while (std::fgets(part.data(), static_cast<int>(part.size()), stdin) != nullptr) {
        const std::string_view read(part.data());
        if (line.size() < kLongestLine) line += read;
        if (read.ends_with('\n')) break;
    }
    const bool got = !line.empty();
    while (line.ends_with('\n') || line.ends_with('\r'))
        line.pop_back();
    return got;
}

CommandResult serve() {
    mcp::Session session(
        BUBBLESCOPE_VERSION,
        "Bubblescope diagnoses pipeline-parallel training from traces. Call open with the path of a trace, "
        "then answer for the verdict and findings for the evidence; whatif predicts what a change would "
        "gain. Every answer ends with the command that repeats it.",
        mcpTools());
    for (std::string line; readLine(line);) {
        if (line.find_first_not_of(" \t") == std::string::npos) continue;
        if (const auto answer = session.answer(line)) {
            fmt::print("{}\n", *answer);
            std::fflush(stdout);
        }
    }
    return 0;
}

} // namespace

void addMcpCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("mcp", "Serve AI agents over the Model Context Protocol on standard input and output");
    command.examples({"mcp"});
    command.onParsed([&action] { action = serve; });
}

} // namespace bubblescope::cli
