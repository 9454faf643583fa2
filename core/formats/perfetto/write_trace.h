#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/trace/trace.h"

#include <filesystem>

namespace bubblescope::perfetto {

/// The category of instants that say which file a process came from. They are no part of the trace.
inline constexpr const char* kSourceCategory = "bubblescope.source";

/// Writes all of a trace as a Perfetto file: slices with their args and arrows, instants and counters, on tracks below
/// their processes. An arrow keeps the slices it touches, not the places within them; ends that touch no slice are
/// counted in `log`. Errors: Input when the file cannot be written.
[[nodiscard]] Status writeTrace(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log);

} // namespace bubblescope::perfetto
