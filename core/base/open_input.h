#pragma once

#include "core/base/descriptor.h"
#include "core/base/result.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace bubblescope {

/// How long a pipe is waited for into which nobody writes yet.
inline constexpr std::chrono::seconds kPipePatience{5};

/// Opens a file, a pipe or a device for reading. Never waits longer than `patience`. Errors: Input, with the reason:
/// the system's, that it is a folder, or that nobody writes into the pipe.
[[nodiscard]] Result<Descriptor> openInput(const std::string& file, std::chrono::milliseconds patience = kPipePatience);

/// Of files that people write by hand, and that are read as a whole.
inline constexpr std::size_t kLongestInputText = std::size_t{64} << 20;

/// The whole content. Errors: Input, with the reason; an empty file, and one of more than `most` bytes, are none. `as`
/// is what the file should be, such as "a schedule".
[[nodiscard]] Result<std::string> readInputText(const std::string& file, std::string_view as = {},
                                                std::size_t most = kLongestInputText);

} // namespace bubblescope
