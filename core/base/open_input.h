#pragma once

#include "core/base/descriptor.h"
#include "core/base/result.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace bubblescope {

/// Maximum time to wait for a pipe that has no writer yet.
inline constexpr std::chrono::seconds kPipePatience{5};

/// Opens a file, a pipe or a device for reading. Waits no longer than `patience`. Errors: Input, with the reason (a
/// system error, a path that is a folder, or a pipe without a writer).
[[nodiscard]] Result<Descriptor> openInput(const std::string& file, std::chrono::milliseconds patience = kPipePatience);

/// Size limit for hand-written files, which are loaded into memory.
inline constexpr std::size_t kLongestInputText = std::size_t{64} << 20;

/// Returns the file's content without a byte order mark. "-" means standard input, which is read once; later calls
/// return the same text. Errors: Input, with the reason; also if the file is empty or larger than `most` bytes. `as`
/// describes the expected content, such as "a schedule".
[[nodiscard]] Result<std::string> readInputText(const std::string& file, std::string_view as = {},
                                                std::size_t most = kLongestInputText);

} // namespace bubblescope
