#include "profiler/capture/run_queue.h"

#include "core/base/text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace bubblescope::profiler {

std::int64_t runQueueWait(std::uint32_t thread) {
    std::array<char, 64> path{};
    (void)std::snprintf(path.data(), path.size(), "/proc/self/task/%u/schedstat", thread);
    const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC); // NOLINT(cppcoreguidelines-pro-type-vararg)
    if (file < 0) return 0;
    std::array<char, 128> text{};
    const ssize_t size = ::read(file, text.data(), text.size());
    ::close(file);
    std::string_view rest(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
    return takeNumber<std::int64_t>(rest).value_or(0);
}

TimeNs RunQueue::waitedSince(std::span<const std::uint32_t> threads) {
    std::int64_t most = 0;
    for (const std::uint32_t thread : threads) {
        const std::int64_t all = runQueueWait(thread);
        const auto [known, is_new] = waited_.try_emplace(thread, all);
        if (!is_new) most = std::max(most, all - known->second);
        known->second = all;
    }
    return TimeNs{most};
}

} // namespace bubblescope::profiler
