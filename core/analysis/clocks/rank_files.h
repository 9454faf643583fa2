#pragma once

#include "core/recognise/run.h"
#include "core/recognise/trace_share.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// Replica and rank.
using RankKey = std::pair<int, Rank>;

/// Which of the run's trace files each rank's ops come from: the one whose slices begin and end when the ops do.
/// Ranks of which nothing matches are left out. With one file that is the file of all.
[[nodiscard]] std::map<RankKey, std::uint32_t> rankFiles(const Run& run);

/// Asks the shares of a trace how many of some instants are begins or ends of each file's slices.
struct InstantsIn {
    static constexpr std::string_view kName = "instants";
    using Answer = std::vector<std::vector<std::int64_t>>;    ///< by file of the share, then key
    std::map<std::int64_t, std::vector<std::uint32_t>> asked; ///< instant, and the keys that it counts for
    std::uint32_t keys = 0;

    [[nodiscard]] Result<Answer> answer(TraceShare& share) const;
};

template <class Wire>
void fields(Wire& wire, InstantsIn& value) {
    auto& [asked, keys] = value;
    wire(asked, keys);
}

} // namespace bubblescope
