#pragma once

#include <cstddef>

namespace bubblescope {

/// Puts '?' in the place of every byte that is no part of valid UTF-8, so that offsets stay what they are. Returns how
/// many.
std::size_t mendUtf8(char* text, std::size_t size);

} // namespace bubblescope
