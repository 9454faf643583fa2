#include "core/query/nesting.h"

#include <algorithm>

namespace bubblescope::query {

Nesting::Nesting(const Trace& trace) : parents_(trace.sliceCount(), kNoId), depths_(trace.sliceCount(), 0) {
    for (const Track& track : trace.tracks())
        add(trace, track);
}

/// Slices are ordered by start, outer ones first. Asynchronous slices may overlap: the parent is then the latest one
/// that lasts long enough, among the last few.
void Nesting::add(const Trace& trace, const Track& track) {
    constexpr std::size_t kMostLookedAt = 64;
    std::vector<SliceId> running;
    for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
        while (!running.empty() && trace.end(running.back()) <= trace.start(slice))
            running.pop_back();
        const std::size_t looked_at =
            track.may_overlap ? std::min(running.size(), kMostLookedAt) : std::min<std::size_t>(running.size(), 1);
        for (std::size_t i = 0; i < looked_at; ++i) {
            const SliceId outer = running[running.size() - 1 - i];
            if (trace.end(outer) < trace.end(slice)) continue;
            parents_[slice] = outer;
            depths_[slice] = depths_[outer] + 1;
            break;
        }
        running.push_back(slice);
    }
}

} // namespace bubblescope::query
