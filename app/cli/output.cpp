#include "app/cli/output.h"

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

void printJson(const Json& document) {
    // Names in foreign traces may hold bytes that are not UTF-8; they are replaced, not thrown over.
    printText(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
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

Json problemsJson(const std::vector<Diagnostic>& problems) {
    Json list = Json::array();
    for (const Diagnostic& problem : problems) {
        list.push_back({{"kind", problem.kind},
                        {"count", problem.count},
                        {"where", problem.where.text()},
                        {"message", problem.message.text()}});
    }
    return list;
}

Json placeJson(const MeshNumbers& place) {
    Json out = Json::object();
    for (std::size_t axis = 0; axis < kMeshAxisNames.size(); ++axis)
        out[std::string(kMeshAxisNames[axis])] = place.of[axis];
    return out;
}

std::string placeText(const MeshNumbers& place) {
    std::string out;
    for (std::size_t axis = 0; axis < kMeshAxisNames.size(); ++axis)
        out += fmt::format("{}{} {}", axis == 0 ? "" : ", ", kMeshAxisNames[axis], place.of[axis]);
    return out;
}

std::string filesText(const std::vector<std::filesystem::path>& files) {
    return files.size() == 1 ? files.front().string()
                             : fmt::format("{} ({} files)", files.front().parent_path().string(), files.size());
}

} // namespace bubblescope::cli
