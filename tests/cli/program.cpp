#include "tests/cli/program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/wait.h>

namespace bubblescope::test {
namespace {

std::string quoted(const std::string& word) {
    std::string out = "'";
    for (const char c : word)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::string contents(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

} // namespace

nlohmann::json ProgramResult::json() const {
    auto document = nlohmann::json::parse(out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << "not one JSON document: " << out << err;
    return document;
}

ProgramResult runProgram(const std::vector<std::string>& arguments) {
    const ScratchFolder scratch;
    std::string line = quoted(BUBBLESCOPE_PROGRAM);
    for (const std::string& argument : arguments)
        line += " " + quoted(argument);
    line += " >" + quoted(scratch.file("out")) + " 2>" + quoted(scratch.file("err")) + " </dev/null";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(scratch.file("out")), contents(scratch.file("err"))};
}

ScratchFolder::ScratchFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "bubblescope-test-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    path_ = path;
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return file(name);
}

} // namespace bubblescope::test
