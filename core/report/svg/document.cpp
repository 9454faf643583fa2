#include "core/report/svg/document.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace bubblescope::svg {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

/// One code point from the front of `text`, which it shortens; kReplacement for what is no UTF-8.
char32_t takeCodePoint(std::string_view& text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    const std::size_t length = first < 0x80         ? 1
                               : first >> 5 == 0x6  ? 2
                               : first >> 4 == 0xE  ? 3
                               : first >> 3 == 0x1E ? 4
                                                    : 0;
    constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
    char32_t code = length == 1 ? first : length == 0 ? 0 : first & (0xFFU >> (length + 1));
    bool good = length > 0 && length <= text.size();
    for (std::size_t i = 1; good && i < length; ++i) {
        good = byte(i) >> 6 == 0x2;
        code = code << 6 | (byte(i) & 0x3FU);
    }
    good = good && code >= kSmallest[length] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    text.remove_prefix(good ? length : 1);
    return good ? code : kReplacement;
}

bool allowedInXml(char32_t code) {
    return code >= 0x20 ? code != 0xFFFE && code != 0xFFFF : code == '\t' || code == '\n' || code == '\r';
}

/// In units of the size; the widths of DejaVu Sans, the widest of the fonts, rounded up.
double width(char32_t code) {
    constexpr std::string_view kNarrow = " .,;:'|()[]!/\\-ijltfr";
    if (code >= 0x2E80) return 1.0; // ideographs
    if (code >= 0x80) return 0.84;
    if (kNarrow.find(static_cast<char>(code)) != std::string_view::npos) return 0.42;
    if (code == 'm' || code == 'w' || code == 'M' || code == 'W' || code == '%' || code == '@') return 0.99;
    if (code >= 'A' && code <= 'Z') return 0.78;
    if (code == '=' || code == '+' || code == '<' || code == '>') return 0.84;
    return 0.64;
}

/// Not closed yet.
std::string tag(std::string_view element, std::string_view attributes) {
    return fmt::format("<{}{}{}", element, attributes.empty() ? "" : " ", attributes);
}

} // namespace

double textWidth(std::string_view text, double size, bool bold) {
    double sum = 0;
    while (!text.empty())
        sum += width(takeCodePoint(text));
    return sum * size * (bold ? 1.12 : 1.0);
}

std::string escaped(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::string_view before = text;
        const char32_t code = takeCodePoint(text);
        switch (code) {
        case '&': out += "&amp;"; continue;
        case '<': out += "&lt;"; continue;
        case '>': out += "&gt;"; continue;
        case '"': out += "&quot;"; continue;
        case '\'': out += "&apos;"; continue;
        default: break;
        }
        if (code == kReplacement || !allowedInXml(code)) {
            out += "\xEF\xBF\xBD";
        } else {
            out += before.substr(0, before.size() - text.size());
        }
    }
    return out;
}

std::string number(double value) {
    std::string digits = fmt::format("{:.2f}", value);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return digits == "-0" ? "0" : digits;
}

void Document::open(std::string_view element, std::string_view attributes) {
    out_ += tag(element, attributes) + ">\n";
}

void Document::close(std::string_view element) {
    out_ += fmt::format("</{}>\n", element);
}

void Document::empty(std::string_view element, std::string_view attributes) {
    out_ += tag(element, attributes) + "/>\n";
}

void Document::filled(std::string_view element, std::string_view text, std::string_view attributes) {
    out_ += fmt::format("{}>{}</{}>\n", tag(element, attributes), escaped(text), element);
}

void Document::rect(const Rect& rect, std::string_view title, std::string_view attributes) {
    const std::string all =
        fmt::format(R"(x="{}" y="{}" width="{}" height="{}"{}{})", number(rect.x), number(rect.y), number(rect.width),
                    number(rect.height), attributes.empty() ? "" : " ", attributes);
    if (title.empty()) {
        empty("rect", all);
    } else {
        out_ += fmt::format("{}><title>{}</title></rect>\n", tag("rect", all), escaped(title));
    }
}

void Document::text(double x, double y, std::string_view text, std::string_view attributes) {
    filled("text", text,
           fmt::format(R"(x="{}" y="{}"{}{})", number(x), number(y), attributes.empty() ? "" : " ", attributes));
}

void Document::line(double x1, double y1, double x2, double y2, std::string_view attributes) {
    empty("line", fmt::format(R"(x1="{}" y1="{}" x2="{}" y2="{}"{}{})", number(x1), number(y1), number(x2), number(y2),
                              attributes.empty() ? "" : " ", attributes));
}

} // namespace bubblescope::svg
