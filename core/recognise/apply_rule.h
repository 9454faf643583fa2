#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/profiler_marks.h"
#include "core/recognise/rule_matches.h"
#include "core/recognise/rule_table.h"

#include <span>
#include <vector>

namespace bubblescope {

/// The ops and transfers that a rule's matches stand for; none for no matches. An op takes the time of the device work
/// launched in its range; without that, of the range that the profiler mirrored on the device; else the host's own,
/// less the wait for its input. Its step is what its name or args say, else the profiler's step, else how often the
/// same op was there before. `marks` has one entry a file.
[[nodiscard]] FoundOps applyRule(const RecognitionRule& rule, const RuleMatches& matches,
                                 const std::vector<ProfilerMarks>& marks, std::span<const TraceFile> files,
                                 DiagnosticLog& log);

} // namespace bubblescope
