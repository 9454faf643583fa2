#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/profiler_marks.h"
#include "core/trace/trace.h"

#include <span>
#include <vector>

namespace bubblescope {

/// The steps of a file whose kernels were recorded, for jobs that were recorded with kernels in every N-th step only.
/// In the other steps, devices seem idle and ops last as long as their launches, so those are not analysed.
struct SampledKernels {
    bool sampled = false;    ///< false if kernels were recorded in all steps
    std::vector<Mark> steps; ///< by start

    /// True if kernels that were launched at this time were recorded.
    [[nodiscard]] bool contain(TimeNs time) const;
};

/// One entry per file; see perfetto::kCaptureKernels.
[[nodiscard]] std::vector<SampledKernels> sampledKernels(const Trace& trace);

/// Names the steps that have kernels, if others do not have any.
void reportSampledKernels(std::span<const TraceFile> files, std::span<const ProfilerMarks> marks, DiagnosticLog& log);

} // namespace bubblescope
