#pragma once

#include "core/report/document.h"

#include <string>

/// Formats for a single table, for publications and other programs.

namespace bubblescope::report {

/// The columns that have keys, with values as in JSON; missing values become empty cells.
[[nodiscard]] std::string toCsv(const Table& table);
/// The table as displayed to people, as a LaTeX tabular with booktabs.
[[nodiscard]] std::string toLatex(const Table& table);
/// The table as displayed to people, in GitHub's Markdown.
[[nodiscard]] std::string toMarkdown(const Table& table);

/// Text with the characters that are special in LaTeX escaped.
[[nodiscard]] std::string latexText(std::string_view text);

} // namespace bubblescope::report
