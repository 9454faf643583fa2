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
    bool named = false; ///< named by the user, not found below a folder
    std::uint64_t bytes = 0;
    std::uint64_t first_bytes = 0; ///< read only this many bytes, as if the file ended there; 0: all
};

/// The files that paths name or contain. Below folders, takes files whose content looks like a trace, sorted by path
/// with numbers compared as numbers. Errors: Input for a path that does not exist, and if no file is found.
[[nodiscard]] Result<std::vector<InputFile>> findTraceFiles(const std::vector<std::filesystem::path>& paths);

struct ReadOptions {
    /// If not 0, reads only this many unpacked bytes, from the beginnings of all files together.
    std::uint64_t first_bytes = 0;
    TraceRules rules = {};
};

/// The result of reading a set of files.
struct ReadTraces {
    std::shared_ptr<const Trace> trace;
    std::vector<Diagnostic> problems;
};

/// Reads files, and every trace file below folders, into one trace; its files()[i] are in the given order, those of a
/// folder by path. Detects formats by content and decompresses files; ranks come from settleRanks(). A file of several
/// processes becomes several files (ProcessSplitter); copies of another file are left out. Below a folder, files of
/// other kinds are skipped. An unusable file is a diagnostic as long as another one is usable. Progress counts the
/// bytes of the files. Errors: Input, Cancelled.
[[nodiscard]] Result<ReadTraces> readTraces(const std::vector<std::filesystem::path>& paths, JobControl& control,
                                            const ReadOptions& options = {});

/// The result of reading one file.
struct FileOutcome {
    std::optional<Error> unusable;
    bool ignored = false; ///< found below a folder and not a trace, so not in the builder
    std::vector<Diagnostic> problems;
};

/// Reads an SQLite file of a profiler: an export of Nsight Systems, or a file of ROCm's profilers. Errors: Input for
/// other and for damaged databases; Cancelled.
[[nodiscard]] Status readSqlite(std::string_view bytes, const std::string& where, TraceBuilder& builder,
                                DiagnosticLog& log, LoadProgress& progress);

/// Files that have been read and are ready to be finished.
struct ReadFiles {
    TraceBuilder builder; ///< contains all of them; unusable ones have no format
    std::vector<FileOutcome> outcomes;
};

/// Reads files in parallel. Progress counts their bytes. Error: Cancelled.
[[nodiscard]] Result<ReadFiles> readFiles(std::span<const InputFile> files, JobControl& control);

} // namespace bubblescope
