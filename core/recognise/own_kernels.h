#pragma once

#include "core/base/job.h"
#include "core/base/time_intervals.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/native_args.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {

/// The gaps between an op's work and the events around it.
struct EventGap {
    TimeNs begin{0}; ///< time from the event before the op to the op's first kernel
    TimeNs end{0};   ///< time from the end of the op's last kernel to the next event
};

/// The kernels that ran for the ops in our own traces (core/timeline/trace_names.h). Stores a reference to the trace.
class OwnKernels {
public:
    explicit OwnKernels(const Trace& trace);

    /// Reads the slices of a rank's track. Call it for all tracks of a rank before handling the rank's ops. Returns
    /// false if the job is stopped.
    [[nodiscard]] bool addTrack(const Track& track, const RecordOwner& owner, const JobControl& control);

    /// Sets the op's times to those of its kernels: from the start of the first to the end of the last. `device_idle`
    /// is set to the time in between when the device did no work, excluding waits for collectives. Returns the gaps
    /// between the op's former and new times. For an op without kernels, returns nullopt and changes nothing.
    [[nodiscard]] std::optional<EventGap> apply(std::uint32_t file, const RecordOwner& owner, FoundOp& op) const;

    /// True if any op has kernels.
    [[nodiscard]] bool any() const { return !work_.empty(); }

private:
    using RankKey = std::tuple<std::uint32_t, std::int64_t, std::int64_t>; ///< file, rank and replica
    using OpKey = std::tuple<std::int64_t, OpKind, std::int64_t, std::int64_t, std::int64_t>;

    const Trace& trace_;
    std::vector<StringId> device_; ///< categories of device activity; none if there are no ops
    StringId collective_;
    std::map<std::pair<RankKey, OpKey>, std::vector<TimeInterval>> work_;
    std::map<RankKey, std::vector<TimeInterval>> collectives_;
};

} // namespace bubblescope
