#include "core/report/page.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace bubblescope::html {
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
summary { cursor: pointer; color: var(--faint); }
footer { margin-top: 40px; padding-top: 12px; border-top: 1px solid var(--line); font-size: 13px; }
@media print { body { max-width: none; padding: 0; } .figure, .note { break-inside: avoid; } }
)css";

double within(double share) {
    return std::clamp(share, 0.0, 1.0);
}

double lengthOf(const Bar& bar) {
    double length = 0;
    for (const BarPart& part : bar.parts)
        length += std::max(0.0, part.value);
    return length;
}

/// What fills the width: the longest bar's length, or less where one bar would make all others too short to read.
double fullLength(const std::vector<Bar>& bars) {
    std::vector<double> lengths;
    for (const Bar& bar : bars)
        lengths.push_back(lengthOf(bar));
    std::ranges::sort(lengths);
    return std::min(lengths.back(), 1.6 * lengths[lengths.size() / 2]);
}

} // namespace

Page::Page(std::string_view title, std::string_view subtitle) {
    const std::string name = escapeXml(title);
    out_ = fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>{}</style>\n"
                       "</head>\n<body>\n<h1>{}</h1>\n<p class=\"subtitle\">{}</p>\n",
                       name, kStyle, name, escapeXml(subtitle));
}

void Page::figures(const std::vector<Figure>& figures) {
    out_ += "<div class=\"figures\">\n";
    for (const Figure& figure : figures) {
        out_ += fmt::format("<div class=\"figure\"><span>{}</span><b>{}</b><span>{}</span></div>\n",
                            escapeXml(figure.name), escapeXml(figure.value), escapeXml(figure.note));
    }
    out_ += "</div>\n";
}

void Page::section(std::string_view heading, std::string_view text) {
    out_ += fmt::format("<h2>{}</h2>\n", escapeXml(heading));
    if (!text.empty()) paragraph(text);
}

void Page::paragraph(std::string_view text) {
    out_ += fmt::format("<p>{}</p>\n", escapeXml(text));
}

void Page::note(std::string_view mark, std::string_view heading, std::string_view text) {
    out_ += fmt::format("<div class=\"note {0}\"><b data-mark=\"{0}\">{1}</b><p>{2}</p></div>\n", mark,
                        escapeXml(heading), escapeXml(text));
}

void Page::row(const std::vector<Column>& columns, const std::vector<Cell>& cells) {
    out_ += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& cell = cells[i];
        std::string classes = i < columns.size() && columns[i].number ? "n" : "";
        if (cell.bad) classes += classes.empty() ? "bad" : " bad";
        std::string style;
        if (cell.bar >= 0) {
            style =
                fmt::format(" style=\"background:linear-gradient(to right,var(--bar) {0:.1f}%,transparent {0:.1f}%)\"",
                            100 * within(cell.bar));
        } else if (cell.shade >= 0) {
            style = fmt::format(" style=\"background:rgba(var(--heat),{:.2f})\"", 0.75 * within(cell.shade));
        }
        out_ += fmt::format("<td{}{}>{}</td>", classes.empty() ? "" : fmt::format(" class=\"{}\"", classes), style,
                            escapeXml(cell.text));
    }
    out_ += "</tr>\n";
}

void Page::table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows, std::size_t open) {
    const auto begin = [&] {
        out_ += "<div class=\"scroll\"><table>\n<thead><tr>";
        for (const Column& column : columns)
            out_ += fmt::format("<th{}>{}</th>", column.number ? " class=\"n\"" : "", escapeXml(column.title));
        out_ += "</tr></thead>\n<tbody>\n";
    };
    const auto end = [&] { out_ += "</tbody></table></div>\n"; };
    const std::size_t shown = std::min(open, rows.size());
    begin();
    for (std::size_t i = 0; i < shown; ++i)
        row(columns, rows[i]);
    end();
    if (shown == rows.size()) return;
    out_ += fmt::format("<details><summary>{} more rows</summary>\n", rows.size() - shown);
    begin();
    for (std::size_t i = shown; i < rows.size(); ++i)
        row(columns, rows[i]);
    end();
    out_ += "</details>\n";
}

void Page::drawing(std::string_view svg, std::string_view description) {
    // Inside a page an SVG element stands without an XML declaration.
    const std::size_t element = svg.find("<svg");
    out_ += fmt::format("<div class=\"drawing\" role=\"img\" aria-label=\"{}\">\n{}\n</div>\n", escapeXml(description),
                        element == std::string_view::npos ? std::string_view{} : svg.substr(element));
}

void Page::bars(const std::vector<Bar>& bars) {
    if (bars.empty()) return;
    const double full = fullLength(bars);
    out_ += "<div class=\"legend\">";
    for (const BarPart& part : bars.front().parts)
        out_ += fmt::format("<span><i style=\"background:{}\"></i>{}</span>", part.colour, escapeXml(part.name));
    out_ += "</div>\n<div class=\"bars\">\n";
    for (const Bar& bar : bars) {
        out_ += fmt::format("<span>{}</span><div class=\"bar{}\">", escapeXml(bar.name),
                            lengthOf(bar) > full ? " cut" : "");
        for (const BarPart& part : bar.parts) {
            if (part.value <= 0 || full <= 0) continue;
            out_ += fmt::format("<i style=\"width:{:.2f}%;background:{}\" title=\"{}: {}\"></i>",
                                100 * part.value / full, part.colour, escapeXml(part.name), escapeXml(part.text));
        }
        out_ += "</div>\n";
    }
    out_ += "</div>\n";
}

std::string Page::finish(std::string_view footer) {
    out_ += fmt::format("<footer>{}</footer>\n</body>\n</html>\n", escapeXml(footer));
    return std::move(out_);
}

std::string number(std::int64_t value) {
    return fmt::format("{}", value);
}

} // namespace bubblescope::html
