#include "core/request/recognise_request.h"

#include "core/base/field.h"

#include <iterator>
#include <utility>

namespace bubblescope {

std::vector<std::string> RecogniseRequest::words() const {
    std::vector<std::string> words;
    const auto add = [&words](Field field, const std::string& value) {
        if (value.empty()) return;
        words.emplace_back(optionOf(field));
        words.push_back(value);
    };
    for (const std::string& file : rules)
        add(Field("rules"), file);
    add(Field("mesh"), mesh);
    add(Field("mesh_order"), mesh_order);
    return words;
}

Result<std::optional<Mesh>> RecogniseRequest::parsedMesh() const {
    if (mesh.empty()) return std::optional<Mesh>{};
    BUBBLESCOPE_ASSIGN(Mesh parsed, parseMesh(mesh, mesh_order));
    return std::optional(std::move(parsed));
}

Result<LoadOptions> RecogniseRequest::options() const {
    LoadOptions options;
    for (const std::string& file : rules) {
        BUBBLESCOPE_ASSIGN(std::vector<RecognitionRule> read, readRules(file));
        std::move(read.begin(), read.end(), std::back_inserter(options.rules));
    }
    BUBBLESCOPE_ASSIGN(options.mesh, parsedMesh());
    if (!schedule.given()) {
        if (schedule.sized()) {
            return usageError("sizes of a schedule are given, but no schedule",
                              fmt::format("add {}", Field("schedule").is("NAME")));
        }
        return options;
    }
    BUBBLESCOPE_TRY(schedule.open(options));
    return options;
}

} // namespace bubblescope
