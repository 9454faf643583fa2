#include "core/recognise/found_wire.h"

#include "core/base/wire_blocks.h"

#include <utility>
#include <vector>

namespace bubblescope {

void wireFound(WireWriter& wire, const FoundOpList& ops) {
    wireBlock(wire, ops.ops());
    wireBlock(wire, ops.details()); // most traces have none
}

void wireFound(WireReader& wire, FoundOpList& ops) {
    std::vector<BareFoundOp> bare;
    std::vector<OpDetails> details;
    wireBlock(wire, bare);
    wireBlock(wire, details);
    ops = FoundOpList(std::move(bare), std::move(details));
}

void wireFound(WireWriter& wire, const std::vector<FoundComm>& comm) {
    wireBlock(wire, comm);
}

void wireFound(WireReader& wire, std::vector<FoundComm>& comm) {
    wireBlock(wire, comm);
}

} // namespace bubblescope
