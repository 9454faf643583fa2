#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace bubblescope::cli {

/// Options that control terminal output.
struct TerminalOptions {
    std::string color = "auto"; ///< "auto", "always" or "never"
    std::string pager;          ///< pager command; if empty, the value of PAGER, or else `less`
    bool no_pager = false;
    bool wide = false; ///< true if charts may be wider than the terminal
};

/// Applies to the whole process. Must be called before the first output.
void setTerminalOptions(const TerminalOptions& options);

[[nodiscard]] bool errorIsTerminal();

/// Maximum line length for text on stdout and stderr: the width of the terminal or the value of COLUMNS, but at most
/// `most`. kTextWidth if there is no terminal.
[[nodiscard]] std::size_t outputWidth();
[[nodiscard]] std::size_t errorWidth();
/// Number of columns available for a chart: the width of the terminal, or unlimited for files and with
/// --wide.
[[nodiscard]] std::optional<std::size_t> chartWidth();

/// True if text on stdout and stderr is coloured. Controlled by --color; by default, text is coloured on terminals
/// unless NO_COLOR is set or TERM is dumb.
[[nodiscard]] bool colorsOutput();
[[nodiscard]] bool colorsError();

/// Starts the pager for all later output if stdout is a terminal with fewer than `lines` lines, unless the pager is
/// disabled. Only the first call has an effect.
void startPager(std::size_t lines);
/// Waits until the user closes the pager. Returns false if there is no pager.
bool endPager();

} // namespace bubblescope::cli
