#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Damerau–Levenshtein distance (insertions, deletions, substitutions, swaps of neighbours), ignoring case.
[[nodiscard]] std::size_t editDistance(std::string_view a, std::string_view b);

/// Returns the name that a user who typed `word` probably meant: the nearest one if at most a third of its letters
/// differ, or the only one that starts with `word`. Empty if no name is close.
[[nodiscard]] std::string closestName(std::string_view word, const std::vector<std::string>& names);

/// Returns "; did you mean 'NAME'?" for the closest name, or an empty string.
[[nodiscard]] std::string didYouMean(std::string_view word, const std::vector<std::string>& names);

/// Normalises a name for comparison: lower case, without '-', '_' and blanks.
[[nodiscard]] std::string plainName(std::string_view name);

} // namespace bubblescope
