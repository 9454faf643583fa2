#include "core/report/svg/document.h"

#include "core/base/text.h"

#include <fmt/format.h>

namespace bubblescope::svg {
namespace {

/// In units of the font size; the widths of DejaVu Sans, the widest of the fonts, rounded up.
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
    out_ += fmt::format("{}>{}</{}>\n", tag(element, attributes), escapeXml(text), element);
}

void Document::rect(const Rect& rect, std::string_view title, std::string_view attributes) {
    const std::string all =
        fmt::format(R"(x="{}" y="{}" width="{}" height="{}"{}{})", number(rect.x), number(rect.y), number(rect.width),
                    number(rect.height), attributes.empty() ? "" : " ", attributes);
    if (title.empty()) {
        empty("rect", all);
    } else {
        out_ += fmt::format("{}><title>{}</title></rect>\n", tag("rect", all), escapeXml(title));
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
