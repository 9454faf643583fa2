#include "core/report/results/common.h"

#include <fmt/format.h>

namespace bubblescope::report {

Value filesOf(const std::vector<std::filesystem::path>& files) {
    Value::List list;
    for (const auto& file : files)
        list.emplace_back(file.string());
    return list;
}

std::string filesText(const std::vector<std::filesystem::path>& files) {
    return files.size() == 1 ? files.front().string()
                             : fmt::format("{} ({} files)", files.front().parent_path().string(), files.size());
}

Value problemsOf(const std::vector<Diagnostic>& problems) {
    Value::List list;
    for (const Diagnostic& problem : problems) {
        list.emplace_back(Value::Object{
            {"kind", problem.kind}, {"count", problem.count}, {"where", problem.where}, {"message", problem.message}});
    }
    return list;
}

Value::Object placeOf(const MeshNumbers& place) {
    Value::Object object;
    for (std::size_t axis = 0; axis < kMeshAxisNames.size(); ++axis)
        object.push_back({std::string(kMeshAxisNames[axis]), place.of[axis]});
    return object;
}

std::string placeText(const MeshNumbers& place) {
    std::string text;
    for (std::size_t axis = 0; axis < kMeshAxisNames.size(); ++axis)
        text += fmt::format("{}{} {}", axis == 0 ? "" : ", ", kMeshAxisNames[axis], place.of[axis]);
    return text;
}

} // namespace bubblescope::report
