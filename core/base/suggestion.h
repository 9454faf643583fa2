#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Damerau–Levenshtein distance (insert, remove, replace a letter, swap neighbours), ignoring case.
[[nodiscard]] std::size_t editDistance(std::string_view a, std::string_view b);

/// The name that a user who typed `word` probably meant: the nearest one if at most a third of its letters differ, or
/// the only one that begins with `word`. Empty if none is close.
[[nodiscard]] std::string closestName(std::string_view word, const std::vector<std::string>& names);

/// "; did you mean 'NAME'?" for the closest name, else empty.
[[nodiscard]] std::string didYouMean(std::string_view word, const std::vector<std::string>& names);

/// A name normalised for comparison: lower case, without '-', '_' and blanks.
[[nodiscard]] std::string plainName(std::string_view name);

} // namespace bubblescope
