// Chimera (Li and Hoefler 2021) and BitPipe (Wu et al., 2024): the ranks hold the model twice, once from the first rank
// to the last and once in reverse, and half of the micro-batches go in each direction. In Chimera, each direction is a
// plain pipeline of p places; in BitPipe, it is a V placement of 2p places.
//
// Consider a pipeline of S places and a clock that ticks once per op: 1F1B with a small number of micro-batches can run
// F of micro-batch i at place q in slot q + 2i, and its B in slot 2S−1−q + 2i. With p/2 micro-batches per direction,
// the slots of the second pipeline fit exactly between those of the first: on one rank, forwards of one and backwards
// of the other have the same parity, but are p/2 micro-batches apart. A rank's ops run in the order of their slots.
// More micro-batches follow in blocks of p, each 2S slots after the previous block; the end of a block leaves the slots
// free that the start of the next block needs. Micro-batches are numbered across all blocks; in each block, the half
// that goes down comes first, followed by the half that goes up.

#include "core/families/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// One rank's ops with their slots, in slot order.
std::vector<std::pair<std::int64_t, Op>> slotsOf(int p, int m, int chunks, int rank) {
    const int places = p * chunks / 2;
    std::vector<std::pair<std::int64_t, Op>> slots;
    slots.reserve(static_cast<std::size_t>(m) * static_cast<std::size_t>(chunks));
    for (int first = 0; first < m; first += p) {
        const std::int64_t begin = std::int64_t{first / p} * 2 * places;
        for (int chunk = 0; chunk < chunks; ++chunk) {
            const int place = stageOf(Placement::Bidirectional, p, Rank{rank}, Chunk{chunk}).value / 2;
            for (int i = 0; i < p / 2; ++i) {
                const Microbatch microbatch{first + chunk % 2 * (p / 2) + i};
                slots.push_back({begin + place + 2 * i, {OpKind::Forward, microbatch, Chunk{chunk}}});
                slots.push_back({begin + 2 * places - 1 - place + 2 * i, {OpKind::Backward, microbatch, Chunk{chunk}}});
            }
        }
    }
    std::ranges::sort(slots, {}, [](const auto& slot) { return slot.first; });
    return slots;
}

Result<Schedule> generateTwoWay(const ScheduleSpec& spec, int chunks) {
    if (spec.vpp != 1 && spec.vpp != chunks) { // 1 is the default
        return usageError(fmt::format("{} has {} chunks per rank, not {}", spec.name, chunks, spec.vpp),
                          fmt::format("omit {}", Field("vpp")));
    }
    BUBBLESCOPE_TRY(checkChimera(spec.name, spec.pp, spec.microbatches));
    Schedule schedule = emptySchedule(spec, Placement::Bidirectional);
    schedule.vpp = chunks;
    for (int rank = 0; rank < spec.pp; ++rank) {
        auto& ops = schedule.ranks.emplace_back();
        for (const auto& [slot, op] : slotsOf(spec.pp, spec.microbatches, chunks, rank))
            ops.push_back(op);
    }
    return schedule;
}

Result<Schedule> generateChimera(const ScheduleSpec& spec) {
    return generateTwoWay(spec, 2);
}

Result<Schedule> generateBitPipe(const ScheduleSpec& spec) {
    return generateTwoWay(spec, 4);
}

} // namespace

Status checkChimera(std::string_view name, int p, int m) {
    if (p % 2 != 0)
        return usageError(fmt::format("{} needs an even number of ranks, not {}", name, p),
                          fmt::format("specify {}, 4, …", Field("pp").is(2)));
    if (m % p == 0) return {};
    return usageError(fmt::format("{} needs m divisible by p: {} micro-batches, {} ranks", name, m, p),
                      fmt::format("use {} or {}", std::max(p, m - m % p), m - m % p + p));
}

ScheduleFamily chimeraFamily() {
    return {.name = "chimera",
            .title = "Chimera",
            .placement = Placement::Bidirectional,
            .limits = "p even, m divisible by p, v = 2",
            .generate = generateChimera};
}

ScheduleFamily bitPipeFamily() {
    return {.name = "bitpipe",
            .title = "BitPipe",
            .placement = Placement::Bidirectional,
            .limits = "p even, m divisible by p, v = 4",
            .generate = generateBitPipe};
}

} // namespace bubblescope
