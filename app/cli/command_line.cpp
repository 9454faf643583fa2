#include "app/cli/command_line.h"

#include "core/formats/source/existing_results.h"
#include "core/formats/source/standard_output.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <map>
#include <sstream>
#include <utility>

namespace bubblescope::cli {
namespace {

constexpr int kUsage = 2;

std::string_view endingOf(OutputKind folder) {
    return folder == OutputKind::Traces ? kTraceEnding : ".csv";
}

} // namespace

/// The options of all commands that name outputs.
class Outputs {
public:
    struct Output {
        const std::string* name;
        OutputKind kind;
    };
    struct Of {
        bool force = false;
        std::vector<Output> outputs;
    };

    /// The command's, with --force.
    Of& of(CLI::App& app) {
        const auto [entry, is_new] = of_.try_emplace(&app);
        if (is_new) app.add_flag("--force", entry->second.force, "Replace results that exist under an output's name");
        return entry->second;
    }

    Status prepare() const {
        int to_standard_output = 0;
        for (const auto& [app, of] : of_) {
            if (app->parsed()) BUBBLESCOPE_TRY(prepare(of, to_standard_output));
        }
        if (to_standard_output > 1) return usageError("only one output can be -, which is standard output");
        if (to_standard_output == 1) reserveStandardOutput();
        return {};
    }

private:
    static Status prepare(const Of& of, int& to_standard_output) {
        for (const auto& [name, kind] : of.outputs) {
            if (name->empty()) continue;
            if (kind == OutputKind::File) {
                if (*name == kStandardOutput) ++to_standard_output;
                if (!of.force) BUBBLESCOPE_TRY(mustBeNew(*name));
            } else {
                if (!of.force) BUBBLESCOPE_TRY(mustHoldNone(*name, endingOf(kind)));
                if (kind == OutputKind::Traces) BUBBLESCOPE_TRY(removeAll(*name, endingOf(kind)));
            }
        }
        return {};
    }

    std::map<CLI::App*, Of> of_; // whose values the options refer to
};

Option Option::typeName(const std::string& name) const {
    option_->type_name(name);
    return *this;
}

Option Option::group(const std::string& heading) const {
    option_->group(heading);
    return *this;
}

Option Option::showDefault() const {
    option_->capture_default_str();
    return *this;
}

Option Option::required() const {
    option_->required();
    return *this;
}

Option Option::needs(Option other) const {
    option_->needs(other.option_);
    return *this;
}

Option Option::excludes(Option other) const {
    option_->excludes(other.option_);
    return *this;
}

Option Option::delimiter(char between) const {
    // Otherwise an option before the files would take them as values.
    option_->delimiter(between)->allow_extra_args(false);
    return *this;
}

Option Option::expected(int count) const {
    option_->expected(count);
    return *this;
}

Option Option::expected(int least, int most) const {
    option_->expected(least, most);
    return *this;
}

Option Option::repeatable() const {
    option_->expected(1)->take_all();
    return *this;
}

Option Option::range(int least, int most) const {
    option_->check(CLI::Range(least, most));
    return *this;
}

Option Option::range(double least, double most) const {
    option_->check(CLI::Range(least, most));
    return *this;
}

Option Option::positive() const {
    option_->check(CLI::PositiveNumber);
    return *this;
}

Option Option::notNegative() const {
    option_->check(CLI::NonNegativeNumber);
    return *this;
}

Option Option::oneOf(std::vector<std::string> words) const {
    option_->check(CLI::IsMember(std::move(words)));
    return *this;
}

Command Command::addCommand(const std::string& name, const std::string& help) const {
    return {app_->add_subcommand(name, help), outputs_};
}

void Command::needsCommand() const {
    app_->require_subcommand(1);
}

template <class T>
Option Command::addOption(const std::string& name, T& value, const std::string& help) const {
    return Option(app_->add_option(name, value, help));
}

template Option Command::addOption(const std::string&, std::string&, const std::string&) const;
template Option Command::addOption(const std::string&, int&, const std::string&) const;
template Option Command::addOption(const std::string&, std::uint64_t&, const std::string&) const;
template Option Command::addOption(const std::string&, float&, const std::string&) const;
template Option Command::addOption(const std::string&, double&, const std::string&) const;
template Option Command::addOption(const std::string&, std::optional<std::string>&, const std::string&) const;
template Option Command::addOption(const std::string&, std::optional<int>&, const std::string&) const;
template Option Command::addOption(const std::string&, std::optional<double>&, const std::string&) const;
template Option Command::addOption(const std::string&, std::optional<std::int64_t>&, const std::string&) const;
template Option Command::addOption(const std::string&, std::vector<std::string>&, const std::string&) const;
template Option Command::addOption(const std::string&, std::vector<int>&, const std::string&) const;
template Option Command::addOption(const std::string&, std::vector<std::int64_t>&, const std::string&) const;

Option Command::addFlag(const std::string& name, bool& value, const std::string& help) const {
    return Option(app_->add_flag(name, value, help));
}

Option Command::addOutput(const std::string& name, std::string& value, OutputKind kind, const std::string& help) const {
    outputs_->of(*app_).outputs.push_back({&value, kind});
    return addOption(name, value, help);
}

const bool& Command::force() const {
    return outputs_->of(*app_).force;
}

void Command::onParsed(std::function<void()> action) const {
    app_->callback(std::move(action));
}

CommandLine::CommandLine(const std::string& about, const std::string& name, const std::string& version,
                         const std::string& footer)
    : app_(std::make_unique<CLI::App>(about, name)), outputs_(std::make_unique<Outputs>()) {
    app_->set_version_flag("--version", version);
    app_->footer(footer);
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() const {
    return {app_.get(), outputs_.get()};
}

std::optional<int> CommandLine::parse(int argc, char** argv, bool speaks) {
    try {
        app_->parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        return (speaks ? app_->exit(error) : error.get_exit_code()) == 0 ? 0 : kUsage;
    }
}

Status CommandLine::prepareOutputs() const {
    return outputs_->prepare();
}

bool CommandLine::names(const std::string& command) const {
    const CLI::App* at = app_.get();
    std::istringstream words(command);
    for (std::string word; words >> word; at = at->get_subcommand(word)) {
        if (!at->got_subcommand(word)) return false;
    }
    return true;
}

} // namespace bubblescope::cli
