#include "core/report/text.h"

#include "core/base/field.h"
#include "core/base/visible.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace bubblescope::report {
namespace {

bool showsAsText(Reader reader) {
    return reader == Reader::Everyone || reader == Reader::People || reader == Reader::Text;
}

/// Cells already formatted as text, below their titles.
class TextGrid {
public:
    explicit TextGrid(std::size_t indent) : indent_(indent) {}

    void column(std::string title, Align align) {
        titles_.push_back(std::move(title));
        aligns_.push_back(align);
    }
    void row(std::vector<std::string> cells) {
        for (std::string& cell : cells)
            cell = visible(cell);
        rows_.push_back(std::move(cells));
    }

    std::string text() const {
        std::vector<std::size_t> widths;
        for (std::size_t c = 0; c < titles_.size(); ++c) {
            std::size_t width = characters(titles_[c]);
            for (const auto& row : rows_)
                width = std::max(width, characters(row[c]));
            widths.push_back(width);
        }
        std::string out;
        const auto line = [&](const std::vector<std::string>& cells) {
            std::string text(indent_, ' ');
            for (std::size_t c = 0; c < titles_.size(); ++c) {
                const std::string pad(widths[c] - characters(cells[c]), ' ');
                if (c > 0) text += "  ";
                text += aligns_[c] == Align::Right ? pad + cells[c] : cells[c] + pad;
            }
            text.erase(text.find_last_not_of(' ') + 1);
            out += text + "\n";
        };
        line(titles_);
        for (const auto& row : rows_)
            line(row);
        return out;
    }

private:
    std::size_t indent_;
    std::vector<std::string> titles_;
    std::vector<Align> aligns_;
    std::vector<std::vector<std::string>> rows_;
};

/// The maximum of all cells, without sign.
TimeNs largestTime(const Matrix& matrix) {
    TimeNs largest{0};
    const auto take = [&](const Matrix::Row& row) {
        for (const TimeNs time : row.times)
            largest = std::max(largest, TimeNs{std::abs(time.count())});
    };
    std::ranges::for_each(matrix.rows, take);
    take(matrix.sums);
    return largest;
}

/// The mean of a row, and the columns with its extremes.
std::vector<std::string> summary(const Matrix& matrix, const Matrix::Row& row, TimeNs largest) {
    const auto [least, most] = std::ranges::minmax_element(row.times);
    const auto count = static_cast<std::int64_t>(row.times.size());
    std::vector<std::string> cells{
        row.name, timeBeside(std::accumulate(row.times.begin(), row.times.end(), TimeNs{0}) / count, largest)};
    for (const auto& end : {least, most}) {
        const bool equal = *least == *most; // then no column stands out
        cells.push_back(equal ? "" : timeBeside(*end, largest));
        cells.push_back(equal ? ""
                              : fmt::format("{} {}", matrix.corner,
                                            matrix.columns[static_cast<std::size_t>(end - row.times.begin())]));
    }
    return cells;
}

std::string matrixText(const Matrix& matrix) {
    constexpr std::size_t kMaxColumns = 5;
    const bool wide = matrix.columns.size() > kMaxColumns;
    const TimeNs largest = largestTime(matrix);
    TextGrid grid(2);
    grid.column("", Align::Left);
    if (wide) {
        grid.column("mean", Align::Right);
        for (const char* end : {"least", "most"}) {
            grid.column(end, Align::Right);
            grid.column("on", Align::Left);
        }
    } else {
        for (const std::string& name : matrix.columns)
            grid.column(fmt::format("{} {}", matrix.corner, name), Align::Right);
    }
    const auto add = [&](const Matrix::Row& row) {
        if (wide) {
            grid.row(summary(matrix, row, largest));
            return;
        }
        std::vector<std::string> cells{row.name};
        for (const TimeNs time : row.times)
            cells.push_back(timeBeside(time, largest));
        grid.row(std::move(cells));
    };
    for (const Matrix::Row& row : matrix.rows)
        add(row);
    if (!matrix.sums.name.empty()) add(matrix.sums);
    return grid.text();
}

/// `text` in a style, if styles are used.
std::string styled(std::string_view text, std::string_view style, const TextLayout& layout) {
    return layout.colors ? fmt::format("{}{}{}", style, text, kPlainStyle) : std::string(text);
}

std::string_view severityStyle(std::string_view severity) {
    return severity == "serious" ? kSeriousStyle : severity == "warning" ? kWarningStyle : kHeadingStyle;
}

std::string findingsText(const Findings& findings, const TextLayout& layout) {
    constexpr std::ptrdiff_t kScreen = 24;
    constexpr std::size_t kIndent = 2;
    std::string out;
    std::size_t shown = 0;
    for (const Finding& finding : findings.list) {
        const std::string severity(finding.severity);
        std::string text =
            wrapped(fmt::format("  {} ({}): ", severity, finding.kind), finding.message.text(), layout.width);
        text.replace(kIndent, severity.size(), styled(severity, severityStyle(severity), layout));
        if (!finding.seen.empty()) text += wrapped("    ", finding.seen.text(), layout.width);
        text += wrapped("    -> ", finding.suggestion.text(), layout.width);
        if (!finding.command.empty()) text += "    " + styled("$ " + finding.command, kCommandStyle, layout) + "\n";
        const bool fits = findings.most == Findings::kScreen
                              ? shown == 0 || std::ranges::count(out + text, '\n') <= kScreen
                              : shown < findings.most;
        if (!fits) break;
        out += text;
        ++shown;
    }
    if (const std::size_t left = findings.list.size() - shown; left > 0)
        out += fmt::format("  … and {} more ('bubblescope analyze {}' shows them)\n", left, optionOf(Field("all")));
    return out;
}

struct TextOf {
    TextLayout layout;

