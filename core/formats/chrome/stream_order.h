#pragma once

#include "core/base/job.h"
#include "core/trace/trace_builder.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::chrome {

/// Finds kernels whose durations cannot be: a stream runs its kernels one after another, but some profilers' counters
/// overflow, and a kernel then seems to last for seconds while hundreds behind it run. Such a kernel ends where the
/// next one begins. What merely overlaps the next, as kernels of CUDA graphs may, is left as it is.
class StreamOrder {
public:
    explicit StreamOrder(TraceBuilder& builder) : builder_(builder) {}

    /// The profiler is known for it: a kernel must end before the next one does. Otherwise one is cut only if it runs
    /// over many others, and beyond the end of all by more than these last together.
    void expectOverflows() { expects_overflows_ = true; }
    void add(TrackId track, TimeNs start, TimeNs end) {
        if (track >= streams_.size()) streams_.resize(track + std::size_t{1});
        Stream& stream = streams_[track];
        stream.odd = stream.odd || (start < stream.end && end <= stream.end);
        stream.end = std::max(stream.end, end);
    }
    /// Shortens such kernels among the slices for which `is_kernel`; returns the first one and how many they are.
    /// Nothing if the job is stopped.
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
        TimeNs end = TimeNs::min(); ///< of what was added so far
        bool odd = false;           ///< one seems to run inside another
    };

    void shorten(std::vector<SliceId>& stream);

    TraceBuilder& builder_;
    bool expects_overflows_ = false;
    std::vector<Stream> streams_; ///< by track
    SliceId first_ = kNoId;
    std::int64_t count_ = 0;
};

} // namespace bubblescope::chrome
