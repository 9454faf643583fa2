#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/report/document.h"

#include <string_view>
#include <vector>

namespace bubblescope::cli {

/// Prints the results of a command on stdout, either as a single JSON document or as text. On a terminal, text is
/// wrapped to the width, coloured, and shown through a pager if it is longer than the screen. Control characters other
/// than line ends and tabs become '?', here and below: names in traces come from other programs, and a terminal would
/// execute them.
void print(const report::Section& document, bool json);

/// Prints text for people on stdout.
void printText(std::string_view text);

/// Prints an error on stderr in lines that fit the terminal: first the cause, then the way to solve it.
void printError(std::string_view text);
void printError(const Error& error);

/// The text of a problem: "file, byte 12: events are left out (3 times)".
[[nodiscard]] std::string problemText(const Diagnostic& problem);
/// Prints data problems on stderr.
void printProblems(const std::vector<Diagnostic>& problems);

} // namespace bubblescope::cli
