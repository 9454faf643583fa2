#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace bubblescope::svg {

struct Rect {
    double x = 0;
    double y = 0;
    double width = 0;
    double height = 0;

    [[nodiscard]] double right() const { return x + width; }
    [[nodiscard]] double bottom() const { return y + height; }
};

/// Fonts of all drawings. Viewers use the first font that they have; sizes are chosen so that text in the widest font
/// fits.
inline constexpr std::string_view kFonts = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

/// Maximum width of `text` (UTF-8) over all fonts in kFonts at `size`.
[[nodiscard]] double textWidth(std::string_view text, double size, bool bold = false);

/// Formats a number with as few decimals as possible, at most two.
[[nodiscard]] std::string number(double value);

/// Builds an SVG document. Elements are written in the order of the calls; the values in `attributes` must already be
/// escaped with escapeXml().
class Document {
public:
    void open(std::string_view element, std::string_view attributes = {});
    void close(std::string_view element);
    /// An element without content.
    void empty(std::string_view element, std::string_view attributes);
    /// An element that contains text.
    void filled(std::string_view element, std::string_view text, std::string_view attributes = {});
    /// A rectangle, with a tooltip if `title` is not empty. The rectangle has the colour of the enclosing group unless
    /// `attributes` override it.
    void rect(const Rect& rect, std::string_view title = {}, std::string_view attributes = {});
    void text(double x, double y, std::string_view text, std::string_view attributes = {});
    void line(double x1, double y1, double x2, double y2, std::string_view attributes = {});

    [[nodiscard]] std::string take() { return std::move(out_); }

private:
    std::string out_;
};

} // namespace bubblescope::svg
