#include "core/formats/chrome/distributed_info.h"

#include "core/base/text.h"
#include "core/formats/chrome/event_parser.h"
#include "core/trace/args.h"

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

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

/// The process groups in Kineto's distributedInfo (a JSON object), under pg_config. Their ranks are a list or, in
/// on-demand traces, a text that contains one. Damaged entries are omitted.
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

/// A number in an object, or a text that contains one, from 0 to the maximum of int.
std::optional<std::int32_t> countIn(std::string_view object, std::string_view name) {
    const auto found = findJsonArg(object, name);
    std::optional<std::int64_t> number;
    if (found && std::holds_alternative<std::int64_t>(*found)) number = std::get<std::int64_t>(*found);
    if (found && std::holds_alternative<std::string>(*found))
        number = EventParser::integer(std::get<std::string>(*found));
    if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
    return static_cast<std::int32_t>(*number);
}

} // namespace

std::optional<std::int32_t> takeDistributedInfo(std::string_view object, TraceFile& file) {
    const auto rank = countIn(object, "rank");
    if (rank && file.rank && *file.rank != *rank) return rank; // another rank's, in a file of several
    file.world_size = countIn(object, "world_size");
    file.groups = processGroups(object);
    if (rank) file.rank = rank;
    return rank;
}

} // namespace bubblescope::chrome
