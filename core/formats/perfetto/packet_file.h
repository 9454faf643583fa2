#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace bubblescope::perfetto {

/// How much room the segments of one trace may take.
struct SegmentLimits {
    std::int64_t segment_bytes = 0; ///< a segment of this size is full, and the next is begun; 0 = one segment for all
    int segments = 0;               ///< how many are kept, the oldest are removed; 0 = all
};

/// An append-only file that holds whole packets whenever nothing is being written: each batch goes to the
/// kernel in one write, nothing is buffered here, and a batch that could only be written in part (disk
/// full) is taken back. What was appended survives the death of the process.
///
/// One thread at a time.
class PacketFile {
public:
    /// Creates the file anew: one of this name is removed, so that who reads it sees that this is another. Error: Run,
    /// naming the file.
    [[nodiscard]] static Result<PacketFile> create(std::filesystem::path path);

    PacketFile(PacketFile&& other) noexcept;
    PacketFile& operator=(PacketFile&& other) noexcept;
    ~PacketFile();

    /// `packets` must be whole packets. Error: Run, naming the file; the file then ends where it did.
    [[nodiscard]] Status append(std::string_view packets);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::int64_t length() const { return length_; } ///< bytes appended

private:
    PacketFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

    std::filesystem::path path_;
    int descriptor_ = -1;
    std::int64_t length_ = 0; ///< bytes of whole batches
};

} // namespace bubblescope::perfetto
