#include "core/recognise/found_wire.h"

#include "core/base/wire_blocks.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace bubblescope {

void wireFound(WireWriter& wire, const std::vector<FoundOp>& ops) {
    wireBlock(wire, std::vector<BareFoundOp>(ops.begin(), ops.end()));
    std::vector<OpDetails> details; // most traces have none
    if (!std::ranges::all_of(ops, [](const FoundOp& op) { return op.details == OpDetails{}; }))
        std::ranges::transform(ops, std::back_inserter(details), &FoundOp::details);
    wireBlock(wire, details);
}

void wireFound(WireReader& wire, std::vector<FoundOp>& ops) {
    std::vector<BareFoundOp> bare;
    wireBlock(wire, bare);
    ops.clear();
    ops.reserve(bare.size());
    for (const BareFoundOp& op : bare)
        ops.push_back({op, {}});
    std::vector<OpDetails> details;
    wireBlock(wire, details);
    if (details.empty()) return;
    if (details.size() != ops.size()) return wire.reject();
    for (std::size_t i = 0; i < ops.size(); ++i)
        ops[i].details = details[i];
}

void wireFound(WireWriter& wire, const std::vector<FoundComm>& comm) {
    wireBlock(wire, comm);
}

void wireFound(WireReader& wire, std::vector<FoundComm>& comm) {
    wireBlock(wire, comm);
}

} // namespace bubblescope
