#include "core/io/chrome/event_parser.h"

#include "core/io/chrome/decimal.h"
#include "core/io/file_bytes.h"

#include <simdjson.h>

#include <charconv>
#include <functional>

namespace bubblescope::chrome {
namespace {

namespace ondemand = simdjson::ondemand;

static_assert(kReadPadding >= simdjson::SIMDJSON_PADDING);

std::string_view trimmed(std::string_view token) {
    while (!token.empty() &&
           (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
        token.remove_suffix(1);
    return token;
}

std::optional<std::int64_t> wholeNumber(std::string_view text) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
    return number;
}

/// The text of a string, or the token of a number, true, false or null; empty for what is neither.
std::string_view scalarText(ondemand::value value) {
    ondemand::json_type type{};
    if (value.type().get(type) == simdjson::SUCCESS && type == ondemand::json_type::string) {
        std::string_view text;
        return value.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view{};
    }
    return trimmed(value.raw_json_token());
}

ArgValue numberArg(ondemand::value value, std::string_view token, TraceBuilder& builder) {
    if (const auto number = wholeNumber(token)) return ArgValue::ofInt(*number);
    double real = 0;
    if (value.get_double().get(real) == simdjson::SUCCESS) return ArgValue::ofReal(real);
    return ArgValue::ofText(builder.intern(token));
}

/// Nested values are kept as their JSON text.
ArgValue argValue(ondemand::value value, TraceBuilder& builder) {
    const auto asText = [&builder](std::string_view text) { return ArgValue::ofText(builder.intern(text)); };
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return asText(trimmed(value.raw_json_token()));
    std::string_view text;
    switch (type) {
    case ondemand::json_type::number: return numberArg(value, trimmed(value.raw_json_token()), builder);
    case ondemand::json_type::boolean: {
        bool flag = false;
        if (value.get_bool().get(flag) == simdjson::SUCCESS) return ArgValue::ofBool(flag);
        return asText(trimmed(value.raw_json_token()));
    }
    case ondemand::json_type::array: {
        ondemand::array array;
        if (value.get_array().get(array) == simdjson::SUCCESS && array.raw_json().get(text) == simdjson::SUCCESS) {
            return asText(text);
        }
        return asText({});
    }
    case ondemand::json_type::object: {
        ondemand::object object;
        if (value.get_object().get(object) == simdjson::SUCCESS && object.raw_json().get(text) == simdjson::SUCCESS) {
            return asText(text);
        }
        return asText({});
    }
    default: return asText(scalarText(value));
    }
}

bool readArgs(ondemand::value value, std::vector<Arg>& args, TraceBuilder& builder) {
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS || type != ondemand::json_type::object) return true;
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) return false;
    for (auto field_result : object) {
        ondemand::field field;
        std::string_view key;
        if (std::move(field_result).get(field) != simdjson::SUCCESS) return false;
        if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
        const StringId name = builder.intern(key);
        args.push_back({name, argValue(field.value(), builder)});
    }
    return true;
}

RowId rowId(ondemand::value value, TraceBuilder& builder) {
    const std::string_view text = scalarText(value);
    if (const auto number = wholeNumber(text)) return {false, *number, 0};
    return {true, 0, builder.intern(text)};
}

std::uint64_t flowId(ondemand::value value) {
    const std::string_view text = scalarText(value);
    if (const auto number = wholeNumber(text)) return static_cast<std::uint64_t>(*number);
    return std::hash<std::string_view>{}(text);
}

bool readField(std::string_view key, ondemand::value value, Event& event, TraceBuilder& builder) {
    if (key == "ph") {
        const std::string_view text = scalarText(value);
        event.phase = text.size() == 1 ? text.front() : '?';
    } else if (key == "name") {
        event.name = builder.intern(scalarText(value));
    } else if (key == "cat") {
        event.category = builder.intern(scalarText(value));
    } else if (key == "pid") {
        event.pid = rowId(value, builder);
    } else if (key == "tid") {
        event.tid = rowId(value, builder);
    } else if (key == "ts") {
        event.has_time = true;
        event.time = microsecondsToNs(scalarText(value));
    } else if (key == "dur") {
        event.duration = microsecondsToNs(scalarText(value));
    } else if (key == "id") {
        event.id = flowId(value);
    } else if (key == "args") {
        return readArgs(value, event.args, builder);
    }
    return true;
}

} // namespace

struct EventParser::Simdjson {
    ondemand::parser parser;
};

EventParser::EventParser(TraceBuilder& builder) : builder_(builder), simdjson_(std::make_unique<Simdjson>()) {}
EventParser::~EventParser() = default;

bool EventParser::parse(std::string_view text) {
    std::vector<Arg> args = std::move(event_.args); // keeps its memory
    args.clear();
    event_ = Event{};
    event_.args = std::move(args);

    ondemand::document document;
    ondemand::object object;
    const simdjson::padded_string_view padded(text, text.size() + kReadPadding);
    if (simdjson_->parser.iterate(padded).get(document) != simdjson::SUCCESS) return false;
    if (document.get_object().get(object) != simdjson::SUCCESS) return false;
    for (auto field_result : object) {
        ondemand::field field;
        std::string_view key;
        if (std::move(field_result).get(field) != simdjson::SUCCESS) return false;
        if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
        if (!readField(key, field.value(), event_, builder_)) return false;
    }
    return true;
}

std::optional<std::int64_t> EventParser::integer(std::string_view text) {
    text = trimmed(text);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    return wholeNumber(text);
}

std::optional<std::int64_t> EventParser::integerField(std::string_view object, std::string_view key) {
    ondemand::document document;
    ondemand::value value;
    const simdjson::padded_string_view padded(object, object.size() + kReadPadding);
    if (simdjson_->parser.iterate(padded).get(document) != simdjson::SUCCESS) return std::nullopt;
    if (document.find_field_unordered(key).get(value) != simdjson::SUCCESS) return std::nullopt;
    return wholeNumber(scalarText(value));
}

} // namespace bubblescope::chrome
