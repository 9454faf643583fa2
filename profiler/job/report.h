#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/formats/perfetto/capture_names.h"
#include "profiler/job/left_memory.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope::profiler {

/// The recording of one process of a job.
struct CapturedProcess {
    std::vector<std::filesystem::path> files; ///< the remaining parts
    std::optional<std::int64_t> rank;
    std::string host;
    std::int64_t pid = 0;
    std::int64_t began = 0; ///< CLOCK_MONOTONIC, ns
    std::string program;
    perfetto::CaptureCounts counts; ///< as last reported
    /// Whether the counts are complete: the process ended normally, or `record` wrote or counted what it left.
    /// Otherwise it lost at least what they state.
    enum class Account : std::uint8_t { Open, Own, Watcher };
    Account account = Account::Open;
    perfetto::CaptureCounts readable; ///< ranges, marks and NCCL's events that are in the files
    std::int64_t files_written = 0;   ///< as it stated itself, without those that it removed; 0 if nobody asked it
    std::int64_t files_missing = 0;   ///< of these
    std::int64_t unreadable = 0;      ///< events that it wrote and that are not in the files
    bool gpu_unknown = false;         ///< it died with CUPTI's buffers, of which nobody knows what they held
    std::vector<std::string> messages;
};

struct CaptureReport {
    std::vector<CapturedProcess> processes;     ///< by rank, then by host and number
    std::map<std::string, std::int64_t> slices; ///< number of slices in the files, by category
    std::vector<std::string> log;               ///< lines of capture.log
    std::vector<Diagnostic> problems;           ///< found while reading the files
};

/// Reads what jobs wrote into a folder. A missing folder or a folder without files is not an error: nothing was
/// recorded. `left`: what is known about processes that did not end normally. Errors: Input if the folder cannot be
/// read; Cancelled.
[[nodiscard]] Result<CaptureReport> reportCapture(const std::filesystem::path& dir, JobControl& control,
                                                  std::span<const LeftByProcess> left = {});

} // namespace bubblescope::profiler
