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

/// Describes the records that a process left in its memory when it ended or executed another program, and the result of
/// saving them.
struct LeftByProcess {
    DescribedProcess described;
    bool recorded = false;          ///< true if the process recorded anything
    bool regular = false;           ///< true if the process wrote all its records itself
    bool written = false;           ///< true if the remaining records are now in the process's file
    bool gpu_unknown = false;       ///< true if CUPTI's buffers were lost; their content is unknown
    bool unwatched = false;         ///< true if the process ended without reporting its counts, and no watcher had
                                    ///< mapped its memory
    std::int64_t stated_lost = 0;   ///< number of adapter events lost with the process
    CaptureWriter::Stated stated;   ///< amounts that the process's files must contain
    perfetto::CaptureCounts counts; ///< counts including all losses; valid if something was recorded and the process
                                    ///< did not end normally
    std::string message;            ///< reason why the process could not write, or why its records cannot be saved
    std::string signal;             ///< signal that ended the process; empty if none or unknown
};

/// Writes the remaining records of a process into its file in `dir`, or into a new file if it had none. Call this once,
/// after the process has stopped recording. `signal` is the name of the signal that ended the process; may be empty.
/// The content of the memory is not trusted.
[[nodiscard]] LeftByProcess writeWhatIsLeft(EventMemory& memory, const std::filesystem::path& dir,
                                            const std::string& signal = {});

/// Converts the counts that a process reported itself, which are not trusted either.
[[nodiscard]] LeftByProcess leftByAccount(const WatcherLink::Account& account);

} // namespace bubblescope::profiler
