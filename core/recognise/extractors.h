#pragma once

#include "core/recognise/compute_blocks.h"
#include "core/recognise/extract_values.h"
#include "core/recognise/infer_ops.h"
#include "core/recognise/native_files.h"
#include "core/recognise/profiler_marks.h"
#include "core/recognise/raw_trace.h"
#include "core/recognise/rule_matches.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

// The data that recognition extracts from raw slices (see raw_trace.h).
namespace bubblescope {

/// Ops and transfers of files that Bubblescope wrote.
inline constexpr Extractor<NativeMarks> kNativeMarks{"native marks", extractNativeMarks};

/// The slices that a rule's names match.
inline constexpr Extractor<RuleFinds, RecognitionRule> kRuleFinds{"rule", extractRuleFinds};

inline constexpr Extractor<ProfilerMarks> kProfilerMarks{"profiler marks", extractProfilerMarks};

/// The blocks of files that both computed and transferred something; empty for the others.
inline constexpr Extractor<RankBlocks> kComputeBlocks{"compute blocks", extractComputeBlocks};

inline constexpr Extractor<NativeChecks> kNativeChecks{"native checks", extractNativeChecks};

/// Categories of slices, with their numbers of slices.
using CategoryCounts = std::map<std::string, std::size_t>;
[[nodiscard]] Result<std::vector<CategoryCounts>> extractCategories(RawTrace& raw);
inline constexpr Extractor<CategoryCounts> kCategories{"categories", extractCategories};

} // namespace bubblescope
