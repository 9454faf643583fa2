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

/// The result of a command as a typed document. The code that computes the result builds the document once; renderers
/// convert it to text for a terminal (text.h), JSON (json.h), an HTML page (html.h) and Qt models (app/gui/models).
/// Values carry their types (times, counts, fractions), and renderers choose how to display them.
namespace bubblescope::report {

/// The audience of a part of a document. Renderers skip parts that are intended for other audiences.
enum class Reader : std::uint8_t {
    Everyone,
    People,   ///< text, HTML pages and the app
    Text,     ///< only text on a terminal
    Page,     ///< only HTML pages, in place of a part for Text
    Programs, ///< only JSON, which contains all data even if people see only part of it
};

// ---- Tables ----------------------------------------------------------------------------------------------

/// The display format of a cell's value.
enum class Look : std::uint8_t {
    Plain, ///< same as Value::text()
    Delta, ///< a time with an explicit sign
    Percent,
    Percent2, ///< a percentage with two decimals
    Bytes,    ///< a size in bytes
};

struct Cell {
    Cell() = default;
    template <class T>
    requires std::constructible_from<Value, T> Cell(T&& of, Look as = Look::Plain)
        : value(std::forward<T>(of)), look(as) {}

    /// Displays `words` to people instead of the value.
    [[nodiscard]] Cell as(std::string words) &&;
    /// Adds a bar behind the text, or a heat-map background, with a value from 0 to 1, if the renderer supports it.
    [[nodiscard]] Cell withBar(double length) &&;
    [[nodiscard]] Cell withShade(double depth) &&;
    /// Highlights the cell if `condition` is true.
    [[nodiscard]] Cell markedIf(bool condition) &&;

    [[nodiscard]] std::string text() const; ///< text as displayed
    /// Text for a column whose largest time is `largest`: all times in the column use the same unit.
    [[nodiscard]] std::string textBeside(TimeNs largest) const;
    /// Absolute value of the displayed time; 0 for other values.
    [[nodiscard]] TimeNs timeShown() const;

    Value value;
    Look look = Look::Plain;
    bool marked = false;
    bool worded = false;
    float bar = -1;   ///< negative = no bar
    float shade = -1; ///< negative = no background
    std::string words;
};

/// Formats a time in the unit of its column's largest time; times below a hundredth of that unit use their own unit.
[[nodiscard]] std::string timeBeside(TimeNs time, TimeNs largest);

/// If there is no value, the cell is displayed as "none" and is null in JSON.
template <class T>
[[nodiscard]] Cell orNone(const std::optional<T>& value) {
    return value ? Cell(*value) : Cell(Value()).as("none");
}
/// A cell that is not displayed and has no key in JSON.
[[nodiscard]] inline Cell absent() {
    return Value(Value::Absent{});
}

enum class Align : std::uint8_t { Right, Left };

struct Column {
    std::string key; ///< key in JSON; if empty, the column is only for people
    Sentence title;  ///< displayed heading, which the app translates
    Align align = Align::Right;
    bool hidden = false; ///< hidden from people
};

/// A column both for people and for programs.
[[nodiscard]] Column column(std::string key, Sentence title, Align align = Align::Right);
[[nodiscard]] Column column(std::string key, const char* title, Align align = Align::Right);
/// A column that is only for programs.
[[nodiscard]] Column data(std::string key);
/// A column that is only for people.
[[nodiscard]] Column shown(Sentence title, Align align = Align::Right);
[[nodiscard]] Column shown(const char* title, Align align = Align::Right);

/// A table of similar items. In JSON, an array of objects under `key`, excluding columns without a key; a table without
/// a key is only for people.
struct Table {
    static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

    Table(std::string name, std::vector<Column> titles) : key(std::move(name)), columns(std::move(titles)) {}

