#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/recognise/run.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace bubblescope {

/// The result of extracting one file.
struct ExtractedFile {
    std::uint64_t bytes_before = 0;
    std::uint64_t bytes = 0;
    std::uint64_t slices_before = 0;
    std::uint64_t slices = 0; ///< number of slices in the extract
    std::string copied;       ///< reason why the file was copied unchanged; empty if an extract was written
};

/// The name for an extract of a file with this name.
[[nodiscard]] std::filesystem::path extractName(const std::filesystem::path& name);

/// Writes an extract of one trace file. This small Perfetto file gives recognition and analysis the same values as the
/// raw slices, through the extractors of core/recognise/raw_trace.h. The file contains ops, transfers, marks, and
/// device work merged into busy spans. Some inputs are copied unchanged: extracts, Perfetto files without device work,
/// and files whose extract would not be smaller. The rules for ops in `known_of` are applied in addition to the
/// built-in rules, and the extract can be loaded with any of them. Rules for lanes and ranks apply too. An existing
/// file is replaced when the new one is complete. Errors: as for readTraces(); Input if the extract cannot be written;
/// Cancelled.
[[nodiscard]] Result<ExtractedFile> extractFile(const std::filesystem::path& file, const std::filesystem::path& out,
                                                const LoadOptions& known_of, JobControl& control);

/// Like extractFile(), but never copies the file unchanged, even if it is small. Therefore this function can also read
/// standard input ("-"), whose size is reported as 0. Errors: as for extractFile(); Input if the file is an extract.
[[nodiscard]] Result<ExtractedFile> extractAnyFile(const std::filesystem::path& file, const std::filesystem::path& out,
                                                   const LoadOptions& known_of, JobControl& control);

} // namespace bubblescope
