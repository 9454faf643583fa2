#include "core/formats/chrome/event_parser.h"

#include "core/base/text.h"
#include "core/formats/chrome/decimal.h"

#include <simdjson.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>

namespace bubblescope::chrome {
namespace {

namespace ondemand = simdjson::ondemand;

std::string_view trimmed(std::string_view token) {
    while (!token.empty() &&
           (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
        token.remove_suffix(1);
    return token;
}

/// The text of a string, or the token of a number, true, false or null; empty for anything else.
std::string_view scalarText(ondemand::value value) {
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return {};
    std::string_view text;
    if (type == ondemand::json_type::string) {
        return value.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view{};
    }
    const bool nested = type == ondemand::json_type::object || type == ondemand::json_type::array;
    return nested ? std::string_view{} : trimmed(value.raw_json_token());
}

RowId rowId(ondemand::value value, StringPool& texts) {
    const std::string_view text = scalarText(value);
    if (const auto number = parseNumber<std::int64_t>(text)) return {false, *number};
    return {true, texts.intern(text)};
}

std::uint64_t flowId(ondemand::value value) {
    const std::string_view text = scalarText(value);
    if (const auto number = parseNumber<std::int64_t>(text)) return static_cast<std::uint64_t>(*number);
    return std::hash<std::string_view>{}(text);
}

/// Fills events from the entries of one padded document.
class Filler {
public:
    Filler(const char* document, std::uint64_t offset, EventBatch& batch)
        : document_(document), offset_(offset), batch_(batch) {}

    bool entry(ondemand::object object, std::string_view first_token) {
        Event& event = batch_.events.emplace_back();
        event.offset = placeOf(first_token.data());
        for (auto field_result : object) {
            ondemand::field field;
            if (std::move(field_result).get(field) != simdjson::SUCCESS) return false;
            if (!fill(keyAt(field.key().raw()), field.value(), event)) return false;
        }
        return true;
    }

private:
    // Relevant keys have eight letters at most and are compared as one number; simdjson's padding makes reading this
    // far beyond any key safe. A key spelled with escapes is not recognised, as in every other viewer.
    using Key = std::uint64_t;

    /// Of the letters and, if it has room, the quote behind them.
    [[nodiscard]] static constexpr Key keyOf(std::string_view text) {
        Key key = 0;
        for (std::size_t i = 0; i < sizeof key; ++i) {
            const char letter = i < text.size() ? text[i] : i == text.size() ? '"' : '\0';
            key |= static_cast<Key>(static_cast<unsigned char>(letter)) << (8 * i);
        }
        return key;
    }
    /// Of the text up to the next quote; 0 for longer ones.
    [[nodiscard]] static Key keyAt(const char* text) {
        static_assert(std::endian::native == std::endian::little);
        Key key = 0;
        std::memcpy(&key, text, sizeof key);
        // The lowest bit that is set here is in the first byte that is a quote.
        constexpr Key kOnes = 0x0101010101010101;
        const Key others = key ^ (kOnes * '"');
        const Key quotes = (others - kOnes) & ~others & (kOnes << 7U);
        if (quotes == 0) return text[sizeof key] == '"' ? key : 0;
        const int beyond = 56 - std::countr_zero(quotes) / 8 * 8; // bits
        return key << beyond >> beyond;
    }

    [[nodiscard]] std::uint64_t placeOf(const char* at) const {
        return offset_ + static_cast<std::uint64_t>(at - document_);
    }

    bool fill(Key key, ondemand::value value, Event& event) {
        switch (key) {
        case keyOf("ph"): {
            const std::string_view text = scalarText(value);
            event.phase = text.size() == 1 ? text.front() : '?';
            break;
        }
        case keyOf("ts"):
            event.has_time = true;
            event.time = microsecondsToNs(scalarText(value));
            break;
        case keyOf("id"): event.id = flowId(value); break;
        case keyOf("bp"): event.binds_enclosing = scalarText(value) == "e"; break;
        case keyOf("dur"): event.duration = microsecondsToNs(scalarText(value)); break;
        case keyOf("pid"): event.pid = rowId(value, batch_.texts); break;
        case keyOf("tid"): event.tid = rowId(value, batch_.texts); break;
        case keyOf("cat"): event.category = batch_.texts.intern(scalarText(value)); break;
        case keyOf("id2"): return asyncId(value, event);
        case keyOf("name"): event.name = batch_.texts.intern(scalarText(value)); break;
        case keyOf("args"): return args(value, event);
        case keyOf("bind_id"): event.bind = flowId(value); break;
        case keyOf("flow_in"): event.flows_in = scalarText(value) == "true"; break;
        case keyOf("flow_out"): event.flows_out = scalarText(value) == "true"; break;
        default: break;
        }
        return true;
    }

    bool args(ondemand::value value, Event& event) {
        ondemand::json_type type{};
        if (value.type().get(type) != simdjson::SUCCESS || type != ondemand::json_type::object) return true;
        ondemand::object object;
        std::string_view text;
        if (value.get_object().get(object) != simdjson::SUCCESS) return false;
        if (object.raw_json().get(text) != simdjson::SUCCESS) return false;
        if (text.size() > 2) {
            event.args = placeOf(text.data());
            event.args_size = static_cast<std::uint32_t>(text.size()); // entries are shorter than that
        }
        return true;
    }

    // {"local": …} or {"global": …}
    static bool asyncId(ondemand::value value, Event& event) {
        ondemand::json_type type{};
        if (value.type().get(type) != simdjson::SUCCESS || type != ondemand::json_type::object) return true;
        ondemand::object object;
        if (value.get_object().get(object) != simdjson::SUCCESS) return false;
        for (auto field_result : object) {
            ondemand::field field;
            if (std::move(field_result).get(field) != simdjson::SUCCESS) return false;
            event.id = flowId(field.value());
        }
        return true;
    }

    const char* document_;
    std::uint64_t offset_;
    EventBatch& batch_;
};

} // namespace

struct EventParser::Simdjson {
    ondemand::parser parser;
    std::vector<char> document; // "[" text "]" and room that simdjson may read
};

EventParser::EventParser() : simdjson_(std::make_unique<Simdjson>()) {}
EventParser::~EventParser() = default;

bool EventParser::parse(std::string_view text, std::uint64_t offset, EventBatch& batch) {
    std::vector<char>& document = simdjson_->document;
    document.resize(text.size() + 2 + simdjson::SIMDJSON_PADDING);
    document.front() = '[';
    if (!text.empty()) std::memcpy(document.data() + 1, text.data(), text.size());
    document[text.size() + 1] = ']';
    std::memset(document.data() + text.size() + 2, 0, simdjson::SIMDJSON_PADDING);

    constexpr std::size_t kUsualEvent = 200;
    const std::size_t before = batch.events.size();
    if (text.size() > 8 * kUsualEvent) batch.events.reserve(before + text.size() / kUsualEvent);
    ondemand::document json;
    ondemand::array array;
    const auto iterate = [&] {
        return simdjson_->parser.iterate(document.data(), text.size() + 2, document.size()).get(json);
    };
    auto failed = iterate();
    if (failed == simdjson::UTF8_ERROR) {
        batch.repaired = replaceInvalidUtf8(document.data(), text.size() + 2) > 0;
        failed = iterate();
    }
    if (failed != simdjson::SUCCESS) return false;
    if (json.get_array().get(array) != simdjson::SUCCESS) return false;
    Filler filler(document.data() + 1, offset, batch);
    for (auto element : array) {
        ondemand::value value;
        ondemand::object object;
        if (std::move(element).get(value) != simdjson::SUCCESS) {
            batch.events.resize(before);
            return false;
        }
        const std::string_view token = value.raw_json_token();
        if (value.get_object().get(object) != simdjson::SUCCESS || !filler.entry(object, token)) {
            batch.events.resize(before);
            return false;
        }
    }
    return true;
}

std::optional<std::int64_t> EventParser::integer(std::string_view text) {
    text = trimmed(text);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    return parseNumber<std::int64_t>(text);
}

} // namespace bubblescope::chrome
