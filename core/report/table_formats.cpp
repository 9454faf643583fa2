#include "core/report/table_formats.h"

#include "core/base/csv_cell.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <type_traits>

namespace bubblescope::report {
namespace {

/// Adds a value to a line of CSV.
struct CsvValue {
    CsvLine& line;

    void operator()(TimeNs value) const { line.value(value.count()); }
    void operator()(const std::string& value) const { line.text(value); }
    void operator()(const Sentence& value) const { line.text(value.text()); }
    template <class Other>
    void operator()(const Other& value) const {
        if constexpr (std::is_arithmetic_v<Other>)
            line.value(value);
        else
            line.empty();
    }
};

std::string markdownText(std::string_view text) {
    std::string out;
    for (const char letter : text) {
        if (letter == '|' || letter == '\\') out += '\\';
        out += letter == '\n' ? ' ' : letter;
    }
    return out;
}

/// The lines that people see: cells joined by `between`, each line enclosed in `before` and `after`.
struct Lines {
    std::string_view before;
    std::string_view between;
    std::string_view after;
    std::string (*escape)(std::string_view);

    [[nodiscard]] std::string line(const Table& table, const std::function<std::string(std::size_t)>& cell) const {
        std::string out(before);
        bool first = true;
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            if (table.columns[i].hidden) continue;
            if (!first) out += between;
            out += escape(cell(i));
            first = false;
        }
        return out + std::string(after);
    }
    [[nodiscard]] std::string titles(const Table& table) const {
        return line(table, [&](std::size_t i) { return table.columns[i].title.text(); });
    }
    [[nodiscard]] std::string rows(const Table& table) const {
        std::string out;
        for (const auto& row : table.rows)
            out += line(table, [&](std::size_t i) { return row[i].text(); });
        return out;
    }
};

} // namespace

std::string latexText(std::string_view text) {
    std::string out;
    for (const char letter : text) {
        switch (letter) {
        case '&':
        case '%':
        case '$':
        case '#':
        case '_':
        case '{':
        case '}': out += {'\\', letter}; break;
        case '\\': out += "\\textbackslash{}"; break;
        case '~': out += "\\textasciitilde{}"; break;
        case '^': out += "\\textasciicircum{}"; break;
        default: out += letter;
        }
    }
    return out;
}

std::string toCsv(const Table& table) {
    std::string out;
    CsvLine line;
    const auto add = [&](const auto& addCell) {
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            if (!table.columns[i].key.empty()) addCell(i);
        }
        out += line.end();
    };
    add([&](std::size_t i) { line.text(table.columns[i].key); });
    for (const auto& row : table.rows)
        add([&](std::size_t i) { row[i].value.visit(CsvValue{line}); });
    return out;
}

std::string toLatex(const Table& table) {
    const Lines lines{"  ", " & ", " \\\\\n", latexText};
    std::string alignment;
    for (const Column& column : table.columns) {
        if (!column.hidden) alignment += column.align == Align::Left ? 'l' : 'r';
    }
    return fmt::format("% needs \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{}}}\n  \\toprule\n{}  \\midrule\n{}  "
                       "\\bottomrule\n\\end{{tabular}}\n",
                       alignment, lines.titles(table), lines.rows(table));
}

std::string toMarkdown(const Table& table) {
    const Lines lines{"| ", " | ", " |\n", markdownText};
    std::string rule = "|";
    for (const Column& column : table.columns) {
        if (!column.hidden) rule += column.align == Align::Left ? " --- |" : " ---: |";
    }
    return lines.titles(table) + rule + "\n" + lines.rows(table);
}

} // namespace bubblescope::report
