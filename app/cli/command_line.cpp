#include "app/cli/command_line.h"

#include "app/cli/help.h"
#include "app/cli/output.h"
#include "app/cli/terminal.h"
#include "core/base/suggestion.h"
#include "core/formats/source/existing_results.h"
#include "core/formats/source/standard_output.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

namespace bubblescope::cli {

struct OptionTraits {
    std::vector<std::string> choices;
    bool rare = false;
};

struct CommandTraits {
    std::vector<std::string> examples;
    std::string option_group = "Options";
    std::string command_group;
};

class Outputs;

/// Data about commands that CLI11 does not store.
struct CommandRegistry {
    std::unique_ptr<Outputs> outputs;
    std::map<const CLI::Option*, OptionTraits> options;
    std::map<const CLI::App*, CommandTraits> commands;
    std::function<void(Command)> add_to_every;
    Status values; ///< the first value that could not be parsed
};

namespace {

constexpr int kUsage = 2;
constexpr std::array<std::string_view, 3> kHelpWords{"-h", "--help", "--help-all"};

/// Rejects a value with `complaint` unless it is a number that satisfies `holds`.
template <class Holds>
CLI::Validator numberCheck(Holds holds, std::string complaint) {
    return CLI::Validator(
        [holds, complaint = std::move(complaint)](std::string& text) {
            double number = 0;
            const bool valid = CLI::detail::lexical_cast(text, number) && holds(number);
            return valid ? std::string() : fmt::format("'{}' is not {}", text, complaint);
        },
        "");
}

/// Converts CLI11's error message to our terms.
std::string complaintOf(const CLI::ParseError& error) {
    std::string text = error.what();
    const std::string name = error.get_name();
    const auto after = [&text](std::string_view head) { return text.substr(std::min(head.size(), text.size())); };
    const auto halves = [&text](std::string_view between) {
        const auto at = text.find(between);
        return at == std::string::npos ? std::pair(text, std::string())
                                       : std::pair(text.substr(0, at), text.substr(at + between.size()));
    };
    if (name == "ConversionError" && text.starts_with("Could not convert: ")) {
        text = after("Could not convert: ");
        const auto [option, value] = halves(" = ");
        return fmt::format("{}: '{}' is not a number", option, value);
    }
    if (name == "RequiredError") return halves(" is required").first + " is missing";
    if (name == "RequiresError") {
        const auto [option, other] = halves(" requires ");
        return fmt::format("{} needs {}", option, other);
    }
    if (name == "ExcludesError") {
        const auto [option, other] = halves(" excludes ");
        return fmt::format("{} and {} cannot be combined", option, other);
    }
    if (name == "ArgumentMismatch" && text.find("At Most") != std::string::npos)
        return halves(":").first + " is specified more than once";
    if (name == "ArgumentMismatch" && text.find("required") != std::string::npos)
        return halves(":").first + " needs a value";
    return text;
}

OptionInfo infoOf(const CLI::Option& option, const OptionTraits& traits) {
    OptionInfo info;
    if (option.get_positional()) {
        info.names.push_back(option.get_name(true, false));
    } else {
        for (const std::string& name : option.get_snames())
            info.names.push_back("-" + name);
        for (const std::string& name : option.get_lnames())
            info.names.push_back("--" + name);
    }
    info.positional = option.get_positional();
    if (option.get_items_expected_max() > 0 && !info.positional) info.value = option.get_type_name();
    info.about = option.get_description();
    if (!option.get_default_str().empty()) info.about += fmt::format(" ({})", option.get_default_str());
    info.group = option.get_group();
    info.choices = traits.choices;
    info.required = option.get_required();
    info.repeats = option.get_items_expected_max() > 1;
    info.rare = traits.rare;
    return info;
}

CommandInfo infoOf(const CLI::App& app, const CommandRegistry& registry, const std::string& parent) {
    CommandInfo info;
    info.name = app.get_name();
    info.path = parent.empty() ? info.name : parent + " " + info.name;
    info.about = app.get_description();
    info.group = app.get_group();
    info.footer = parent.empty() ? app.get_footer() : "";
    if (const auto found = registry.commands.find(&app); found != registry.commands.end())
        info.examples = found->second.examples;
    for (const CLI::Option* const option : app.get_options()) {
        const auto found = registry.options.find(option);
        info.options.push_back(infoOf(*option, found == registry.options.end() ? OptionTraits{} : found->second));
    }
    for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; }))
        info.commands.push_back(infoOf(*command, registry, info.path));
    return info;
}

