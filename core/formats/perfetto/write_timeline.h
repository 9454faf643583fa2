#pragma once

#include "core/base/result.h"
#include "core/timeline/check_record.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"

#include <filesystem>
#include <span>

namespace bubblescope::perfetto {

/// Writes steps as one Perfetto trace file, and checks on ranks of the first replica, spelled as timeline/trace_names.h
/// says. Checks of one rank come by time and do not overlap. An existing file is replaced only when the new one is
/// complete.
[[nodiscard]] Status writeTimeline(const std::filesystem::path& file, const RunInfo& info,
                                   std::span<const StepTimeline> steps, std::span<const CheckRecord> checks = {});

} // namespace bubblescope::perfetto
