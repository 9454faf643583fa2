#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace bubblescope::perfetto {

/// Limits on the size of one trace's segments.
struct SegmentLimits {
    std::int64_t segment_bytes = 0; ///< a segment of this size is full, and the next one begins; 0 = one segment for
                                    ///< everything
    int segments = 0;               ///< number of segments to keep, the oldest are removed; 0 = all
};

/// An append-only file that holds complete packets whenever nothing is being written: each batch goes to the kernel in
/// one write, nothing is buffered here, and a batch that was only partly written (disk full) is truncated. Appended
/// packets survive the death of the process.
///
/// One thread at a time.
class PacketFile {
public:
    /// Creates the file; an existing one is removed first, so that its readers notice the replacement. Error: Run,
    /// naming the file.
    [[nodiscard]] static Result<PacketFile> create(std::filesystem::path path);

    /// Opens a file that another process wrote, to append to it. Error: Run, naming the file.
    [[nodiscard]] static Result<PacketFile> open(std::filesystem::path path);

    PacketFile(PacketFile&& other) noexcept;
    PacketFile& operator=(PacketFile&& other) noexcept;
    ~PacketFile();

    /// `packets` must be complete packets. Error: Run, naming the file, whose length is then unchanged. A program that
    /// closes descriptors which are not its own may have opened another file with that number: this one is then opened
    /// again.
    [[nodiscard]] Status append(std::string_view packets);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::int64_t length() const { return length_; } ///< bytes

private:
    PacketFile(std::filesystem::path path, int descriptor);
    [[nodiscard]] Status reopen();

    std::filesystem::path path_;
    int descriptor_ = -1;
    std::uint64_t device_ = 0; ///< which file it is
    std::uint64_t inode_ = 0;
    std::int64_t length_ = 0; ///< bytes of complete batches
};

} // namespace bubblescope::perfetto
