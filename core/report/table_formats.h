#pragma once

#include "core/report/document.h"

#include <string>

/// Formats of a single table, for papers and other programs.

namespace bubblescope::report {

/// The columns with keys, with values as in JSON; missing values are empty cells.
[[nodiscard]] std::string toCsv(const Table& table);
/// The table as people see it, as a LaTeX tabular with booktabs.
[[nodiscard]] std::string toLatex(const Table& table);
/// The table as people see it, in GitHub's Markdown.
[[nodiscard]] std::string toMarkdown(const Table& table);

} // namespace bubblescope::report
