#pragma once

#include "core/base/descriptor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::profiler {

/// The memory in which the threads of a process store their records until they are written. The memory consists of
/// chunks, which threads take as needed and the writer returns. The memory is a single mapping of fixed size: one
/// thread can use the whole mapping in a burst, and many threads together cannot use more. Pages are touched only when
/// used. Another process may map the same memory, so that its content survives when this process is killed.
///
/// The content is valid at any instant. Readers check the content nevertheless, because the process may have
/// overwritten it with garbage.
namespace event_memory {

inline constexpr std::size_t kChunkBytes = std::size_t{32} << 10;
inline constexpr std::size_t kChunkWords = kChunkBytes / sizeof(std::uint64_t);
inline constexpr std::size_t kThreads = 1024; ///< maximum number of concurrent threads
inline constexpr std::size_t kStacks = 6;     ///< range stacks per thread that a checkpoint can hold
inline constexpr std::size_t kMaxChunks = std::size_t{1} << 16;
inline constexpr std::size_t kNotes = std::size_t{64} << 10; ///< size of the writer's notes in bytes
inline constexpr std::size_t kNames = std::size_t{1} << 20;  ///< size of the log of names in bytes
inline constexpr std::size_t kMessage = 512;

/// A position between two words: a chunk and an offset in it. The first word of a chunk links to the next one.
struct Place {
    std::uint32_t chunk = 0;
    std::uint32_t word = 1;

    static Place of(std::uint64_t packed) {
        return {static_cast<std::uint32_t>(packed >> 32), static_cast<std::uint32_t>(packed)};
    }
    [[nodiscard]] std::uint64_t packed() const { return std::uint64_t{chunk} << 32 | word; }
    friend bool operator==(const Place&, const Place&) = default;
};

/// A thread's ranges in one domain that are open in the file.
struct OpenRanges {
    std::uint32_t track = 0; ///< number of the track plus 1; 0 = none yet
    std::uint16_t domain = 0;
    std::uint16_t depth = 0;
    std::uint32_t gaps = 0;
    std::uint64_t written = 0; ///< one bit for each of the outermost 64 ranges: set if the range's start is in the file
};
struct ThreadCheckpoint {
    std::uint64_t place = 0; ///< Place up to which records are in the file
    std::uint32_t stacks = 0;
    std::array<OpenRanges, kStacks> open{};
};

enum class SlotState : std::uint32_t { Free, Taken, Live, Ended };

struct alignas(64) ThreadSlot {
    std::atomic<SlotState> state{SlotState::Free};
    std::uint32_t tid = 0;
    std::uint64_t begin = 0;                        ///< Place of the first record
    alignas(64) std::atomic<std::uint64_t> tail{0}; ///< Place after the last complete record; written by the thread
    alignas(64) std::array<ThreadCheckpoint, 2> checkpoints{}; ///< written by the writer
};

/// Data that the writer needs to continue its file, in addition to the threads' checkpoints.
struct FileCheckpoint {
    std::int64_t file_bytes = 0; ///< length of the file, including all records counted in the checkpoint
    std::uint64_t notes = 0;     ///< bytes
    std::array<char, kNotes / 4> text{};
};

struct Header {
    std::uint64_t magic = 0;
    std::uint32_t version = 0;
    std::uint32_t chunks = 0;
    std::int64_t pid = 0;
    std::atomic<std::uint32_t> slots_used{0};     ///< all slots ever used have lower indices
    std::atomic<std::uint32_t> ended{0};          ///< 1: the process wrote everything and closed its file
    std::atomic<std::uint64_t> lost_begins{0};    ///< number of lost range starts and marks; if an end is lost, its
                                                  ///< range stays open
    std::atomic<std::uint64_t> stated{0};         ///< events reported by adapters
    std::atomic<std::uint64_t> stated_written{0}; ///< number of adapter events that were written
    std::atomic<std::uint32_t> on_devices{0};     ///< 1: CUPTI is recording; its buffers are lost if the process is
                                                  ///< killed
    std::atomic<std::uint32_t> message_bytes{0};  ///< length of the message that explains why nothing more is written
    std::array<char, kMessage> message{};
    std::atomic<std::uint32_t> current{0};  ///< index of the valid checkpoints
    std::atomic<std::uint32_t> prepared{0}; ///< 1: the other checkpoints are valid if the file has the length stored in
                                            ///< them
    std::array<FileCheckpoint, 2> files{};
    std::atomic<std::uint64_t> identity_bytes{0};
    std::array<char, kNotes / 4> identity{}; ///< identity of the process; see CaptureWriter
    std::atomic<std::uint64_t> names_bytes{0};
    std::array<char, kNames> names{};
    std::array<std::atomic<std::uint64_t>, kMaxChunks / 64> taken{}; ///< one bit per chunk
    std::array<ThreadSlot, kThreads> threads{};

