#pragma once

#include "core/trace/trace.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

/// A trace of several files that is written as one states for each process which of them it came from, so that ranks,
/// and ids that are valid within one file only, stay distinct. Counters stay with the first file.

namespace bubblescope {

/// Distinct numbers for a trace's processes and threads: the files' own if they are distinct, others if two files, or a
/// number and a text, share one. A row that was split off has its thread's number.
class RowNumbers {
public:
    explicit RowNumbers(const Trace& trace);

    struct Row {
        std::int64_t pid = 0;
        std::int64_t tid = 0;
    };
    [[nodiscard]] const Row& of(TrackId track) const { return rows_[track]; }
    /// The number of a file's process, for counters.
    [[nodiscard]] std::int64_t process(std::uint32_t file, std::int64_t pid) const;

private:
    std::vector<Row> rows_;
    std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> processes_; ///< file, pid, number; sorted
};

/// Tracks in the order in which viewers should show their processes: by the rank of their file, those without one last,
/// else as they are.
[[nodiscard]] std::vector<TrackId> tracksByRank(const Trace& trace);

struct SourceFile {
    std::int64_t number = 0;
    std::optional<std::int32_t> rank;
};

/// "file 2, rank 0", for viewers that show a label beside a process.
[[nodiscard]] std::string sourceLabel(const SourceFile& source);
/// The inverse; nothing for any other label.
[[nodiscard]] std::optional<SourceFile> sourceOfLabel(std::string_view label);

/// By the number that a process is written under. Empty if there is nothing to state: a single file without a rank.
[[nodiscard]] std::map<std::int64_t, SourceFile> sourceFilesOf(const Trace& trace, const RowNumbers& rows);

/// The inverse: the builder's current file becomes the first of those named, the others are added with its path, format
/// and `offset`. Returns the file of each process.
[[nodiscard]] std::map<std::int64_t, std::uint32_t> addSourceFiles(const std::map<std::int64_t, SourceFile>& sources,
                                                                   TimeNs offset, TraceBuilder& builder);

} // namespace bubblescope