    std::string operator()(const Line& line) const {
        if (!showsAsText(line.reader)) return {};
        return (line.apart ? "\n" : "") +
               (line.wrap ? wrapped(line.head, line.text, layout.width) : line.head + line.text + "\n");
    }
    std::string operator()(const Table& table) const {
        return showsAsText(table.reader) ? toText(table) : std::string();
    }
    std::string operator()(const Matrix& matrix) const {
        return showsAsText(matrix.reader) ? matrixText(matrix) : std::string();
    }
    std::string operator()(const Findings& findings) const { return findingsText(findings, layout); }
    std::string operator()(const Section& section) const { return toText(section, layout); }
    std::string operator()(const Sections& sections) const {
        std::string out;
        if (!showsAsText(sections.reader)) return out;
        for (const Section& section : sections.list)
            out += toText(section, layout);
        return out;
    }
    template <class Other>
    std::string operator()(const Other&) const {
        return {};
    }
};

} // namespace

std::string toText(const Section& document, const TextLayout& layout) {
    std::string out;
    if (!showsAsText(document.reader)) return out;
    for (const Block& block : document.blocks)
        out += std::visit(TextOf{layout}, block);
    if (document.heading.empty() || out.empty()) return out;
    const std::string note = document.note.empty() ? "" : fmt::format(" ({})", document.note);
    return fmt::format("\n{}{}\n{}", styled(document.heading, kHeadingStyle, layout), note, out);
}

std::string toText(const Table& table) {
    TextGrid grid(table.indent);
    for (const Column& column : table.columns) {
        if (!column.hidden) grid.column(column.title.text(), column.align);
    }
    const std::size_t count = std::min(table.most_in_text, table.rows.size());
    std::vector<TimeNs> largest(table.columns.size());
    for (std::size_t r = 0; r < count; ++r) {
        for (std::size_t c = 0; c < largest.size(); ++c)
            largest[c] = std::max(largest[c], table.rows[r][c].timeShown());
    }
    for (std::size_t r = 0; r < count; ++r) {
        std::vector<std::string> cells;
        for (std::size_t c = 0; c < table.columns.size(); ++c) {
            if (!table.columns[c].hidden) cells.push_back(table.rows[r][c].textBeside(largest[c]));
        }
        grid.row(std::move(cells));
    }
    std::string out = grid.text();
    if (count < table.rows.size()) {
        const std::size_t left = table.rows.size() - count;
        out += std::string(table.indent, ' ');
        out += table.more.empty() ? fmt::format("… and {} more ({} lists all)\n", left, Field("json"))
                                  : fmt::format(fmt::runtime(table.more), left) + "\n";
    }
    return out;
}

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !continuesCodePoint(c); }));
}

std::string shortened(std::string_view text, std::size_t most) {
    if (characters(text) <= most) return std::string(text);
    std::size_t shown = 0;
    std::size_t end = 0;
    while (continuesCodePoint(text[end]) || ++shown < most)
        ++end;
    return std::string(text.substr(0, end)) + "…";
}

std::string wrapped(std::string_view head, std::string_view words, std::size_t width) {
    const std::size_t indent = characters(head);
    std::string out(head);
    const std::string shown = visible(words, LineEnds::Kept);
    std::string_view text = shown;
    std::size_t column = indent;
    bool begun = false; // true if the line has a word
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        const std::size_t length = characters(word);
        if (begun && column + 1 + length > width) {
            out += "\n" + std::string(indent, ' ');
            column = indent;
            begun = false;
        }
        if (begun) out += ' ';
        out += word;
        column += length + (begun ? 1 : 0);
        begun = true;
    }
    return out + "\n";
}

} // namespace bubblescope::report
