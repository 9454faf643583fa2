#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// One word of a POSIX shell: as it is, or in single quotes if it has other characters than letters and digits of ASCII
/// and "_./-+=:,@%".
[[nodiscard]] std::string shellWord(std::string_view word);

/// "bubblescope analyze 'my run'": the command line that people can copy.
[[nodiscard]] std::string shellLine(const std::vector<std::string>& words);

} // namespace bubblescope
