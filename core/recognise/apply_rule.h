#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/rule_table.h"

#include <optional>

namespace bubblescope {

/// The device's work of a trace, looked through when it is first asked for.
class LazyGpuWork {
public:
    explicit LazyGpuWork(const Trace& trace) : trace_(trace) {}
    [[nodiscard]] const GpuWork& get() {
        if (!work_) work_.emplace(trace_);
        return *work_;
    }

private:
    const Trace& trace_;
    std::optional<GpuWork> work_;
};

/// The ops and transfers that a rule finds; none where the trace spells no pipeline op its way. An op takes the time of
/// the device work launched in its range; without that, of the range that the profiler mirrored on the device; else the
/// host's own, less the wait for its input. Its step is what its name or args say, else the profiler's step, else how
/// often the same op was there before.
[[nodiscard]] FoundOps applyRule(const RecognitionRule& rule, const Trace& trace, LazyGpuWork& gpu, DiagnosticLog& log);

} // namespace bubblescope
