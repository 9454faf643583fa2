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

struct SmallOp {
    std::int32_t owner = 0;
    std::int32_t step = 0;
    std::int32_t microbatch = 0;
    std::int32_t chunk_or_stage = 0;
    std::int32_t sequence = 0;
    std::int32_t replica = 0;
    OpKind kind = OpKind::Forward;
    bool overlapped = false;
    TimeNs start{0};
    TimeNs end{0};
};
/// What most traces record of no op.
using OpDetails = std::array<TimeNs, 3>; ///< lateness, idle, exposed

struct SmallComm {
    std::int32_t owner = 0;
    std::int32_t step = 0;
    std::int32_t microbatch = 0;
    std::int32_t stage = 0;
    std::int32_t sequence = 0;
    std::int32_t replica = 0;
    CommKind kind = CommKind::Send;
    Payload payload = Payload::Activation;
    TimeNs start{0};
    TimeNs end{0};
};

bool isSmall(std::int64_t number) {
    return std::in_range<std::int32_t>(number);
}
std::int32_t small(std::int64_t number) {
    return static_cast<std::int32_t>(number);
}

bool fits(const FoundOp& op) {
    return isSmall(op.owner) && isSmall(op.step) && isSmall(op.microbatch) && isSmall(op.chunk_or_stage) &&
           isSmall(op.sequence) && isSmall(op.replica);
}
bool fits(const FoundComm& comm) {
    return isSmall(comm.owner) && isSmall(comm.step) && isSmall(comm.microbatch) && isSmall(comm.stage) &&
           isSmall(comm.sequence) && isSmall(comm.replica);
}

SmallOp smallOf(const FoundOp& op) {
    return {small(op.owner),
            small(op.step),
            small(op.microbatch),
            small(op.chunk_or_stage),
            small(op.sequence),
            small(op.replica),
            op.kind,
            op.overlapped,
            op.start,
            op.end};
}
SmallComm smallOf(const FoundComm& comm) {
    return {small(comm.owner),   small(comm.step), small(comm.microbatch), small(comm.stage), small(comm.sequence),
            small(comm.replica), comm.kind,        comm.payload,           comm.start,        comm.end};
}

FoundOp largeOf(const SmallOp& op) {
    FoundOp large;
    large.owner = op.owner;
    large.step = op.step;
    large.kind = op.kind;
    large.microbatch = op.microbatch;
    large.chunk_or_stage = op.chunk_or_stage;
    large.start = op.start;
    large.end = op.end;
    large.sequence = op.sequence;
    large.overlapped = op.overlapped;
    large.replica = op.replica;
    return large;
}
FoundComm largeOf(const SmallComm& comm) {
    return {comm.owner, comm.step,  comm.kind, comm.payload,  comm.microbatch,
            comm.stage, comm.start, comm.end,  comm.sequence, comm.replica};
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
        items.push_back(smallOf(item));
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
