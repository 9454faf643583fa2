#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::html {

/// A cell of a table. Texts are plain: the page escapes them.
struct Cell {
    std::string text = {};
    double bar = -1;   ///< 0 to 1: a bar of that length stands behind the text; negative = none
    bool bad = false;  ///< stands out
    double shade = -1; ///< 0 to 1: the cell's ground, as in a heat map; negative = none
};

struct Column {
    std::string title;
    bool number = true; ///< to the right, in digits of equal width
};

/// A key figure at the top of a page.
struct Figure {
    std::string name;
    std::string value;
    std::string note = {};
};

/// Part of a bar.
struct BarPart {
    std::string name;        ///< in the legend and the tooltip
    std::string_view colour; ///< "#rrggbb"
    double value = 0;
    std::string text; ///< the value for people
};

struct Bar {
    std::string name;
    std::vector<BarPart> parts; ///< all bars of a chart have the same ones, in the same order
};

/// One HTML page that needs nothing outside itself: no script, no font, no picture from elsewhere. It follows the
/// reader's light or dark theme and prints well. Calls write its parts in their order.
class Page {
public:
    Page(std::string_view title, std::string_view subtitle);

    void figures(const std::vector<Figure>& figures);
    void section(std::string_view heading, std::string_view text = {});
    void paragraph(std::string_view text);
    /// A box with a coloured edge: `mark` is "good", "notice", "warning" or "serious".
    void note(std::string_view mark, std::string_view heading, std::string_view text);
    /// Rows beyond `open` are folded away.
    void table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows, std::size_t open = 40);
    /// An SVG document of our own making, as it is; wide ones can be scrolled.
    void drawing(std::string_view svg, std::string_view description);
    /// Bars below one another, each as long as its parts together. One much longer than the others fades out at the
    /// edge, so that those can still be told apart.
    void bars(const std::vector<Bar>& bars);

    /// The page so far, closed with `footer`.
    [[nodiscard]] std::string finish(std::string_view footer);

private:
    void row(const std::vector<Column>& columns, const std::vector<Cell>& cells);

    std::string out_;
};

/// As a cell shows it.
[[nodiscard]] std::string number(std::int64_t value);

} // namespace bubblescope::html
