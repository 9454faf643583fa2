#include "app/cli/command.h"
#include "app/cli/config.h"
#include "app/cli/output.h"
#include "core/analysis/anomalies/thresholds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>

namespace bubblescope::cli {
namespace {

struct ConfigArguments {
    bool json = false;
};

/// A row of the command's table: a value that is in effect, and its source.
struct Setting {
    std::string heading;
    std::string name;
    std::string value;
    std::string source;
};

Setting general(const Config& config, const std::string& name, const std::string& usual) {
    Setting setting{"", name, usual, "default"};
    for (const OptionDefault& entry : config.defaults) {
        if (entry.command.empty() && entry.option == name) setting = {"", name, entry.value, entry.source};
    }
    return setting;
}

std::vector<Setting> settingsOf(const Config& config) {
    std::vector<Setting> settings{general(config, "color", "auto"), general(config, "pager", "PAGER, else less"),
                                  general(config, "wide", "false")};
    for (const OptionDefault& entry : config.defaults) {
        if (!entry.command.empty())
            settings.push_back(
                {fmt::format("{}", fmt::join(entry.command, " ")), entry.option, entry.value, entry.source});
    }
    for (const ThresholdInfo& info : thresholdTable()) {
        Setting setting{"thresholds", std::string(info.name), fmt::format("{}", Thresholds{}.*(info.value)), "default"};
        for (const OptionDefault& entry : config.defaults) {
            const bool names = entry.command.empty() && entry.option == "threshold";
            const auto equals = entry.value.find('=');
            if (!names || entry.value.substr(0, equals) != setting.name) continue;
            setting.value = entry.value.substr(equals + 1);
            setting.source = entry.source;
        }
        settings.push_back(std::move(setting));
    }
    return settings;
}

CommandResult show(const ConfigArguments& options, const Config& config) {
    report::Document document;
    document.data("file", config.file.string());
    document.data("exists", config.exists);
    document.line(fmt::format("{}: {}", config.file.string(),
                              config.exists ? "read" : "not found; all settings have their defaults"));
    document.line("");
    report::Table table("settings", {report::column("heading", "heading", report::Align::Left),
                                     report::column("name", "setting", report::Align::Left),
                                     report::column("value", "value", report::Align::Left),
                                     report::column("source", "from", report::Align::Left)});
    for (const Setting& setting : settingsOf(config))
        table.row(setting.heading.empty() ? "" : fmt::format("[{}]", setting.heading), setting.name, setting.value,
                  setting.source);
    document.add(std::move(table));
    document.line("");
    document.paragraph(
        "",
        "Each line has the form NAME = VALUE, where NAME is an option without its dashes; the value of a flag is true "
        "or false. Settings of one command follow a line with its name in brackets, such as [analyze]. Lines that "
        "start with # are comments. Options on the command line take precedence.");
    print(document, options.json);
    return 0;
}

} // namespace

void addConfigCommand(Command app, Action& action, const Config& config) {
    const Command command = app.addCommand("config", "Show the configuration file's settings and their sources");
    const auto options = std::make_shared<ConfigArguments>();
    command.addFlag("--json", options->json, "Print a JSON document");
    command.examples({"config", "config --json"});
    command.onParsed([&action, options, &config] { action = [options, &config] { return show(*options, config); }; });
}

} // namespace bubblescope::cli
