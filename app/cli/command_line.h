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

/// An option, flag or positional argument of a command. It is a handle: cheap to copy, and valid while its CommandLine
/// exists. Every setter returns the option, so that calls can be chained. CommandLine::parse() reports errors in a
/// line.
class Option {
public:
    Option(CLI::Option* option, OptionTraits* traits) : option_(option), traits_(traits) {}

    /// The placeholder for the value in the help.
    Option typeName(const std::string& name) const;
    /// The heading in the help under which the option is listed.
    Option group(const std::string& heading) const;
    /// Shows the default value in the help.
    Option showDefault() const;
    /// Lists the option only with --help-all.
    Option rare() const;

    Option required() const;
    /// The other option is required, or must not be given, together with this one.
    Option needs(Option other) const;
    Option excludes(Option other) const;

    /// The values of a list are given in one word, separated by `between`.
    Option delimiter(char between) const;
    /// The number of values that the option takes.
    Option expected(int count) const;
    Option expected(int least, int most) const;
    /// The option may be given several times with one value each; the values accumulate.
    Option repeatable() const;

    Option range(int least, int most) const;
    Option range(double least, double most) const;
    Option positive() const;
    Option notNegative() const;
    Option oneOf(std::vector<std::string> words) const;
    /// Words that a shell suggests; other values are also valid.
    Option suggests(std::vector<std::string> words) const;

private:
    CLI::Option* option_;
    OptionTraits* traits_;
};

/// The kind of file or folder that an output names.
enum class OutputKind : std::uint8_t { File, Traces, Tables };

/// A command of the program, or a subcommand of a command. It is a handle, like Option.
class Command {
public:
    Command(CLI::App* app, CommandRegistry* registry) : app_(app), registry_(registry) {}

    [[nodiscard]] Command addCommand(const std::string& name, const std::string& help) const;
    /// Requires one of its subcommands to be named.
    void needsCommand() const;
    /// `value` keeps its content unless the line sets it; it must outlive the parsing. T is a string, a number, an
    /// optional or a vector of these; command_line.cpp instantiates the supported types.
    template <class T>
    Option addOption(const std::string& name, T& value, const std::string& help) const;
    /// Like the previous function, for a value that `parse` makes from text: Result<…>(std::string_view), such as
    /// parseTime(). CommandLine::prepare() reports values that `parse` rejects.
    template <class T, class Parse>
    Option addParsed(const std::string& name, T& value, Parse parse, const std::string& help) const {
        return addText(name, taking(value, parse), help);
    }
    /// Like the previous function, for several texts, which `parse` receives separated by commas.
    template <class T, class Parse>
    Option addParsedList(const std::string& name, T& value, Parse parse, const std::string& help) const {
        return addTexts(name, taking(value, parse), help);
    }
    /// Like the previous function, for a text that `take` processes. Errors of `take` are reported like those of
    /// values.
    using Take = std::function<Status(const std::string&)>;
    Option addText(const std::string& name, Take take, const std::string& help) const;
    Option addFlag(const std::string& name, bool& value, const std::string& help) const;
    /// An option that names an output of the command: a file (- is standard output), or a folder of traces or tables.
    /// An existing output is not overwritten without --force. The first such option adds --force to the command, and
    /// CommandLine::prepare() enforces the rule. A file name is rejected unless it has one of these endings, because
    /// its content would not match its name.
    Option addOutput(const std::string& name, std::string& value, OutputKind kind, const std::string& help,
                     std::vector<std::string> endings = {}) const;
    /// True if earlier results may be replaced; for a command that checks for them itself. Adds --force.
    [[nodiscard]] const bool& force() const;
    /// Called when the line names the command and has no errors.
    void onParsed(std::function<void()> action) const;
    /// The heading in the help for the commands added from now on.
    void commandGroup(const std::string& heading) const;
    /// Example lines, without the program's name, for the help.
    void examples(std::vector<std::string> lines) const;
    /// The heading for the options added from now on that have no heading of their own.
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

/// An option as shown in the help, in a shell's completion and in a manual page.
struct OptionInfo {
    std::vector<std::string> names; ///< "-h" and "--help"; for a positional argument its name
    std::string value;              ///< placeholder for the value in the help; empty for a flag
    std::string about;
    std::string group;
    std::vector<std::string> choices;
    bool positional = false;
    bool required = false;
    bool repeats = false; ///< true if a positional argument takes several values
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

/// A value that a file specifies for an option of a command.
struct OptionDefault {
    std::vector<std::string> command; ///< {"aadiff", "plan"}; empty: all commands that have the option
    std::string option;               ///< without dashes
    std::string value;
    std::string source; ///< "FILE:LINE"
};

/// The program's command line, with everything that users may type. CLI11 does the work; its headers, which take
/// seconds to compile, are included in a single file.
class CommandLine {
public:
    CommandLine(const std::string& about, const std::string& name, const std::string& version,
                const std::string& footer);
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;
    ~CommandLine();

    /// The program itself, to which commands are added.
    [[nodiscard]] Command root() const;
    /// Called for each command without subcommands when its own options are complete. It adds the options that every
    /// command has.
    void addToEvery(std::function<void(Command)> add);
    /// Sets values for options that the command line does not give. Call it before parse().
    void setDefaults(std::vector<OptionDefault> defaults);
    /// The defaults from the configuration that were applied to options of the parsed command.
    [[nodiscard]] const std::vector<OptionDefault>& usedDefaults() const { return used_; }
    /// Sets the values and calls onParsed() of the command that the line names. Returns nothing on success. If the line
    /// has an error or asks for help or the version, it returns the exit code for the process and, if `speaks`, prints
    /// the error, help or version to stdout or stderr.
    [[nodiscard]] std::optional<int> parse(const std::vector<std::string>& words, bool speaks);
    /// After parse(): true if the line names this command, such as "aadiff run" for a subcommand.
    [[nodiscard]] bool names(const std::string& command) const;
    /// Call it after parse(), before the command begins. It rejects values that cannot be parsed and outputs that would
    /// overwrite earlier results. With --force, it removes earlier results if parts of them could remain among the new
    /// ones. If an output is -, all other text goes to standard error. Errors: Usage; Input, if something cannot be
    /// removed.
    [[nodiscard]] Status prepare() const;
    /// Everything that can be typed.
    [[nodiscard]] CommandInfo describe() const;

private:
    /// The words with those for the defaults inserted.
    [[nodiscard]] std::vector<std::string> withDefaults(const std::vector<std::string>& words);

    std::unique_ptr<CLI::App> app_;
    std::unique_ptr<CommandRegistry> registry_;
    std::vector<OptionDefault> defaults_;
    std::vector<OptionDefault> used_;
};

/// The command named by the first words, and the number of these words.
struct NamedCommand {
    const CommandInfo* command = nullptr;
    std::size_t words = 0;
};
[[nodiscard]] NamedCommand commandNamed(const CommandInfo& program, const std::vector<std::string>& words);

/// The long and short names of all options of a command.
[[nodiscard]] std::vector<std::string> optionNames(const CommandInfo& command);

} // namespace bubblescope::cli
