#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace bubblescope::cli {

/// The user's options for the terminal.
struct TerminalOptions {
    std::string color = "auto"; ///< "auto", "always" or "never"
    std::string pager;          ///< the pager's command; empty: the value of PAGER, or less
    bool no_pager = false;
    bool wide = false; ///< do not cut charts at the terminal's width
};

/// Applies to the whole process. Call it before the first output.
void setTerminalOptions(const TerminalOptions& options);

/// True if standard output is a terminal, or was one before the pager started.
[[nodiscard]] bool outputIsTerminal();
[[nodiscard]] bool errorIsTerminal();

/// The maximum width of text lines on standard output and standard error: the columns of the terminal or the value of
/// COLUMNS, at most `most`; kTextWidth if there is no terminal.
[[nodiscard]] std::size_t outputWidth();
[[nodiscard]] std::size_t errorWidth();
/// The number of columns available for a chart: those of the terminal; none if the output is a file or --wide was
/// given.
[[nodiscard]] std::optional<std::size_t> chartWidth();

/// True if text on standard output and standard error is coloured, as --color requests; by default on terminals, unless
/// NO_COLOR is set or TERM is dumb.
[[nodiscard]] bool colorsOutput();
[[nodiscard]] bool colorsError();

/// Starts the pager for all later output if standard output is a terminal with fewer than `lines` lines and the pager
/// was not disabled. Only the first call has an effect.
void startPager(std::size_t lines);
/// Waits until the user closes the pager. Returns false if there is no pager.
bool endPager();

} // namespace bubblescope::cli
