#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace bubblescope {

/// The pages of a regular file, read-only. Thread-safe.
///
/// Another program may shorten the file meanwhile, as a writer does that starts anew. Reading the missing pages would
/// end this process (SIGBUS). Instead they read as zeros, and lost() is true from then on. For this the class handles
/// SIGBUS of the process; one that concerns other memory goes on to the handler that was there.
class MappedFile {
public:
    /// Null if it is not a regular file, is empty, or cannot be mapped. `descriptor` may be closed afterwards.
    [[nodiscard]] static std::shared_ptr<const MappedFile> map(int descriptor);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    [[nodiscard]] std::string_view text() const { return text_; }
    /// Whether a page was read that the file no longer has.
    [[nodiscard]] bool lost() const;
    /// Announces that [begin, end) will not be read again soon: those pages are removed from this process's memory, and
    /// return from the system's cache on access.
    void release(std::size_t begin, std::size_t end) const;
    /// The same for all of every file that is mapped.
    static void releaseAll();

private:
    struct Pages;
    friend struct MappedPages;
    MappedFile(std::string_view text, Pages* pages) : text_(text), pages_(pages) {}

    std::string_view text_;
    Pages* pages_; ///< entry in the list that the handler of the signal reads
};

} // namespace bubblescope
