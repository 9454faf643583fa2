#pragma once

#include "core/recognise/rule_matches.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// Numbers to add to a rule's matches. One entry per match, as in RuleMatches::matches.
struct MatchNumbers {
    std::vector<std::optional<std::int64_t>> step; ///< nullopt if the match is outside of all steps
    std::vector<std::int64_t> microbatch;
};

/// The step of a match is the recorded one, else that of the enclosing profiler step, else the number of times that the
/// same op ran before. Marks are hints. If the marks of a rank are missing, repeated or shifted relative to other
/// ranks, its steps are derived from the recurrence of its ops and matched to the other ranks by time (problem
/// "step-marks"). Ops without a recorded micro-batch are numbered in order: the k-th forward of a chunk in a step is
/// that of micro-batch k. Without marks, such a step ends with its optimizer, or otherwise once the first rank has run
/// a backward for each of its forwards.
[[nodiscard]] MatchNumbers numberMatches(const RecognitionRule& rule, const RuleMatches& matches,
                                         const std::vector<ProfilerMarks>& marks, std::span<const TraceFile> files,
                                         DiagnosticLog& log);

} // namespace bubblescope
