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

/// An option, flag or positional argument of a command: a handle, cheap to copy, good as long as its CommandLine lives.
/// Every setter gives the option back, so that calls can be chained. What is wrong on a line is told by
/// CommandLine::parse().
class Option {
public:
    explicit Option(CLI::Option* option) : option_(option) {}

    /// What stands for the value in the help.
    Option typeName(const std::string& name) const;
    /// Under which heading of the help it stands.
    Option group(const std::string& heading) const;
    /// Shows in the help what the value is if nothing is given.
    Option showDefault() const;

    Option required() const;
    /// Only together with, and never together with.
    Option needs(Option other) const;
    Option excludes(Option other) const;

    /// Values of a list stand in one word, with this between them.
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

private:
    CLI::Option* option_;
};

/// What an output's name stands for.
enum class OutputKind : std::uint8_t { File, Traces, Tables };

class Outputs;

/// A command of the program, or a command's own command: a handle, as Option is.
class Command {
public:
    Command(CLI::App* app, Outputs* outputs) : app_(app), outputs_(outputs) {}

    [[nodiscard]] Command addCommand(const std::string& name, const std::string& help) const;
    /// One of its commands has to be named.
    void needsCommand() const;
    /// `value` keeps what it holds unless the line says otherwise, and outlives the parsing. T is a string, a number,
    /// an optional or a vector of them: what command_line.cpp lists.
    template <class T>
    Option addOption(const std::string& name, T& value, const std::string& help) const;
    Option addFlag(const std::string& name, bool& value, const std::string& help) const;
    /// An option that names what the command writes: a file, where - is standard output, or a folder of traces or of
    /// tables. What it names and is there already is not overwritten without --force, which the command gets with the
    /// first such option; CommandLine::prepareOutputs() sees to that.
    Option addOutput(const std::string& name, std::string& value, OutputKind kind, const std::string& help) const;
    /// Whether earlier results may be replaced, for a command that finds out by itself what is there. Adds --force.
    [[nodiscard]] const bool& force() const;
    /// Called when the line names the command and is well formed.
    void onParsed(std::function<void()> action) const;

private:
    CLI::App* app_;
    Outputs* outputs_;
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

    /// The program itself, whose commands are to be added.
    [[nodiscard]] Command root() const;
    /// Fills in the values and calls onParsed() of the command that the line names. Otherwise, which is if the line is
    /// wrong or asks for help or the version, returns the exit code that the process is to end with; if `speaks`, says
    /// on stdout or stderr what there is to say.
    [[nodiscard]] std::optional<int> parse(int argc, char** argv, bool speaks);
    /// After parse(): whether the line names this command, "aadiff run" for one of another's.
    [[nodiscard]] bool names(const std::string& command) const;
    /// After parse(), before the command begins: rejects outputs that would overwrite earlier results, or with --force
    /// removes those of which parts could stay beside the new ones. Where an output is -, whatever else is printed goes
    /// to standard error. Errors: Usage; Input, if something cannot be removed.
    [[nodiscard]] Status prepareOutputs() const;

private:
    std::unique_ptr<CLI::App> app_;
    std::unique_ptr<Outputs> outputs_;
};

} // namespace bubblescope::cli
