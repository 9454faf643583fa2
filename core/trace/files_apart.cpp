#include "core/trace/files_apart.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace bubblescope {

namespace {

/// A pause between two files of one run may be long too, but what was recorded remains visible.
constexpr std::int64_t kEmptyShare = 20;
constexpr TimeNs kLeastGap{std::chrono::seconds(10)};

struct Extent {
    TimeNs begin = TimeNs::max();
    TimeNs end = TimeNs::min();
};

std::vector<Extent> extentsOfFiles(const Trace& trace) {
    std::vector<Extent> extents(trace.files().size());
    for (const Track& track : trace.tracks()) {
        Extent& extent = extents[track.file];
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            extent.begin = std::min(extent.begin, trace.start(slice));
            extent.end = std::max(extent.end, trace.end(slice));
        }
    }
    std::erase_if(extents, [](const Extent& extent) { return extent.end < extent.begin; });
    return extents;
}

} // namespace

bool filesAreApart(const Trace& trace) {
    if (trace.files().size() < 2) return false;
    std::vector<Extent> extents = extentsOfFiles(trace);
    std::ranges::sort(extents, {}, &Extent::begin);
    TimeNs gap{0};
    TimeNs recorded{0};
    TimeNs end = extents.empty() ? TimeNs{0} : extents.front().begin;
    for (const Extent& extent : extents) {
        gap = std::max(gap, extent.begin - end);
        recorded += std::max(TimeNs{0}, extent.end - std::max(end, extent.begin));
        end = std::max(end, extent.end);
    }
    return gap > kLeastGap && gap / kEmptyShare > recorded;
}

} // namespace bubblescope
