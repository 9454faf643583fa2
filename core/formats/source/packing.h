#pragma once

#include "core/base/result.h"
#include "core/formats/source/load_progress.h"

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace bubblescope {

/// A growing byte buffer. Unlike a string's, new room is not filled with zeros first, which for gigabytes about to be
/// overwritten takes as long as decompressing them; and large buffers grow without copying where the system can move
/// pages.
class ByteBuffer {
public:
    ByteBuffer() = default;
    /// One that never moves: addresses are set aside for its whole capacity, and memory is taken as bytes are written.
    /// Nothing where the system has no such room.
    [[nodiscard]] static std::optional<ByteBuffer> atFixedPlace(std::size_t capacity);
    /// One of this capacity or a little more for what is kept: where several are made by one thread while the first
    /// ones live, they lie side by side in large pages. Most of the time of a small file would go into making small
    /// ones. Elsewhere, and where the system has none, an ordinary one.
    [[nodiscard]] static ByteBuffer besideOthers(std::size_t capacity);

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t room() const { return capacity_ - size_; }
    [[nodiscard]] char* end() { return bytes_.get() + size_; }
    [[nodiscard]] std::string_view text() const { return {bytes_.get(), size_}; }

    /// Declares bytes that were written at end().
    void grew(std::size_t count) { size_ += count; }

    void reserve(std::size_t capacity) {
        if (capacity <= capacity_) return;
        if (bytes_.get_deleter().mapped > 0) throw std::bad_alloc{};
        if (bytes_.get_deleter().shared != nullptr) return leavePlace(capacity);
        char* const grown = static_cast<char*>(std::realloc(bytes_.get(), capacity));
        if (grown == nullptr) throw std::bad_alloc{};
        (void)bytes_.release();
        bytes_.reset(grown);
        capacity_ = capacity;
    }

    /// Declares that nobody reads what is before `end` of a buffer at a fixed place any more; it may read as zeros.
    void release(std::size_t end);
    /// Lets the memory of what was released take the next `size` bytes, which spares the system from making it anew.
    void reuseReleased(std::size_t size);
    /// Gives the memory of what was released, and of what will be, back to the system.
    void giveBackReleased();

private:
    class SharedPlace;
    struct Free {
        Free() : mapped(0), place(nullptr) {}
        Free(std::size_t bytes, void* at) : mapped(bytes), place(at) {}
        explicit Free(std::shared_ptr<SharedPlace> with) : mapped(0), place(nullptr), shared(std::move(with)) {}
        void operator()(char* bytes) const;

        std::size_t mapped;                  ///< bytes of addresses, if the buffer is at a fixed place
        void* place;                         ///< where they begin
        std::shared_ptr<SharedPlace> shared; ///< that the buffer lies in, if it is beside others
    };
    void leavePlace(std::size_t capacity);

    std::unique_ptr<char, Free> bytes_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    // Of a buffer at a fixed place, in whole units of memory:
    std::size_t released_ = 0; ///< nobody reads what lies before it
    std::size_t reused_ = 0;   ///< what lies before it has no memory any more
    std::size_t backed_ = 0;   ///< memory was moved up to here
    int moves_left_ = 1024;    ///< since each takes an entry of the system's table of a process's memory
};

enum class Packing { Gzip, Zstd };

/// Detected by the first bytes.
[[nodiscard]] std::optional<Packing> packingOf(std::string_view bytes);

struct Unpacked {
    ByteBuffer bytes;
    /// Why the data ends early, empty if it does not: `bytes` has what was decompressed until then.
    std::string fault;
    bool cut_off = false;     ///< the fault is that data is missing at the end, not that it is damaged
    std::size_t fault_at = 0; ///< offset in the compressed bytes
    std::size_t pieces = 0;   ///< that were unpacked in parallel
};

/// The limit on what is read of pipes and devices: 16 GiB or three quarters of the machine's memory.
[[nodiscard]] std::size_t readLimit();

/// The limit on the decompressed size of a file, or of all compressed data within a file, of so many bytes: 256 MiB or
/// 150 times as much, whichever is more (text traces compress 12 to 40 times), but never more than 16 GiB or three
/// quarters of the machine's memory.
[[nodiscard]] std::size_t unpackedLimit(std::size_t packed);

/// Decompresses all members (gzip) or frames (zstd) of a file, on all cores where there are several; zeros after the
/// last are skipped. The decompressed size is bounded by unpackedLimit(); while growing it takes up to twice that.
/// Errors: Input for a file that exceeds it, and for zstd with a window beyond 128 MiB; Cancelled within a few
/// milliseconds.
[[nodiscard]] Result<Unpacked> unpack(std::string_view packed, Packing packing, const std::string& where,
                                      LoadProgress& progress);

/// What a packed file begins with, as far as that can be unpacked: `most` bytes at most.
[[nodiscard]] std::string unpackedBeginning(std::string_view packed, Packing packing, std::size_t most);

/// Compresses a stream of bytes. One thread at a time.
class Packer {
public:
    virtual ~Packer() = default;

    /// Appends the compressed bytes so far to `out`. False if compression failed because memory ran out.
    [[nodiscard]] virtual bool add(std::string_view bytes, std::string& out) = 0;
    /// Appends the rest. Nothing may be added afterwards.
    [[nodiscard]] virtual bool finish(std::string& out) = 0;
};

/// The compression that a file's extension requests: .gz or .zst.
[[nodiscard]] std::optional<Packing> packingAskedFor(const std::filesystem::path& file);

[[nodiscard]] std::unique_ptr<Packer> makePacker(Packing packing);

} // namespace bubblescope
