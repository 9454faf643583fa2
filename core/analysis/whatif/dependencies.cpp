#include "core/analysis/whatif/dependencies.h"

#include <algorithm>
#include <utility>

namespace bubblescope {

DependencyGraph::DependencyGraph(std::vector<NodeId> begin, std::vector<NodeId> entries)
    : begin_(std::move(begin)), entries_(std::move(entries)) {}

void DependencyGraph::replay(std::span<const TimeNs> durations, std::span<TimeNs> ends) const {
    const NodeId* entry = entries_.data();
    for (std::size_t i = 0; i + 1 < begin_.size(); ++i) {
        const NodeId* const stop = entries_.data() + begin_[i + 1];
        TimeNs start{0};
        for (; entry != stop; ++entry)
            start = std::max(start, ends[static_cast<std::size_t>(*entry)]);
        ends[i] = start + durations[i];
    }
}

} // namespace bubblescope
