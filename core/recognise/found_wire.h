#pragma once

#include "core/base/wire.h"
#include "core/recognise/found_ops.h"

#include <cstdint>
#include <utility>
#include <vector>

// Serialization (core/base/wire.h) of what was found in a trace. A run has millions of ops and transfers, which one
// process receives from all others: details are sent only where there are any.
namespace bubblescope {

void wireFound(WireWriter& wire, const FoundOpList& ops);
void wireFound(WireReader& wire, FoundOpList& ops);
void wireFound(WireWriter& wire, const std::vector<FoundComm>& comm);
void wireFound(WireReader& wire, std::vector<FoundComm>& comm);

template <class Found, class List>
void wireFound(WireWriter& wire, const Pieces<Found, List>& found) {
    wire(std::uint64_t{found.lists().size()});
    for (const List& list : found.lists())
        wireFound(wire, list);
}
template <class Found, class List>
void wireFound(WireReader& wire, Pieces<Found, List>& found) {
    std::uint64_t count = 0;
    wire(count);
    if (count > wire.left() / sizeof count) return wire.reject(); // each has its size
    for (std::uint64_t i = 0; i < count && !wire.failed(); ++i) {
        List list;
        wireFound(wire, list);
        found.append(std::move(list));
    }
}

} // namespace bubblescope
