#include "core/trace/json_args.h"

#include "core/base/text.h"

#include <nlohmann/json.hpp>
#include <simdjson.h>

#include <cmath>
#include <cstring>
#include <type_traits>

namespace bubblescope {
namespace {

namespace ondemand = simdjson::ondemand;

std::string_view trimmed(std::string_view token) {
    const std::size_t end = token.find_last_not_of(" \t\r\n");
    return token.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

ArgValue numberOf(ondemand::value value) {
    const std::string_view token = trimmed(value.raw_json_token());
    if (const auto whole = parseNumber<std::int64_t>(token)) return *whole;
    double real = 0;
    if (value.get_double().get(real) == simdjson::SUCCESS) return real;
    return std::string(token);
}

std::optional<ArgValue> valueOf(ondemand::value value) {
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return std::nullopt;
    std::string_view text;
    switch (type) {
    case ondemand::json_type::number: return numberOf(value);
    case ondemand::json_type::boolean: {
        bool flag = false;
        if (value.get_bool().get(flag) != simdjson::SUCCESS) return std::nullopt;
        return flag;
    }
    case ondemand::json_type::string:
        if (value.get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
        break;
    case ondemand::json_type::array: {
        ondemand::array array;
        if (value.get_array().get(array) != simdjson::SUCCESS || array.raw_json().get(text) != simdjson::SUCCESS)
            return std::nullopt;
        break;
    }
    case ondemand::json_type::object: {
        ondemand::object object;
        if (value.get_object().get(object) != simdjson::SUCCESS || object.raw_json().get(text) != simdjson::SUCCESS)
            return std::nullopt;
        break;
    }
    default: text = trimmed(value.raw_json_token());
    }
    return std::string(text);
}

/// Calls `visit` with each field's name and value until it returns false. simdjson reads beyond the end of its input,
/// so it gets a copy with room behind it.
template <class Visit>
void forEachField(std::string_view json, const Visit& visit) {
    thread_local ondemand::parser parser;
    thread_local std::vector<char> padded;
    padded.resize(json.size() + simdjson::SIMDJSON_PADDING);
    if (!json.empty()) std::memcpy(padded.data(), json.data(), json.size());
    std::memset(padded.data() + json.size(), 0, simdjson::SIMDJSON_PADDING);
    ondemand::document document;
    ondemand::object object;
    const auto iterate = [&] { return parser.iterate(padded.data(), json.size(), padded.size()).get(document); };
    auto failed = iterate();
    if (failed == simdjson::UTF8_ERROR) {
        replaceInvalidUtf8(padded.data(), json.size());
        failed = iterate();
    }
    if (failed != simdjson::SUCCESS) return;
    if (document.get_object().get(object) != simdjson::SUCCESS) return;
    for (auto field_result : object) {
        ondemand::field field;
        std::string_view name;
        if (std::move(field_result).get(field) != simdjson::SUCCESS) return;
        if (field.unescaped_key().get(name) != simdjson::SUCCESS) return;
        if (!visit(name, field.value())) return;
    }
}

} // namespace

std::vector<Arg> parseJsonArgs(std::string_view object) {
    std::vector<Arg> args;
    forEachField(object, [&args](std::string_view name, ondemand::value value) {
        std::string kept(name); // the parser may reuse the name's place for the value
        if (auto found = valueOf(value)) args.push_back({std::move(kept), std::move(*found)});
        return true;
    });
    return args;
}

std::optional<ArgValue> findJsonArg(std::string_view object, std::string_view name) {
    std::optional<ArgValue> found;
    forEachField(object, [&found, name](std::string_view key, ondemand::value value) {
        if (key == name) found = valueOf(value);
        return !found;
    });
    return found;
}

std::string quotedJson(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string argsToJson(const std::vector<Arg>& args) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const Arg& arg : args) {
        std::visit(
            [&](const auto& value) {
                if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) {
                    if (!std::isfinite(value)) {
                        object[arg.name] = std::to_string(value);
                        return;
                    }
                }
                object[arg.name] = value;
            },
            arg.value);
    }
    return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace bubblescope
