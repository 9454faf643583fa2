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

/// Ops and transfers in files written by Bubblescope.
inline constexpr Extractor<NativeMarks> kNativeMarks{"native marks", extractNativeMarks};

/// The slices whose names match a rule.
inline constexpr Extractor<RuleFinds, RecognitionRule> kRuleFinds{"rule", extractRuleFinds};

inline constexpr Extractor<ProfilerMarks> kProfilerMarks{"profiler marks", extractProfilerMarks};

/// The blocks of files that contain both compute and transfers; empty for other files.
inline constexpr Extractor<RankBlocks> kComputeBlocks{"compute blocks", extractComputeBlocks};

inline constexpr Extractor<NativeChecks> kNativeChecks{"native checks", extractNativeChecks};

/// Number of slices per category.
using CategoryCounts = std::map<std::string, std::size_t>;
[[nodiscard]] Result<std::vector<CategoryCounts>> extractCategories(RawTrace& raw);
inline constexpr Extractor<CategoryCounts> kCategories{"categories", extractCategories};

} // namespace bubblescope
