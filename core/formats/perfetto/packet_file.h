#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace bubblescope::perfetto {

/// Limits for the segments of one trace.
struct SegmentLimits {
    /// Maximum size of a segment in bytes, after which the next one starts; 0 = a single segment.
    std::int64_t segment_bytes = 0;
    int segments = 0; ///< number of segments to keep; the oldest are removed; 0 = all
};

/// An append-only file that contains only complete packets whenever no write is in progress. Each batch is passed to
/// the kernel in one write without buffering. A batch that was only partly written (disk full) is removed.
/// Appended packets are not lost if the process dies.
///
/// Not thread-safe.
class PacketFile {
public:
    /// Creates the file. First removes an existing file, so that the readers of that file notice the replacement.
    /// Error: Run, with the file.
    [[nodiscard]] static Result<PacketFile> create(std::filesystem::path path);

    /// Opens a file written by another process, to append to it. Error: Run, with the file.
    [[nodiscard]] static Result<PacketFile> open(std::filesystem::path path);
    /// As above, but without the bytes that the process wrote beyond `length` before it died. If there are such bytes,
    /// a shorter copy replaces the file, so that its readers notice it.
    [[nodiscard]] static Result<PacketFile> openUpTo(std::filesystem::path path, std::int64_t length);

    PacketFile(PacketFile&& other) noexcept;
    PacketFile& operator=(PacketFile&& other) noexcept;
    ~PacketFile();

    /// `packets` must be complete packets. Error: Run, with the file, whose length is then unchanged. If another part
    /// of the program closed the descriptor and the number was reused, the file is reopened.
    [[nodiscard]] Status append(std::string_view packets);

    /// True if the path still refers to this file. A job that cleans up its folder may have removed or moved the file.
    [[nodiscard]] bool isInPlace() const;
    /// Copies the file to a new file at `path` and continues there. If this fails, nothing changes. Error: Run, with
    /// the file.
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
