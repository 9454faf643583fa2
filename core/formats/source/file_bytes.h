#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>

namespace bubblescope {

/// The content of a file: mapped if possible, decompressed if it was compressed (gzip, zstd), read if it is a pipe.
/// Immutable; thread-safe. Do not truncate a mapped file while it is in use.
class FileBytes {
public:
    FileBytes(std::shared_ptr<const void> owner, std::string_view text, bool mapped = false)
        : owner_(std::move(owner)), text_(text), mapped_(mapped) {}

    [[nodiscard]] std::string_view text() const { return text_; }
    /// Keeps text() alive.
    [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }
    /// Announces that [begin, end) will not be read again soon: those pages of a mapped file are removed from this
    /// process's memory, and return from the system's cache on access.
    void release(std::size_t begin, std::size_t end) const;

private:
    std::shared_ptr<const void> owner_;
    std::string_view text_;
    bool mapped_;
};

/// The path that denotes standard input.
inline constexpr std::string_view kStandardInput = "-";

/// Opens a file. Compressed data that is truncated or damaged gives what comes before that place, and a diagnostic
/// ("truncated", "corrupt"). The decompressed size is bounded, so that a file made to fill the memory ends in an error.
/// Errors: Input with the system's reason or the byte offset of the damage; Cancelled.
[[nodiscard]] Result<FileBytes> loadFileBytes(const std::filesystem::path& file, DiagnosticLog& log,
                                              LoadProgress& progress);

} // namespace bubblescope
