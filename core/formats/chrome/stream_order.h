#pragma once

#include "core/base/job.h"
#include "core/trace/trace_builder.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::chrome {

/// Finds kernels with impossible durations. A stream runs its kernels one after another. If a profiler's counters
/// overflow, a kernel appears to last for seconds while hundreds of later ones run. Such a kernel is cut at the start
/// of the next one. Kernels that only overlap the next one, as in CUDA graphs, are kept.
class StreamOrder {
public:
    explicit StreamOrder(TraceBuilder& builder) : builder_(builder) {}

    /// Call this function for profilers known to overflow. Each kernel must then end before the next one. Otherwise a
    /// kernel is shortened only if it runs over many others and ends after all of them by more than their total time.
    void expectOverflows() { expects_overflows_ = true; }
    void add(TrackId track, TimeNs start, TimeNs end) {
        if (track >= streams_.size()) streams_.resize(track + std::size_t{1});
        Stream& stream = streams_[track];
        stream.odd = stream.odd || (start < stream.end && end <= stream.end);
        stream.end = std::max(stream.end, end);
    }
    /// Shortens kernels with impossible durations among the slices for which `is_kernel` is true. Returns the first
    /// shortened kernel and the number of shortened ones; none if the job is stopped.
    template <class IsKernel>
    [[nodiscard]] std::optional<std::pair<SliceId, std::int64_t>> finish(const IsKernel& is_kernel,
                                                                         const JobControl& control) {
        std::vector<std::vector<SliceId>> kernels(streams_.size());
        StopCheck stop(control);
        const bool any = std::ranges::any_of(streams_, &Stream::odd);
        for (SliceId slice = 0; any && slice < builder_.sliceCount(); ++slice) {
            if (stop.requested()) return std::nullopt;
            const TrackId track = builder_.sliceTrack(slice);
            if (track < streams_.size() && streams_[track].odd && is_kernel(slice)) kernels[track].push_back(slice);
        }
        for (std::vector<SliceId>& stream : kernels)
            shorten(stream);
        return std::pair(first_, count_);
    }

private:
    struct Stream {
        TimeNs end = TimeNs::min(); ///< latest end so far
        bool odd = false;           ///< true if a kernel appears to run inside another one
    };

    void shorten(std::vector<SliceId>& stream);

    TraceBuilder& builder_;
    bool expects_overflows_ = false;
    std::vector<Stream> streams_; ///< by track
    SliceId first_ = kNoId;
    std::int64_t count_ = 0;
};

} // namespace bubblescope::chrome
