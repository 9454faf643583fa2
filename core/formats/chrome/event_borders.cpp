#include "core/formats/chrome/event_borders.h"

#include "core/base/json_scanner.h"

#include <algorithm>
#include <array>

namespace bubblescope::chrome {
namespace {

/// The number of bytes of an object to read in search of its phase.
constexpr std::size_t kLongestLook = std::size_t{64} << 10;
/// Enough for the first key.
constexpr std::size_t kShortestLook = 32;

constexpr std::array<std::string_view, 14> kKeysOfEvents{
    R"("ph")",   R"("name")", R"("cat")", R"("ts")",      R"("dur")", R"("pid")",   R"("tid")",
    R"("args")", R"("id")",   R"("bp")",  R"("bind_id")", R"("s")",   R"("cname")", R"("tts")"};

constexpr std::string_view kSpace = " \t\r\n";

std::size_t skipSpace(std::string_view text, std::size_t at) {
    return std::min(text.find_first_not_of(kSpace, at), text.size());
}

struct Look {
    bool is_event = false; ///< or begins like one
    bool has_phase = false;
    std::size_t end = 0;  ///< no event begins before it
    std::size_t read = 0; ///< bytes
};

/// Reads the object that begins at `brace` up to its phase. `text` ends where the search ends.
Look lookAt(std::string_view text, std::size_t brace) {
    JsonScanner scanner(text);
    scanner.moveTo(brace + 1);
    bool is_first = true;
    bool starts_like_an_event = false;
    for (;;) {
        if (scanner.accept('}')) return {false, false, scanner.offset() - 1, scanner.offset() - brace};
        const bool has_key = (is_first || scanner.accept(',')) && scanner.peek() == '"';
        const auto key = has_key ? scanner.value() : std::nullopt;
        if (!key) break;
        if (*key == kKeysOfEvents.front()) return {true, true, scanner.offset(), scanner.offset() - brace};
        if (is_first) starts_like_an_event = std::ranges::find(kKeysOfEvents, *key) != kKeysOfEvents.end();
        is_first = false;
        if (!scanner.accept(':') || !scanner.value()) break;
    }
    return {starts_like_an_event, false, scanner.offset(), text.size() - brace};
}

bool startsWithPhase(std::string_view object) {
    const std::size_t key = skipSpace(object, 1);
    return object.substr(key).starts_with(kKeysOfEvents.front());
}

} // namespace

void EventBorders::extend(std::string_view text, bool complete) {
    text_ = text;
    known_ = complete ? text.size() : text.size() - std::min(text.size(), kLongestLook);
}

std::optional<std::size_t> EventBorders::after(std::size_t offset, std::size_t within) {
    const std::size_t limit = std::min(known_, offset + within);
    for (std::size_t at = offset; at < limit;) {
        at = text_.find('}', at);
        if (at >= limit) return std::nullopt;
        const std::size_t comma = skipSpace(text_, ++at);
        if (comma >= limit || text_[comma] != ',') continue;
        const std::size_t brace = skipSpace(text_, comma + 1);
        if (brace >= limit || text_[brace] != '{') continue;
        if (isEvent(brace, at)) return brace;
    }
    return std::nullopt;
}

bool EventBorders::beginsEvent(std::string_view text) {
    const Look look = lookAt(text.substr(0, kLongestLook), 0);
    const bool states_phase = text.substr(0, text.find('\n')).find(kKeysOfEvents.front()) != std::string_view::npos;
    return look.has_phase || (look.is_event && states_phase);
}

bool EventBorders::isEvent(std::size_t brace, std::size_t& at) {
    // Once searches have read the length of the text several times, only first keys are checked.
    const std::size_t length = looked_at_ < 4 * text_.size() ? kLongestLook : kShortestLook;
    const Look look = lookAt(text_.substr(0, std::min(text_.size(), brace + length)), brace);
    looked_at_ += look.read;
    if (!look.is_event) at = std::max(at, look.end);
    return look.is_event;
}

std::optional<std::size_t> EventBorders::afterDamage(std::size_t offset, std::size_t within) {
    const std::size_t limit = std::min(known_, offset + within);
    for (std::size_t at = offset + 1; at < limit;) {
        const std::size_t brace = text_.find('{', at);
        if (brace >= limit) return std::nullopt;
        at = brace + 1;
        std::size_t before = brace;
        while (before > offset && kSpace.find(text_[before - 1]) != std::string_view::npos)
            --before;
        // A value, unless the previous event was truncated after a key.
        if (before > offset && text_[before - 1] == ':' && !startsWithPhase(text_.substr(brace))) continue;
        std::size_t ignored = at; // an extra quote that ends a value is not a border
        if (isEvent(brace, ignored)) return brace;
    }
    return std::nullopt;
}

} // namespace bubblescope::chrome
