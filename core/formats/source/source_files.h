#pragma once

#include "core/trace/row_numbers.h"
#include "core/trace/trace.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <map>
#include <optional>

/// A trace of several files that is written as one says of each process which of them it came from, so that ranks, and
/// ids that mean something within one file only, are told apart again. Counters stay with the first file.
namespace bubblescope {

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
