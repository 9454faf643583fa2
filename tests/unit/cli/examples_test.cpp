#include "tests/support/sanitized.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/cli/whole_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace bubblescope::cli::test {
namespace {

using bubblescope::test::readAll;

/// A line as a shell takes it apart: quotes, backslashes at line ends, and what ends the first command.
std::vector<std::string> shellWords(const std::string& line) {
    std::vector<std::string> words;
    std::string word;
    bool begun = false;
    char quote = 0;
    const auto end = [&] {
        if (begun) words.push_back(word);
        word.clear();
        begun = false;
    };
    for (const char c : line) {
        if (quote != 0) {
            if (c == quote)
                quote = 0;
            else
                word += c;
            continue;
        }
        if (c == '\'' || c == '"') {
            quote = c;
            begun = true;
        } else if (c == ' ') {
            end();
        } else if (c == '|' || c == '&' || c == ';' || c == '>' || c == '<' || (c == '#' && !begun)) {
            break;
        } else {
            word += c;
            begun = true;
        }
    }
    end();
    return words;
}

/// The lines in code blocks that call the program, without its name.
std::vector<std::string> callsIn(const std::string& page) {
    std::vector<std::string> calls;
    std::istringstream lines(page);
    bool code = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("```")) {
            code = !code;
            continue;
        }
        for (const char* const prompt : {"$ bubblescope ", "bubblescope "}) {
            if (!code || !line.starts_with(prompt)) continue;
            std::string call = line.substr(std::string(prompt).size());
            for (std::string more; call.ends_with('\\') && std::getline(lines, more);)
                call = call.substr(0, call.size() - 1) + more;
            calls.push_back(call);
            break;
        }
    }
    return calls;
}

std::size_t checkPage(const std::filesystem::path& page) {
    const std::vector<std::string> calls = callsIn(readAll(page));
    for (const std::string& call : calls) {
        if (call.substr(0, call.find(" -- ")).find("…") != std::string::npos) continue; // something is left out
        WholeLine whole;
        EXPECT_EQ(whole.line.parse(shellWords(call), true), std::nullopt) << page << ": bubblescope " << call;
    }
    return calls.size();
}

TEST(Examples, OfTheReadmeAndTheManualCanBeTyped) {
    const std::filesystem::path source(BUBBLESCOPE_SOURCE);
    std::size_t count = checkPage(source / "README.md");
    EXPECT_GE(count, 10U);
    if (bubblescope::test::kSanitized) return; // each takes a tenth of a second
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source / "resources/manual")) {
        if (entry.path().extension() == ".md") count += checkPage(entry.path());
    }
    EXPECT_GE(count, 100U);
}

TEST(Readme, IsShort) {
    const std::string text = readAll(std::filesystem::path(BUBBLESCOPE_SOURCE) / "README.md");
    EXPECT_LE(std::ranges::count(text, '\n'), 120);
}

} // namespace
} // namespace bubblescope::cli::test
