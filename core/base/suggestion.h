#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// How many letters have to be inserted, removed, replaced or exchanged with their neighbour to turn `a` into `b`.
/// Letters that differ only in case are equal.
[[nodiscard]] std::size_t editDistance(std::string_view a, std::string_view b);

/// The name that a user who typed `word` probably meant: the nearest one, if no more than a third of its letters
/// differ, or the only one that begins with `word`. Empty if no name is near.
[[nodiscard]] std::string closestName(std::string_view word, const std::vector<std::string>& names);

/// "; did you mean 'NAME'?" for the closest name, else empty.
[[nodiscard]] std::string didYouMean(std::string_view word, const std::vector<std::string>& names);

/// A name without what people vary: in lower case, without '-', '_' and blanks.
[[nodiscard]] std::string plainName(std::string_view name);

} // namespace bubblescope
