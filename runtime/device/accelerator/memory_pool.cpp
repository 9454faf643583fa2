#include "runtime/device/accelerator/memory_pool.h"

#include <algorithm>
#include <exception>

namespace bubblescope::runtime {
namespace {

/// Sizes that differ by little share their memory.
std::int64_t capacityFor(std::int64_t bytes) {
    const std::int64_t unit = bytes < (1 << 20) ? 512 : 1 << 16;
    return (bytes + unit - 1) / unit * unit;
}

} // namespace

Buffer::~Buffer() {
    if (pool_ != nullptr) pool_->giveBack(*this);
}

MemoryPool::~MemoryPool() {
    for (const auto& [capacity, blocks] : free_) {
        for (const Free& block : blocks) {
            if (block.after != nullptr) device_.destroy(block.after);
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
    std::vector<Free>& blocks = free_[capacity];
    if (blocks.empty()) {
        buffer.data_ = allocate(capacity);
    } else {
        const Free block = blocks.back();
        blocks.pop_back();
        if (block.after != nullptr) {
            device_.wait(home_, block.after);
            events_.push_back(block.after);
        }
        buffer.data_ = block.data;
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
        // Perhaps other sizes hold what is missing.
        trim();
        data = device_.allocate(capacity);
    }
    reserved_ += capacity;
    return data;
}

void MemoryPool::trim() {
    device_.finish(home_);
    for (auto& [capacity, blocks] : free_) {
        for (const Free& block : blocks) {
            if (block.after != nullptr) {
                device_.finish(block.after);
                events_.push_back(block.after);
            }
            device_.release(block.data);
            reserved_ -= capacity;
        }
        blocks.clear();
    }
}

void MemoryPool::giveBack(Buffer& buffer) noexcept {
    const std::lock_guard lock(mutex_);
    const std::int64_t capacity = capacityFor(buffer.bytes_);
    in_use_ -= capacity;
    Free block{buffer.data_, nullptr};
    try {
        if (buffer.last_ != home_) {
            if (events_.empty()) events_.push_back(device_.makeEvent(false));
            block.after = events_.back();
            events_.pop_back();
            device_.record(block.after, buffer.last_);
        }
        free_[capacity].push_back(block);
    } catch (...) {
        // The device has failed, which the next call on it reports; until then the memory stays out of use.
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
