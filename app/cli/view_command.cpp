#include "app/cli/command.h"
#include "app/cli/load_options.h"

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

/// Searches this program's folder (if installed), the sibling folder (in a build), and PATH.
std::string findGui() {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    for (const char* const candidate : {"bubblescope-gui", "../gui/bubblescope-gui"}) {
        const auto path = self.parent_path() / candidate;
        if (!error && std::filesystem::exists(path)) return path.lexically_normal().string();
    }
    return "bubblescope-gui";
}

struct ViewArguments {
    std::vector<std::string> files;
    RecogniseRequest recognise;
};

CommandResult open(const ViewArguments& options) {
    // Checked here, so that errors appear where the options were typed.
    BUBBLESCOPE_TRY(options.recognise.options());
    const std::string gui = findGui();
    std::vector<std::string> words = options.recognise.words();
    words.insert(words.begin(), gui);
    words.insert(words.end(), options.files.begin(), options.files.end());
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    execvp(gui.c_str(), argv.data());
    return runError(fmt::format("cannot start bubblescope-gui: {}", std::strerror(errno)),
                    "the desktop app needs Qt 6 at build time; `bubblescope analyze` shows the same figures as text");
}

} // namespace

void addViewCommand(Command app, Action& action) {
    const Command command = app.addCommand("view", "Open traces in the desktop app");
    const auto options = std::make_shared<ViewArguments>();
    command.examples({"view my-run", "view ssh://node1/home/me/my-run"});
    command.addOption("FILES", options->files, "Trace files or folders; ssh://HOST/PATH for those on another machine");
    addNameOptions(command, options->recognise);
    command.onParsed([&action, options] { action = [options] { return open(*options); }; });
}

} // namespace bubblescope::cli
