#pragma once

#include "core/base/result.h"
#include "core/formats/perfetto/capture_names.h"
#include "profiler/capture/capture_writer.h"
#include "profiler/capture/rank_identity.h"
#include "profiler/capture/watcher_link.h"
#include "profiler/events/event_memory.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace bubblescope::profiler {

/// The events that a process left in its memory when it ended or became another program, and the result of saving them.
struct LeftByProcess {
    DescribedProcess described;
    bool recorded = false;        ///< whether it recorded anything at all
    bool regular = false;         ///< it wrote everything itself
    bool written = false;         ///< what it left is in its file
    bool gpu_unknown = false;     ///< CUPTI's buffers, of which nobody knows what they held
    bool unwatched = false;       ///< it ended without an account, and nobody held its memory
    std::int64_t stated_lost = 0; ///< events of adapters that died with it
    CaptureWriter::Stated stated; ///< what its files must hold
    perfetto::CaptureCounts
        counts;          ///< including all losses; valid if something was recorded and it did not end normally
    std::string message; ///< why the process could not write, or why writing is impossible
    std::string signal;  ///< that ended the process; empty if there was none, or if unknown
};

/// Writes what the process left into its file in `dir`, or into a new one if it had none. Call it once, when the
/// process no longer records. `signal`: the name of the signal that ended it, or empty. The content of the memory is
/// not trusted.
[[nodiscard]] LeftByProcess writeWhatIsLeft(EventMemory& memory, const std::filesystem::path& dir,
                                            const std::string& signal = {});

/// What a process stated of itself, which is not trusted either.
[[nodiscard]] LeftByProcess leftByAccount(const WatcherLink::Account& account);

} // namespace bubblescope::profiler
