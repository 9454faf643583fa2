#include "core/trace/json_mender.h"

#include "core/base/json_scanner.h"
#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool isBlank(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\0';
}

bool isWordLetter(char c) {
    return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// The four hexadecimal digits at the start of a text.
std::optional<std::uint16_t> hexDigits(std::string_view text) {
    constexpr int kHexadecimal = 16;
    return text.size() < 4 ? std::nullopt : parseNumber<std::uint16_t>(text.substr(0, 4), kHexadecimal);
}

/// Length in bytes of the escape at the start of a text; 0 if JSON does not have that escape.
std::size_t escapeLength(std::string_view text) {
    if (text.size() < 2) return 0;
    if (text[1] == 'u') return hexDigits(text.substr(2)) ? 6 : 0;
    return std::string_view("\"\\/bfnrt").find(text[1]) == std::string_view::npos ? 0 : 2;
}

void appendUtf8(char32_t code, std::string& out) {
    const auto add = [&out](char32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) return add(code);
    if (code < 0x800) {
        add(0xC0 | code >> 6U);
    } else if (code < 0x10000) {
        add(0xE0 | code >> 12U);
        add(0x80 | (code >> 6U & 0x3F));
    } else {
        add(0xF0 | code >> 18U);
        add(0x80 | (code >> 12U & 0x3F));
        add(0x80 | (code >> 6U & 0x3F));
    }
    add(0x80 | (code & 0x3F));
}

bool isHighHalf(std::uint16_t code) {
    return code >= 0xD800 && code < 0xDC00;
}
bool isLowHalf(std::uint16_t code) {
    return code >= 0xDC00 && code < 0xE000;
}

/// Appends the character of the JSON escape at the start of a text; returns the escape's length.
std::size_t appendEscaped(std::string_view text, std::string& out) {
    constexpr std::string_view kLetters = "bfnrt";
    constexpr std::string_view kMeanings = "\b\f\n\r\t";
    if (text[1] != 'u') {
        const std::size_t known = kLetters.find(text[1]);
        out += known == std::string_view::npos ? text[1] : kMeanings[known];
        return 2;
    }
    const std::uint16_t first = *hexDigits(text.substr(2));
    if (!isHighHalf(first) && !isLowHalf(first)) return appendUtf8(first, out), 6;
    const bool goes_on = isHighHalf(first) && text.substr(6).starts_with("\\u");
    const auto second = goes_on ? hexDigits(text.substr(8)) : std::nullopt;
    if (!second || !isLowHalf(*second)) return out += kReplacement, 6;
    appendUtf8(0x10000 + ((first & 0x3FFU) << 10U) + (*second & 0x3FFU), out);
    return 12;
}

bool escapesNothing(std::string_view raw) {
    if (holdsWindowsPath(raw)) return true;
    for (std::size_t at = raw.find('\\'); at != std::string_view::npos; at = raw.find('\\', at)) {
        const std::size_t length = escapeLength(raw.substr(at));
        if (length == 0) return true;
        at += length;
    }
    return false;
}

void appendEscapedText(std::string_view text, std::string& out) {
    constexpr std::string_view kHexadecimal = "0123456789abcdef";
    out += '"';
    while (!text.empty()) {
        const std::string_view before = text;
        const char32_t code = takeCodePoint(text);
        if (code == '"' || code == '\\') {
            out += '\\';
            out += static_cast<char>(code);
        } else if (code < ' ') {
            out += "\\u00";
            out += kHexadecimal[code >> 4U];
            out += kHexadecimal[code & 0xFU];
        } else if (code == kReplacementCharacter) {
            out += kReplacement;
        } else {
            out += before.substr(0, before.size() - text.size());
        }
    }
    out += '"';
}

/// True if JSON and double can both represent this number.
bool isJsonNumber(std::string_view token) {
    std::size_t at = token.starts_with('-') ? 1 : 0;
    const auto digits = [&] {
        const std::size_t begin = at;
        while (at < token.size() && isDigit(token[at]))
            ++at;
        return at - begin;
    };
    const std::size_t first = at;
    const std::size_t whole = digits();
    if (whole == 0 || (whole > 1 && token[first] == '0')) return false;
    if (at < token.size() && token[at] == '.' && (++at, digits() == 0)) return false;
    if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
        ++at;
        if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
        if (digits() == 0) return false;
    }
    if (at != token.size()) return false;
    double value = 0;
    const auto parsed = std::from_chars(token.data(), token.data() + token.size(), value);
    return parsed.ec == std::errc{} && std::isfinite(value);
}

