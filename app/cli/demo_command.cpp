#include "app/cli/command.h"
#include "app/cli/output.h"
#include "core/base/shell_word.h"
#include "core/base/suggestion.h"
#include "core/demo/demo_traces.h"
#include "core/formats/source/existing_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope::cli {
namespace {

struct DemoArguments {
    std::string name;
    std::string out;
    bool json = false;
    const bool* force = nullptr; ///< true if --force was given
};

std::vector<std::string> demoNames() {
    std::vector<std::string> names;
    for (const DemoTrace& demo : demoTraces())
        names.emplace_back(demo.name);
    return names;
}

CommandResult listDemos(const DemoArguments& options) {
    report::Document document;
    report::Table table("demos", {report::data("name"), report::data("title"), report::data("description")});
    table.reader = report::Reader::Programs;
    for (const DemoTrace& demo : demoTraces()) {
        table.row(demo.name, demo.title, demo.description);
        document.paragraph(fmt::format("{:<18}", demo.name), std::string(demo.description));
    }
    document.add(std::move(table));
    document.line(fmt::format("\n`bubblescope demo {}` writes the first one.", demoTraces().front().name));
    print(document, options.json);
    return 0;
}

CommandResult demo(const DemoArguments& options) {
    if (options.name.empty()) {
        if (!options.out.empty()) return usageError("--out has no effect without the name of a demo", "add the name");
        return listDemos(options);
    }
    const DemoTrace* const found = findDemoTrace(options.name);
    if (found == nullptr) {
        const std::string closest = closestName(options.name, demoNames());
        return usageError(fmt::format("unknown demo '{}'", options.name),
                          fmt::format("{}known: {}", closest.empty() ? "" : fmt::format("did you mean '{}'? ", closest),
                                      fmt::join(demoNames(), ", ")));
    }
    const std::filesystem::path file = options.out.empty() ? fmt::format("{}.pftrace", found->name) : options.out;
    if (options.out.empty() && !*options.force) BUBBLESCOPE_TRY(mustBeNew(file));
    BUBBLESCOPE_TRY(writeDemo(found->name, file));
    report::Document document;
    document.data("file", file.string());
    document.line(fmt::format("Written to {}: {}\n", file.string(), found->title));
    document.line("Next:");
    document.line(fmt::format("  bubblescope analyze {}", shellWord(file.string())));
    document.line(fmt::format("  bubblescope view {}", shellWord(file.string())));
    print(document, options.json);
    return 0;
}

} // namespace

void addDemoCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("demo", "Write a sample trace to try the other commands, or list the samples");
    const auto options = std::make_shared<DemoArguments>();
    options->force = &command.force();
    command.addOption("NAME", options->name, "Name of the sample trace (default: list all)").suggests(demoNames());
    command
        .addOutput("--out", options->out, OutputKind::File,
                   "File to write (default: NAME.pftrace in the current folder)", {".pftrace", ".perfetto-trace"})
        .typeName("FILE");
    command.addFlag("--json", options->json, "Print a JSON document");
    command.examples({"demo", fmt::format("demo {} --out demo.pftrace", demoTraces().back().name)});
    command.onParsed([&action, options] { action = [options] { return demo(*options); }; });
}

} // namespace bubblescope::cli
