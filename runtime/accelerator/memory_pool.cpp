#include "runtime/accelerator/memory_pool.h"

#include <algorithm>
#include <bit>
#include <exception>

namespace bubblescope::runtime {
namespace {

/// The size class: there are sixteen for each power of two, so that similar sizes share memory and at most 1/16 of it
/// is unused.
std::int64_t capacityFor(std::int64_t bytes) {
    constexpr std::int64_t kSmallest = 512;
    const auto unit = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)) / 16);
    const std::int64_t step = std::max(unit, kSmallest);
    return (bytes + step - 1) / step * step;
}

} // namespace

Buffer::~Buffer() {
    if (pool_ != nullptr) pool_->giveBack(*this);
}

MemoryPool::~MemoryPool() {
    for (const auto& [capacity, blocks] : free_) {
        for (void* const data : blocks.own)
            device_.release(data);
        for (const Busy& block : blocks.others) {
            device_.destroy(block.until);
            device_.release(block.data);
        }
    }
    for (Accelerator::Event event : events_)
        device_.destroy(event);
}

Buffer MemoryPool::take(std::int64_t bytes) {
    Buffer buffer;
    if (bytes == 0) return buffer;
    const std::int64_t capacity = capacityFor(bytes);
    const std::lock_guard lock(mutex_);
    Free& blocks = free_[capacity];
    if (!blocks.own.empty()) {
        buffer.data_ = *blocks.own.begin();
        blocks.own.erase(blocks.own.begin());
    } else if (blocks.others.size() > spare_) {
        const Busy block = blocks.others.front();
        blocks.others.pop_front();
        device_.wait(home_, block.until);
        events_.push_back(block.until);
        buffer.data_ = block.data;
    } else {
        buffer.data_ = allocate(capacity);
    }
    buffer.pool_ = this;
    buffer.bytes_ = bytes;
    buffer.last_ = home_;
    in_use_ += capacity;
    peak_ = std::max(peak_, in_use_);
    return buffer;
}

void* MemoryPool::allocate(std::int64_t capacity) {
    void* data = nullptr;
    try {
        data = device_.allocate(capacity);
    } catch (const std::exception&) {
        // Freeing unused memory of other sizes may be sufficient.
        trim();
        data = device_.allocate(capacity);
    }
    reserved_ += capacity;
    return data;
}

void MemoryPool::trim() {
    device_.finish(home_);
    for (auto& [capacity, blocks] : free_) {
        for (const Busy& block : blocks.others) {
            device_.finish(block.until);
            events_.push_back(block.until);
            blocks.own.insert(block.data);
        }
        blocks.others.clear();
        for (void* const data : blocks.own) {
            device_.release(data);
            reserved_ -= capacity;
        }
        blocks.own.clear();
    }
}

void MemoryPool::settle() {
    const std::lock_guard lock(mutex_);
    for (auto& [capacity, blocks] : free_) {
        while (!blocks.others.empty() && device_.reached(blocks.others.front().until)) {
            const Busy block = blocks.others.front();
            blocks.others.pop_front();
            events_.push_back(block.until);
            blocks.own.insert(block.data);
        }
    }
}

void MemoryPool::giveBack(Buffer& buffer) noexcept {
    const std::lock_guard lock(mutex_);
    const std::int64_t capacity = capacityFor(buffer.bytes_);
    in_use_ -= capacity;
    if (device_.sharesHostMemory()) {
        // No work is queued, and the host's allocator reuses freed memory for all sizes.
        device_.release(buffer.data_);
        reserved_ -= capacity;
        return;
    }
    try {
        Free& blocks = free_[capacity];
        if (buffer.last_ == home_) {
            blocks.own.insert(buffer.data_);
            return;
        }
        if (events_.empty()) events_.push_back(device_.makeEvent(false));
        device_.record(events_.back(), buffer.last_);
        blocks.others.push_back({buffer.data_, events_.back()});
        events_.pop_back();
    } catch (...) {
        // The device has failed, as the next call will report; until then the memory stays unused.
    }
}

std::int64_t MemoryPool::inUse() const {
    const std::lock_guard lock(mutex_);
    return in_use_;
}

std::int64_t MemoryPool::peak() const {
    const std::lock_guard lock(mutex_);
    return peak_;
}

std::int64_t MemoryPool::reserved() const {
    const std::lock_guard lock(mutex_);
    return reserved_;
}

} // namespace bubblescope::runtime
