#pragma once

#include "core/base/sentence.h"
#include "core/report/value.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// The result of a command as one typed document. The code that knows the result builds it once; renderers turn it into
/// text for a terminal (text.h), JSON (json.h), an HTML page (html.h) and Qt models (app/gui/models). Values carry
/// their types (times, counts, fractions); the renderer decides how they look.
namespace bubblescope::report {

/// The readers that a part of a document is intended for. Renderers skip parts for other readers.
enum class Reader : std::uint8_t {
    Everyone,
    People,   ///< text, pages and the app
    Text,     ///< only a terminal
    Page,     ///< only pages, where pictures show it better
    Programs, ///< only JSON, which has everything where people see a selection
};

// ---- Tables ----------------------------------------------------------------------------------------------

/// The way in which a cell's value is displayed.
enum class Look : std::uint8_t {
    Plain, ///< like Value::text()
    Delta, ///< a time with its sign
    Percent,
    Percent2, ///< with two decimals
    Bytes,    ///< a size
};

struct Cell {
    Cell() = default;
    template <class T>
    requires std::constructible_from<Value, T> Cell(T&& of, Look as = Look::Plain)
        : value(std::forward<T>(of)), look(as) {}

    /// People see `words` instead of the value.
    [[nodiscard]] Cell as(std::string words) &&;
    /// Adds a bar behind the text, or a heat-map background, if the renderer supports it: 0 to 1.
    [[nodiscard]] Cell withBar(double length) &&;
    [[nodiscard]] Cell withShade(double depth) &&;
    /// Highlights the cell if `condition` is true.
    [[nodiscard]] Cell markedIf(bool condition) &&;

    [[nodiscard]] std::string text() const; ///< as displayed
    /// As displayed in a column whose largest time is `largest`: all of its times use one unit.
    [[nodiscard]] std::string textBeside(TimeNs largest) const;
    /// The time that the text shows, without its sign; 0 for other values.
    [[nodiscard]] TimeNs timeShown() const;

    Value value;
    Look look = Look::Plain;
    bool marked = false;
    bool worded = false;
    float bar = -1;   ///< negative: none
    float shade = -1; ///< negative: none
    std::string words;
};

/// A time in the unit of the largest one in its column; a time below a hundredth of that unit keeps its own unit.
[[nodiscard]] std::string timeBeside(TimeNs time, TimeNs largest);

/// Displayed as "none" if there is no value; null in JSON.
template <class T>
[[nodiscard]] Cell orNone(const std::optional<T>& value) {
    return value ? Cell(*value) : Cell(Value()).as("none");
}
/// Invisible, and absent in JSON.
[[nodiscard]] inline Cell absent() {
    return Value(Value::Absent{});
}

enum class Align : std::uint8_t { Right, Left };

struct Column {
    std::string key; ///< key in JSON; if empty, only people see the column
    Sentence title;  ///< displayed; the app translates it
    Align align = Align::Right;
    bool hidden = false; ///< hidden from people
};

/// A column for people and programs.
[[nodiscard]] Column column(std::string key, Sentence title, Align align = Align::Right);
[[nodiscard]] Column column(std::string key, const char* title, Align align = Align::Right);
/// Only for programs.
[[nodiscard]] Column data(std::string key);
/// Only for people.
[[nodiscard]] Column shown(Sentence title, Align align = Align::Right);
[[nodiscard]] Column shown(const char* title, Align align = Align::Right);

/// Rows of similar things. In JSON an array of objects under `key`, without the columns that have no key; a table
/// without a key is only for people.
struct Table {
    static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

    Table(std::string name, std::vector<Column> titles) : key(std::move(name)), columns(std::move(titles)) {}

    /// One cell per column, in order.
    template <class... Cells>
    void row(Cells&&... cells) {
        std::vector<Cell>& row = rows.emplace_back();
        row.reserve(sizeof...(Cells));
        (row.emplace_back(std::forward<Cells>(cells)), ...);
    }

