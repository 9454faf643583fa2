#include "app/cli/command.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace bubblescope::cli {
namespace {

/// Beside this program, as installed; in the sibling folder, as built; else wherever PATH finds it.
std::string findGui() {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    for (const char* const candidate : {"bubblescope-gui", "../gui/bubblescope-gui"}) {
        const auto path = self.parent_path() / candidate;
        if (!error && std::filesystem::exists(path)) return path.lexically_normal().string();
    }
    return "bubblescope-gui";
}

CommandResult open(const std::vector<std::string>& files) {
    const std::string gui = findGui();
    std::vector<std::string> words{gui};
    words.insert(words.end(), files.begin(), files.end());
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    execvp(gui.c_str(), argv.data());
    return runError(fmt::format("bubblescope-gui cannot be started: {}", std::strerror(errno)),
                    "it is built where Qt 6 is found; `bubblescope analyze` shows the same figures as text");
}

} // namespace

void addViewCommand(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("view", "Open traces in the desktop app");
    const auto files = std::make_shared<std::vector<std::string>>();
    command->add_option("FILES", *files, "Trace files or directories");
    command->callback([&action, files] { action = [files] { return open(*files); }; });
}

} // namespace bubblescope::cli
