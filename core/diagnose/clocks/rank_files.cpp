#include "core/diagnose/clocks/rank_files.h"

#include "core/trace/trace.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::size_t kOpsAsked = 32; // of each rank

} // namespace

std::map<RankKey, std::uint32_t> rankFiles(const Run& run) {
    std::map<RankKey, std::uint32_t> found;
    if (!run.trace) return found;
    const Trace& trace = *run.trace;
    std::vector<std::uint32_t> usable;
    for (std::size_t f = 0; f < trace.files().size(); ++f) {
        if (!trace.files()[f].format.empty()) usable.push_back(static_cast<std::uint32_t>(f));
    }
    std::vector<RankKey> keys;
    std::unordered_map<std::int64_t, std::vector<std::size_t>> asked; // instants that ops begin or end at
    for (const StepTimeline& step : run.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            const RankKey key{step.replica, Rank{r}};
            if (usable.size() == 1) found.try_emplace(key, usable.front());
            if (usable.size() < 2 || std::ranges::find(keys, key) != keys.end()) continue;
            for (const TimelineOp& op : std::span(step.ranks[r]).first(std::min(kOpsAsked, step.ranks[r].size()))) {
                asked[op.start.count()].push_back(keys.size());
                asked[op.end.count()].push_back(keys.size());
            }
            keys.push_back(key);
        }
    }
    if (asked.empty()) return found;
    std::vector<std::vector<std::int64_t>> votes(keys.size(), std::vector<std::int64_t>(trace.files().size()));
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        const std::uint32_t file = trace.tracks()[trace.sliceTracks()[slice]].file;
        for (const TimeNs time : {trace.start(slice), trace.end(slice)}) {
            const auto hit = asked.find(time.count());
            if (hit == asked.end()) continue;
            for (const std::size_t key : hit->second)
                ++votes[key][file];
        }
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto best = std::ranges::max_element(votes[i]);
        if (best != votes[i].end() && *best > 0) found[keys[i]] = static_cast<std::uint32_t>(best - votes[i].begin());
    }
    return found;
}

} // namespace bubblescope