class Mender {
public:
    explicit Mender(std::string_view text) : text_(text) {}

    [[nodiscard]] std::optional<MendedJson> mend() {
        if (!value(0, In::Nothing)) return std::nullopt;
        out_.end = at_;
        return std::move(out_);
    }

private:
    enum class In { Nothing, Object, Array, Key };

    static constexpr int kDeepest = 500; ///< values nested deeper become null

    [[nodiscard]] char at(std::size_t place) const { return place < text_.size() ? text_[place] : '\0'; }
    [[nodiscard]] std::size_t blanksFrom(std::size_t place) const {
        while (place < text_.size() && isBlank(text_[place]))
            ++place;
        return place;
    }
    char next() {
        for (;;) {
            at_ = blanksFrom(at_);
            if (at(at_) != '/') return at(at_);
            const std::string_view rest = text_.substr(at_);
            const std::string_view end = rest.starts_with("/*") ? "*/" : "\n";
            if (!rest.starts_with("/*") && !rest.starts_with("//")) return '/';
            const std::size_t found = rest.find(end, 2);
            if (found == std::string_view::npos) return at_ = text_.size(), '\0';
            at_ += found + end.size();
        }
    }
    /// The offset at which the text continues after a short comment, if one starts here.
    [[nodiscard]] std::size_t behindComment(std::size_t place) const {
        constexpr std::size_t kShort = 1000;
        if (at(place) != '/') return place;
        const std::string_view rest = text_.substr(place, kShort);
        const std::string_view closing = rest.starts_with("/*") ? "*/" : "\n";
        if (!rest.starts_with("/*") && !rest.starts_with("//")) return place;
        const std::size_t end = rest.find(closing, 2);
        return end == std::string_view::npos ? place : blanksFrom(place + end + closing.size());
    }
    [[nodiscard]] bool ended() const { return at_ >= text_.size(); }

    bool value(int depth, In in) {
        switch (next()) {
        case '{': return nested(depth, '}');
        case '[': return nested(depth, ']');
        case '"':
        case '\'': return string(in);
        default: return scalar(in);
        }
    }

    bool nested(int depth, char close) {
        if (depth > kDeepest) return tooDeep();
        out_.text += text_[at_++];
        bool is_first = true;
        while (next() != close) {
            if (at(at_) == ',') {
                ++at_;
                continue;
            }
            if (ended()) {
                out_.unclosed = true;
                out_.text += close;
                return whole_;
            }
            if (!std::exchange(is_first, false)) out_.text += ',';
            if (close == '}' ? !field(depth) : !value(depth + 1, In::Array)) return false;
            const char behind = next();
            if (behind != ',' && behind != close && !ended()) out_.guessed = true;
        }
        ++at_;
        out_.text += close;
        whole_ = true;
        return true;
    }
    bool tooDeep() {
        JsonScanner scanner(text_.substr(at_));
        if (!scanner.value()) return false;
        at_ += scanner.offset();
        out_.text += "null";
        return true;
    }

    bool field(int depth) {
        if (at(at_) == '"' || at(at_) == '\'') {
            if (!string(In::Key)) return false;
        } else if (!bareKey()) {
            return false;
        }
        if (next() != ':') return false;
        ++at_;
        out_.text += ':';
        return value(depth + 1, In::Object);
    }

    /// Reads a key without quotes, or without the first one.
    bool bareKey() {
        const std::size_t begin = at_;
        while (isWordLetter(at(at_)))
            ++at_;
        if (at_ == begin) return false;
        appendEscapedText(text_.substr(begin, at_ - begin), out_.text);
        out_.guessed = true;
        if (at(at_) == '"') ++at_;
        return true;
    }

    /// True if a key and its colon start here.
    [[nodiscard]] bool isKey(std::size_t place) const {
        constexpr std::size_t kLongest = 100;
        const bool quoted = at(place) == '"' || at(place) == '\'';
        const char mark = quoted ? at(place) : '"';
        const std::size_t begin = quoted ? place + 1 : place;
        std::size_t end = begin;
        while (end < begin + kLongest && end < text_.size() && text_[end] != mark && text_[end] != '\n' &&
               (quoted || isWordLetter(text_[end])))
            ++end;
        if (end == begin || (quoted && at(end) != mark)) return false;
        if (at(end) == mark) ++end;
        return at(blanksFrom(end)) == ':';
    }

