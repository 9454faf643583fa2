#pragma once

#include "core/recognise/rule_matches.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// Numbers that a rule's matches do not state themselves: one entry each, as in RuleMatches::matches.
struct MatchNumbers {
    std::vector<std::optional<std::int64_t>> step; ///< none outside of all steps
    std::vector<std::int64_t> microbatch;
};

/// The step of a match is what it states, otherwise the profiler's step around it, otherwise how often the same op ran
/// before. Marks are hints: if those of a rank are missing, repeated or shifted against other ranks', its steps are
/// found by the recurrence of its ops and matched to the others' by time (problem "step-marks"). Ops that do not state
/// their micro-batch are numbered in order: the k-th forward of a chunk in a step is that of micro-batch k. If nothing
/// marks steps, such a step ends with its optimizer, or otherwise when all forwards of the first rank have had their
/// backward.
[[nodiscard]] MatchNumbers numberMatches(const RecognitionRule& rule, const RuleMatches& matches,
                                         const std::vector<ProfilerMarks>& marks, std::span<const TraceFile> files,
                                         DiagnosticLog& log);

} // namespace bubblescope
