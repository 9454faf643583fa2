#include "core/recognise/compute_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace bubblescope {
namespace {

// Blocks with less than 1 / kSmallest of the usual work of their kind are ignored.
constexpr int kSmallest = 20;

bool computes(HostEventKind kind) {
    return kind == HostEventKind::Forward || kind == HostEventKind::Backward;
}

/// Blocks under construction; `linked` counts the operators whose gradients were taken.
struct Draft {
    ComputeBlock block;
    int linked = 0;
};

void extend(Draft& draft, const HostEvent& event, TimeNs links_end) {
    // Work before the first operator with a gradient is not part of the forward: the optimizer of the previous step,
    // masks, buffers.
    const bool leads = event.at <= links_end && event.kind == HostEventKind::Forward && draft.linked == 0;
    if (leads || draft.block.busy.count() == 0) {
        draft.block.host_start = event.at;
        draft.block.host_end = event.host_end;
        draft.block.work = event.work;
        draft.block.busy = TimeNs{0};
    }
    draft.block.host_end = std::max(draft.block.host_end, event.host_end);
    draft.block.work.start = std::min(draft.block.work.start, event.work.start);
    draft.block.work.end = std::max(draft.block.work.end, event.work.end);
    draft.block.busy += event.work.end - event.work.start;
    draft.linked += event.linked ? 1 : 0;
}

std::uint64_t callNumber(const HostEvent& event) {
    const auto direction = event.direction ? static_cast<std::uint64_t>(*event.direction) + 1 : 0;
    const auto peer = static_cast<std::uint64_t>(event.peer.value_or(-1) + 1) & 0xffffffU;
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U; // of Fibonacci hashing
    return event.call ^ (peer << 8 | direction) * kSpread;
}

/// The 75th percentile of the work of a kind, because up to three quarters of the blocks may be small.
TimeNs usualWork(const std::vector<Draft>& drafts, bool backward) {
    std::vector<TimeNs> work;
    for (const Draft& draft : drafts) {
        if (draft.block.backward == backward) work.push_back(draft.block.busy);
    }
    if (work.empty()) return TimeNs{0};
    const auto place = work.begin() + static_cast<std::ptrdiff_t>(work.size() * 3 / 4);
    std::nth_element(work.begin(), place, work.end());
    return *place;
}

std::vector<ComputeBlock> realBlocks(const std::vector<Draft>& drafts, TimeNs links_end) {
    const TimeNs usual[2] = {usualWork(drafts, false), usualWork(drafts, true)};
    std::vector<ComputeBlock> blocks;
    bool transfer = false;
    bool border = true;
    int sends = 0;
    for (const Draft& draft : drafts) {
        const ComputeBlock& block = draft.block;
        transfer = transfer || block.transfer_before;
        sends += block.sends_before;
        const bool small = block.busy * kSmallest < usual[block.backward ? 1 : 0];
        const bool without_gradient = !block.backward && draft.linked == 0 && block.host_start <= links_end;
        if (small || without_gradient) continue;
        if (!border && !transfer && blocks.back().backward == block.backward) {
            ComputeBlock& same = blocks.back();
            same.host_end = std::max(same.host_end, block.host_end);
            same.work.end = std::max(same.work.end, block.work.end);
            same.busy += block.busy;
            continue;
        }
        blocks.push_back(block);
        blocks.back().transfer_before = transfer;
        blocks.back().sends_before = std::exchange(sends, 0);
        transfer = border = false;
    }
    return blocks;
}

std::optional<std::size_t> blockAt(const std::vector<ComputeBlock>& blocks, TimeNs time, bool backward) {
    auto block = std::upper_bound(blocks.begin(), blocks.end(), time,
                                  [](TimeNs t, const ComputeBlock& known) { return t < known.host_end; });
    if (block == blocks.end() || block->backward != backward) return std::nullopt;
    return static_cast<std::size_t>(block - blocks.begin());
}

/// A backward belongs to the forward from which most of its flows originate.
void linkBlocks(std::vector<ComputeBlock>& blocks, const std::vector<AutogradLink>& links) {
    std::map<std::size_t, std::map<std::size_t, int>> votes;
    for (const AutogradLink& link : links) {
        const auto forward = blockAt(blocks, link.forward, false);
        const auto backward = blockAt(blocks, link.backward, true);
        if (forward && backward && *forward < *backward) ++votes[*backward][*forward];
    }
    for (const auto& [backward, forwards] : votes) {
        blocks[backward].forward = std::max_element(forwards.begin(), forwards.end(), [](const auto& a, const auto& b) {
                                       return a.second < b.second;
                                   })->first;
    }
}

} // namespace

RankBlocks computeBlocks(const HostEvents& events, std::int64_t rank) {
    RankBlocks out;
    out.rank = rank;
    out.on_device = events.on_device;
    out.communicators = events.communicators;
    // Forwards after the last one with a recorded backward may have their backward after the end of the trace.
    const TimeNs links_end = events.links.empty() ? TimeNs::min() : events.links.back().forward;
    std::vector<Draft> drafts;
    bool transfer = false;
    bool border = true;
    int sends = 0;
    for (const HostEvent& event : events.events) {
        if (event.kind == HostEventKind::Optimizer) {
            transfer = false;
            sends = 0;
            border = true;
        } else if (computes(event.kind)) {
            const bool backward = event.kind == HostEventKind::Backward;
            if (border || transfer || drafts.back().block.backward != backward) {
                Draft& draft = drafts.emplace_back();
                draft.block.backward = backward;
                draft.block.transfer_before = transfer;
                draft.block.sends_before = std::exchange(sends, 0);
                draft.block.calls_before = out.calls.size();
                transfer = border = false;
            }
            extend(drafts.back(), event, links_end);
        } else {
            out.calls.push_back(callNumber(event));
            if (event.kind != HostEventKind::Transfer) continue;
            transfer = true;
            if (event.direction) out.transfers.push_back(event);
            sends += event.direction == CommKind::Send ? 1 : 0;
        }
    }
    out.blocks = realBlocks(drafts, links_end);
    linkBlocks(out.blocks, events.links);
    return out;
}

std::string letters(std::span<const ComputeBlock> blocks) {
    std::string text;
    for (const ComputeBlock& block : blocks)
        text += block.backward ? 'B' : 'F';
    return text;
}

double autocorrelation(std::span<const std::uint64_t> sequence, std::size_t lag) {
    if (lag == 0 || lag >= sequence.size()) return 0;
    std::map<std::uint64_t, double> frequency;
    for (const std::uint64_t value : sequence)
        frequency[value] += 1 / static_cast<double>(sequence.size());
    double chance = 0;
    for (const auto& [value, part] : frequency)
        chance += part * part;
    std::size_t equal = 0;
    for (std::size_t i = 0; i + lag < sequence.size(); ++i)
        equal += sequence[i] == sequence[i + lag] ? 1 : 0;
    const double agreement = static_cast<double>(equal) / static_cast<double>(sequence.size() - lag);
    if (chance > 1 - 1e-9) return 1; // one value only
    return (agreement - chance) / (1 - chance);
}

namespace {

/// FALCON (Greyhound) takes the first lag with at least this similarity of a job's communication as an iteration.
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
    if (end > range.first) range.end = end; // a step with only forwards keeps them
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

/// Passes of a rank: each lasts from a block before which nothing is in flight to the next such block. If a trace
/// starts or ends inside a step, that part is not a pass.
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
    out.evidence = fmt::format("{} steps: a step ends when rank {} has run the backward of every forward",
                               passes.size(), first.rank);
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
