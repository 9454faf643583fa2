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

/// What TraceBuilder::finish() does: puts in order what readers added in theirs. On all cores where that helps.
class TraceFinisher {
public:
    /// `offsets`: to be added to the times of each file; those that do not fit are set to 0.
    TraceFinisher(Trace& trace, std::vector<TimeNs>& offsets, DiagnosticLog& log, const JobControl& control)
        : trace_(trace), offsets_(offsets), log_(log), control_(control) {}

    /// False if the job is to stop; the trace is then not to be used.
    [[nodiscard]] bool run();

private:
    // Each returns false if the job is to stop.
    bool dropFarOffsets();
    bool applyOffsets();
    bool moveOriginToFirstEvent();
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
    std::vector<TimeNs>& offsets_;
    DiagnosticLog& log_;
    const JobControl& control_;
    std::vector<SliceId> order_; ///< by track, then start, longest first
};

} // namespace bubblescope
