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

/// The fonts of all drawings. Viewers take the first one they have; sizes are chosen so that text fits in the widest of
/// them.
inline constexpr std::string_view kFonts = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

/// The maximum width of `text` (UTF-8) in any font of kFonts at `size`.
[[nodiscard]] double textWidth(std::string_view text, double size, bool bold = false);

/// At most two decimals, as few as needed.
[[nodiscard]] std::string number(double value);

/// An SVG document under construction. Elements are written in the order of the calls; attributes are passed as text,
/// already escaped by escapeXml().
class Document {
public:
    void open(std::string_view element, std::string_view attributes = {});
    void close(std::string_view element);
    /// An element without content.
    void empty(std::string_view element, std::string_view attributes);
    /// An element that contains text.
    void filled(std::string_view element, std::string_view text, std::string_view attributes = {});
    /// A rectangle, with a tooltip unless `title` is empty. Its colour is that of the enclosing group unless
    /// `attributes` override it.
    void rect(const Rect& rect, std::string_view title = {}, std::string_view attributes = {});
    void text(double x, double y, std::string_view text, std::string_view attributes = {});
    void line(double x1, double y1, double x2, double y2, std::string_view attributes = {});

    [[nodiscard]] std::string take() { return std::move(out_); }

private:
    std::string out_;
};

} // namespace bubblescope::svg
