#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace bubblescope {

/// The read-only pages of a regular file. Thread-safe.
///
/// While the file is mapped, another program may truncate it, for instance a writer that starts over. Reading the
/// missing pages would end this process (SIGBUS). Instead, missing pages are read as zeros, and lost() becomes true.
/// The class therefore handles SIGBUS for the process; signals for other memory are passed to the previous handler.
class MappedFile {
public:
    /// Null if the file is not regular, is empty, or cannot be mapped. The caller may then close `descriptor`.
    [[nodiscard]] static std::shared_ptr<const MappedFile> map(int descriptor);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    [[nodiscard]] std::string_view text() const { return text_; }
    /// True if a page was read that is no longer in the file.
    [[nodiscard]] bool lost() const;
    /// Removes the pages of [begin, end) from this process's memory, because they will not be read again soon. On the
    /// next access, they are loaded from the page cache.
    void release(std::size_t begin, std::size_t end) const;
    /// Calls release() for all pages of every mapped file.
    static void releaseAll();

private:
    struct Pages;
    friend struct MappedPages;
    MappedFile(std::string_view text, Pages* pages) : text_(text), pages_(pages) {}

    std::string_view text_;
    Pages* pages_; ///< entry in the list that the signal handler reads
};

} // namespace bubblescope
