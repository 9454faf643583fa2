#pragma once

#include "core/base/diagnostic.h"
#include "core/base/parallel.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"
#include "core/formats/source/packing.h"
#include "core/formats/source/unpacking.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// The content of a compressed file, unpacked by another thread a little ahead of its reader. The text grows at a fixed
/// place, and the reader releases what it has read, so that only a few megabytes are in memory. For one reader.
class UnpackedText {
public:
    /// `owner` keeps the compressed bytes. `log` and `progress` must outlive the reading, which ends with complete().
    /// Null if the system does not have enough addresses for everything that the file may unpack to.
    [[nodiscard]] static std::shared_ptr<UnpackedText> open(std::shared_ptr<const void> owner, std::string_view packed,
                                                            Packing packing, std::string where, DiagnosticLog& log,
                                                            LoadProgress& progress);

    /// The text so far.
    [[nodiscard]] std::string_view text() const { return text_; }
    [[nodiscard]] bool complete() const { return complete_; }
    /// Waits until the text has `size` bytes, or is complete. Reports damage ("truncated", "corrupt") when the text
    /// ends with it. Errors: Input for a file that unpacks to nothing or too much; Cancelled.
    [[nodiscard]] Status extend(std::size_t size);
    /// Estimated final length, based on how much of the file has been unpacked.
    [[nodiscard]] std::size_t expectedSize() const;
    /// Everything before `end` has been read and may read as zeros from now on.
    void release(std::size_t end);

private:
    struct Chunk {
        Unpacking::State state = Unpacking::State::More;
        std::size_t packed = 0; ///< bytes of the file unpacked by then
        std::size_t size = 0;   ///< size of the text by then
    };

    UnpackedText(std::shared_ptr<const void> owner, std::string_view packed, Packing packing, std::string where,
                 ByteBuffer place, DiagnosticLog& log, LoadProgress& progress);
    void startNext();

    std::shared_ptr<const void> owner_;
    std::string_view packed_;
    std::string where_;
    DiagnosticLog& log_;
    LoadProgress& progress_;
    Unpacked out_;                       ///< used by the task while one runs
    std::optional<Unpacking> unpacking_; ///< until the text is complete
    std::string_view text_;
    std::size_t packed_done_ = 0;
    bool complete_ = false;
    OrderedTasks<Chunk> ahead_; ///< at most one; last, because its task uses the members above
};

/// Reports why the data of a compressed file ends early. Error: Input if there is no data.
[[nodiscard]] Status reportFault(const Unpacked& unpacked, const std::string& where, DiagnosticLog& log);

} // namespace bubblescope
