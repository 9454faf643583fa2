#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/profiler_marks.h"
#include "core/trace/trace.h"

#include <span>

namespace bubblescope {

/// If a signal ended a rank of a recorded job, reports it: "rank 1: killed by SIGKILL in step 12". Launchers then end
/// all other processes, so only the process that ended first is reported. Also reports files without an end mark, whose
/// processes ended for an unknown reason, unless the job may still be running.
void reportEndedProcesses(std::span<const TraceFile> files, std::span<const ProfilerMarks> marks, DiagnosticLog& log);

} // namespace bubblescope
