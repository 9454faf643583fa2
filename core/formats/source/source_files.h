#pragma once

#include "core/base/diagnostic.h"
#include "core/trace/trace.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

/// A converted trace records the files that its processes came from and the metadata of these files. These records
/// preserve ranks, hosts, devices, and ids that are only valid within one file.

namespace bubblescope {

/// Distinct numbers for a trace's processes and threads: the original ones if these are distinct. If two files, or a
/// numeric and a string id, share a number, other numbers are used. A row that was split off has its thread's number.
class RowNumbers {
public:
    explicit RowNumbers(const Trace& trace);

    struct Row {
        std::int64_t pid = 0;
        std::int64_t tid = 0;
    };
    [[nodiscard]] const Row& of(TrackId track) const { return rows_[track]; }
    /// The number of process `pid` of a file, for counters.
    [[nodiscard]] std::int64_t process(std::uint32_t file, std::int64_t pid) const;

private:
    std::vector<Row> rows_;
    std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> processes_; ///< file, pid, number; sorted
};

/// Tracks in the order in which viewers should show their processes: by rank of the file, with files without a rank
/// last, otherwise unchanged.
[[nodiscard]] std::vector<TrackId> tracksByRank(const Trace& trace);

/// Label such as "file 2, rank 0", for viewers that show labels next to processes.
[[nodiscard]] std::string sourceLabel(std::uint32_t number, std::optional<std::int32_t> rank);

struct SourceFiles {
    struct Process {
        std::uint32_t file = 0; ///< index in `files`
        std::int64_t pid = 0;   ///< number in that file
    };
    /// A track whose number or missing name cannot be represented in the written format.
    struct Row {
        std::optional<TrackId> spilled_from;
        std::int64_t tid = 0;
        bool unnamed = false;
        bool may_overlap = false;
    };
    std::vector<TraceFile> files;              ///< metadata of the files, without paths
    std::map<std::int64_t, Process> processes; ///< processes by the number in the written file
    std::map<TrackId, Row> rows;
    std::vector<Diagnostic> problems; ///< problems found while reading the files
};

[[nodiscard]] SourceFiles::Row rowOf(const Track& track);

/// Does not set `rows`, because only the writer knows the limits of its format.
[[nodiscard]] SourceFiles sourceFilesOf(const Trace& trace, const RowNumbers& rows,
                                        std::span<const Diagnostic> problems);
/// Conversion to a JSON object and back. Malformed entries are omitted, counted and reported. If there are no files,
/// returns none.
[[nodiscard]] std::string encoded(const SourceFiles& sources);
[[nodiscard]] std::optional<SourceFiles> decodedSourceFiles(std::string_view json, const Sentence& where,
                                                            DiagnosticLog& log);

/// Replaces the builder's current file with the first source file, and adds the others with the path of the
/// current file. Assigns the files and process numbers to the builder's tracks and counters.
void assignSourceFiles(const SourceFiles& sources, TraceBuilder& builder);

} // namespace bubblescope
