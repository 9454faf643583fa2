#pragma once

#include "core/base/result.h"

#include <unistd.h>

#include <atomic>
#include <string_view>

namespace bubblescope::cli {

/// The exit code of a program that ends without memory. Once the job of `record` has ended, it is the job's.
inline std::atomic<int> no_memory_exit_code{exitCode(ErrorKind::Input)};

/// Reports, without allocating, that there is not enough memory.
inline void printNoMemory() noexcept {
    constexpr std::string_view kText =
        "bubblescope: not enough memory\n"
        "  -> reduce the request (fewer files, fewer steps, smaller sizes), or use a machine with more memory\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
}

} // namespace bubblescope::cli
