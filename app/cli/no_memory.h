#pragma once

#include "core/base/result.h"

#include <unistd.h>

#include <atomic>
#include <string_view>

namespace bubblescope::cli {

/// Exit code of the program when it runs out of memory. Once a job has been recorded, this is the job's exit code.
inline std::atomic<int> no_memory_exit_code{exitCode(ErrorKind::Input)};

/// Prints an out-of-memory error without allocating memory.
inline void printNoMemory() noexcept {
    constexpr std::string_view kText =
        "bubblescope: not enough memory\n"
        "  -> reduce the request (fewer files, fewer steps, smaller sizes), or use a machine with more memory\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
}

} // namespace bubblescope::cli
