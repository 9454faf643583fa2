#include "runtime/trained_stages.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope::runtime {

Result<std::uint64_t> oneDigest(std::span<const std::uint64_t> hashes) {
    const auto other = std::ranges::find_if(hashes, [&](std::uint64_t hash) { return hash != hashes.front(); });
    if (other == hashes.end()) return hashes.front();
    return runError(fmt::format("copies of the model have parted: {:016x} and {:016x}", hashes.front(), *other));
}

Result<std::uint64_t> digestOf(const TrainedStages& stages, int routes, int tensor_ranks) {
    std::vector<std::uint64_t> hashes;
    const auto sharers = static_cast<std::size_t>(tensor_ranks);
    for (std::size_t lane = 0; lane < stages.size(); lane += sharers) {
        const std::size_t first = hashes.size();
        hashes.resize(first + static_cast<std::size_t>(routes), kFnvOffset);
        for (std::size_t s = 0; s < stages[lane].size(); ++s) {
            std::uint64_t& hash = hashes[first + s % static_cast<std::size_t>(routes)];
            for (std::size_t tensor = 0; tensor < sharers; ++tensor)
                hash = stages[lane + tensor][s]->digest(hash);
        }
    }
    return oneDigest(hashes);
}

} // namespace bubblescope::runtime
