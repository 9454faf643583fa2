#include "core/report/html.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope::report {
namespace {

constexpr std::string_view kStyle = R"css(
:root { --ground: #ffffff; --raised: #f4f5f7; --line: #d9dce1; --text: #1d2127; --faint: #5b6470; --bar: #bcd4ee;
        --heat: 214, 69, 65; --good: #2e7d4f; --notice: #2f6fb3; --warning: #b26a00; --serious: #c62828; }
@media (prefers-color-scheme: dark) {
:root { --ground: #16191d; --raised: #1f242a; --line: #363d46; --text: #e6e9ed; --faint: #9aa4b0; --bar: #2c4a6b;
        --heat: 239, 100, 97; --good: #5fbf86; --notice: #6aa9ea; --warning: #e0a040; --serious: #f07070; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 32px 48px; max-width: 1120px; background: var(--ground); color: var(--text);
       font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, "Noto Sans CJK SC", sans-serif; }
h1 { margin: 0; font-size: 26px; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 36px 0 8px; font-size: 19px; }
p { margin: 6px 0 12px; max-width: 75ch; }
.subtitle, .faint, footer { color: var(--faint); overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); gap: 12px; margin: 20px 0; }
.figure { padding: 12px 14px; background: var(--raised); border-radius: 8px; }
.figure b { display: block; font-size: 22px; font-variant-numeric: tabular-nums; }
.figure span { display: block; font-size: 13px; color: var(--faint); }
.note { margin: 10px 0; padding: 8px 14px; background: var(--raised); border-left: 4px solid var(--notice);
        border-radius: 0 6px 6px 0; }
.note p { margin: 0; max-width: none; }
.note b::before { content: attr(data-mark); margin-right: 8px; font-size: 12px; text-transform: uppercase; }
.good { border-color: var(--good); } .good b::before { color: var(--good); }
.notice { border-color: var(--notice); } .notice b::before { color: var(--notice); }
.warning { border-color: var(--warning); } .warning b::before { color: var(--warning); }
.serious { border-color: var(--serious); } .serious b::before { color: var(--serious); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 8px 0; }
th, td { padding: 3px 12px; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-weight: 600; color: var(--faint); }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.bad { color: var(--serious); font-weight: 600; }
.drawing { margin: 10px 0; border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; background: #ffffff; }
.drawing svg { display: block; }
.bars { display: grid; grid-template-columns: max-content 1fr; gap: 4px 12px; align-items: center; margin: 8px 0; }
.bars > span { text-align: right; font-variant-numeric: tabular-nums; }
.bar { display: flex; height: 18px; }
.bar i { display: block; flex: none; }
.bar.cut { overflow: hidden; position: relative; }
.bar.cut::after { content: ""; position: absolute; right: 0; top: 0; bottom: 0; width: 40px;
                  background: linear-gradient(to right, transparent, var(--ground)); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 8px 0; font-size: 13px; color: var(--faint); }
.legend i { display: inline-block; width: 12px; height: 12px; margin-right: 6px; vertical-align: -1px; }
.zoom { margin: 10px 0; border: 1px solid var(--line); border-radius: 6px; padding: 8px; }
.zoom nav { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin-bottom: 8px; }
.zoom nav output { margin-left: auto; color: var(--faint); font-variant-numeric: tabular-nums; }
.zoom canvas { display: block; width: 100%; cursor: grab; touch-action: none; }
.zoom .tip { min-height: 1.5em; margin-top: 6px; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; color: var(--faint); }
footer { margin-top: 40px; padding-top: 12px; border-top: 1px solid var(--line); font-size: 13px; }
@media print { body { max-width: none; padding: 0; } .figure, .note { break-inside: avoid; } }
)css";

bool showsAsHtml(Reader reader) {
    return reader == Reader::Everyone || reader == Reader::People || reader == Reader::Page;
}

TimeNs lengthOf(const Bars::Bar& bar) {
    TimeNs length{0};
    for (const Bars::Part& part : bar.parts)
        length += std::max(TimeNs{0}, part.time);
    return length;
}

/// The time that fills the width: the longest bar's length, or less if one bar would make all others too short to read.
/// A longer bar fades out at the edge of the drawing.
double fullLength(const std::vector<Bars::Bar>& bars) {
    std::vector<double> lengths;
    for (const Bars::Bar& bar : bars)
        lengths.push_back(static_cast<double>(lengthOf(bar).count()));
    std::ranges::sort(lengths);
    return std::min(lengths.back(), 1.6 * lengths[lengths.size() / 2]);
}

/// Cells that are already formatted as text.
struct HtmlGrid {
    struct Title {
        std::string text;
        bool number;
    };
    std::vector<Title> titles;
    std::vector<std::vector<Cell>> rows;
};

HtmlGrid gridOf(const Table& table) {
    HtmlGrid grid;
    for (const Column& column : table.columns) {
        if (!column.hidden) grid.titles.push_back({column.title.text(), column.align == Align::Right});
    }
    for (const std::vector<Cell>& row : table.rows) {
        std::vector<Cell>& cells = grid.rows.emplace_back();
        for (std::size_t c = 0; c < row.size(); ++c) {
            if (!table.columns[c].hidden) cells.push_back(row[c]);
        }
    }
    return grid;
}

/// Unchanged if its columns fit the page; otherwise with one row per column.
HtmlGrid gridOf(const Matrix& matrix) {
    constexpr std::size_t kMaxColumns = 8;
    std::vector<const Matrix::Row*> lines;
    for (const Matrix::Row& row : matrix.rows)
        lines.push_back(&row);
    if (!matrix.sums.name.empty()) lines.push_back(&matrix.sums);
    HtmlGrid grid;
    if (matrix.columns.size() <= kMaxColumns) {
        grid.titles.push_back({"", false});
        for (const std::string& name : matrix.columns)
            grid.titles.push_back({fmt::format("{} {}", matrix.corner, name), true});
        for (const Matrix::Row* line : lines) {
            std::vector<Cell>& cells = grid.rows.emplace_back();
            cells.emplace_back(line->name);
            cells.insert(cells.end(), line->times.begin(), line->times.end());
        }
        return grid;
    }
    grid.titles.push_back({matrix.corner, true});
    for (const Matrix::Row* line : lines)
        grid.titles.push_back({line->name, true});
    for (std::size_t c = 0; c < matrix.columns.size(); ++c) {
        std::vector<Cell>& cells = grid.rows.emplace_back();
        cells.emplace_back(matrix.columns[c]);
        for (const Matrix::Row* line : lines)
            cells.emplace_back(line->times[c]);
    }
    return grid;
}

class HtmlWriter {
public:
    HtmlWriter(const Document& document, const ZoomTimeline* zoom) : zoom_(zoom) {
        const bool script = zoom != nullptr;
        const std::string name = escapeXml(document.title);
        out_ =
            fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                        "<meta name=\"color-scheme\" content=\"light dark\">\n"
                        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                        "img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>{}</title>\n"
                        "<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n<p class=\"subtitle\">{}</p>\n",
                        name, kStyle, name, escapeXml(document.subtitle));
        for (const Block& block : document.blocks)
            std::visit([this](const auto& part) { write(part); }, block);
        out_ += fmt::format("<footer>{}</footer>\n", escapeXml(document.foot));
        if (script) out_ += fmt::format("<script>{}</script>\n", zoomScript());
        out_ += "</body>\n</html>\n";
    }

    std::string take() { return std::move(out_); }

private:
    void write(const Data&) {}
    void write(const MadeSections&) {}

    void write(const Section& section) {
        if (!showsAsHtml(section.reader)) return;
        std::string outside = std::move(out_);
        out_.clear();
        for (const Block& block : section.blocks)
            std::visit([this](const auto& part) { write(part); }, block);
        if (!section.heading.empty() && !out_.empty()) {
            outside += fmt::format("<h2>{}</h2>\n", escapeXml(section.heading));
            if (!section.note.empty()) outside += fmt::format("<p>{}</p>\n", escapeXml(section.note));
        }
        out_ = std::move(outside) + out_;
    }

    void write(const Sections& sections) {
        if (!showsAsHtml(sections.reader)) return;
        for (const Section& section : sections.list)
            write(section);
    }

    void write(const Line& line) {
        if (!showsAsHtml(line.reader)) return;
        const std::string text = line.head + line.text;
        const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
        out_ += fmt::format("<p>{}</p>\n", escapeXml(std::string_view(text).substr(begin)));
    }

    void write(const Findings& findings) {
        for (const Finding& finding : findings.list) {
            out_ += fmt::format("<div class=\"note {0}\"><b data-mark=\"{0}\">{1}</b><p>{2}</p></div>\n",
                                finding.severity, escapeXml(finding.kind),
                                escapeXml(finding.message.text() + " " +
                                          (finding.seen.empty() ? "" : "(" + finding.seen.text() + ") ") +
                                          finding.suggestion.text()));
        }
        if (findings.list.empty()) {
            out_ += "<div class=\"note good\"><b data-mark=\"good\">Nothing stands out</b><p>No anomaly exceeds the "
                    "thresholds.</p></div>\n";
        }
    }

    void write(const Figures& figures) {
        out_ += "<div class=\"figures\">\n";
        for (const Figures::Figure& figure : figures.list) {
            out_ += fmt::format("<div class=\"figure\"><span>{}</span><b>{}</b><span>{}</span></div>\n",
                                escapeXml(figure.name), escapeXml(figure.value), escapeXml(figure.note));
        }
        out_ += "</div>\n";
    }

    void writeZoom() {
        const ZoomTimeline* const zoom = std::exchange(zoom_, nullptr);
        if (zoom == nullptr || zoom->steps.empty()) return;
        out_ += fmt::format(
            "<div class=\"zoom\" data-label=\"{}\">\n<p>{}</p>\n<noscript><p>The zoomable timeline needs JavaScript, "
            "which this browser does not run.</p></noscript>\n<script type=\"application/json\">{}</script>\n</div>\n",
            escapeXml(zoom->description), escapeXml(zoom->note), zoomData(*zoom));
    }

    void write(const Drawing& drawing) {
        writeZoom();
        // An SVG element inside a page has no XML declaration.
        const std::string_view svg = drawing.svg;
        const std::size_t element = svg.find("<svg");
        out_ += fmt::format("<div class=\"drawing\" role=\"img\" aria-label=\"{}\">\n{}\n</div>\n",
                            escapeXml(drawing.description),
                            element == std::string_view::npos ? std::string_view{} : svg.substr(element));
    }

    void write(const Bars& bars) {
        if (bars.list.empty()) return;
        const double full = fullLength(bars.list);
        out_ += "<div class=\"legend\">";
        for (const Bars::Part& part : bars.list.front().parts)
            out_ += fmt::format("<span><i style=\"background:{}\"></i>{}</span>", part.colour, escapeXml(part.name));
        out_ += "</div>\n<div class=\"bars\">\n";
        for (const Bars::Bar& bar : bars.list) {
            out_ += fmt::format("<span>{}</span><div class=\"bar{}\">", escapeXml(bar.name),
                                static_cast<double>(lengthOf(bar).count()) > full ? " cut" : "");
            for (const Bars::Part& part : bar.parts) {
                if (part.time <= TimeNs{0} || full <= 0) continue;
                out_ += fmt::format("<i style=\"width:{:.2f}%;background:{}\" title=\"{}: {}\"></i>",
                                    100 * static_cast<double>(part.time.count()) / full, part.colour,
                                    escapeXml(part.name), formatTime(part.time));
            }
            out_ += "</div>\n";
        }
        out_ += "</div>\n";
    }

    void write(const Table& table) {
        if (showsAsHtml(table.reader)) write(gridOf(table), table.most_open);
    }

    void write(const Matrix& matrix) {
        if (showsAsHtml(matrix.reader)) write(gridOf(matrix), 40);
    }

    /// Rows beyond `open` are folded away.
    void write(const HtmlGrid& grid, std::size_t open) {
        const std::size_t shown = std::min(open, grid.rows.size());
        write(grid, 0, shown);
        if (shown == grid.rows.size()) return;
        out_ += fmt::format("<details><summary>{} more rows</summary>\n", grid.rows.size() - shown);
        write(grid, shown, grid.rows.size());
        out_ += "</details>\n";
    }

    void write(const HtmlGrid& grid, std::size_t first, std::size_t end) {
        out_ += "<div class=\"scroll\"><table>\n<thead><tr>";
        for (const HtmlGrid::Title& title : grid.titles)
            out_ += fmt::format("<th{}>{}</th>", title.number ? " class=\"n\"" : "", escapeXml(title.text));
        out_ += "</tr></thead>\n<tbody>\n";
        std::vector<TimeNs> largest(grid.titles.size()); // largest time of all rows: a table may be written in two
                                                         // parts
        for (const std::vector<Cell>& row : grid.rows) {
            for (std::size_t c = 0; c < largest.size(); ++c)
                largest[c] = std::max(largest[c], row[c].timeShown());
        }
        for (std::size_t r = first; r < end; ++r) {
            out_ += "<tr>";
            for (std::size_t c = 0; c < grid.titles.size(); ++c)
                write(grid.rows[r][c], grid.titles[c].number, largest[c]);
            out_ += "</tr>\n";
        }
        out_ += "</tbody></table></div>\n";
    }

    void write(const Cell& cell, bool number, TimeNs largest) {
        std::string classes = number ? "n" : "";
        if (cell.marked) classes += classes.empty() ? "bad" : " bad";
        std::string style;
        if (cell.bar >= 0) {
            style =
                fmt::format(" style=\"background:linear-gradient(to right,var(--bar) {0:.1f}%,transparent {0:.1f}%)\"",
                            100 * std::min(cell.bar, 1.0F));
        } else if (cell.shade >= 0) {
            style = fmt::format(" style=\"background:rgba(var(--heat),{:.2f})\"", 0.75 * std::min(cell.shade, 1.0F));
        }
        out_ += fmt::format("<td{}{}>{}</td>", classes.empty() ? "" : fmt::format(" class=\"{}\"", classes), style,
                            escapeXml(cell.textBeside(largest)));
    }

    std::string out_;
    const ZoomTimeline* zoom_; ///< null after it has been written
};

} // namespace

std::string toHtml(const Document& document, const ZoomTimeline* zoom) {
    return HtmlWriter(document, zoom).take();
}

} // namespace bubblescope::report
