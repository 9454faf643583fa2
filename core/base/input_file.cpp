#include "core/base/input_file.h"

#include "core/base/bytes.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace bubblescope {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 64;

/// Offset of the bracket that exceeds the maximum depth. For text that is not JSON, the offset is arbitrary, but such
/// text is rejected anyway.
std::optional<std::size_t> tooDeep(std::string_view text) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (quoted) {
            if (c == '\\') ++at;
            if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > kMaxDepth) return at;
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return std::nullopt;
}

std::string shortened(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "…";
    return text;
}

/// Cells of a line: separated by commas, surrounding spaces removed.
std::vector<std::string> cells(std::string_view line) {
    std::vector<std::string> result;
    while (true) {
        const std::size_t comma = line.find(',');
        result.emplace_back(trimmed(line.substr(0, comma), " \t\r\""));
        if (comma == std::string_view::npos) return result;
        line.remove_prefix(comma + 1);
    }
}

Result<WrittenInput> readCsv(std::string_view text, std::string_view rows_key, InputPlace place) {
    WrittenInput input{Json::object(), std::move(place), {}};
    Json rows = Json::array();
    std::vector<std::string> header;
    int number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        ++number;
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const auto row = cells(text.substr(begin, end - begin));
        begin = end + 1;
        if (row.size() == 1 && row.front().empty()) continue;
        if (header.empty()) {
            header = row;
            continue;
        }
        const InputPlace here = input.place.at(fmt::format("line {}", number));
        if (row.size() != header.size()) {
            return here.error(fmt::format("has {} cells, but the header has {}", row.size(), header.size()));
        }
        Json entry = Json::object();
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (!row[i].empty()) entry[header[i]] = row[i];
        }
        rows.push_back(std::move(entry));
        input.lines.push_back(number);
    }
    input.document[std::string(rows_key)] = std::move(rows);
    return input;
}

std::optional<std::int64_t> wholeNumber(const Json& value, std::int64_t max) {
    std::int64_t number = -1;
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(max)) return {};
    if (value.is_number_integer()) number = value.get<std::int64_t>();
    if (value.is_string()) number = parseNumber<std::int64_t>(value.get_ref<const std::string&>()).value_or(-1);
    return number < 0 || number > max ? std::nullopt : std::optional(number);
}

/// Applies a text parser to a field that must be text.
template <class Parse>
auto textField(const Json& object, const std::string& key, const InputPlace& place, Parse parse)
    -> Result<std::optional<std::decay_t<decltype(parse("").value())>>> {
    using Value = std::decay_t<decltype(parse("").value())>;
    const auto found = object.find(key);
    if (found == object.end()) return std::optional<Value>{};
    if (!found->is_string()) return place.at(key).error(fmt::format("is {}, not text", shortened(*found)));
    auto value = parse(found->template get_ref<const std::string&>());
    if (!value.ok()) {
        return inputError(place.file, fmt::format("{}: {}", place.at(key).path, value.error().message),
                          value.error().hint);
    }
    return std::optional<Value>(value.value());
}

} // namespace

Result<Json> parseJsonDocument(std::string_view text, const std::string& where, std::string_view shape) {
    if (const auto at = tooDeep(text)) {
        return inputError(fmt::format("{}, byte {}", where, *at),
                          fmt::format("JSON is nested more than {} levels deep", kMaxDepth), std::string(shape));
    }
    try {
        return Json::parse(text);
    } catch (const Json::parse_error& error) {
        return inputError(fmt::format("{}, byte {}", where, error.byte), "not valid JSON", std::string(shape));
    } catch (const Json::exception& error) { // numbers out of range
        return inputError(where, fmt::format("not valid JSON: {}", error.what()), std::string(shape));
    }
}

InputPlace InputPlace::at(std::string_view part) const {
    return {file, path.empty() ? std::string(part) : fmt::format("{}, {}", path, part), shape};
}

Error InputPlace::error(std::string_view message) const {
    return inputError(file, path.empty() ? std::string(message) : fmt::format("{} {}", path, message), shape);
}

InputPlace WrittenInput::row(std::string_view rows_key, std::size_t index) const {
    return place.at(lines.empty() ? fmt::format("{}[{}]", rows_key, index) : fmt::format("line {}", lines[index]));
}

Result<WrittenInput> inputFrom(std::string_view text, const std::string& where, std::string_view rows_key,
                               std::string shape) {
    InputPlace place{where, "", std::move(shape)};
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool json = first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
    if (!json && !rows_key.empty()) return readCsv(text, rows_key, std::move(place));
    BUBBLESCOPE_ASSIGN(Json document, parseJsonDocument(text, where, place.shape));
    if (!document.is_object()) return place.error("is not a JSON object");
    return WrittenInput{std::move(document), std::move(place), {}};
}

Result<const Json*> listField(const Json& object, std::string_view key, const InputPlace& place) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_array() || found->empty()) {
        return place.at(key).error("is missing, empty, or not a list");
    }
    return &*found;
}

Status checkKeys(const Json& object, std::initializer_list<std::string_view> known, const InputPlace& place) {
    if (!object.is_object()) return place.error(fmt::format("is {}, not an object", shortened(object)));
    for (const auto& [key, value] : object.items()) {
        if (std::ranges::find(known, key) == known.end()) return place.at(key).error("is not a known field");
    }
    return {};
}

Result<std::optional<TimeNs>> timeField(const Json& object, const std::string& key, const InputPlace& place) {
    const std::string ns_key = key + "_ns";
    BUBBLESCOPE_ASSIGN(const auto ns, numberField(object, ns_key, std::numeric_limits<std::int64_t>::max(), place));
    if (!ns) return textField(object, key, place, parseTime);
    if (object.contains(key)) return place.at(key).error(fmt::format("is also specified as {}", ns_key));
    return std::optional(TimeNs{*ns});
}

Result<std::optional<std::int64_t>> bytesField(const Json& object, const std::string& key, const InputPlace& place) {
    const auto found = object.find(key);
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (found != object.end() && wholeNumber(*found, kMost)) return numberField(object, key, kMost, place);
    return textField(object, key, place, parseBytes);
}

Result<std::optional<std::int64_t>> bandwidthField(const Json& object, const std::string& key,
                                                   const InputPlace& place) {
    return textField(object, key, place, parseBandwidth);
}

Result<std::optional<std::int64_t>> numberField(const Json& object, const std::string& key, std::int64_t max,
                                                const InputPlace& place) {
    const auto found = object.find(key);
    if (found == object.end()) return std::optional<std::int64_t>{};
    const auto number = wholeNumber(*found, max);
    if (!number) {
        return place.at(key).error(fmt::format("is {}, not a whole number from 0 to {}", shortened(*found), max));
    }
    return number;
}

} // namespace bubblescope
