#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/trace/trace_builder.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bubblescope {

inline constexpr std::int64_t kTimeLimit = kFarthestTime.count();

inline std::int64_t boundedTime(std::int64_t value) {
    return std::clamp(value, -kTimeLimit, kTimeLimit);
}

/// Implements TraceBuilder::settle() and finish(): sorts what readers added in any order, on all cores where that
/// helps. Each step returns false if the job is stopped; the trace is then unusable.
class TraceFinisher {
public:
    TraceFinisher(Trace& trace, DiagnosticLog& log, const JobControl& control)
        : trace_(trace), log_(log), control_(control) {}

    /// Adds `offsets` to the times of each file; offsets that would overflow are set to 0.
    [[nodiscard]] bool settle(std::vector<TimeNs>& offsets, TraceExtent& extent);
    [[nodiscard]] bool run(const TraceExtent& extent);

private:
    bool dropFarOffsets(std::vector<TimeNs>& offsets);
    bool applyOffsets(const std::vector<TimeNs>& offsets);
    bool findExtent(TraceExtent& extent) const;
    bool moveOrigin(const TraceExtent& extent);
    bool orderSlices();
    bool spillOverlaps();
    bool sortSlices();
    bool findParents(std::vector<SliceId>& parents) const;
    bool bindFlows();
    bool sortPoints();
    void reportOverlaps(TrackId home, SliceId first, std::int64_t count);
    void bind(FlowPoint& point, const std::vector<SliceId>& parents) const;
    void noteRanges();
    [[nodiscard]] std::int64_t endOf(SliceId slice) const { return trace_.start_[slice] + trace_.duration_[slice]; }
    template <class T>
    bool permute(std::vector<T>& column) const;

    Trace& trace_;
    DiagnosticLog& log_;
    const JobControl& control_;
    std::vector<SliceId> order_; ///< by track, then start, longest first
};

} // namespace bubblescope