    /// True if the process recorded anything, or left a message.
    [[nodiscard]] bool recordedAnything() const {
        return slots_used.load() != 0 || lost_begins.load() != 0 || stated.load() != 0 || message_bytes.load() != 0;
    }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<SlotState>::is_always_lock_free);

/// Offset of the first chunk.
inline constexpr std::size_t kHeaderBytes = (sizeof(Header) + kChunkBytes - 1) / kChunkBytes * kChunkBytes;

} // namespace event_memory

class EventMemory {
public:
    /// Private memory with room for `bytes` of records, rounded to whole chunks; less if the process's limits do not
    /// allow that much. Null if out of memory. Any thread.
    [[nodiscard]] static std::unique_ptr<EventMemory> create(std::size_t bytes) noexcept;
    /// Like create(), but in memory that another process may map. Null if this process may not create a memory file of
    /// that size, because the file size limit applies.
    [[nodiscard]] static std::unique_ptr<EventMemory> createShared(std::size_t bytes) noexcept;
    /// Like create(), but in a file that another process made with fileFor().
    [[nodiscard]] static std::unique_ptr<EventMemory> createIn(Descriptor file) noexcept;
    [[nodiscard]] static Descriptor fileFor(std::size_t bytes) noexcept;

    /// The memory of another process. Null if the descriptor does not refer to such memory.
    [[nodiscard]] static std::unique_ptr<EventMemory> attach(Descriptor memory);
    /// True if a process has started to use this memory.
    [[nodiscard]] bool isBegun() const;

    EventMemory(const EventMemory&) = delete;
    EventMemory& operator=(const EventMemory&) = delete;
    ~EventMemory();

    [[nodiscard]] event_memory::Header& header() { return *header_; }
    [[nodiscard]] const event_memory::Header& header() const { return *header_; }
    /// −1 for private memory.
    [[nodiscard]] int descriptor() const { return descriptor_.get(); }
    /// The mapping remains valid.
    void closeDescriptor() { descriptor_ = Descriptor(); }
    /// True if other processes can map this memory.
    [[nodiscard]] bool isShared() const { return shared_; }
    [[nodiscard]] std::uint32_t chunks() const { return chunks_; }
    /// Has kChunkWords words; `chunk` must be below chunks().
    [[nodiscard]] std::uint64_t* words(std::uint32_t chunk) {
        return chunks_at_ + std::size_t{chunk} * event_memory::kChunkWords;
    }

    /// Takes an unused chunk, whose first word is zero; returns chunks() if there is none. Any thread, lock-free.
    [[nodiscard]] std::uint32_t takeChunk() noexcept;
    /// Frees a chunk; the memory of most free chunks is returned to the system.
    void freeChunk(std::uint32_t chunk) noexcept;
    /// Fraction in use, 0 to 1. Any thread.
    [[nodiscard]] double fullness() const noexcept;

    /// Takes a slot for the calling thread, with a first chunk; null if there is none. Any thread, lock-free.
    [[nodiscard]] event_memory::ThreadSlot* takeSlot(std::uint32_t tid) noexcept;

private:
    EventMemory(void* at, std::size_t bytes, std::uint32_t chunks, Descriptor descriptor);
    [[nodiscard]] static std::unique_ptr<EventMemory> map(Descriptor file, std::size_t chunks) noexcept;
    void begin();

    event_memory::Header* header_;
    std::uint64_t* chunks_at_;
    std::size_t bytes_;
    std::uint32_t chunks_;
    bool shared_;
    std::atomic<std::uint32_t> in_use_{0};
    Descriptor descriptor_;
};