/// Null if there is no such command.
const CLI::App* commandOf(const CLI::App& app, const std::string& name) {
    const auto found = app.get_subcommands([&name](const CLI::App* command) { return command->get_name() == name; });
    return found.empty() ? nullptr : found.front();
}

std::vector<std::string> commandNames(const CommandInfo& command) {
    std::vector<std::string> names;
    for (const CommandInfo& each : command.commands)
        names.push_back(each.name);
    return names;
}

bool asksForHelp(const std::string& word) {
    return std::ranges::find(kHelpWords, word) != kHelpWords.end();
}

/// The option in a word such as --name=value, without the value; empty for other words.
std::string optionName(const std::string& word) {
    return word.size() > 1 && word.front() == '-' ? word.substr(0, word.find('=')) : std::string();
}

/// The error for a word that does not name a command.
std::string unknownCommand(const CommandInfo& command, const std::string& word) {
    if (!optionName(word).empty())
        return fmt::format("unknown option '{}'{}", word, didYouMean(optionName(word), optionNames(command)));
    return fmt::format("unknown command '{}'{}", word, didYouMean(word, commandNames(command)));
}

/// Describes the error in the first word that no option accepts.
std::string unexpectedWord(const CommandInfo& command, const std::vector<std::string>& left) {
    const auto option = std::ranges::find_if(left, [](const std::string& word) { return !optionName(word).empty(); });
    const bool takes_words = std::ranges::any_of(command.options, [](const OptionInfo& each) {
        return each.positional && each.names.front() == "COMMAND"; // followed by the options of that command
    });
    if (option != left.end() && takes_words)
        return fmt::format("'{}' is not an option of {}: write -- before the command to run", optionName(*option),
                           command.name);
    if (option != left.end())
        return fmt::format("unknown option '{}'{}", optionName(*option),
                           didYouMean(optionName(*option), optionNames(command)));
    return fmt::format("unexpected argument '{}'", left.empty() ? "" : left.front());
}

int complain(const CommandInfo& command, const std::string& complaint, bool speaks) {
    if (!speaks) return kUsage;
    printError(usageError(complaint, fmt::format("`{} --help` lists {}", command.path,
                                                 command.commands.empty() ? "its options" : "its commands")));
    return kUsage;
}

std::string_view endingOf(OutputKind folder) {
    return folder == OutputKind::Traces ? kTraceEnding : ".csv";
}

} // namespace

/// The output options of all commands.
class Outputs {
public:
    struct Output {
        std::string option;
        const std::string* name;
        OutputKind kind;
        std::vector<std::string> endings;
    };
    struct Of {
        bool force = false;
        std::vector<Output> outputs;
    };

    /// The options of the command, including --force.
    Of& of(CLI::App& app) {
        const auto [entry, is_new] = of_.try_emplace(&app);
        if (is_new) app.add_flag("--force", entry->second.force, "Overwrite existing output files");
        return entry->second;
    }

