#include "core/optimize/partition/layer_times.h"

#include "core/base/input_file.h"
#include "core/base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

namespace bubblescope {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kShape =
    R"(layer lists look like {"unit":"ms","layers":[{"forward":1.5,"backward":3},…]}, or CSV with these columns)";
constexpr std::int64_t kMaxTimedLayers = 100'000;
constexpr double kLongestLayer = 1e12; // nanoseconds, a quarter of an hour
constexpr std::array<std::string_view, 8> kLayerFields{"name",        "forward", "backward", "input_grad",
                                                       "weight_grad", "memory",  "count",    "kind"};

/// A layer's fields as text, from either format; times are digits, possibly with a unit.
using Fields = std::map<std::string, std::string, std::less<>>;

std::optional<double> nanosecondsIn(std::string_view unit) {
    if (unit == "ns") return 1;
    if (unit == "us") return 1e3;
    if (unit == "ms") return 1e6;
    if (unit == "s") return 1e9;
    return std::nullopt;
}

/// A measured time, rounded to nanoseconds.
Result<TimeNs> timeOf(std::string_view text, std::string_view unit, const std::string& where, std::string_view field) {
    const auto digits = std::min(text.find_first_not_of("0123456789.eE+-"), text.size());
    const std::string_view given = digits < text.size() ? text.substr(digits) : unit;
    const auto value = parseNumber<double>(text.substr(0, digits));
    if (!value)
        return inputError(where, fmt::format("{} is '{}', not a time", field, text), "write a time such as 1.5ms");
    const auto scale = nanosecondsIn(given);
    if (!scale) {
        return inputError(where,
                          given.empty() ? fmt::format("{} is {} without a unit", field, text)
                                        : fmt::format("{} has an unknown unit '{}'", field, given),
                          "units are s, ms, us and ns; write 1.5ms, \"unit\":\"ms\" or a column forward_ms");
    }
    const double time = *value * *scale;
    if (!(time >= 0 && time <= kLongestLayer))
        return inputError(where, fmt::format("{} is {}", field, text), "use a time from 0 to 1000 s");
    return TimeNs{std::llround(time)};
}

Result<std::optional<TimeNs>> optionalTime(const Fields& fields, std::string_view field, std::string_view unit,
                                           const std::string& where) {
    const auto found = fields.find(field);
    if (found == fields.end()) return std::optional<TimeNs>{};
    BUBBLESCOPE_ASSIGN(const TimeNs time, timeOf(found->second, unit, where, field));
    return std::optional(time);
}

Result<std::int64_t> wholeNumber(const Fields& fields, std::string_view field, std::int64_t fallback, std::int64_t min,
                                 std::int64_t max, const std::string& where) {
    const auto found = fields.find(field);
    if (found == fields.end()) return fallback;
    const auto value = parseNumber<double>(found->second);
    if (!value || *value < static_cast<double>(min) || *value > static_cast<double>(max) ||
        *value != std::floor(*value)) {
        return inputError(where, fmt::format("{} is {}", field, found->second),
                          fmt::format("specify a whole number from {} to {}", min, max));
    }
    return static_cast<std::int64_t>(*value);
}

Result<LayerKind> kindOf(const Fields& fields, const std::string& where) {
    const auto found = fields.find("kind");
    if (found == fields.end() || found->second == "transformer") return LayerKind::Transformer;
    if (found->second == "embedding") return LayerKind::Embedding;
    if (found->second == "mtp") return LayerKind::MultiToken;
    if (found->second == "head") return LayerKind::Loss;
    return inputError(where, fmt::format("kind is '{}'", found->second), "use embedding, transformer, mtp or head");
}

/// Units given separately from the fields: per field, or for all under "".
Status addLayer(const Fields& fields, const Fields& units, const std::string& where, std::vector<Layer>& layers) {
    const auto unitOf = [&](std::string_view field) -> std::string_view {
        const auto own = units.find(field);
        if (own != units.end()) return own->second;
        const auto shared = units.find("");
        return shared == units.end() ? std::string_view{} : shared->second;
    };
    Layer layer;
    if (const auto name = fields.find("name"); name != fields.end()) layer.name = name->second;
    BUBBLESCOPE_ASSIGN(const auto forward, optionalTime(fields, "forward", unitOf("forward"), where));
    BUBBLESCOPE_ASSIGN(const auto backward, optionalTime(fields, "backward", unitOf("backward"), where));
    BUBBLESCOPE_ASSIGN(const auto input_grad, optionalTime(fields, "input_grad", unitOf("input_grad"), where));
    BUBBLESCOPE_ASSIGN(const auto weight_grad, optionalTime(fields, "weight_grad", unitOf("weight_grad"), where));
    if (!forward || !(backward || (input_grad && weight_grad))) {
        return inputError(where, forward ? "the layer's backward is missing" : "the layer's forward is missing",
                          "specify forward, and backward or input_grad and weight_grad");
    }
    auto times = makeOpTimes(*forward, backward, input_grad, weight_grad);
    if (!times.ok())
        return inputError(where, "backward is not input_grad plus weight_grad", "specify two of the three");
    layer.times = times.value();
    constexpr std::int64_t kMaxMemory = std::int64_t{1} << 50U;
    BUBBLESCOPE_ASSIGN(layer.memory, wholeNumber(fields, "memory", 0, 0, kMaxMemory, where));
    BUBBLESCOPE_ASSIGN(const std::int64_t count, wholeNumber(fields, "count", 1, 1, kMaxTimedLayers, where));
    BUBBLESCOPE_ASSIGN(layer.kind, kindOf(fields, where));
    if (static_cast<std::int64_t>(layers.size()) + count > kMaxTimedLayers)
        return inputError(where, fmt::format("more than {} layers", kMaxTimedLayers));
    layers.insert(layers.end(), static_cast<std::size_t>(count), layer);
    return {};
}

Status addJsonLayer(const Json& entry, const Fields& units, const std::string& where, std::vector<Layer>& layers) {
    if (!entry.is_object()) return inputError(where, "not a JSON object", std::string(kShape));
    Fields fields;
    for (const auto& [key, value] : entry.items()) {
        if (std::ranges::find(kLayerFields, key) == kLayerFields.end())
            return inputError(where, fmt::format("unknown field \"{}\"", key), std::string(kShape));
        if (!value.is_string() && !value.is_number())
            return inputError(where, fmt::format("{} is {}", key, value.dump()), std::string(kShape));
        fields[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
    return addLayer(fields, units, where, layers);
}

Result<std::vector<Layer>> layersIn(const Json& document, const std::string& where) {
    const Json& list = document.is_object() && document.contains("layers") ? document["layers"] : document;
    if (!list.is_array()) return inputError(where, "list \"layers\" missing", std::string(kShape));
    Fields units;
    if (document.is_object() && document.contains("unit")) {
        const Json& unit = document["unit"];
        if (!unit.is_string() || !nanosecondsIn(unit.get<std::string>()))
            return inputError(where, fmt::format("unit is {}", unit.dump()), "units are s, ms, us and ns");
        units[""] = unit.get<std::string>();
    }
    std::vector<Layer> layers;
    const auto outer = [&](const char* key) -> Status {
        if (!document.is_object() || !document.contains(key)) return {};
        Json layer = document[key];
        if (layer.is_object() && !layer.contains("kind")) layer["kind"] = key;
        return addJsonLayer(layer, units, fmt::format("{}, {}", where, key), layers);
    };
    BUBBLESCOPE_TRY(outer("embedding"));
    for (std::size_t i = 0; i < list.size(); ++i)
        BUBBLESCOPE_TRY(addJsonLayer(list[i], units, fmt::format("{}, layers[{}]", where, i), layers));
    BUBBLESCOPE_TRY(outer("head"));
    if (layers.empty()) return inputError(where, "contains no layer", std::string(kShape));
    return layers;
}

std::vector<std::string> cellsOf(std::string_view line) {
    std::vector<std::string> cells;
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find(',', begin), line.size());
        std::string_view cell = line.substr(begin, end - begin);
        constexpr std::string_view kBlank = " \t\r\"";
        const auto first = cell.find_first_not_of(kBlank);
        cell = first == std::string_view::npos ? std::string_view{}
                                               : cell.substr(first, cell.find_last_not_of(kBlank) - first + 1);
        cells.emplace_back(cell);
        begin = end + 1;
    }
    return cells;
}

} // namespace

