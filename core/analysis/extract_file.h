#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/recognise/run.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace bubblescope {

/// The result of extracting one file.
struct ExtractedFile {
    std::uint64_t bytes_before = 0;
    std::uint64_t bytes = 0;
    std::uint64_t slices_before = 0;
    std::uint64_t slices = 0; ///< that the extract shows
    std::string copied;       ///< why the file was copied as it is; empty if it was not
};

/// What an extract is called that is made of a file of this name.
[[nodiscard]] std::filesystem::path extractName(const std::filesystem::path& name);

/// Writes an extract of one trace file: a small Perfetto file from which recognition and analysis get what they get
/// from the raw slices, by the extractors of core/recognise/raw_trace.h. It shows ops, transfers, marks, and the work
/// of devices merged into busy spans. What is small already is copied: an extract, a Perfetto file without work of
/// devices, and a file that is not larger than its extract. Of `known_of`, rules for ops are looked for besides the
/// built-in ones, and runs can be loaded with them alone; rules for lanes and ranks count. An existing file is replaced
/// when the new one is complete. Errors: those of readTraces(); Input if the extract cannot be written; Cancelled.
[[nodiscard]] Result<ExtractedFile> extractFile(const std::filesystem::path& file, const std::filesystem::path& out,
                                                const LoadOptions& known_of, JobControl& control);

/// The same, but nothing is copied, however small the file is. Errors: likewise; Input if the file is an extract.
[[nodiscard]] Result<ExtractedFile> extractAnyFile(const std::filesystem::path& file, const std::filesystem::path& out,
                                                   const LoadOptions& known_of, JobControl& control);

} // namespace bubblescope