    /// True if this quote ends the string, rather than quoting something inside it.
    [[nodiscard]] bool ends(std::size_t quote, In in) const {
        const std::size_t behind = blanksFrom(quote + 1);
        const char letter = at(behind);
        if (behind >= text_.size() || (letter == '/' && (at(behind + 1) == '/' || at(behind + 1) == '*'))) return true;
        switch (in) {
        case In::Nothing: return true;
        case In::Key: return letter == ':';
        case In::Array: return letter == ',' || letter == ']';
        case In::Object: break;
        }
        if (letter == '}') return true;
        if (letter == '"') return isKey(behind); // a comma is missing
        std::size_t after = behind;
        while (at(after) == ',')
            after = behindComment(blanksFrom(after + 1));
        return after > behind && (at(after) == '}' || after >= text_.size() || isKey(after));
    }

    bool string(In in) {
        const char mark = text_[at_];
        const std::size_t begin = ++at_;
        for (; at_ < text_.size(); ++at_) {
            if (text_[at_] == '\\') {
                ++at_;
            } else if (text_[at_] == mark && ends(at_, in)) {
                finish(begin, at_++);
                return true;
            } else if (text_[at_] == mark) {
                if (in == In::Key) return false;
                out_.guessed = true;
                if (in == In::Object && mark == '"' && lacksItsQuote(begin)) return true;
            }
        }
        return false;
    }
    /// If a key starts where the string would continue, the string ended before the preceding comma.
    bool lacksItsQuote(std::size_t begin) {
        if (!isKey(at_)) return false;
        std::size_t end = at_;
        while (end > begin && isBlank(text_[end - 1]))
            --end;
        if (end == begin || text_[end - 1] != ',') return false;
        at_ = end - 1;
        const bool escaped = text_.substr(begin, at_ - begin).ends_with("\\\""); // by the backslash that it ends with
        finish(begin, escaped ? at_ - 1 : at_);
        return true;
    }
    void finish(std::size_t begin, std::size_t end) {
        appendEscapedText(unescapeLeniently(text_.substr(begin, end - begin)), out_.text);
        whole_ = true;
    }

    bool scalar(In in) {
        const std::size_t begin = at_;
        while (at_ < text_.size() && !isBlank(text_[at_]) &&
               std::string_view(",:]}[{\"").find(text_[at_]) == std::string_view::npos)
            ++at_;
        const std::string_view token = text_.substr(begin, at_ - begin);
        whole_ = !ended(); // it may be truncated
        constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWords{{{"true", "true"},
                                                                                       {"false", "false"},
                                                                                       {"null", "null"},
                                                                                       {"True", "true"},
                                                                                       {"False", "false"},
                                                                                       {"None", "null"}}};
        const auto* const word =
            std::ranges::find(kWords, token, &std::pair<std::string_view, std::string_view>::first);
        if (word != kWords.end()) {
            out_.text += word->second;
        } else if (isJsonNumber(token)) {
            out_.text += token;
        } else if (token.empty()) {
            if (in != In::Object || (at(at_) != ',' && at(at_) != '}')) return false;
            out_.guessed = true;
            out_.text += "null";
        } else {
            appendEscapedText(token, out_.text);
        }
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool whole_ = false; ///< true if the value read last is certainly complete
    MendedJson out_;
};

} // namespace

bool holdsWindowsPath(std::string_view raw) {
    for (std::size_t at = raw.find(":\\"); at != std::string_view::npos; at = raw.find(":\\", at + 1)) {
        const bool has_drive = at > 0 && isWordLetter(raw[at - 1]) && !isDigit(raw[at - 1]);
        const bool stands_alone = at < 2 || !isWordLetter(raw[at - 2]);
        constexpr std::string_view kEscapes = "\\/\"";
        if (has_drive && stands_alone && at + 2 < raw.size() && kEscapes.find(raw[at + 2]) == std::string_view::npos)
            return true;
    }
    return false;
}

std::string unescapeLeniently(std::string_view raw) {
    if (raw.find('\\') == std::string_view::npos) return std::string(raw);
    const bool literally = escapesNothing(raw);
    std::string text;
    for (std::size_t at = 0; at < raw.size();) {
        if (raw[at] != '\\') {
            text += raw[at++];
        } else if (literally) {
            if (!raw.substr(at).starts_with("\\\"")) text += '\\'; // otherwise the string would have ended here
            ++at;
        } else {
            at += appendEscaped(raw.substr(at), text);
        }
    }
    return text;
}

std::optional<MendedJson> mendJson(std::string_view text) {
    return Mender(text).mend();
}

} // namespace bubblescope
