#pragma once

#include "core/recognise/rule_matches.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// Numbers that a rule's matches do not contain themselves: one entry each, as in RuleMatches::matches.
struct MatchNumbers {
    std::vector<std::optional<std::int64_t>> step; ///< empty outside of all steps
    std::vector<std::int64_t> microbatch;
};

/// The step of a match is the recorded one, or else the profiler's step around it, or else the number of times that the
/// same op ran before. Marks are hints: if those of a rank are missing, repeated or shifted against other ranks', its
/// steps are found by the recurrence of its ops and matched to the others' by time (problem "step-marks"). Ops without
/// a recorded micro-batch are numbered in order: the k-th forward of a chunk in a step is that of micro-batch k. If
/// nothing marks steps, such a step ends with its optimizer, or otherwise when all forwards of the first rank have had
/// their backward.
[[nodiscard]] MatchNumbers numberMatches(const RecognitionRule& rule, const RuleMatches& matches,
                                         const std::vector<ProfilerMarks>& marks, std::span<const TraceFile> files,
                                         DiagnosticLog& log);

} // namespace bubblescope
