#include "profiler/events/event_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <new>

namespace bubblescope::profiler {

using namespace event_memory;

namespace {

constexpr std::uint64_t kMagic = 0x6d656d2d62627331; // "1sbb-mem"
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kKeptChunks = 256; ///< chunks below this number keep their pages: 8 MiB
constexpr std::size_t kWordBits = 64;

std::size_t chunksFor(std::size_t bytes) {
    return std::clamp<std::size_t>(bytes / kChunkBytes, 1, kMaxChunks);
}

} // namespace

EventMemory::EventMemory(void* at, std::size_t bytes, std::uint32_t chunks, Descriptor descriptor)
    : header_(static_cast<Header*>(at)),
      chunks_at_(reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(at) + kHeaderBytes)), bytes_(bytes),
      chunks_(chunks), shared_(descriptor.isOpen()), descriptor_(std::move(descriptor)) {}

EventMemory::~EventMemory() {
    ::munmap(header_, bytes_);
}

/// The process's limits treat such memory as a file, and exceeding them would kill the process.
Descriptor EventMemory::fileFor(std::size_t bytes) noexcept {
    const std::size_t whole = kHeaderBytes + chunksFor(bytes) * kChunkBytes;
    rlimit most{};
    if (::getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < whole) return Descriptor();
    Descriptor made(::memfd_create("bubblescope", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!made.isOpen() || ::ftruncate(made.get(), static_cast<off_t>(whole)) != 0 ||
        ::fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
        return Descriptor();
    return made;
}

std::unique_ptr<EventMemory> EventMemory::map(Descriptor file, std::size_t chunks) noexcept {
    const std::size_t whole = kHeaderBytes + chunks * kChunkBytes;
    const int flags = file.isOpen() ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const at = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, flags, file.get(), 0);
    if (at == MAP_FAILED) return nullptr;
    std::unique_ptr<EventMemory> made(new (std::nothrow)
                                          EventMemory(at, whole, static_cast<std::uint32_t>(chunks), std::move(file)));
    if (made == nullptr) ::munmap(at, whole);
    return made;
}

/// All other fields start as zero; writing them here would only make more pages resident.
void EventMemory::begin() {
    header_->version = kVersion;
    header_->chunks = chunks_;
    header_->pid = ::getpid();
    header_->magic = kMagic;
}

bool EventMemory::isBegun() const {
    return header_->magic == kMagic && header_->version == kVersion && header_->chunks == chunks_;
}

std::unique_ptr<EventMemory> EventMemory::create(std::size_t bytes) noexcept {
    for (std::size_t chunks = chunksFor(bytes); chunks > 0; chunks /= 2) { // a limit of the process may allow less
        auto made = map(Descriptor(), chunks);
        if (made == nullptr) continue;
        made->begin();
        return made;
    }
    return nullptr;
}

std::unique_ptr<EventMemory> EventMemory::createShared(std::size_t bytes) noexcept {
    Descriptor file = fileFor(bytes);
    return file.isOpen() ? createIn(std::move(file)) : nullptr;
}

std::unique_ptr<EventMemory> EventMemory::createIn(Descriptor file) noexcept {
    auto made = attach(std::move(file));
    if (made != nullptr) made->begin();
    return made;
}

std::unique_ptr<EventMemory> EventMemory::attach(Descriptor memory) {
    struct stat about {};
    constexpr int kNeeded = F_SEAL_SHRINK; // otherwise the mapping could shrink while in use
    const int seals = ::fcntl(memory.get(), F_GET_SEALS);
    if (seals < 0 || (seals & kNeeded) == 0 || ::fstat(memory.get(), &about) != 0) return nullptr;
    const auto bytes = static_cast<std::size_t>(about.st_size);
    if (bytes < kHeaderBytes + kChunkBytes || bytes > kHeaderBytes + kMaxChunks * kChunkBytes) return nullptr;
    return map(std::move(memory), (bytes - kHeaderBytes) / kChunkBytes);
}

std::uint32_t EventMemory::takeChunk() noexcept {
    if (in_use_.load(std::memory_order_relaxed) >= chunks_) return chunks_;
    for (std::uint32_t word = 0; word * kWordBits < chunks_; ++word) {
        std::atomic<std::uint64_t>& bits = header_->taken[word];
        std::uint64_t seen = bits.load(std::memory_order_relaxed);
        while (~seen != 0) {
            const auto bit = static_cast<std::uint32_t>(std::countr_one(seen));
            const std::uint32_t chunk = word * static_cast<std::uint32_t>(kWordBits) + bit;
            if (chunk >= chunks_) return chunks_;
            if (!bits.compare_exchange_weak(seen, seen | std::uint64_t{1} << bit, std::memory_order_acquire,
                                            std::memory_order_relaxed))
                continue;
            in_use_.fetch_add(1, std::memory_order_relaxed);
            std::atomic_ref(words(chunk)[0]).store(0, std::memory_order_relaxed);
            return chunk;
        }
    }
    return chunks_;
}

void EventMemory::freeChunk(std::uint32_t chunk) noexcept {
    if (chunk >= kKeptChunks) ::madvise(words(chunk), kChunkBytes, shared_ ? MADV_REMOVE : MADV_DONTNEED);
    header_->taken[chunk / kWordBits].fetch_and(~(std::uint64_t{1} << chunk % kWordBits), std::memory_order_release);
    in_use_.fetch_sub(1, std::memory_order_relaxed);
}

double EventMemory::fullness() const noexcept {
    return static_cast<double>(in_use_.load(std::memory_order_relaxed)) / static_cast<double>(chunks_);
}

ThreadSlot* EventMemory::takeSlot(std::uint32_t tid) noexcept {
    for (std::uint32_t number = 0; number < kThreads; ++number) {
        ThreadSlot& slot = header_->threads[number];
        SlotState free = SlotState::Free;
        if (slot.state.load(std::memory_order_relaxed) != free ||
            !slot.state.compare_exchange_strong(free, SlotState::Taken, std::memory_order_acquire))
            continue;
        const std::uint32_t chunk = takeChunk();
        if (chunk == chunks_) {
            slot.state.store(SlotState::Free, std::memory_order_release);
            return nullptr;
        }
        slot.tid = tid;
        slot.begin = Place{chunk, 1}.packed();
        slot.tail.store(slot.begin, std::memory_order_relaxed);
        for (ThreadCheckpoint& checkpoint : slot.checkpoints)
            checkpoint = {};
        slot.state.store(SlotState::Live, std::memory_order_release);
        std::uint32_t used = header_->slots_used.load(std::memory_order_relaxed);
        while (used <= number &&
               !header_->slots_used.compare_exchange_weak(used, number + 1, std::memory_order_release))
            ;
        return &slot;
    }
    return nullptr;
}

EventReader::EventReader(EventMemory& memory, From from) : memory_(memory), from_(from), cursors_(kThreads) {}

void EventReader::begin(std::size_t number) {
    const Header& header = memory_.header();
    const ThreadSlot& slot = header.threads[number];
    std::uint64_t place = slot.begin;
    if (from_ == From::Checkpoint) {
        const std::uint64_t written = slot.checkpoints[header.current.load() & 1U].place;
        if (written != 0) place = written;
    }
    cursors_[number] = {Place::of(place), true, false, false};
}

void EventReader::release() {
    for (const std::uint32_t chunk : read_chunks_)
        memory_.freeChunk(chunk);
    read_chunks_.clear();
    for (std::size_t number = 0; number < kThreads; ++number) {
        Cursor& cursor = cursors_[number];
        ThreadSlot& slot = memory_.header().threads[number];
        if (!cursor.over || slot.state.load(std::memory_order_acquire) != SlotState::Ended) continue;
        if (cursor.at.chunk < memory_.chunks()) memory_.freeChunk(cursor.at.chunk);
        cursor = {};
        slot.state.store(SlotState::Free, std::memory_order_release);
    }
}

} // namespace bubblescope::profiler
