#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace bubblescope::cli {

/// The user's options for the terminal.
struct TerminalOptions {
    std::string color = "auto"; ///< "auto", "always" or "never"
    std::string pager;          ///< the pager's command; empty: the value of PAGER, else less
    bool no_pager = false;
    bool wide = false; ///< charts are not cut at the terminal's width
};

/// For the whole process. Call before the first output.
void setTerminalOptions(const TerminalOptions& options);

/// Standard output is a terminal, or was one before the pager took it.
[[nodiscard]] bool outputIsTerminal();
[[nodiscard]] bool errorIsTerminal();

/// The maximum width of text lines on standard output and standard error: the columns of the terminal, or the value of
/// COLUMNS, at most `most`. kTextWidth if there is no terminal.
[[nodiscard]] std::size_t outputWidth();
[[nodiscard]] std::size_t errorWidth();
/// Columns that a chart may take: those of the terminal; none where output is a file or --wide was given.
[[nodiscard]] std::optional<std::size_t> chartWidth();

/// Whether text on standard output and standard error is coloured: as --color states; else on terminals, unless
/// NO_COLOR is set or TERM is dumb.
[[nodiscard]] bool colorsOutput();
[[nodiscard]] bool colorsError();

/// Starts the pager for all later output, if standard output is a terminal with fewer than `lines` lines and the pager
/// was not turned off. Only the first call has an effect.
void startPager(std::size_t lines);
/// Waits until the user closes the pager. False if there is no pager.
bool endPager();

} // namespace bubblescope::cli
