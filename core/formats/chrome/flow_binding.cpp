#include "core/formats/chrome/flow_binding.h"

#include <algorithm>

namespace bubblescope::chrome {

FlowBinding::FlowBinding(const Trace& trace) : trace_(trace) {
    if (trace.flowPoints().empty()) return;
    parent_.assign(trace.sliceCount(), kNoId);
    for (const Track& track : trace.tracks()) {
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            SliceId outer = slice == track.first_slice ? kNoId : slice - 1;
            while (outer != kNoId && trace.end(outer) < trace.end(slice))
                outer = parent_[outer];
            parent_[slice] = outer;
        }
    }
}

SliceId FlowBinding::innermostAt(const Track& track, TimeNs time) const {
    const auto starts = trace_.sliceStarts();
    const auto begin = starts.begin() + track.first_slice;
    const auto after = std::upper_bound(begin, starts.begin() + track.end_slice, time.count());
    if (after == begin) return kNoId;
    auto slice = static_cast<SliceId>(after - starts.begin() - 1);
    while (slice != kNoId && trace_.end(slice) < time)
        slice = parent_[slice];
    return slice;
}

std::optional<TimeNs> FlowBinding::timeFor(SliceId slice, TimeNs wanted) const {
    const Track& track = trace_.tracks()[trace_.sliceTracks()[slice]];
    if (track.may_overlap || track.spilled_from != kNoId) return std::nullopt;
    if (innermostAt(track, wanted) == slice) return wanted;
    for (TimeNs time = trace_.start(slice); time <= trace_.end(slice);) {
        SliceId inner = innermostAt(track, time);
        if (inner == slice) return time;
        while (inner != kNoId && parent_[inner] != slice)
            inner = parent_[inner];
        if (inner == kNoId) break;
        time = trace_.end(inner) + TimeNs{1};
    }
    return std::nullopt;
}

} // namespace bubblescope::chrome