Result<std::vector<Layer>> layerTimesFromJson(std::string_view text, const std::string& where) {
    BUBBLESCOPE_ASSIGN(const Json document, parseJsonDocument(text, where, kShape));
    try {
        return layersIn(document, where);
    } catch (const Json::exception& error) {
        return inputError(where, fmt::format("not a list of layers: {}", error.what()), std::string(kShape));
    }
}

Result<std::vector<Layer>> layerTimesFromCsv(std::string_view text, const std::string& where) {
    std::vector<std::string> columns;
    Fields units;
    std::vector<Layer> layers;
    std::size_t line_number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const auto cells = cellsOf(text.substr(begin, end - begin));
        begin = end + 1;
        const std::string place = fmt::format("{}, line {}", where, ++line_number);
        if (std::ranges::all_of(cells, &std::string::empty)) continue;
        if (columns.empty()) {
            for (std::string column : cells) {
                const auto mark = column.rfind('_');
                if (mark != std::string::npos && nanosecondsIn(std::string_view(column).substr(mark + 1))) {
                    const std::string unit = column.substr(mark + 1);
                    column.resize(mark);
                    units[column] = unit;
                }
                if (std::ranges::find(kLayerFields, column) == kLayerFields.end())
                    return inputError(place, fmt::format("unknown column '{}'", column), std::string(kShape));
                columns.push_back(std::move(column));
            }
            continue;
        }
        if (cells.size() != columns.size()) {
            return inputError(place, fmt::format("{} instead of {} cells", cells.size(), columns.size()),
                              "write one cell per column");
        }
        Fields fields;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (!cells[i].empty()) fields[columns[i]] = cells[i];
        }
        BUBBLESCOPE_TRY(addLayer(fields, units, place, layers));
    }
    if (layers.empty()) return inputError(where, "contains no layer", std::string(kShape));
    return layers;
}

Result<std::vector<Layer>> readLayerTimes(const std::filesystem::path& file) {
    BUBBLESCOPE_ASSIGN(const std::string content, readInputText(file.string(), "layer times"));
    const auto first = content.find_first_not_of(" \t\r\n");
    const bool json = first != std::string::npos && (content[first] == '{' || content[first] == '[');
    return json ? layerTimesFromJson(content, file.string()) : layerTimesFromCsv(content, file.string());
}

} // namespace bubblescope
