#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>

namespace bubblescope {

/// The content of a file: mapped where the system can do that, unpacked where it was packed (gzip, zstd), read where it
/// is a pipe. Immutable; safe from any thread. A file that is mapped must not be shortened while it is in use.
class FileBytes {
public:
    FileBytes(std::shared_ptr<const void> owner, std::string_view text, bool mapped = false)
        : owner_(std::move(owner)), text_(text), mapped_(mapped) {}

    [[nodiscard]] std::string_view text() const { return text_; }
    /// What keeps text() alive.
    [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }
    /// For who has read [begin, end) and will not soon do so again: a mapped file's pages there no longer count with
    /// this process's memory, and come back from the system's cache when they are looked at.
    void release(std::size_t begin, std::size_t end) const;

private:
    std::shared_ptr<const void> owner_;
    std::string_view text_;
    bool mapped_;
};

/// Stands for standard input where a file's path is asked for.
inline constexpr std::string_view kStandardInput = "-";

/// Opens a file. Packed data that are cut off or damaged give what comes before that place, and a diagnostic
/// ("truncated", "corrupt"). What is unpacked is bounded, so that a file made to fill the memory ends in an error.
/// Errors: Input with the system's reason or the byte offset of the damage, Cancelled.
[[nodiscard]] Result<FileBytes> loadFileBytes(const std::filesystem::path& file, DiagnosticLog& log,
                                              LoadProgress& progress);

} // namespace bubblescope
