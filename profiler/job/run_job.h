#pragma once

#include <span>
#include <string>
#include <utility>

namespace bubblescope::profiler {

/// Runs a program with variables added to this process's environment, and waits for its end. Signals that are sent to
/// this process go on to it; those of the terminal reach it by themselves. Returns what a shell would: its exit code,
/// 128 and the signal's number if one ended it, 126 or 127 if it could not be started (with the reason in `why_not`).
/// Once at a time, from a thread that no other has signals for.
[[nodiscard]] int runJob(std::span<const std::string> command,
                         std::span<const std::pair<std::string, std::string>> variables, std::string& why_not);

} // namespace bubblescope::profiler
