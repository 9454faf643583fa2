#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace bubblescope {

/// The pages of a regular file, read-only. Thread-safe.
///
/// Another program may truncate the file while it is mapped, for instance a writer that starts over. Reading the
/// missing pages would end this process (SIGBUS). Instead they read as zeros, and lost() is true from then on. To
/// achieve this, the class handles SIGBUS for the process; signals for other memory are passed to the previous handler.
class MappedFile {
public:
    /// Null if it is not a regular file, is empty, or cannot be mapped. `descriptor` may be closed afterwards.
    [[nodiscard]] static std::shared_ptr<const MappedFile> map(int descriptor);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    [[nodiscard]] std::string_view text() const { return text_; }
    /// True if a page was read that the file no longer has.
    [[nodiscard]] bool lost() const;
    /// Announces that [begin, end) will not be read again soon: removes those pages from this process's memory; on
    /// access they return from the system's cache.
    void release(std::size_t begin, std::size_t end) const;
    /// Calls release() for the whole of every mapped file.
    static void releaseAll();

private:
    struct Pages;
    friend struct MappedPages;
    MappedFile(std::string_view text, Pages* pages) : text_(text), pages_(pages) {}

    std::string_view text_;
    Pages* pages_; ///< entry in the list that the signal handler reads
};

} // namespace bubblescope
