#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/formats/trace_files.h"
#include "core/trace/trace_builder.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// What reading a set of files gave.
struct ReadTraces {
    std::shared_ptr<const Trace> trace;
    std::vector<Diagnostic> problems;
};

/// Reads files, and every trace file below folders, into one trace; files()[i] of the trace are in the
/// order given, those of a folder by path. Formats are told by content, gzip is unpacked; a file's rank is
/// its own statement or else the number after "rank" in its name. Below a folder, files of other kinds are
/// passed over. A file that cannot be used is a diagnostic as long as another can. Progress counts the
/// bytes of the files. Errors: Input, Cancelled.
[[nodiscard]] Result<ReadTraces> readTraces(const std::vector<std::filesystem::path>& paths, JobControl& control);

// The same in steps, for traces of which each process reads a part.

/// What became of a file.
struct FileOutcome {
    std::optional<Error> unusable;
    std::vector<Diagnostic> problems;
};

/// Files that were read, ready to be finished.
struct ReadFiles {
    TraceBuilder builder; ///< has all of them, those that could not be used without a format
    std::vector<FileOutcome> outcomes;
};

/// Reads files side by side. Progress counts their bytes. Error: Cancelled.
[[nodiscard]] Result<ReadFiles> readFiles(std::span<const InputFile> files, JobControl& control);

/// Logs what is wrong with a trace's files, in their order. Error: Input, if none of them could be used.
[[nodiscard]] Status judgeFiles(std::span<const InputFile> files, std::vector<FileOutcome> outcomes,
                                DiagnosticLog& log);

} // namespace bubblescope
