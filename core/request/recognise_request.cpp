#include "core/request/recognise_request.h"

#include <iterator>
#include <utility>

namespace bubblescope {

std::vector<std::string> RecogniseRequest::words() const {
    std::vector<std::string> words;
    const auto add = [&words](const char* name, const std::string& value) {
        if (value.empty()) return;
        words.emplace_back(name);
        words.push_back(value);
    };
    for (const std::string& file : rules)
        add("--rules", file);
    add("--mesh", mesh);
    add("--mesh-order", mesh_order);
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
            return usageError("sizes of a schedule are given, but no schedule", "add --schedule NAME");
        }
        return options;
    }
    BUBBLESCOPE_TRY(schedule.open(options));
    return options;
}

} // namespace bubblescope
