#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace bubblescope::cli {

/// What users say about the terminal.
struct TerminalOptions {
    std::string color = "auto"; ///< "auto", "always" or "never"
    std::string pager;          ///< the command; empty: what PAGER names, else less
    bool no_pager = false;
    bool wide = false; ///< charts are not cut at the terminal's width
};

/// For the whole process. Call before the first output.
void setTerminalOptions(const TerminalOptions& options);

/// Standard output is a terminal, or was one before the pager took it.
[[nodiscard]] bool outputIsTerminal();
[[nodiscard]] bool errorIsTerminal();

/// Columns that lines of text on standard output and standard error keep to: of the terminal, or what COLUMNS states,
/// at most `most`. kTextWidth where there is no terminal.
[[nodiscard]] std::size_t outputWidth();
[[nodiscard]] std::size_t errorWidth();
/// Columns that a chart may take: those of the terminal; none where output is a file or --wide was given.
[[nodiscard]] std::optional<std::size_t> chartWidth();

/// Whether text on standard output and standard error is coloured: what --color says; else on terminals, unless
/// NO_COLOR is set or TERM is dumb.
[[nodiscard]] bool colorsOutput();
[[nodiscard]] bool colorsError();

/// Starts the pager for what is printed from now on, if standard output is a terminal with fewer than `lines` lines and
/// nobody turned it off. Only the first call does.
void startPager(std::size_t lines);
/// Waits until the user has read what the pager shows. False if there is no pager.
bool endPager();

} // namespace bubblescope::cli
