#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"
#include "core/formats/source/mapped_file.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

namespace bubblescope {

/// The content of a file: mapped if it is large, decompressed if it was compressed (gzip, zstd), else read. Immutable,
/// but see MappedFile; thread-safe.
class FileBytes {
public:
    FileBytes(std::shared_ptr<const void> owner, std::string_view text) : owner_(std::move(owner)), text_(text) {}
    explicit FileBytes(std::shared_ptr<const MappedFile> file)
        : owner_(file), text_(file->text()), mapped_(file.get()) {}

    [[nodiscard]] std::string_view text() const { return text_; }
    /// Keeps text() alive.
    [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }
    /// Whether another program shortened the file while it was in use; what was lost reads as zeros.
    [[nodiscard]] bool lost() const { return mapped_ != nullptr && mapped_->lost(); }
    /// Announces that [begin, end) will not be read again soon.
    void release(std::size_t begin, std::size_t end) const {
        if (mapped_ != nullptr) mapped_->release(begin, end);
    }

private:
    std::shared_ptr<const void> owner_;
    std::string_view text_;
    const MappedFile* mapped_ = nullptr; ///< `owner_`, if it is one
};

/// The path that denotes standard input.
inline constexpr std::string_view kStandardInput = "-";

/// Whether what begins so can be a trace at all.
using PlausibleBeginning = std::function<bool(std::string_view beginning)>;

/// Opens a file. What is no regular file is read only as far as this machine's memory allows, and no further than its
/// first megabyte if that is not `plausible`. Compressed data that is truncated or damaged gives what comes before that
/// place, and a diagnostic
/// ("truncated", "corrupt"). The decompressed size is bounded, so that a file made to fill the memory ends in an error.
/// Errors: Input with the system's reason or the byte offset of the damage; Cancelled.
[[nodiscard]] Result<FileBytes> loadFileBytes(const std::filesystem::path& file, DiagnosticLog& log,
                                              LoadProgress& progress, const PlausibleBeginning& plausible = {});

} // namespace bubblescope
