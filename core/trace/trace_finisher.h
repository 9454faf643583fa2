#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/base/parallel.h"
#include "core/trace/trace_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope {

inline constexpr std::int64_t kLatestTime = kFarthestTime.count();

inline constexpr std::int64_t kOpenDuration = -1; ///< duration of a slice without a known end

[[nodiscard]] inline std::int64_t boundedTime(std::int64_t value) {
    return std::clamp(value, -kLatestTime, kLatestTime);
}

[[nodiscard]] inline std::int64_t boundedDuration(TimeNs duration) {
    return std::clamp<std::int64_t>(duration.count(), 0, kLatestTime);
}

/// Implements TraceBuilder::settle() and finish(): sorts the data from readers, using all cores where this is faster.
/// Each step returns false if the job is stopped; the trace is then unusable.
class TraceFinisher {
public:
    TraceFinisher(Trace& trace, DiagnosticLog& log, const JobControl& control)
        : trace_(trace), log_(log), control_(control) {}

    /// Adds the `offsets` to the times of the files; offsets that would cause an overflow are set to 0.
    [[nodiscard]] bool settle(std::vector<TimeNs>& offsets, TraceExtent& extent);
    [[nodiscard]] bool run(const TraceExtent& extent);

private:
    bool dropFarOffsets(std::vector<TimeNs>& offsets);
    bool applyOffsets(const std::vector<TimeNs>& offsets);
    bool findExtent(TraceExtent& extent) const;
    [[nodiscard]] std::vector<SliceId> supersededSlices() const;
    void dropSuperseded();
    void endOpenSlices(const TraceExtent& extent);
    bool moveOrigin(const TraceExtent& extent);
    bool orderSlices();
    bool sortTrack(std::span<SliceId> slices) const;
    bool spillOverlaps();
    bool sortSlices();
    bool packArgs();
    bool findParents(std::vector<SliceId>& parents) const;
    bool bindFlows();
    bool sortPoints();
    bool giveBack();
    void reportOverlaps(TrackId home, SliceId first, std::int64_t count);
    void bind(FlowPoint& point, const std::vector<SliceId>& parents) const;
    bool noteRanges();
    [[nodiscard]] std::int64_t endOf(SliceId slice) const { return trace_.start_[slice] + trace_.duration_[slice]; }
    template <class T>
    bool permute(std::vector<T>& column) const;
    /// Same as parallelFor(), but runs on the calling thread if starting other threads would take longer.
    template <class Work>
    bool onCores(std::size_t count, const Work& work) const {
        if (trace_.start_.size() + trace_.flow_points_.size() > kParallelItems) return parallelFor(count, work);
        for (std::size_t i = 0; i < count; ++i) {
            if (!work(i)) return false;
        }
        return true;
    }

    Trace& trace_;
    DiagnosticLog& log_;
    const JobControl& control_;
    std::vector<SliceId> order_; ///< sorted by track, then by start, then by descending duration
};

} // namespace bubblescope
