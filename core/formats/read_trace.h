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
    bool named = false; ///< by the user, not found below a folder
    std::uint64_t bytes = 0;
    std::uint64_t first_bytes = 0; ///< only so many of its content are read, and as if it ended there; 0: all
};

/// The files that paths name or contain. Below folders those whose content looks like a trace, sorted by path with
/// numbers compared as numbers. Errors: Input for a path that does not exist and if nothing is left.
[[nodiscard]] Result<std::vector<InputFile>> findTraceFiles(const std::vector<std::filesystem::path>& paths);

struct ReadOptions {
    /// If not 0, only so many bytes are read, of all files together, from their beginnings, unpacked.
    std::uint64_t first_bytes = 0;
    TraceRules rules = {};
};

/// The result of reading a set of files.
struct ReadTraces {
    std::shared_ptr<const Trace> trace;
    std::vector<Diagnostic> problems;
};

/// Reads files, and every trace file below folders, into one trace; files()[i] of the trace are in the given order,
/// those of a folder by path. Formats are detected by content, compressed files are decompressed; ranks are those of
/// settleRanks(). A file of several processes becomes several files (ProcessSplitter), a copy of another one is left
/// out. Below a folder, files of other kinds are skipped. An unusable file is a diagnostic as long as another one is
/// usable. Progress counts the bytes of the files. Errors: Input, Cancelled.
[[nodiscard]] Result<ReadTraces> readTraces(const std::vector<std::filesystem::path>& paths, JobControl& control,
                                            const ReadOptions& options = {});

/// The outcome of one file.
struct FileOutcome {
    std::optional<Error> unusable;
    bool ignored = false; ///< found below a folder and not a trace: the builder does not have it
    std::vector<Diagnostic> problems;
};

/// Reads an SQLite file of a profiler: an export of Nsight Systems, or what ROCm's profilers write. Errors: Input for
/// other and for damaged databases; Cancelled.
[[nodiscard]] Status readSqlite(std::string_view bytes, const std::string& where, TraceBuilder& builder,
                                DiagnosticLog& log, LoadProgress& progress);

/// Files that were read, ready to be finished.
struct ReadFiles {
    TraceBuilder builder; ///< has all of them, unusable ones without a format
    std::vector<FileOutcome> outcomes;
};

/// Reads files in parallel. Progress counts their bytes. Error: Cancelled.
[[nodiscard]] Result<ReadFiles> readFiles(std::span<const InputFile> files, JobControl& control);

} // namespace bubblescope
