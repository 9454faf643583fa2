#pragma once

#include <unistd.h>

#include <string_view>

namespace bubblescope::cli {

/// Reports, without allocating, that there is not enough memory.
inline void printNoMemory() noexcept {
    constexpr std::string_view kText =
        "bubblescope: not enough memory\n"
        "  -> reduce the request (fewer files, fewer steps, smaller sizes), or use a machine with more memory\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
}

} // namespace bubblescope::cli
