#include "core/recognise/step_cuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace bubblescope {
namespace {

/// FALCON (Greyhound) takes the first lag with at least this similarity of a job's communication for an iteration.
constexpr double kRepeats = 0.95;

/// Blocks [first, end) of a rank.
struct Range {
    std::size_t first = 0;
    std::size_t end = 0;
};

std::vector<ComputeBlock> cut(const RankBlocks& rank, Range range) {
    std::vector<ComputeBlock> blocks(rank.blocks.begin() + static_cast<std::ptrdiff_t>(range.first),
                                     rank.blocks.begin() + static_cast<std::ptrdiff_t>(range.end));
    for (ComputeBlock& block : blocks) {
        if (!block.forward) continue;
        const bool inside = *block.forward >= range.first && *block.forward < range.end;
        block.forward = inside ? std::optional(*block.forward - range.first) : std::nullopt;
    }
    return blocks;
}

/// Work after the last backward scales gradients or updates weights: every forward has its backward.
Range withoutTail(const RankBlocks& rank, Range range) {
    std::size_t end = range.end;
    while (end > range.first && !rank.blocks[end - 1].backward)
        --end;
    if (end > range.first) range.end = end; // a step of forwards alone keeps them
    return range;
}

StepCuts byMarks(std::span<const RankBlocks> ranks, std::span<const std::vector<Mark>> marks) {
    std::map<std::int64_t, CutStep> steps;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        for (const Mark& mark : marks[r]) {
            const auto& blocks = ranks[r].blocks;
            const auto starts = [](const ComputeBlock& block, TimeNs time) { return block.host_start < time; };
            const auto first = std::lower_bound(blocks.begin(), blocks.end(), mark.start, starts);
            const auto end = std::lower_bound(first, blocks.end(), mark.end, starts);
            CutStep& step = steps[mark.index];
            step.index = mark.index;
            step.ranks.resize(ranks.size());
            step.ranks[r] = cut(ranks[r], withoutTail(ranks[r], {static_cast<std::size_t>(first - blocks.begin()),
                                                                 static_cast<std::size_t>(end - blocks.begin())}));
        }
    }
    StepCuts out;
    for (auto& [index, step] : steps)
        out.steps.push_back(std::move(step));
    out.evidence = fmt::format("{} steps marked by the profiler", out.steps.size());
    return out;
}

/// Passes of a rank: from one block before which nothing is in flight to the next such block. A trace may begin and end
/// within a step, whose part is not a pass.
std::vector<Range> passesOf(const RankBlocks& rank) {
    std::vector<int> before; // forwards in flight before each block, and at the end
    int level = 0;
    for (const ComputeBlock& block : rank.blocks) {
        before.push_back(level);
        level += block.backward ? -1 : 1;
    }
    before.push_back(level);
    const int lowest = *std::min_element(before.begin(), before.end());
    std::vector<Range> passes;
    std::optional<std::size_t> begin;
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] != lowest) continue;
        if (begin) passes.push_back({*begin, i});
        begin = i;
    }
    return passes;
}

/// The smallest number of passes after which a rank's calls repeat.
std::pair<std::size_t, double> repetition(const RankBlocks& rank, const std::vector<Range>& passes) {
    double best = -1;
    std::size_t lag_of_best = 0;
    for (std::size_t apart = 1; apart < passes.size(); ++apart) {
        const std::size_t lag =
            rank.blocks[passes[apart].first].calls_before - rank.blocks[passes[0].first].calls_before;
        const double alike = autocorrelation(rank.calls, lag);
        if (alike > best) {
            best = alike;
            lag_of_best = lag;
        }
        if (alike >= kRepeats || apart == 4) break;
    }
    return {lag_of_best, best};
}

StepCuts byFlight(std::span<const RankBlocks> ranks) {
    StepCuts out;
    const RankBlocks& first = ranks.front();
    if (first.blocks.empty()) return out;
    const std::vector<Range> passes = passesOf(first);
    std::vector<std::size_t> next_block(ranks.size());
    for (std::size_t i = 0; i < passes.size(); ++i) {
        CutStep step;
        step.index = static_cast<std::int64_t>(i);
        const TimeNs from = first.blocks[passes[i].first].work.start;
        const std::size_t next = passes[i].end;
        const TimeNs to = next < first.blocks.size() ? first.blocks[next].work.start : TimeNs::max();
        for (const RankBlocks& rank : ranks) {
            const auto middle = [](const ComputeBlock& block) {
                return block.work.start + (block.work.end - block.work.start) / 2;
            };
            std::size_t& from_block = next_block[static_cast<std::size_t>(&rank - ranks.data())];
            const auto begins =
                std::find_if(rank.blocks.begin() + static_cast<std::ptrdiff_t>(from_block), rank.blocks.end(),
                             [&](const ComputeBlock& block) { return middle(block) >= from; });
            const auto ends =
                std::find_if(begins, rank.blocks.end(), [&](const ComputeBlock& block) { return middle(block) >= to; });
            from_block = static_cast<std::size_t>(ends - rank.blocks.begin());
            const Range range{static_cast<std::size_t>(begins - rank.blocks.begin()),
                              static_cast<std::size_t>(ends - rank.blocks.begin())};
            step.ranks.push_back(cut(rank, withoutTail(rank, range)));
        }
        out.steps.push_back(std::move(step));
    }
    out.evidence =
        fmt::format("{} steps: so often all forwards of rank {} had had their backward", passes.size(), first.rank);
    if (passes.size() > 1 && !first.calls.empty()) {
        const auto [lag, alike] = repetition(first, passes);
        out.regularity = alike >= kRepeats ? 1 : std::max(0.0, alike);
        out.evidence += fmt::format("; its communication repeats every {} calls, autocorrelation {:.2f}", lag, alike);
    }
    return out;
}

} // namespace

StepCuts cutSteps(std::span<const RankBlocks> ranks, std::span<const std::vector<Mark>> marks) {
    const bool marked = std::all_of(marks.begin(), marks.end(), [](const auto& list) { return !list.empty(); });
    return marked ? byMarks(ranks, marks) : byFlight(ranks);
}

} // namespace bubblescope