    Status prepare() const {
        int to_standard_output = 0;
        for (const auto& [app, of] : of_) {
            if (app->parsed()) BUBBLESCOPE_TRY(prepare(of, to_standard_output));
        }
        if (to_standard_output > 1) return usageError("only one output can be - (standard output)");
        if (to_standard_output == 1) reserveStandardOutput();
        return {};
    }

private:
    static Status prepare(const Of& of, int& to_standard_output) {
        for (const auto& [option, name, kind, endings] : of.outputs) {
            if (name->empty()) continue;
            BUBBLESCOPE_TRY(checkName(option, *name, kind, endings));
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

    static Status checkName(const std::string& option, const std::string& name, OutputKind kind,
                            const std::vector<std::string>& endings) {
        if (name == kStandardOutput) {
            if (kind == OutputKind::File) return {};
            return usageError(fmt::format("{} writes a folder, which cannot go to standard output", option),
                              "use a folder name");
        }
        const bool fits =
            std::ranges::any_of(endings, [&](const std::string& ending) { return name.ends_with(ending); });
        if (endings.empty() || fits || std::filesystem::path(name).extension().empty()) return {};
        return usageError(fmt::format("{} {}: the file name has the extension of another format", option, name),
                          fmt::format("end the name in {}", fmt::join(endings, ", ")));
    }

    std::map<CLI::App*, Of> of_; // the options that refer to these values
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

Option Option::rare() const {
    traits_->rare = true;
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
    // Otherwise, an option before the files would consume them as its values.
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
    // Otherwise, an option before the files would consume them as its values.
    option_->expected(1)->take_all()->allow_extra_args(false);
    return *this;
}

Option Option::range(int least, int most) const {
    option_->check(numberCheck([least, most](double number) { return number >= least && number <= most; },
                               fmt::format("a number from {} to {}", least, most)));
    return *this;
}

Option Option::range(double least, double most) const {
    option_->check(numberCheck([least, most](double number) { return number >= least && number <= most; },
                               fmt::format("a number from {} to {}", least, most)));
    return *this;
}

Option Option::positive() const {
    option_->check(numberCheck([](double number) { return number > 0; }, "a number above 0"));
    return *this;
}

Option Option::notNegative() const {
    option_->check(numberCheck([](double number) { return number >= 0; }, "a number ≥ 0"));
    return *this;
}

Option Option::oneOf(std::vector<std::string> words) const {
    traits_->choices = words;
    option_->check(CLI::Validator(
        [words = std::move(words)](std::string& text) {
            if (std::ranges::find(words, text) != words.end()) return std::string();
            const std::string closest = closestName(text, words);
            return closest.empty() ? fmt::format("'{}' is not one of {}", text, fmt::join(words, ", "))
                                   : fmt::format("'{}' is not one of {}; did you mean '{}'?", text,
                                                 fmt::join(words, ", "), closest);
        },
        ""));
    return *this;
}

Option Option::suggests(std::vector<std::string> words) const {
    traits_->choices = std::move(words);
    return *this;
}

Command Command::addCommand(const std::string& name, const std::string& help) const {
    CLI::App* const command = app_->add_subcommand(name, help);
    command->group(registry_->commands[app_].command_group);
    return {command, registry_};
}

void Command::needsCommand() const {
    app_->require_subcommand(1);
}

template <class T>
Option Command::addOption(const std::string& name, T& value, const std::string& help) const {
    CLI::Option* const option = app_->add_option(name, value, help)->group(registry_->commands[app_].option_group);
    return {option, &registry_->options[option]};
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

Option Command::addText(const std::string& name, Take take, const std::string& help) const {
    const auto checked = [registry = registry_, take = std::move(take)](const std::string& text) {
        if (Status taken = take(text); registry->values.ok()) registry->values = std::move(taken);
    };
    CLI::Option* const option =
        app_->add_option_function<std::string>(name, checked, help)->group(registry_->commands[app_].option_group);
    return {option, &registry_->options[option]};
}

Option Command::addTexts(const std::string& name, Take take, const std::string& help) const {
    const auto checked = [registry = registry_, take = std::move(take)](const std::vector<std::string>& texts) {
        Status taken = take(fmt::format("{}", fmt::join(texts, ",")));
        if (registry->values.ok()) registry->values = std::move(taken);
    };
    CLI::Option* const option = app_->add_option_function<std::vector<std::string>>(name, checked, help)
                                    ->group(registry_->commands[app_].option_group);
    return {option, &registry_->options[option]};
}

Option Command::addFlag(const std::string& name, bool& value, const std::string& help) const {
    CLI::Option* const option = app_->add_flag(name, value, help)->group(registry_->commands[app_].option_group);
    return {option, &registry_->options[option]};
}

Option Command::addOutput(const std::string& name, std::string& value, OutputKind kind, const std::string& help,
                          std::vector<std::string> endings) const {
    registry_->outputs->of(*app_).outputs.push_back({name, &value, kind, std::move(endings)});
    return addOption(name, value, help);
}

const bool& Command::force() const {
    return registry_->outputs->of(*app_).force;
}

void Command::onParsed(std::function<void()> action) const {
    app_->callback(std::move(action));
    if (registry_->add_to_every) registry_->add_to_every(*this);
}

void Command::commandGroup(const std::string& heading) const {
    registry_->commands[app_].command_group = heading;
}

void Command::examples(std::vector<std::string> lines) const {
    registry_->commands[app_].examples = std::move(lines);
}

void Command::optionGroup(const std::string& heading) const {
    registry_->commands[app_].option_group = heading;
}

CommandLine::CommandLine(const std::string& about, const std::string& name, const std::string& version,
                         const std::string& footer)
    : app_(std::make_unique<CLI::App>(about, name)), registry_(std::make_unique<CommandRegistry>()) {
    registry_->outputs = std::make_unique<Outputs>();
    app_->set_help_flag("-h,--help", "Print this help");
    app_->set_help_all_flag("--help-all", "Print help with all options");
    app_->set_version_flag("--version", version, "Print the version");
    app_->footer(footer);
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() const {
    return {app_.get(), registry_.get()};
}

CommandInfo CommandLine::describe() const {
    return infoOf(*app_, *registry_, "");
}

void CommandLine::addToEvery(std::function<void(Command)> add) {
    registry_->add_to_every = std::move(add);
}

void CommandLine::setDefaults(std::vector<OptionDefault> defaults) {
    defaults_ = std::move(defaults);
}

std::vector<std::string> CommandLine::withDefaults(const std::vector<std::string>& words) {
    used_.clear();
    std::vector<std::string> path;
    const CLI::App* at = app_.get();
    for (const std::string& word : words) {
        const CLI::App* const next = commandOf(*at, word);
        if (next == nullptr) break;
        path.push_back(word);
        at = next;
    }
    const auto own = std::ranges::find(words, "--");
    const auto given = [&](const CLI::Option& option) {
        return std::any_of(words.begin(), own, [&option](const std::string& word) {
            return !optionName(word).empty() && option.check_name(optionName(word));
        });
    };
    std::vector<std::string> out = path;
    for (const OptionDefault& entry : defaults_) {
        if (!entry.command.empty() && entry.command != path) continue;
        const CLI::Option* const option = at->get_option_no_throw("--" + entry.option);
        if (option == nullptr || path.empty()) continue;
        const auto excluded = option->get_excludes();
        const bool adds = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
        if ((!adds && given(*option)) ||
            std::ranges::any_of(excluded, [&given](const CLI::Option* other) { return given(*other); }))
            continue;
        out.push_back(fmt::format("--{}={}", entry.option, entry.value));
        used_.push_back(entry);
    }
    out.insert(out.end(), words.begin() + static_cast<std::ptrdiff_t>(path.size()), words.end());
    return out;
}

std::optional<int> CommandLine::parse(const std::vector<std::string>& words, bool speaks) {
    const CommandInfo program = describe();
    const auto [command, named] = commandNamed(program, words);
    const auto help = [speaks, asked = command](bool all) {
        if (speaks) printText(helpText(*asked, all, outputWidth()));
        return 0;
    };
    if (words.empty()) {
        if (speaks) std::fputs(helpText(program, false, outputWidth()).c_str(), stderr);
        return kUsage;
    }
    const bool ends = named == words.size();
    if (!command->commands.empty() && !ends) {
        const std::string& next = words[named];
        if (asksForHelp(next)) return help(next == "--help-all");
        if (next != "--version") return complain(*command, unknownCommand(*command, next), speaks);
    }
    if (!command->commands.empty() && ends)
        return complain(
            *command, fmt::format("{} needs a subcommand: {}", command->name, fmt::join(commandNames(*command), ", ")),
            speaks);
    std::vector<std::string> all = withDefaults(words);
    std::ranges::reverse(all); // the order that CLI11 requires
    try {
        app_->parse(std::move(all));
        return std::nullopt;
    } catch (const CLI::CallForVersion& version) {
        if (speaks) printText(std::string(version.what()) + "\n");
        return 0;
    } catch (const CLI::CallForAllHelp&) {
        return help(true);
    } catch (const CLI::CallForHelp&) {
        return help(false);
    } catch (const CLI::ParseError& error) {
        const CLI::App* at = app_.get();
        for (std::size_t i = 0; i < named; ++i)
            at = commandOf(*at, words[i]);
        std::string complaint = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr
                                    ? unexpectedWord(*command, at->remaining(true))
                                    : complaintOf(error);
        for (const OptionDefault& entry : used_) {
            if (complaint.starts_with("--" + entry.option)) complaint = entry.source + ": " + complaint;
        }
        return complain(*command, fmt::format("{}: {}", command->name, complaint), speaks);
    }
}

Status CommandLine::prepare() const {
    BUBBLESCOPE_TRY(registry_->values);
    return registry_->outputs->prepare();
}

bool CommandLine::names(const std::string& command) const {
    const CLI::App* at = app_.get();
    std::istringstream words(command);
    for (std::string word; words >> word; at = at->get_subcommand(word)) {
        if (!at->got_subcommand(word)) return false;
    }
    return true;
}

NamedCommand commandNamed(const CommandInfo& program, const std::vector<std::string>& words) {
    NamedCommand found{&program, 0};
    for (const std::string& word : words) {
        const auto next = std::ranges::find(found.command->commands, word, &CommandInfo::name);
        if (next == found.command->commands.end()) break;
        found = {&*next, found.words + 1};
    }
    return found;
}

std::vector<std::string> optionNames(const CommandInfo& command) {
    std::vector<std::string> names;
    for (const OptionInfo& option : command.options) {
        if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
    }
    return names;
}

} // namespace bubblescope::cli
