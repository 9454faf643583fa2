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

/// An option, flag or positional argument of a command. The object is a handle: cheap to copy, and valid while its
/// CommandLine exists. Every setter returns the option, so that calls can be chained. CommandLine::parse() reports
/// errors in the command line.
class Option {
public:
    Option(CLI::Option* option, OptionTraits* traits) : option_(option), traits_(traits) {}

    /// Placeholder for the value in the help.
    Option typeName(const std::string& name) const;
    /// Heading of the group that contains the option in the help.
    Option group(const std::string& heading) const;
    /// Shows the default value in the help.
    Option showDefault() const;
    /// Lists the option only with --help-all.
    Option rare() const;

    Option required() const;
    /// needs() makes the other option required together with this one; excludes() forbids it.
    Option needs(Option other) const;
    Option excludes(Option other) const;

    /// Expects a list as a single argument whose values are separated by `between`.
    Option delimiter(char between) const;
    /// Number of values that the option takes.
    Option expected(int count) const;
    Option expected(int least, int most) const;
    /// Allows the option to be given several times with one value each; the values accumulate.
    Option repeatable() const;

    Option range(int least, int most) const;
    Option range(double least, double most) const;
    Option positive() const;
    Option notNegative() const;
    Option oneOf(std::vector<std::string> words) const;
    /// Words for shell completion; other values are also valid.
    Option suggests(std::vector<std::string> words) const;

private:
    CLI::Option* option_;
    OptionTraits* traits_;
};

/// Kind of file or folder that an output option names.
enum class OutputKind : std::uint8_t { File, Traces, Tables };

/// A command or subcommand of the program. A handle, like Option.
class Command {
public:
    Command(CLI::App* app, CommandRegistry* registry) : app_(app), registry_(registry) {}

    [[nodiscard]] Command addCommand(const std::string& name, const std::string& help) const;
    /// Makes it an error to use this command without one of its subcommands.
    void needsCommand() const;
    /// `value` keeps its content unless the command line sets it, and must outlive parse(). T is a string, a
    /// number, an optional or a vector of these; command_line.cpp instantiates the supported types.
    template <class T>
    Option addOption(const std::string& name, T& value, const std::string& help) const;
    /// Like the previous function, for a value that `parse` creates from text with the signature
    /// Result<…>(std::string_view), such as parseTime(). CommandLine::prepare() reports values that `parse` rejects.
    template <class T, class Parse>
    Option addParsed(const std::string& name, T& value, Parse parse, const std::string& help) const {
        return addText(name, taking(value, parse), help);
    }
    /// Like the previous function, but takes several texts and passes them to `parse`, separated by commas.
    template <class T, class Parse>
    Option addParsedList(const std::string& name, T& value, Parse parse, const std::string& help) const {
        return addTexts(name, taking(value, parse), help);
    }
    /// Like the previous function, but passes the text to `take`. An error that `take` returns is reported as an
    /// invalid value.
    using Take = std::function<Status(const std::string&)>;
    Option addText(const std::string& name, Take take, const std::string& help) const;
    Option addFlag(const std::string& name, bool& value, const std::string& help) const;
    /// Adds an option for an output of the command: a file (- is standard output), or a folder of traces or tables. An
    /// existing output is not overwritten without --force. The first such option adds --force to the command, and
    /// CommandLine::prepare() enforces the rule. A file name must have one of the given endings, because its ending
    /// determines the file format.
    Option addOutput(const std::string& name, std::string& value, OutputKind kind, const std::string& help,
                     std::vector<std::string> endings = {}) const;
    /// Adds --force to a command that checks for earlier results itself. True if earlier results may be replaced.
    [[nodiscard]] const bool& force() const;
    /// Sets the function to call when this command is used and the command line has no errors.
    void onParsed(std::function<void()> action) const;
    /// Sets the heading in the help for commands that are added later.
    void commandGroup(const std::string& heading) const;
    /// Example lines for the help, without the name of the program.
    void examples(std::vector<std::string> lines) const;
    /// Sets the heading for options that are added later without a heading.
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

/// An option as shown in the help, in shell completion and in a manual page.
struct OptionInfo {
    std::vector<std::string> names; ///< such as "-h" and "--help"; for a positional argument, its name
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
    std::string path; ///< such as "bubblescope aadiff plan"
    std::string name; ///< such as "plan"
    std::string about;
    std::string group;
    std::vector<std::string> examples;
    std::vector<OptionInfo> options;
    std::vector<CommandInfo> commands;
    std::string footer;
};

/// A value that the configuration file sets for an option of a command.
struct OptionDefault {
    std::vector<std::string> command; ///< such as {"aadiff", "plan"}; empty for all commands that have the option
    std::string option;               ///< without dashes
    std::string value;
    std::string source; ///< "FILE:LINE"
};

/// The command line of the program. Implemented with CLI11, whose headers take seconds to compile and are therefore
/// included in only one source file.
class CommandLine {
public:
    CommandLine(const std::string& about, const std::string& name, const std::string& version,
                const std::string& footer);
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;
    ~CommandLine();

    /// The program itself, to which commands are added.
    [[nodiscard]] Command root() const;
    /// Sets a function that adds the options that every command has. The function is called for each command without
    /// subcommands, after that command's options have been added.
    void addToEvery(std::function<void(Command)> add);
    /// Sets values for options that are not on the command line. Must be called before parse().
    void setDefaults(std::vector<OptionDefault> defaults);
    /// Defaults from the configuration file that were applied to options of the parsed command.
    [[nodiscard]] const std::vector<OptionDefault>& usedDefaults() const { return used_; }
    /// Sets the values and runs the onParsed() function of the command. Returns nothing on success. If the command line
    /// has an error or contains --help or --version, returns the exit code for the process. If `speaks` is set, also
    /// prints the error, help or version to stdout or stderr.
    [[nodiscard]] std::optional<int> parse(const std::vector<std::string>& words, bool speaks);
    /// True if parse() found this command, such as "aadiff run" for a subcommand.
    [[nodiscard]] bool names(const std::string& command) const;
    /// Must be called after parse() and before the command starts. Rejects values that cannot be parsed, and outputs
    /// that would overwrite earlier results. With --force, removes earlier results that would otherwise be mixed with
    /// the new ones. If an output is -, all other text goes to standard error. Errors: Usage; Input, if earlier results
    /// cannot be removed.
    [[nodiscard]] Status prepare() const;
    /// All commands and options of the program.
    [[nodiscard]] CommandInfo describe() const;

private:
    /// Inserts the defaults into the words of the command line.
    [[nodiscard]] std::vector<std::string> withDefaults(const std::vector<std::string>& words);

    std::unique_ptr<CLI::App> app_;
    std::unique_ptr<CommandRegistry> registry_;
    std::vector<OptionDefault> defaults_;
    std::vector<OptionDefault> used_;
};

/// A command, and the number of words on the command line that name it.
struct NamedCommand {
    const CommandInfo* command = nullptr;
    std::size_t words = 0;
};
[[nodiscard]] NamedCommand commandNamed(const CommandInfo& program, const std::vector<std::string>& words);

/// Long and short names of all options of a command.
[[nodiscard]] std::vector<std::string> optionNames(const CommandInfo& command);

} // namespace bubblescope::cli
