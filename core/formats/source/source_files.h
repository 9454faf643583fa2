#pragma once

#include "core/trace/trace.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

/// A trace of several files that is written as one says of each process which of them it came from, so that ranks, and
/// ids that mean something within one file only, are told apart again. Counters stay with the first file.

namespace bubblescope {

/// Numbers for a trace's processes and threads that are different where the rows are: the files' own where they tell
/// apart, others where two files, or a number and a text, share one. A row that was split off has its thread's.
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

struct SourceFile {
    std::int64_t number = 0;
    std::optional<std::int32_t> rank;
};

/// By the number that a process is written under. Empty where there is nothing to say: a single file without a rank.
[[nodiscard]] std::map<std::int64_t, SourceFile> sourceFilesOf(const Trace& trace, const RowNumbers& rows);

/// The reverse: the builder's current file becomes the first of those named, the others are added with its path, format
/// and `offset`. Returns the file of each process.
[[nodiscard]] std::map<std::int64_t, std::uint32_t> addSourceFiles(const std::map<std::int64_t, SourceFile>& sources,
                                                                   TimeNs offset, TraceBuilder& builder);

} // namespace bubblescope
