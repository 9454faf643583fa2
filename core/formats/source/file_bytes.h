#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"
#include "core/formats/source/mapped_file.h"
#include "core/formats/source/unpacked_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

namespace bubblescope {

/// The content of a file: mapped if it is large, decompressed if it was compressed (gzip, zstd), otherwise read.
/// Immutable (but see MappedFile) and thread-safe. A compressed file may still be unpacked while it is read. In this
/// case, the reading thread extends the text.
class FileBytes {
public:
    /// `was_packed` is true if the text comes from a compressed file.
    FileBytes(std::shared_ptr<const void> owner, std::string_view text, bool was_packed = false)
        : owner_(std::move(owner)), text_(text), was_packed_(was_packed) {}
    explicit FileBytes(std::shared_ptr<const MappedFile> file)
        : owner_(file), text_(file->text()), mapped_(file.get()) {}
    explicit FileBytes(std::shared_ptr<UnpackedText> unpacked)
        : owner_(unpacked), was_packed_(true), unpacked_(unpacked.get()) {}

    /// The complete text, or the part that is available so far. The start address of the text does not change.
    [[nodiscard]] std::string_view text() const {
        return (unpacked_ != nullptr ? unpacked_->text() : text_).substr(0, size_);
    }
    /// True if text() is complete.
    [[nodiscard]] bool complete() const {
        return unpacked_ == nullptr || unpacked_->complete() || unpacked_->text().size() >= size_;
    }
    /// Waits until text() has `size` bytes or is complete; see UnpackedText.
    [[nodiscard]] Status extend(std::size_t size) const {
        return complete() ? Status{} : unpacked_->extend(std::min(size, size_));
    }
    /// The size of the complete text, or an estimate.
    [[nodiscard]] std::size_t expectedSize() const {
        return std::min(unpacked_ != nullptr ? unpacked_->expectedSize() : text_.size(), size_);
    }
    /// Limits the content to `size` bytes. The rest of a compressed file may still be unpacked in the background until
    /// this object and all holders of owner() are destroyed.
    void cut(std::size_t size) { size_ = size; }
    /// The owner that keeps text() alive.
    [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }
    /// True if text() is a file mapping, whose pages need not stay in memory because the system can reload
    /// them.
    [[nodiscard]] bool mapped() const { return mapped_ != nullptr; }
    /// True if args that are needed later should be stored in an ArgPacker, because text() uses a lot of memory or is
    /// released while it is read. `plain` is the limit for uncompressed files. If all files together are small, the
    /// text is kept, because packing its args would take a fifth of the loading time.
    [[nodiscard]] bool isLargeInMemory(std::size_t plain = std::size_t{4} << 20) const {
        constexpr std::size_t kPacked = std::size_t{64} << 10;
        if (unpacked_ != nullptr) return true;
        return !mapped() && !of_small_load_ && text().size() >= (was_packed_ ? kPacked : plain);
    }
    /// Sets the total size in bytes of all files to be loaded; 0 if unknown.
    void setLoad(std::uint64_t bytes) {
        constexpr std::uint64_t kPacked = std::uint64_t{1} << 20; // limit for compressed data, which grows about
                                                                  // twenty-fold when unpacked
        constexpr std::uint64_t kPlain = std::uint64_t{4} << 20;
        of_small_load_ = bytes > 0 && bytes < (was_packed_ ? kPacked : kPlain);
    }
    /// True if another program truncated the file while it was in use; the lost part is read as zeros.
    [[nodiscard]] bool lost() const { return mapped_ != nullptr && mapped_->lost(); }
    /// Call this function if [begin, end) will not be read again soon.
    void release(std::size_t begin, std::size_t end) const {
        if (mapped_ != nullptr) mapped_->release(begin, end);
    }
    /// Call this function if everything before `end` will never be read again; it may be read as zeros afterwards.
    void discard(std::size_t end) const {
        if (unpacked_ != nullptr) unpacked_->release(end);
    }

private:
    std::shared_ptr<const void> owner_;
    std::string_view text_;
    std::size_t size_ = std::string_view::npos; ///< see cut()
    bool was_packed_ = false;
    bool of_small_load_ = false;
    const MappedFile* mapped_ = nullptr; ///< the same object as `owner_` if the file is mapped
    UnpackedText* unpacked_ = nullptr;   ///< the same object as `owner_` if the file is compressed
};

/// The path that stands for standard input.
inline constexpr std::string_view kStandardInput = "-";

/// Returns true if a file with this beginning could be a trace.
using PlausibleBeginning = std::function<bool(std::string_view beginning)>;

/// Opens a file. text() then has at least the first megabytes, see extend(). Input that is not a regular file is read
/// only as far as this machine's memory allows; if its first megabyte is not `plausible`, the rest is not read.
/// Truncated or corrupt compressed data yields everything before the fault, and a diagnostic ("truncated", "corrupt").
/// The decompressed size is bounded, so that a decompression bomb ends in an error. Errors: Input with the system's
/// reason or the byte offset of the fault; Cancelled.
[[nodiscard]] Result<FileBytes> openFileBytes(const std::filesystem::path& file, DiagnosticLog& log,
                                              LoadProgress& progress, const PlausibleBeginning& plausible = {});

} // namespace bubblescope
