#include "app/cli/config.h"

#include "core/analysis/anomalies/thresholds.h"
#include "core/base/input_file.h"
#include "core/base/suggestion.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <system_error>

namespace bubblescope::cli {
namespace {

constexpr std::string_view kThresholds = "thresholds";

std::string variableOf(const char* name) {
    const char* const value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): before threads start
    return value != nullptr ? value : "";
}

std::vector<std::string> wordsOf(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

/// The commands that accept options, with the names used in headings.
void addHeadings(const CommandInfo& command, const std::string& parent, std::vector<std::string>& headings) {
    for (const CommandInfo& each : command.commands) {
        const std::string name = parent.empty() ? each.name : parent + " " + each.name;
        if (each.commands.empty()) headings.push_back(name);
        addHeadings(each, name, headings);
    }
}

/// Options that a file may set: those that every command has, or those of one command.
std::vector<std::string> settableOptions(const CommandInfo& command) {
    std::vector<std::string> names;
    for (const OptionInfo& option : command.options) {
        const std::string& name = option.names.back();
        if (!option.positional && name.starts_with("--") && !name.starts_with("--help"))
            names.push_back(name.substr(2));
    }
    return names;
}

class Reader {
public:
    Reader(const std::filesystem::path& file, const CommandInfo& program) : program_(program) {
        config_.file = file;
        config_.exists = true;
        addHeadings(program, "", headings_);
        headings_.emplace_back(kThresholds);
    }

    Result<Config> read(std::string_view text) {
        while (!text.empty()) {
            const std::string_view line = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(line.size() + 1, text.size()));
            ++line_;
            const std::string content(trimmed(line));
            if (content.empty() || content.front() == '#' || content.front() == ';') continue;
            BUBBLESCOPE_TRY(content.front() == '[' ? readHeading(content) : readValue(content));
        }
        return std::move(config_);
    }

private:
    [[nodiscard]] std::string place() const { return fmt::format("{}:{}", config_.file.string(), line_); }

    [[nodiscard]] Error unknown(std::string_view what, const std::string& name,
                                const std::vector<std::string>& known) const {
        return inputError(place(), fmt::format("unknown {} '{}'{}", what, name, didYouMean(name, known)),
                          "`bubblescope config` lists all settings");
    }

    Status readHeading(const std::string& content) {
        if (content.back() != ']') return inputError(place(), "end the heading with ]", "write [analyze]");
        heading_ = fmt::format("{}", fmt::join(wordsOf(content.substr(1, content.size() - 2)), " "));
        if (std::ranges::find(headings_, heading_) == headings_.end()) return unknown("command", heading_, headings_);
        return {};
    }

    Status readValue(const std::string& content) {
        const auto equals = content.find('=');
        if (equals == std::string::npos)
            return inputError(place(), fmt::format("'{}' is not a setting", content), "write NAME = VALUE");
        const std::string name(trimmed(std::string_view(content).substr(0, equals)));
        const std::string value(trimmed(std::string_view(content).substr(equals + 1)));
        if (heading_ == kThresholds) return readThreshold(name, value);
        const std::vector<std::string> path = wordsOf(heading_);
        std::vector<std::string> known = heading_.empty() ? std::vector<std::string>{"color", "pager", "wide"}
                                                          : settableOptions(*commandNamed(program_, path).command);
        if (std::ranges::find(known, name) == known.end())
            return unknown(heading_.empty() ? "setting" : "option of " + heading_, name, known);
        config_.defaults.push_back({path, name, value, place()});
        return {};
    }

    Status readThreshold(const std::string& name, const std::string& value) {
        Thresholds thresholds;
        const std::string assignment = fmt::format("{}={}", name, value);
        if (const Status valid = setThreshold(thresholds, assignment); !valid.ok())
            return inputError(place(), valid.error().message, valid.error().hint);
        config_.defaults.push_back({{}, "threshold", assignment, place()});
        return {};
    }

    const CommandInfo& program_;
    Config config_;
    std::vector<std::string> headings_;
    std::string heading_;
    int line_ = 0;
};

} // namespace

std::filesystem::path configFile() {
    if (const std::string file = variableOf("BUBBLESCOPE_CONFIG"); !file.empty()) return file;
    if (const std::string folder = variableOf("XDG_CONFIG_HOME"); folder.starts_with('/'))
        return std::filesystem::path(folder) / "bubblescope" / "config";
    if (const std::string home = variableOf("HOME"); !home.empty())
        return std::filesystem::path(home) / ".config" / "bubblescope" / "config";
    return {};
}

Result<Config> readConfig(const std::filesystem::path& file, const CommandInfo& program) {
    std::error_code error;
    if (file.empty() || !std::filesystem::exists(file, error)) {
        Config none;
        none.file = file;
        return none;
    }
    BUBBLESCOPE_ASSIGN(const std::string text, readInputText(file.string()));
    return configFrom(text, file, program);
}

Result<Config> configFrom(std::string_view text, const std::filesystem::path& file, const CommandInfo& program) {
    return Reader(file, program).read(text);
}

} // namespace bubblescope::cli
