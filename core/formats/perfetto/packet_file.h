#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace bubblescope::perfetto {

/// Limits on the size of one trace's segments.
struct SegmentLimits {
    std::int64_t segment_bytes =
        0;            ///< a segment of this size is full and the next one begins; 0 = one segment for everything
    int segments = 0; ///< number of segments to keep; the oldest are removed; 0 = all
};

/// An append-only file that contains only complete packets whenever nothing is being written: each batch goes to the
/// kernel in one write, nothing is buffered here, and a batch that was written partly (disk full) is truncated.
/// Appended packets survive the death of the process.
///
/// Not thread-safe.
class PacketFile {
public:
    /// Creates the file; removes an existing one first, so that its readers notice the replacement. Error: Run, naming
    /// the file.
    [[nodiscard]] static Result<PacketFile> create(std::filesystem::path path);

    /// Opens a file that another process wrote, for appending. Error: Run, naming the file.
    [[nodiscard]] static Result<PacketFile> open(std::filesystem::path path);
    /// As above, without what the process wrote beyond `length` bytes before it died. A shorter copy replaces the file
    /// then, so that its readers notice it.
    [[nodiscard]] static Result<PacketFile> openUpTo(std::filesystem::path path, std::int64_t length);

    PacketFile(PacketFile&& other) noexcept;
    PacketFile& operator=(PacketFile&& other) noexcept;
    ~PacketFile();

    /// `packets` must be complete packets. Error: Run, naming the file, whose length is then unchanged. A program that
    /// closes descriptors that it does not own may have reused the number: the file is then reopened.
    [[nodiscard]] Status append(std::string_view packets);

    /// True if the path still leads to this file: a job that cleans up its folder may have removed or moved it.
    [[nodiscard]] bool isInPlace() const;
    /// Copies everything written so far to a new file at `path` and continues there. Error: Run, naming the file;
    /// nothing changes.
    [[nodiscard]] Status moveTo(std::filesystem::path path);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::int64_t length() const { return length_; } ///< bytes

private:
    PacketFile(std::filesystem::path path, int descriptor);
    [[nodiscard]] Status reopen();
    [[nodiscard]] Status copyFrom(int from, std::int64_t length);

    std::filesystem::path path_;
    int descriptor_ = -1;
    std::uint64_t device_ = 0; ///< identity of the file
    std::uint64_t inode_ = 0;
    std::int64_t length_ = 0; ///< bytes of complete batches
};

} // namespace bubblescope::perfetto
