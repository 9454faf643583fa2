#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/trace/trace.h"

#include <filesystem>
#include <memory>
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

} // namespace bubblescope
