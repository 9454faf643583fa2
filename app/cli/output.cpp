#include "app/cli/output.h"

#include "app/cli/terminal.h"
#include "core/base/visible.h"
#include "core/report/json.h"
#include "core/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

namespace bubblescope::cli {

namespace {

/// The length of the style sequence at the start of `text`; 0 if there is none.
std::size_t styleAt(std::string_view text) {
    const auto style =
        std::ranges::find_if(report::kStyles, [text](std::string_view each) { return text.starts_with(each); });
    return style == report::kStyles.end() ? 0 : style->size();
}

/// Required because names in traces are not trusted, and a terminal would interpret their control characters.
std::string withoutControls(std::string_view text, bool styles = false) {
    std::string out;
    while (!text.empty()) {
        const std::size_t style = styles ? styleAt(text) : 0;
        out += text.substr(0, style);
        text.remove_prefix(style);
        const std::size_t next = styles ? std::min(text.find('\x1b', style > 0 ? 0 : 1), text.size()) : text.size();
        out += visible(text.substr(0, next), LineEnds::Kept);
        text.remove_prefix(next);
    }
    return out;
}

bool isChart(std::string_view line) {
    return line.starts_with("rank ") && line.find(" | ") != std::string_view::npos;
}

/// Truncates charts at the width of the terminal, and adds a note if anything was truncated.
std::string fittingCharts(std::string_view text, std::optional<std::size_t> width) {
    if (!width) return std::string(text);
    std::string out;
    bool cut = false;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        const bool chart = isChart(line);
        if (cut && !chart) {
            out += "… cut to fit; --wide prints all columns, --svg FILE draws them\n";
            cut = false;
        }
        cut = cut || (chart && report::characters(line) > *width);
        out += chart ? report::shortened(line, *width) : std::string(line);
        text.remove_prefix(line.size());
        if (text.starts_with('\n')) {
            out += '\n';
            text.remove_prefix(1);
        }
    }
    if (cut) out += "… cut to fit; --wide prints all columns, --svg FILE draws them\n";
    return out;
}

/// A message in lines that fit the terminal, with all lines except the first indented by two columns.
std::string wrappedError(std::string_view head, std::string_view text) {
    std::string out = report::wrapped("  ", fmt::format("{}{}", head, text), errorWidth());
    out.erase(0, 2);
    if (colorsError())
        out.replace(0, head.size(), fmt::format("{}{}{}", report::kSeriousStyle, head, report::kPlainStyle));
    return out;
}

/// Prints in parts, because the complete text for a long run needs more memory than the run. Parts end at line breaks,
/// so that characters are not split.
void printJson(const report::Section& document) {
    report::writeJson(document, [](std::string_view part) {
        const std::string text = withoutControls(part);
        std::fwrite(text.data(), 1, text.size(), stdout);
    });
    std::fputc('\n', stdout);
}

} // namespace

void print(const report::Section& document, bool json) {
    if (json) return printJson(document);
    const bool colors = colorsOutput();
    const std::string text = withoutControls(report::toText(document, {outputWidth(), colors}), colors);
    const std::string fitting = fittingCharts(text, chartWidth());
    startPager(static_cast<std::size_t>(std::ranges::count(fitting, '\n')));
    std::fwrite(fitting.data(), 1, fitting.size(), stdout);
}

void printText(std::string_view text) {
    const std::string fitting = fittingCharts(withoutControls(text), chartWidth());
    std::fwrite(fitting.data(), 1, fitting.size(), stdout);
}

void printError(std::string_view text) {
    constexpr std::string_view kHead = "bubblescope: ";
    std::string line = wrappedError(kHead, withoutControls(text));
    std::fwrite(line.data(), 1, line.size(), stderr);
}

void printError(const Error& error) {
    const bool piped = error.where == "-" || error.where.starts_with("-, ");
    const std::string place = piped ? "standard input" + error.where.substr(1) : error.where;
    const std::string where = place.empty() ? "" : place + ": ";
    printError(visible(where + error.message));
    if (error.hint.empty()) return;
    const std::string line = report::wrapped("  -> ", visible(error.hint), errorWidth());
    std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string problemText(const Diagnostic& problem) {
    return fmt::format("{}{}{}{}", problem.where.text(), problem.where.empty() ? "" : ": ", problem.message.text(),
                       problem.count > 1 ? fmt::format(" ({} times)", problem.count) : "");
}

void printProblems(const std::vector<Diagnostic>& problems) {
    for (const Diagnostic& problem : problems) {
        printError(visible(problemText(problem)));
    }
}

} // namespace bubblescope::cli
