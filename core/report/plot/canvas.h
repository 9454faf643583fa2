#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Figures for publications: a few kinds of marks on a white background, written as SVG or PDF.

namespace bubblescope::plot {

struct Point {
    double x = 0;
    double y = 0; ///< downwards
};

enum class Anchor { Start, Middle, End };

/// A line through points, a closed shape, or a label.
struct Mark {
    enum class Kind { Line, Shape, Text };
    Kind kind = Kind::Line;
    std::vector<Point> points; ///< for a label: the start, end or middle of its baseline
    std::string colour;        ///< colour of the line, the fill or the text, as "#rrggbb"
    double size = 1;           ///< width of a line, or font size
    std::string text = {};
    Anchor anchor = Anchor::Start;
    bool upwards = false;            ///< true for a label that reads upwards
    std::vector<double> dashes = {}; ///< lengths of the dashes and gaps of a line; empty = solid
};

struct Canvas {
    double width = 0; ///< width in points (1/72 inch), or in pixels for SVG
    double height = 0;
    std::string title;
    std::vector<Mark> marks;

    void line(std::vector<Point> points, std::string_view colour, double width = 1, std::vector<double> dashes = {});
    void shape(std::vector<Point> points, std::string_view colour);
    void text(Point at, std::string_view text, std::string_view colour, double size, Anchor anchor = Anchor::Start,
              bool upwards = false);
};

/// Both formats are self-contained; PDF uses Helvetica, which every viewer has.
[[nodiscard]] std::string toSvg(const Canvas& canvas);
[[nodiscard]] std::string toPdf(const Canvas& canvas);

} // namespace bubblescope::plot
