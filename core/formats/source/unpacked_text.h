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

/// The content of a compressed file, unpacked by another thread slightly ahead of its single reader. The text grows at
/// a fixed address, and the reader releases the parts that it has read, so only a few megabytes are in memory.
class UnpackedText {
public:
    /// `owner` keeps the compressed bytes alive. `log` and `progress` must stay alive until the text is complete().
    /// Null if the system has too little address space for the maximum unpacked size.
    [[nodiscard]] static std::shared_ptr<UnpackedText> open(std::shared_ptr<const void> owner, std::string_view packed,
                                                            Packing packing, std::string where, DiagnosticLog& log,
                                                            LoadProgress& progress);

    /// The text unpacked so far.
    [[nodiscard]] std::string_view text() const { return text_; }
    [[nodiscard]] bool complete() const { return complete_; }
    /// Waits until the text has `size` bytes or is complete. If a fault ends the text, reports it ("truncated",
    /// "corrupt"). Errors: Input if the unpacked text is empty or too long; Cancelled.
    [[nodiscard]] Status extend(std::size_t size);
    /// Estimated final length, based on the fraction of the file that has been unpacked.
    [[nodiscard]] std::size_t expectedSize() const;
    /// Declares that everything before `end` has been read. This text may be read as zeros afterwards.
    void release(std::size_t end);

private:
    struct Chunk {
        Unpacking::State state = Unpacking::State::More;
        std::size_t packed = 0; ///< number of compressed bytes processed so far
        std::size_t size = 0;   ///< number of text bytes so far
    };

    UnpackedText(std::shared_ptr<const void> owner, std::string_view packed, Packing packing, std::string where,
                 ByteBuffer place, DiagnosticLog& log, LoadProgress& progress);
    void startNext();

    std::shared_ptr<const void> owner_;
    std::string_view packed_;
    std::string where_;
    DiagnosticLog& log_;
    LoadProgress& progress_;
    Unpacked out_;                       ///< used by the running task, if any
    std::optional<Unpacking> unpacking_; ///< reset when the text is complete
    std::string_view text_;
    std::size_t packed_done_ = 0;
    bool complete_ = false;
    OrderedTasks<Chunk> ahead_; ///< at most one task; last member, because the task uses the members above
};

/// Reports why the data of a compressed file ends early. Error: Input if there is no data.
[[nodiscard]] Status reportFault(const Unpacked& unpacked, const std::string& where, DiagnosticLog& log);

} // namespace bubblescope
