#include "core/request/recognise_request.h"

#include "core/base/field.h"
#include "core/base/text.h"

#include <algorithm>
#include <iterator>
#include <string_view>
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
    for (const std::string& stated : ranks)
        add(Field("rank_of"), stated);
    add(Field("mesh"), mesh);
    add(Field("mesh_order"), mesh_order);
    const auto addSize = [&add](Field field, int size) { add(field, size > 0 ? std::to_string(size) : std::string()); };
    add(Field("schedule"), schedule.spec.name);
    add(Field("schedule_file"), schedule.file);
    add(Field("flavor"), schedule.spec.flavor);
    addSize(Field("pp"), schedule.spec.pp);
    addSize(Field("microbatches"), schedule.spec.microbatches);
    addSize(Field("vpp"), schedule.vpp.value_or(0));
    return words;
}

Result<std::optional<Mesh>> RecogniseRequest::parsedMesh() const {
    if (mesh.empty()) return std::optional<Mesh>{};
    BUBBLESCOPE_ASSIGN(Mesh parsed, parseMesh(mesh, mesh_order));
    return std::optional(std::move(parsed));
}

Result<std::vector<RankRule>> RecogniseRequest::rankRules() const {
    std::vector<RankRule> stated_ranks;
    for (const std::string& stated : ranks) {
        const std::size_t equals = stated.rfind('=');
        const auto rank =
            equals == std::string::npos ? std::nullopt : wholeNumber(std::string_view(stated).substr(equals + 1));
        if (!rank || equals == 0) {
            return usageError(
                fmt::format("'{}' does not contain a rank", stated),
                fmt::format("write a pattern of file names and a rank: {}", Field("rank_of").is("'*node3*=3'")));
        }
        stated_ranks.push_back({stated.substr(0, equals), *rank});
    }
    return stated_ranks;
}

Result<LoadOptions> RecogniseRequest::options() const {
    LoadOptions options;
    for (const std::string& file : rules) {
        BUBBLESCOPE_ASSIGN(RulesFile read, readRules(file));
        std::ranges::move(read.ops, std::back_inserter(options.rules));
        std::ranges::move(read.lanes, std::back_inserter(options.reading.lanes));
    }
    BUBBLESCOPE_ASSIGN(options.reading.ranks, rankRules());
    BUBBLESCOPE_ASSIGN(options.mesh, parsedMesh());
    if (!schedule.given()) {
        if (schedule.sized()) {
            return usageError("schedule sizes given without a schedule",
                              fmt::format("add {}", Field("schedule").is("NAME")));
        }
        return options;
    }
    BUBBLESCOPE_TRY(schedule.open(options));
    return options;
}

} // namespace bubblescope
