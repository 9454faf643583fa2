#pragma once

#include "core/base/diagnostic.h"
#include "core/report/document.h"

#include <string_view>
#include <vector>

namespace bubblescope::cli {

/// What a command found, on stdout: its one JSON document, or text. Control characters other than line ends and tabs
/// become '?', here and below: names in traces come from whoever wrote them, and a terminal obeys such characters.
void print(const report::Section& document, bool json);

/// Text for people, on stdout.
void printText(std::string_view text);

/// What went wrong, on stderr.
void printError(std::string_view text);

/// Data faults, on stderr.
void printProblems(const std::vector<Diagnostic>& problems);

} // namespace bubblescope::cli