    /// Adds a row with one cell per column, in order.
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
    std::size_t most_in_text = kAll; ///< maximum number of rows on a terminal; a note reports the number of others
    std::size_t most_open = 40;      ///< maximum number of rows that a page shows unfolded
    std::size_t indent = 2;          ///< number of spaces before each line of text
    std::string more;                ///< pattern for the number of omitted rows; the default adds that JSON contains
                                     ///< all rows
};

/// Times by item (rows) and by rank, replica or the like (columns), for people. If there are too many columns, text
/// shows the mean and the extremes of each row, and a page transposes the matrix. JSON contains the same data
/// elsewhere, by rank.
struct Matrix {
    std::string corner; ///< label of the columns, such as "rank"
    std::vector<std::string> columns;
    struct Row {
        std::string name;
        std::vector<TimeNs> times;
    };
    std::vector<Row> rows;
    Row sums; ///< the last row of the table; none if its name is empty
    Reader reader = Reader::People;
};

// ---- Words -----------------------------------------------------------------------------------------------

/// A line or, with `wrap`, a paragraph that is wrapped at the width of the terminal and indented by the length of
/// `head`. Only for people.
struct Line {
    std::string head;
    std::string text;
    bool wrap = false;
    Reader reader = Reader::People;
    bool apart = false; ///< in text, insert a blank line before the line
};

/// An observation that deserves attention. In JSON, findings are an array of `data` objects.
struct Finding {
    std::string_view severity; ///< "good", "notice", "warning", "serious"
    std::string_view kind;
    Sentence message;
    Sentence seen; ///< number of affected steps and the certainty; may be empty
    Sentence suggestion;
    std::string command; ///< command that displays the finding; may be empty
    Value data;
};

/// People see the first findings and the number of others; programs receive all of them.
struct Findings {
    static constexpr std::size_t kScreen = static_cast<std::size_t>(-1); ///< as many as fit on one terminal screen

    std::string key;
    std::vector<Finding> list;
    std::size_t most = kScreen; ///< maximum number of findings in text
};

// ---- Pictures, on pages -------------------------------------------------------------------------------------

/// Key figures shown at the top of a page.
struct Figures {
    struct Figure {
        std::string name;
        std::string value;
        std::string note = {};
    };
    std::vector<Figure> list;
};

/// A vertical list of bars whose lengths are the sums of their parts; all bars have the same parts in the same order.
struct Bars {
    struct Part {
        std::string name;        ///< name for the legend and the tooltip
        std::string_view colour; ///< "#rrggbb"
        TimeNs time{0};
    };
    struct Bar {
        std::string name;
        std::vector<Part> parts;
    };
    std::vector<Bar> list;
};

/// An SVG drawing created by Bubblescope.
struct Drawing {
    std::string svg;
    std::string description;
};

// ---- The document ------------------------------------------------------------------------------------------

struct Section;
struct Sections;
struct MadeSections;

/// A member of its section's JSON object; only for programs.
using Data = Member;

using Block =
    std::variant<Data, Line, Table, Matrix, Findings, Figures, Bars, Drawing, Section, Sections, MadeSections>;

/// In JSON, an object under `key`; without a key, the parts belong to the enclosing section.
struct Section {
    std::string key;
    std::string heading; ///< heading for people; none if empty
    std::string note;    ///< text after the heading: in parentheses in text output, below the heading on a page
    std::vector<Block> blocks;
    Reader reader = Reader::Everyone;

    template <class Part>
    Part& add(Part part);
    void data(std::string name, Value value);
    void line(std::string text, Reader to = Reader::People);
    void line(std::string head, std::string text, Reader to = Reader::People);
    void paragraph(std::string head, std::string text, Reader to = Reader::People);
};

/// Several sections of the same kind; in JSON an array of objects.
struct Sections {
    std::string key;
    std::vector<Section> list;
    Reader reader = Reader::Everyone;
};

/// Same as Sections, but each section is generated when it is written, because all sections together would use much
/// more memory than their source. The source must outlive the document. Only for programs.
struct MadeSections {
    std::string key;
    std::size_t count = 0;
    std::function<Section(std::size_t)> make;
};

/// A complete document: a section without a key, plus the title and footer of pages.
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
