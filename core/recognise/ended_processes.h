#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/profiler_marks.h"
#include "core/trace/trace.h"

#include <span>

namespace bubblescope {

/// Reports how the ranks of a recorded job ended, if a signal ended one of them: "rank 1: ended by SIGKILL in step 12".
/// Launchers end the other processes after the first one, so only the first to end is named. Also reports files
/// without an end mark, whose processes ended in an unknown way, unless the whole job may still be running.
void reportEndedProcesses(std::span<const TraceFile> files, std::span<const ProfilerMarks> marks, DiagnosticLog& log);

} // namespace bubblescope
