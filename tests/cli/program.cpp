#include "tests/cli/program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sys/wait.h>

namespace bubblescope::test {
namespace {

std::string quoted(const std::string& word) {
    std::string out = "'";
    for (const char c : word)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

/// Messages are broken into lines of 100 characters, all but the first indented by two or five columns.
std::string unbroken(std::string text) {
    for (auto at = text.find("\n  "); at != std::string::npos; at = text.find("\n  ", at)) {
        const auto begin = text.find_first_not_of(' ', at + 1);
        if (begin != std::string::npos) text.replace(at, begin - at, " ");
    }
    return text;
}

} // namespace

nlohmann::json ProgramResult::json() const {
    auto document = nlohmann::json::parse(out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << "not one JSON document: " << out << err;
    return document;
}

ProgramResult runProgram(const std::vector<std::string>& arguments, const std::string& input) {
    const ScratchFolder scratch;
    std::string line = quoted(BUBBLESCOPE_PROGRAM);
    for (const std::string& argument : arguments)
        line += " " + quoted(argument);
    line += " >" + quoted(scratch.file("out")) + " 2>" + quoted(scratch.file("err")) + " <" +
            quoted(input.empty() ? "/dev/null" : input);
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, readAll(scratch.file("out")),
            unbroken(readAll(scratch.file("err")))};
}

} // namespace bubblescope::test
