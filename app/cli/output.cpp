#include "app/cli/output.h"

#include "core/report/json.h"
#include "core/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace bubblescope::cli {

namespace {

/// How many bytes at the beginning of `text` a terminal would obey instead of showing them: control characters other
/// than line ends and tabs, those of U+0080 to U+009F, and what changes the direction of writing.
std::size_t controlAt(std::string_view text) {
    const auto byte = [text](std::size_t at) {
        return at < text.size() ? static_cast<unsigned char>(text[at]) : static_cast<unsigned char>(0);
    };
    const unsigned char first = byte(0);
    const bool ends_line = first == '\n' || (first == '\r' && byte(1) == '\n');
    if (first == 0x7f || (first < 0x20 && !ends_line && first != '\t')) return 1;
    if (first == 0xc2 && byte(1) >= 0x80 && byte(1) <= 0x9f) return 2;
    if (first != 0xe2) return 0;
    const bool embeds = byte(1) == 0x80 && byte(2) >= 0xaa && byte(2) <= 0xae;   // U+202A to U+202E
    const bool isolates = byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9; // U+2066 to U+2069
    return embeds || isolates ? 3 : 0;
}

/// Names in traces come from whoever wrote them, and a terminal obeys what control characters say.
std::string withoutControls(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t control = controlAt(text);
        out += control > 0 ? '?' : text.front();
        text.remove_prefix(std::max<std::size_t>(control, 1));
    }
    return out;
}

} // namespace

void print(const report::Section& document, bool json) {
    printText(json ? report::toJson(document) + "\n" : report::toText(document));
}

void printText(std::string_view text) {
    const std::string harmless = withoutControls(text);
    std::fwrite(harmless.data(), 1, harmless.size(), stdout);
}

void printError(std::string_view text) {
    fmt::print(stderr, "bubblescope: {}\n", withoutControls(text));
}

void printProblems(const std::vector<Diagnostic>& problems) {
    for (const Diagnostic& problem : problems) {
        printError(fmt::format("{}{}{}{}", problem.where.text(), problem.where.empty() ? "" : ": ",
                               problem.message.text(),
                               problem.count > 1 ? fmt::format(" ({} times)", problem.count) : ""));
    }
}

} // namespace bubblescope::cli
