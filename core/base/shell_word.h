#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// A word for a POSIX shell: unchanged if it consists of ASCII letters, digits and "_./-+=:,@%", otherwise in single
/// quotes.
[[nodiscard]] std::string shellWord(std::string_view word);

/// "bubblescope analyze 'my run'": a command line that users can copy.
[[nodiscard]] std::string shellLine(const std::vector<std::string>& words);

} // namespace bubblescope
