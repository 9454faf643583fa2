#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace bubblescope::cli {

struct OptionTraits;
struct CommandRegistry;

/// An option, flag or positional argument of a command: a handle, cheap to copy, valid while its CommandLine exists.
/// Every setter returns the option, so that calls can be chained. CommandLine::parse() reports errors on a line.
class Option {
public:
    Option(CLI::Option* option, OptionTraits* traits) : option_(option), traits_(traits) {}

    /// The placeholder of the value in the help.
    Option typeName(const std::string& name) const;
    /// The heading of the help under which the option is listed.
    Option group(const std::string& heading) const;
    /// Shows in the help what the value is if nothing is given.
    Option showDefault() const;
    /// Only --help-all lists it.
    Option rare() const;

    Option required() const;
    /// Only together with, and never together with.
    Option needs(Option other) const;
    Option excludes(Option other) const;

    /// The values of a list are given in one word, separated by `between`.
    Option delimiter(char between) const;
    /// How many values it takes.
    Option expected(int count) const;
    Option expected(int least, int most) const;
    /// May be given several times, with one value each; the values add up.
    Option repeatable() const;

    Option range(int least, int most) const;
    Option range(double least, double most) const;
    Option positive() const;
    Option notNegative() const;
    Option oneOf(std::vector<std::string> words) const;
    /// Words that a shell offers; others are values, too.
    Option suggests(std::vector<std::string> words) const;

private:
    CLI::Option* option_;
    OptionTraits* traits_;
};

/// The kind of file or folder that an output names.
enum class OutputKind : std::uint8_t { File, Traces, Tables };

/// A command of the program, or a command's own command: a handle, as Option is.
class Command {
public:
    Command(CLI::App* app, CommandRegistry* registry) : app_(app), registry_(registry) {}

    [[nodiscard]] Command addCommand(const std::string& name, const std::string& help) const;
    /// One of its commands has to be named.
    void needsCommand() const;
    /// `value` keeps its content unless the line sets it, and outlives the parsing. T is a string, a number, an
    /// optional or a vector of them: the types that command_line.cpp instantiates.
    template <class T>
    Option addOption(const std::string& name, T& value, const std::string& help) const;
    /// Like the previous function, for a value that `parse` makes from the text, such as parseTime():
    /// Result<…>(std::string_view). CommandLine::prepare() reports texts that it rejects.
    template <class T, class Parse>
    Option addParsed(const std::string& name, T& value, Parse parse, const std::string& help) const {
        return addText(name, taking(value, parse), help);
    }
    /// Like the previous function, for several texts, which `parse` receives separated by commas.
    template <class T, class Parse>
    Option addParsedList(const std::string& name, T& value, Parse parse, const std::string& help) const {
        return addTexts(name, taking(value, parse), help);
    }
    /// Of a text that `take` makes use of. Its errors are reported as those of values.
    using Take = std::function<Status(const std::string&)>;
    Option addText(const std::string& name, Take take, const std::string& help) const;
    Option addFlag(const std::string& name, bool& value, const std::string& help) const;
    /// An option that names what the command writes: a file, where - is standard output, or a folder of traces or of
    /// tables. What it names and is there already is not overwritten without --force, which the command gets with the
    /// first such option; CommandLine::prepare() sees to that.
    /// A file whose name ends in something else than these is refused, since it would not be what its name states.
    Option addOutput(const std::string& name, std::string& value, OutputKind kind, const std::string& help,
                     std::vector<std::string> endings = {}) const;
    /// Whether earlier results may be replaced, for a command that finds out by itself what is there. Adds --force.
    [[nodiscard]] const bool& force() const;
    /// Called when the line names the command and is well formed.
    void onParsed(std::function<void()> action) const;
    /// The heading, in the help, of the commands that are added from now on.
    void commandGroup(const std::string& heading) const;
    /// Lines that a user may type, without the program's name; the help shows them.
    void examples(std::vector<std::string> lines) const;
    /// The heading of the options that are added from now on and get no other.
    void optionGroup(const std::string& heading) const;

private:
    template <class T, class Parse>
    static Take taking(T& value, Parse parse) {
        return [&value, parse](const std::string& text) -> Status {
            BUBBLESCOPE_ASSIGN(value, parse(text));
            return {};
        };
    }
    Option addTexts(const std::string& name, Take take, const std::string& help) const;

