#include "core/formats/chrome/process_groups.h"

#include "core/base/text.h"

#include <simdjson.h>
#include <string>

namespace bubblescope::chrome {
namespace {

std::vector<std::int64_t> numbersIn(std::string_view text) {
    std::vector<std::int64_t> numbers;
    while (!text.empty()) {
        if (const auto number = takeNumber<std::int64_t>(text))
            numbers.push_back(*number);
        else
            text.remove_prefix(1);
    }
    return numbers;
}

std::vector<std::int64_t> ranksOf(simdjson::dom::element group) {
    std::string_view text;
    if (group["ranks"].get(text) == simdjson::SUCCESS) return numbersIn(text);
    std::vector<std::int64_t> ranks;
    simdjson::dom::array list;
    if (group["ranks"].get(list) != simdjson::SUCCESS) return ranks;
    for (const simdjson::dom::element item : list) {
        std::int64_t rank = 0;
        if (item.get(rank) == simdjson::SUCCESS) ranks.push_back(rank);
    }
    return ranks;
}

void addGroups(simdjson::dom::array list, std::vector<ProcessGroup>& groups) {
    for (const simdjson::dom::element group : list) {
        std::string_view description;
        if (group["pg_desc"].get(description) == simdjson::SUCCESS)
            groups.push_back({std::string(description), ranksOf(group)});
    }
}

} // namespace

std::vector<ProcessGroup> processGroups(std::string_view distributed_info) {
    std::vector<ProcessGroup> groups;
    simdjson::dom::parser parser;
    simdjson::dom::element document;
    const simdjson::padded_string padded(distributed_info);
    if (parser.parse(padded).get(document) != simdjson::SUCCESS) return groups;
    simdjson::dom::array list;
    if (document["pg_config"].get(list) == simdjson::SUCCESS) addGroups(list, groups);
    return groups;
}

} // namespace bubblescope::chrome
