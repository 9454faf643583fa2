#include "core/base/input_file.h"
#include "core/cost/cost_files.h"

#include <algorithm>
#include <string>
#include <utility>

namespace bubblescope {
namespace {

using Json = nlohmann::json;

Result<CommunicatorRule> readRule(const Json& entry, int pp, const InputPlace& place) {
    BUBBLESCOPE_TRY(checkKeys(entry, {"name", "payload", "from", "to"}, place));
    CommunicatorRule rule;
    const auto name = entry.find("name");
    if (name == entry.end() || (!name->is_string() && !name->is_number())) return place.error("has no name");
    rule.name = name->is_string() ? name->get<std::string>() : name->dump();
    if (const auto payload = entry.find("payload"); payload != entry.end() && *payload != "") {
        if (*payload != "activation" && *payload != "gradient")
            return place.at("payload").error("is neither activation nor gradient");
        rule.payload = *payload == "activation" ? Payload::Activation : Payload::Gradient;
    }
    BUBBLESCOPE_ASSIGN(const auto from, numberField(entry, "from", pp - 1, place));
    BUBBLESCOPE_ASSIGN(const auto to, numberField(entry, "to", pp - 1, place));
    if (from) rule.from = Rank{static_cast<std::int32_t>(*from)};
    if (to) rule.to = Rank{static_cast<std::int32_t>(*to)};
    return rule;
}

} // namespace

Result<Communicators> communicatorsFrom(std::string_view text, const std::string& where, int pp) {
    BUBBLESCOPE_ASSIGN(
        const WrittenInput input,
        inputFrom(text, where, "communicators",
                  R"(communicators look like {"communicators": [{"name": "up", "from": 0, "to": 1}, …]}, or CSV)"));
    BUBBLESCOPE_TRY(checkKeys(input.document, {"communicators"}, input.place));
    BUBBLESCOPE_ASSIGN(const Json* const list, listField(input.document, "communicators", input.place));
    Communicators communicators;
    communicators.kind = CommunicatorKind::Rules;
    for (std::size_t i = 0; i < list->size(); ++i) {
        BUBBLESCOPE_ASSIGN(CommunicatorRule rule, readRule((*list)[i], std::max(pp, 1), input.row("communicators", i)));
        communicators.rules.push_back(std::move(rule));
    }
    return communicators;
}

Result<Communicators> readCommunicators(const std::string& file, int pp) {
    BUBBLESCOPE_ASSIGN(const std::string text, readInputText(file));
    return communicatorsFrom(text, file, pp);
}

} // namespace bubblescope
