#include "app/cli/output.h"

#include "core/report/json.h"
#include "core/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace bubblescope::cli {

namespace {

/// Names in traces come from whoever wrote them, and a terminal obeys what control characters say.
std::string withoutControls(std::string_view text) {
    std::string out(text);
    std::replace_if(
        out.begin(), out.end(),
        [](char c) {
            const auto byte = static_cast<unsigned char>(c);
            return (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7f;
        },
        '?');
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
