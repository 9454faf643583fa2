#include "app/cli/output.h"

#include <fmt/format.h>

#include <cstdio>

namespace bubblescope::cli {

void printJson(const Json& document) {
    // Names in foreign traces may hold bytes that are not UTF-8; they are replaced, not thrown over.
    printText(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void printText(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

void printProblems(const std::vector<Diagnostic>& problems) {
    for (const Diagnostic& problem : problems) {
        fmt::print(stderr, "bubblescope: {}{}{}{}\n", problem.where, problem.where.empty() ? "" : ": ", problem.message,
                   problem.count > 1 ? fmt::format(" ({} times)", problem.count) : "");
    }
}

Json problemsJson(const std::vector<Diagnostic>& problems) {
    Json list = Json::array();
    for (const Diagnostic& problem : problems) {
        list.push_back(
            {{"kind", problem.kind}, {"count", problem.count}, {"where", problem.where}, {"message", problem.message}});
    }
    return list;
}

} // namespace bubblescope::cli
