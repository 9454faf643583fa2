#include "core/recognise/found_wire.h"

#include "core/base/wire_blocks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace bubblescope {
namespace {

/// An op or a transfer. numbersOf() defines the order of the numbers.
template <class Kind, class Detail>
struct Small {
    std::array<std::int32_t, 6> numbers{};
    Kind kind{};
    Detail detail{};
    TimeNs start{0};
    TimeNs end{0};
};
using SmallOp = Small<OpKind, bool>; ///< detail: overlapped
using SmallComm = Small<CommKind, Payload>;
/// What most traces record of no op.
using OpDetails = std::array<TimeNs, 3>; ///< lateness, idle, exposed

std::array<std::int64_t, 6> numbersOf(const FoundOp& op) {
    return {op.owner, op.step, op.microbatch, op.chunk_or_stage, op.sequence, op.replica};
}
std::array<std::int64_t, 6> numbersOf(const FoundComm& comm) {
    return {comm.owner, comm.step, comm.microbatch, comm.stage, comm.sequence, comm.replica};
}
bool detailOf(const FoundOp& op) {
    return op.overlapped;
}
Payload detailOf(const FoundComm& comm) {
    return comm.payload;
}

template <class Found>
bool fits(const Found& found) {
    return std::ranges::all_of(numbersOf(found),
                               [](std::int64_t number) { return std::in_range<std::int32_t>(number); });
}

template <class Small, class Found>
Small smallOf(const Found& found) {
    Small item{{}, found.kind, detailOf(found), found.start, found.end};
    std::ranges::transform(numbersOf(found), item.numbers.begin(),
                           [](std::int64_t number) { return static_cast<std::int32_t>(number); });
    return item;
}

FoundOp largeOf(const SmallOp& op) {
    const auto& [owner, step, microbatch, chunk_or_stage, sequence, replica] = op.numbers;
    FoundOp large;
    large.owner = owner;
    large.step = step;
    large.kind = op.kind;
    large.microbatch = microbatch;
    large.chunk_or_stage = chunk_or_stage;
    large.start = op.start;
    large.end = op.end;
    large.sequence = sequence;
    large.overlapped = op.detail;
    large.replica = replica;
    return large;
}
FoundComm largeOf(const SmallComm& comm) {
    const auto& [owner, step, microbatch, stage, sequence, replica] = comm.numbers;
    return {owner, step, comm.kind, comm.detail, microbatch, stage, comm.start, comm.end, sequence, replica};
}

/// False if the items have numbers that are too large, and were sent as they are.
template <class Small, class Found>
bool sendSmall(WireWriter& wire, const std::vector<Found>& found) {
    const bool all = std::ranges::all_of(found, [](const Found& item) { return fits(item); });
    wire(all);
    if (!all) {
        wireBlock(wire, found);
        return false;
    }
    std::vector<Small> items;
    items.reserve(found.size());
    for (const Found& item : found)
        items.push_back(smallOf<Small>(item));
    wireBlock(wire, items);
    return true;
}

template <class Small, class Found>
bool receiveSmall(WireReader& wire, std::vector<Found>& found) {
    bool all = false;
    wire(all);
    if (!all) {
        wireBlock(wire, found);
        return false;
    }
    std::uint64_t count = 0;
    wire(count);
    if (count > wire.left() / sizeof(Small)) {
        wire.reject();
        return false;
    }
    found.clear();
    found.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        Small item;
        wire.block(&item, sizeof item);
        found.push_back(largeOf(item));
    }
    return true;
}

} // namespace

void wireFound(WireWriter& wire, const std::vector<FoundOp>& ops) {
    if (!sendSmall<SmallOp>(wire, ops)) return;
    std::vector<OpDetails> details;
    const auto detailed = [](const FoundOp& op) { return OpDetails{op.lateness, op.device_idle, op.exposed_comm}; };
    if (std::ranges::any_of(ops, [&](const FoundOp& op) { return detailed(op) != OpDetails{}; }))
        std::ranges::transform(ops, std::back_inserter(details), detailed);
    wireBlock(wire, details);
}

void wireFound(WireReader& wire, std::vector<FoundOp>& ops) {
    if (!receiveSmall<SmallOp>(wire, ops)) return;
    std::vector<OpDetails> details;
    wireBlock(wire, details);
    if (details.empty()) return;
    if (details.size() != ops.size()) return wire.reject();
    for (std::size_t i = 0; i < ops.size(); ++i) {
        ops[i].lateness = details[i][0];
        ops[i].device_idle = details[i][1];
        ops[i].exposed_comm = details[i][2];
    }
}

void wireFound(WireWriter& wire, const std::vector<FoundComm>& comm) {
    sendSmall<SmallComm>(wire, comm);
}

void wireFound(WireReader& wire, std::vector<FoundComm>& comm) {
    receiveSmall<SmallComm>(wire, comm);
}

} // namespace bubblescope
