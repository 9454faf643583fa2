#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace bubblescope {

struct InputFile {
    std::filesystem::path path;
    bool named = false; ///< true if specified by the user, false if found below a folder
    std::uint64_t bytes = 0;
    std::uint64_t first_bytes = 0; ///< number of bytes after which to stop, as if the file ended there; 0 = read all
};

/// The files at the given paths or below them. Below folders, includes files whose content looks like a trace, sorted
/// by path, with numbers compared by value. Errors: Input if a path does not exist or no file is found.
[[nodiscard]] Result<std::vector<InputFile>> findTraceFiles(const std::vector<std::filesystem::path>& paths);

struct ReadOptions {
    /// If not 0, reads only this many unpacked bytes in total, from the beginnings of all files.
    std::uint64_t first_bytes = 0;
    TraceRules rules = {};
};

/// The result of reading a set of files.
struct ReadTraces {
    std::shared_ptr<const Trace> trace;
    std::vector<Diagnostic> problems;
};

/// Reads files, and every trace file below folders, into one trace. The trace's files() are in the given order; those
/// in a folder are sorted by path. Formats are detected by content, files are decompressed, and ranks come from
/// settleRanks(). A file with several processes becomes several files (ProcessSplitter), and copies of other files are
/// left out. In folders, files of other types are skipped. An unusable file causes a diagnostic if another file is
/// usable, otherwise an error. Progress is counted in bytes of the files. Errors: Input, Cancelled.
[[nodiscard]] Result<ReadTraces> readTraces(const std::vector<std::filesystem::path>& paths, JobControl& control,
                                            const ReadOptions& options = {});

/// The result of reading one file.
struct FileOutcome {
    std::optional<Error> unusable;
    bool ignored = false; ///< true if it was found below a folder but is not a trace; it is then not in the builder
    std::vector<Diagnostic> problems;
};

/// Reads a profiler's SQLite file: an export from Nsight Systems, or a file from ROCm's profilers. Errors: Input if the
/// database is corrupt or of another kind; Cancelled.
[[nodiscard]] Status readSqlite(std::string_view bytes, const std::string& where, TraceBuilder& builder,
                                DiagnosticLog& log, LoadProgress& progress);

/// Files that have been read and are ready to be finished.
struct ReadFiles {
    TraceBuilder builder; ///< contains all files; unusable ones have no format
    std::vector<FileOutcome> outcomes;
};

/// Reads files in parallel. Progress is counted in bytes. Error: Cancelled.
[[nodiscard]] Result<ReadFiles> readFiles(std::span<const InputFile> files, JobControl& control);

} // namespace bubblescope
