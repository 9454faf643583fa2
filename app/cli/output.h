#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/report/document.h"

#include <string_view>
#include <vector>

namespace bubblescope::cli {

/// Prints the results of a command to stdout, either as a single JSON document or as text. On a terminal, text is
/// wrapped, coloured, and shown in a pager if it is longer than the screen. All functions here replace control
/// characters other than line breaks and tabs with '?', because names in traces are not trusted and a terminal would
/// interpret them.
void print(const report::Section& document, bool json);

/// Prints human-readable text to stdout.
void printText(std::string_view text);

/// Prints an error to stderr, wrapped to the width of the terminal: first the cause, then the remedy.
void printError(std::string_view text);
void printError(const Error& error);

/// Text of a problem, such as "file, byte 12: skipped events without a usable time (3 times)".
[[nodiscard]] std::string problemText(const Diagnostic& problem);
/// Prints data problems to stderr.
void printProblems(const std::vector<Diagnostic>& problems);

} // namespace bubblescope::cli