/// Reads the records of all threads, in order within a thread, and frees chunks once their content has been written.
/// Not thread-safe, but the recording threads may write at the same time.
class EventReader {
public:
    /// The place to start: the first record, or the checkpoint of a process that has ended.
    enum class From : std::uint8_t { Begin, Checkpoint };
    EventReader(EventMemory& memory, From from);

    /// Calls `take(tid, words, gap)` for unread records, until about `most` words have been read. `words` begins with a
    /// record. `take` returns the number of words in the record, or 0 if it is corrupt; the thread's remaining records
    /// are then skipped. `gap` is true if records of the thread before this one were lost. Returns true if more records
    /// are waiting.
    template <class Take>
    bool read(std::size_t most, const Take& take);

    /// Place up to which a slot's records have been read.
    [[nodiscard]] event_memory::Place placeOf(std::size_t slot) const { return cursors_[slot].at; }
    [[nodiscard]] bool isRead(std::size_t slot) const { return cursors_[slot].known; }
    /// Call this when everything read so far has been written: frees the chunks, and the slots of threads that have
    /// ended.
    void release();

    /// Type of the record that holds the number of lost records; read() consumes it.
    static constexpr std::uint64_t kGapType = 0x7f;
    static constexpr std::uint64_t gapWord(std::uint64_t lost) { return kGapType | lost << 8U; }

private:
    struct Cursor {
        event_memory::Place at;
        bool known = false;
        bool over = false; ///< true if the slot is corrupt, or if its thread has ended and everything was read
        bool gap = false;
    };
    void begin(std::size_t slot);

    EventMemory& memory_;
    From from_;
    std::vector<Cursor> cursors_;
    std::vector<std::uint32_t> read_chunks_; ///< chunks to be freed
    std::size_t first_ = 0;                  ///< slot at which the next read() begins, so that no slot waits forever
};

template <class Take>
bool EventReader::read(std::size_t most, const Take& take) {
    using namespace event_memory;
    Header& header = memory_.header();
    const std::size_t used = std::min<std::size_t>(header.slots_used.load(std::memory_order_acquire), kThreads);
    std::size_t left = most;
    for (std::size_t n = 0; n < used; ++n) {
        const std::size_t slot_number = (first_ + n) % used;
        ThreadSlot& slot = header.threads[slot_number];
        const SlotState state = slot.state.load(std::memory_order_acquire); // must be loaded before the tail
        if (state != SlotState::Live && state != SlotState::Ended) continue;
        Cursor& cursor = cursors_[slot_number];
        if (!cursor.known) begin(slot_number);
        std::size_t hops = 0;
        while (!cursor.over) {
            const Place tail = Place::of(slot.tail.load(std::memory_order_acquire));
            if (cursor.at.chunk >= memory_.chunks() || cursor.at.word == 0 || cursor.at.word > kChunkWords) {
                cursor.over = true;
                break;
            }
            std::uint64_t* const words = memory_.words(cursor.at.chunk);
            const bool last = cursor.at.chunk == tail.chunk;
            const std::uint64_t link = last ? 0 : std::atomic_ref(words[0]).load(std::memory_order_acquire);
            const std::size_t end = last ? tail.word : static_cast<std::uint32_t>(link);
            if (end > kChunkWords || (!last && link >> 32 == 0)) {
                cursor.over = true;
                break;
            }
            while (cursor.at.word < end) {
                if (left == 0) {
                    first_ = slot_number;
                    return true;
                }
                const std::span record(words + cursor.at.word, end - cursor.at.word);
                std::size_t taken = 1;
                if ((record[0] & 0xff) == kGapType)
                    cursor.gap = true;
                else
                    taken = take(slot.tid, std::span<const std::uint64_t>(record), std::exchange(cursor.gap, false));
                if (taken == 0 || taken > record.size()) {
                    cursor.over = true;
                    break;
                }
                cursor.at.word += static_cast<std::uint32_t>(taken);
                left -= std::min(left, taken);
            }
            if (last || cursor.over) break;
            read_chunks_.push_back(cursor.at.chunk);
            cursor.at = {static_cast<std::uint32_t>(link >> 32) - 1, 1};
            if (++hops > memory_.chunks()) cursor.over = true; // the links form a cycle
        }
        if (state == SlotState::Ended) cursor.over = true;
    }
    first_ = 0;
    return false;
}

} // namespace bubblescope::profiler
