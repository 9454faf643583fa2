#include "core/analysis/clocks/rank_files.h"

#include "core/recognise/trace_shares.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_map>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::size_t kOpsAsked = 32; // of each rank

using Votes = InstantsIn::Answer;

} // namespace

std::map<RankKey, std::uint32_t> rankFiles(const Run& run) {
    std::map<RankKey, std::uint32_t> found;
    const std::span<const TraceFile> files = run.inputs();
    std::vector<std::uint32_t> usable;
    for (std::size_t f = 0; f < files.size(); ++f) {
        if (!files[f].format.empty()) usable.push_back(static_cast<std::uint32_t>(f));
    }
    std::vector<RankKey> keys;
    InstantsIn question; // that ops begin or end at
    for (const StepTimeline& step : run.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            const RankKey key{step.replica, Rank{r}};
            if (usable.size() == 1) found.try_emplace(key, usable.front());
            if (usable.size() < 2 || std::ranges::find(keys, key) != keys.end()) continue;
            for (const TimelineOp& op : std::span(step.ranks[r]).first(std::min(kOpsAsked, step.ranks[r].size()))) {
                question.asked[op.start.count()].push_back(question.keys);
                question.asked[op.end.count()].push_back(question.keys);
            }
            keys.push_back(key);
            ++question.keys;
        }
    }
    if (question.asked.empty()) return found;
    Votes votes; // by file
    for (Votes& share : askRun(run, question))
        std::ranges::move(share, std::back_inserter(votes));
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto best = std::ranges::max_element(votes, {}, [i](const auto& of_file) { return of_file[i]; });
        if (best != votes.end() && (*best)[i] > 0) found[keys[i]] = static_cast<std::uint32_t>(best - votes.begin());
    }
    return found;
}

Result<InstantsIn::Answer> InstantsIn::answer(TraceShare& share) const {
    const Trace& trace = share.trace();
    const std::unordered_map<std::int64_t, std::vector<std::uint32_t>> keys_at(asked.begin(), asked.end());
    Votes votes(trace.files().size(), std::vector<std::int64_t>(keys));
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        const std::uint32_t file = trace.tracks()[trace.sliceTracks()[slice]].file;
        for (const TimeNs time : {trace.start(slice), trace.end(slice)}) {
            const auto hit = keys_at.find(time.count());
            if (hit == keys_at.end()) continue;
            for (const std::uint32_t key : hit->second)
                ++votes[file][key];
        }
    }
    return votes;
}

} // namespace bubblescope
