#include "core/recognise/compute_blocks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace bubblescope {
namespace {

// A block below this fraction of its kind's usual work is ignored.
constexpr int kSmallest = 20;

bool computes(Deed deed) {
    return deed == Deed::Forward || deed == Deed::Backward;
}

/// Blocks under construction; `linked` counts the operators whose gradients were taken.
struct Draft {
    ComputeBlock block;
    int linked = 0;
};

void extend(Draft& draft, const HostEvent& event, TimeNs links_end) {
    // Work before the first operator with a gradient is not part of the forward: the optimizer of the previous step,
    // masks, buffers.
    const bool leads = event.at <= links_end && event.deed == Deed::Forward && draft.linked == 0;
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

/// The work that three of four blocks of a kind do not exceed: small blocks may be many, but not that many.
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

/// A backward belongs to the forward that most of its flows come from.
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
    // Forwards after the last one with its backward in the trace may have theirs after the trace's end.
    const TimeNs links_end = events.links.empty() ? TimeNs::min() : events.links.back().forward;
    std::vector<Draft> drafts;
    bool transfer = false;
    bool border = true;
    int sends = 0;
    for (const HostEvent& event : events.events) {
        if (event.deed == Deed::Optimizer) {
            transfer = false;
            sends = 0;
            border = true;
        } else if (computes(event.deed)) {
            const bool backward = event.deed == Deed::Backward;
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
            if (event.deed != Deed::Transfer) continue;
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

} // namespace bubblescope
