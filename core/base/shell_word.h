#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Text in single quotes, which a POSIX shell, zsh and fish read as one word.
[[nodiscard]] std::string inQuotes(std::string_view text);

/// Quotes a word for a POSIX shell: unchanged if it consists only of ASCII letters, digits and "_./-+=:,@%", otherwise
/// in single quotes.
[[nodiscard]] std::string shellWord(std::string_view word);

/// A command line that users can copy, such as "bubblescope analyze 'my run'".
[[nodiscard]] std::string shellLine(const std::vector<std::string>& words);

} // namespace bubblescope
