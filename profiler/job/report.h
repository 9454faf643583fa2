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

/// Describes the recording of one process of a job.
struct CapturedProcess {
    std::vector<std::filesystem::path> files; ///< the remaining parts
    std::optional<std::int64_t> rank;
    std::string host;
    std::int64_t pid = 0;
    std::int64_t began = 0; ///< CLOCK_MONOTONIC, ns
    std::string program;
    perfetto::CaptureCounts counts; ///< the latest reported counts
    /// Source of the counts: Own if the process ended normally, Watcher if `record` saved or counted its remaining
    /// records. With Open, the number of lost records is at least the count.
    enum class Account : std::uint8_t { Open, Own, Watcher };
    Account account = Account::Open;
    perfetto::CaptureCounts readable; ///< ranges, marks and NCCL events that are in the files
    std::int64_t files_written = 0;   ///< number of files that the process reported, excluding those that it removed; 0
                                      ///< without a report
    std::int64_t files_missing = 0;   ///< number of reported files that no longer exist
    std::int64_t unreadable = 0;      ///< events that the process wrote but that are not in the files
    bool gpu_unknown = false;         ///< true if CUPTI's buffers were lost with the process; their content is unknown
    std::vector<std::string> messages;
};

struct CaptureReport {
    std::vector<CapturedProcess> processes;     ///< sorted by rank, then by host and process id
    std::map<std::string, std::int64_t> slices; ///< number of slices in the files, by category
    std::vector<std::string> log;               ///< lines of capture.log
    std::vector<Diagnostic> problems;           ///< found while reading the files
};

/// Reads the files that jobs wrote into a folder. A missing folder or a folder without files is not an error: nothing
/// was recorded. `left` describes processes that did not end normally. Errors: Input if the folder cannot be read;
/// Cancelled.
[[nodiscard]] Result<CaptureReport> reportCapture(const std::filesystem::path& dir, JobControl& control,
                                                  std::span<const LeftByProcess> left = {});

} // namespace bubblescope::profiler