    CLI::App* app_;
    CommandRegistry* registry_;
};

/// An option as the help, a shell's completion and a manual page show it.
struct OptionInfo {
    std::vector<std::string> names; ///< "-h" and "--help"; of a positional argument its name
    std::string value;              ///< the name of the value in the help; empty for a flag
    std::string about;
    std::string group;
    std::vector<std::string> choices;
    bool positional = false;
    bool required = false;
    bool repeats = false; ///< takes several values, for a positional argument
    bool rare = false;
};

/// A command, or the program itself.
struct CommandInfo {
    std::string path; ///< "bubblescope aadiff plan"
    std::string name; ///< "plan"
    std::string about;
    std::string group;
    std::vector<std::string> examples;
    std::vector<OptionInfo> options;
    std::vector<CommandInfo> commands;
    std::string footer;
};

/// A value that a file states for an option of a command.
struct OptionDefault {
    std::vector<std::string> command; ///< {"aadiff", "plan"}; empty: every command that has the option
    std::string option;               ///< without dashes
    std::string value;
    std::string source; ///< "FILE:LINE"
};

/// The program's line: the whole of what users may type. CLI11 does the work; its headers, which take seconds to
/// compile, stay in one file.
class CommandLine {
public:
    CommandLine(const std::string& about, const std::string& name, const std::string& version,
                const std::string& footer);
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;
    ~CommandLine();

    /// The program itself, to which commands are added.
    [[nodiscard]] Command root() const;
    /// Called for each command without subcommands when its own options are complete: adds the options that every
    /// command has.
    void addToEvery(std::function<void(Command)> add);
    /// Values of options that the command line does not give. Call before parse().
    void setDefaults(std::vector<OptionDefault> defaults);
    /// The defaults from the configuration that were applied to options of the parsed command.
    [[nodiscard]] const std::vector<OptionDefault>& usedDefaults() const { return used_; }
    /// Sets the values and calls onParsed() of the command that the line names. Returns nothing then; if the line is
    /// wrong or asks for help or the version, returns the exit code for the process and, if `speaks`, prints the error,
    /// help or version to stdout or stderr.
    [[nodiscard]] std::optional<int> parse(const std::vector<std::string>& words, bool speaks);
    /// After parse(): whether the line names this command, "aadiff run" for one of another's.
    [[nodiscard]] bool names(const std::string& command) const;
    /// To be called after parse(), before the command begins: rejects values that cannot be parsed and outputs that
    /// would overwrite earlier results; with --force it removes earlier results if parts of them could remain among
    /// the new ones. If an output is -, all other text goes to standard error. Errors: Usage; Input, if
    /// something cannot be removed.
    [[nodiscard]] Status prepare() const;
    /// All that can be typed.
    [[nodiscard]] CommandInfo describe() const;

private:
    /// The words with those for defaults among them.
    [[nodiscard]] std::vector<std::string> withDefaults(const std::vector<std::string>& words);

    std::unique_ptr<CLI::App> app_;
    std::unique_ptr<CommandRegistry> registry_;
    std::vector<OptionDefault> defaults_;
    std::vector<OptionDefault> used_;
};

/// The command that the words begin with, and how many words name it.
struct NamedCommand {
    const CommandInfo* command = nullptr;
    std::size_t words = 0;
};
[[nodiscard]] NamedCommand commandNamed(const CommandInfo& program, const std::vector<std::string>& words);

/// The long and short names of all options of a command.
[[nodiscard]] std::vector<std::string> optionNames(const CommandInfo& command);

} // namespace bubblescope::cli
