#include "runtime/engine/rank_threads.h"

#include "runtime/clock/host_clock.h"

#include <fmt/format.h>

#include <system_error>
#include <thread>
#include <vector>

namespace bubblescope::runtime {

void runRankThreads(std::span<Transport* const> ranks, const std::function<void(std::size_t)>& run) {
    std::vector<std::thread> threads;
    threads.reserve(ranks.size());
    try {
        for (std::size_t local = 0; local < ranks.size(); ++local) {
            threads.emplace_back([&run, local] {
                usePunctualSleep();
                run(local);
            });
        }
    } catch (const std::system_error& e) {
        // The ranks that did start would wait for this rank forever.
        Transport& transport = *ranks[threads.size()];
        transport.fail(
            runError(fmt::format("cannot start the thread for rank {}: {}", transport.rank().value, e.what()),
                     "use fewer ranks"));
    }
    for (std::thread& thread : threads)
        thread.join();
}

} // namespace bubblescope::runtime
