#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/report/document.h"

#include <string_view>
#include <vector>

namespace bubblescope::cli {

/// What a command found, on stdout: its one JSON document, or text, which a terminal gets in its width, in colour, and
/// through a pager if it is longer than the screen. Control characters other than line ends and tabs
/// become '?', here and below: names in traces come from whoever wrote them, and a terminal obeys such characters.
void print(const report::Section& document, bool json);

/// Text for people, on stdout.
void printText(std::string_view text);

/// What went wrong, on stderr, in lines no longer than the terminal's; of an error the cause, then the way out.
void printError(std::string_view text);
void printError(const Error& error);

/// Data faults, on stderr.
void printProblems(const std::vector<Diagnostic>& problems);

} // namespace bubblescope::cli