    std::string key;
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows;
    Reader reader = Reader::Everyone;
    std::size_t most_in_text = kAll; ///< a terminal shows this many rows, then the number of the others
    std::size_t most_open = 40;      ///< a page folds rows beyond this
    std::size_t indent = 2;          ///< number of blanks, in text
    std::string more;                ///< a pattern for the number of omitted rows; the default adds that JSON has all
                                     ///< rows
};

/// Times by item (rows) and by rank, replica or similar (columns), for human readers. If there are more columns than
/// fit, text shows the mean and the extremes of each row, and a page transposes the matrix. JSON has the same data
/// elsewhere, rank by rank.
struct Matrix {
    std::string corner; ///< the meaning of the columns: "rank"
    std::vector<std::string> columns;
    struct Row {
        std::string name;
        std::vector<TimeNs> times;
    };
    std::vector<Row> rows;
    Row sums; ///< the last row, the same for all columns; none if its name is empty
    Reader reader = Reader::People;
};

// ---- Words -----------------------------------------------------------------------------------------------

/// A line, or with `wrap` a paragraph that is wrapped at the width of the terminal, with its lines indented by the
/// length of `head`. For people.
struct Line {
    std::string head;
    std::string text;
    bool wrap = false;
    Reader reader = Reader::People;
    bool apart = false; ///< in text, preceded by a blank line
};

/// Something that deserves attention. In JSON an array of `data` under the findings' key.
struct Finding {
    std::string_view severity; ///< "good", "notice", "warning", "serious"
    std::string_view kind;
    Sentence message;
    Sentence seen; ///< the number of affected steps, and the certainty; may be empty
    Sentence suggestion;
    std::string command; ///< the command that shows the finding; may be empty
    Value data;
};

/// People see the first ones and the number of the others; programs get all.
struct Findings {
    static constexpr std::size_t kScreen = static_cast<std::size_t>(-1); ///< as many as fit on a screen of text

    std::string key;
    std::vector<Finding> list;
    std::size_t most = kScreen; ///< shown in text
};

// ---- Pictures, on pages -------------------------------------------------------------------------------------

/// Key figures at the top of a page.
struct Figures {
    struct Figure {
        std::string name;
        std::string value;
        std::string note = {};
    };
    std::vector<Figure> list;
};

/// Bars below one another, each as long as the sum of its parts; all have the same parts in the same order.
struct Bars {
    struct Part {
        std::string name;        ///< in the legend and the tooltip
        std::string_view colour; ///< "#rrggbb"
        TimeNs time{0};
    };
    struct Bar {
        std::string name;
        std::vector<Part> parts;
    };
    std::vector<Bar> list;
};

/// An SVG document drawn by Bubblescope.
struct Drawing {
    std::string svg;
    std::string description;
};

// ---- The document ------------------------------------------------------------------------------------------

struct Section;
struct Sections;
struct MadeSections;

/// A member of the JSON object of its section; only for programs.
using Data = Member;

using Block =
    std::variant<Data, Line, Table, Matrix, Findings, Figures, Bars, Drawing, Section, Sections, MadeSections>;

/// In JSON an object under `key`; without a key its parts belong to the enclosing section.
struct Section {
    std::string key;
    std::string heading; ///< for people; none if empty
    std::string note;    ///< a note on the heading: in brackets in text, below the heading on a page
    std::vector<Block> blocks;
    Reader reader = Reader::Everyone;

    template <class Part>
    Part& add(Part part);
    void data(std::string name, Value value);
    void line(std::string text, Reader to = Reader::People);
    void line(std::string head, std::string text, Reader to = Reader::People);
    void paragraph(std::string head, std::string text, Reader to = Reader::People);
};

/// Several sections of one kind: an array of objects in JSON.
struct Sections {
    std::string key;
    std::vector<Section> list;
    Reader reader = Reader::Everyone;
};

/// Like Sections, but generated while they are written, because all of them together would take much more memory than
/// their source, which must outlive the document. Only for programs.
struct MadeSections {
    std::string key;
    std::size_t count = 0;
    std::function<Section(std::size_t)> make;
};

/// A whole document: a section without a key, plus the title and foot of pages.
struct Document : Section {
    std::string title;
    std::string subtitle;
    std::string foot;
};

template <class Part>
Part& Section::add(Part part) {
    return std::get<Part>(blocks.emplace_back(std::move(part)));
}

} // namespace bubblescope::report
