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

/// A growing byte buffer. Unlike in a string, new memory is not zeroed, because zeroing gigabytes would take as long as
/// decompressing them. Large buffers grow without copying if the system can move pages.
class ByteBuffer {
public:
    ByteBuffer() = default;
    /// A buffer that never moves. Reserves addresses for its full capacity and commits memory as bytes are written.
    /// None if the system does not have enough address space.
    [[nodiscard]] static std::optional<ByteBuffer> atFixedPlace(std::size_t capacity);
    /// A buffer of at least this capacity for data that is kept. Buffers of one thread that are alive at the same time
    /// are contiguous and use large pages. For small files, allocating small pages would take most of the time. If the
    /// capacity is unsuitable or the system has no large pages, returns an ordinary buffer.
    [[nodiscard]] static ByteBuffer besideOthers(std::size_t capacity);

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t room() const { return capacity_ - size_; }
    [[nodiscard]] char* end() { return bytes_.get() + size_; }
    [[nodiscard]] std::string_view text() const { return {bytes_.get(), size_}; }

    /// Adds `count` bytes that were written at end() to the size.
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

    /// For a buffer at a fixed address: declares that bytes before `end` will not be read again; they may become zeros.
    void release(std::size_t end);
    /// Reuses the released memory for the next `size` bytes, which avoids new allocations.
    void reuseReleased(std::size_t size);
    /// Returns released memory to the system, now and whenever more is released.
    void giveBackReleased();

private:
    class SharedPlace;
    struct Free {
        Free() : mapped(0), place(nullptr) {}
        Free(std::size_t bytes, void* at) : mapped(bytes), place(at) {}
        explicit Free(std::shared_ptr<SharedPlace> with) : mapped(0), place(nullptr), shared(std::move(with)) {}
        void operator()(char* bytes) const;

        std::size_t mapped;                  ///< size of the address range, if the buffer is at a fixed address
        void* place;                         ///< start of that range
        std::shared_ptr<SharedPlace> shared; ///< address range that this buffer shares with others, if any
    };
    void leavePlace(std::size_t capacity);

    std::unique_ptr<char, Free> bytes_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    // Offsets in a buffer at a fixed address, rounded to units of memory:
    std::size_t released_ = 0; ///< bytes before this offset are no longer read
    std::size_t reused_ = 0;   ///< bytes before this offset are no longer backed by memory
    std::size_t backed_ = 0;   ///< memory has been moved to addresses up to this offset
    int moves_left_ = 1024;    ///< limit, because each move uses an entry in the system's table of memory mappings
};

enum class Packing { Gzip, Zstd };

/// Detects compression from the first bytes.
[[nodiscard]] std::optional<Packing> packingOf(std::string_view bytes);

struct Unpacked {
    ByteBuffer bytes;
    /// Reason why the data ends early; empty if complete. `bytes` contains all data decompressed before the fault.
    std::string fault;
    bool cut_off = false;     ///< true if data is missing at the end, false if it is corrupt
    std::size_t fault_at = 0; ///< offset of the fault in the compressed bytes
    std::size_t pieces = 0;   ///< number of pieces unpacked in parallel
};

/// Limit for data from pipes and devices: 16 GiB or three quarters of the machine's memory.
[[nodiscard]] std::size_t readLimit();

/// Limit for the decompressed size of a file of `packed` bytes, or of all compressed data in a file. The limit is 256
/// MiB or 150 times the compressed size, whichever is larger (text traces compress 12 to 40 times), but at most 16 GiB
/// or three quarters of the machine's memory.
[[nodiscard]] std::size_t unpackedLimit(std::size_t packed);

/// Decompresses all members (gzip) or frames (zstd) of a file, on all cores if there are several. Skips zeros after the
/// last one. unpackedLimit() bounds the decompressed size; growing can use twice that much memory. Errors: Input if a
/// file exceeds the limit or uses a zstd window above 128 MiB; Cancelled within a few milliseconds.
[[nodiscard]] Result<Unpacked> unpack(std::string_view packed, Packing packing, const std::string& where,
                                      LoadProgress& progress);

/// The unpacked beginning of a compressed file, as far as it can be unpacked, at most `most` bytes.
[[nodiscard]] std::string unpackedBeginning(std::string_view packed, Packing packing, std::size_t most);

/// Compresses a stream of bytes. Not thread-safe.
class Packer {
public:
    virtual ~Packer() = default;

    /// Appends the compressed bytes so far to `out`. Returns false if compression failed because memory ran out.
    [[nodiscard]] virtual bool add(std::string_view bytes, std::string& out) = 0;
    /// Appends the rest. Nothing may be added afterwards.
    [[nodiscard]] virtual bool finish(std::string& out) = 0;
};

/// The compression specified by a file's extension: .gz or .zst.
[[nodiscard]] std::optional<Packing> packingAskedFor(const std::filesystem::path& file);

[[nodiscard]] std::unique_ptr<Packer> makePacker(Packing packing);

} // namespace bubblescope
