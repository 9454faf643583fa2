#pragma once

#include "core/report/document.h"

#include <string>

/// A table for papers and other programs, by itself.

namespace bubblescope::report {

/// The columns with keys and their values as JSON has them; an empty cell where there is none.
[[nodiscard]] std::string toCsv(const Table& table);
/// What people see, as a tabular of booktabs.
[[nodiscard]] std::string toLatex(const Table& table);
/// What people see, as a table of GitHub's Markdown.
[[nodiscard]] std::string toMarkdown(const Table& table);

} // namespace bubblescope::report
