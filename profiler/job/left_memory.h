#pragma once

#include "core/base/result.h"
#include "core/formats/perfetto/capture_names.h"
#include "profiler/capture/rank_identity.h"
#include "profiler/events/event_memory.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace bubblescope::profiler {

/// What a process that is gone, or has become another program, left in its memory, and what became of that.
struct LeftByProcess {
    DescribedProcess described;
    bool recorded = false;        ///< whether it recorded anything at all
    bool regular = false;         ///< it wrote everything itself
    bool written = false;         ///< what it left is in its file
    bool gpu_unknown = false;     ///< CUPTI's buffers, of which nobody knows what they held
    std::int64_t stated_lost = 0; ///< events of adapters that died with it
    perfetto::CaptureCounts
        counts;          ///< with all that was lost; valid if something was recorded and it did not end regularly
    std::string message; ///< why the process could not write, or why nobody can
};

/// Writes what the process left into its file in `dir`, or into a new one where it had none. To be called once, when
/// the process does not record any more. What the memory holds is not trusted.
[[nodiscard]] LeftByProcess writeWhatIsLeft(EventMemory& memory, const std::filesystem::path& dir);

} // namespace bubblescope::profiler
