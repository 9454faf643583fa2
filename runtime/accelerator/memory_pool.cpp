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

Buffer Buffer::share() const {
    Buffer other;
    if (pool_ == nullptr) return other;
    const std::lock_guard lock(pool_->mutex_);
    ++pool_->shared_[data_].others;
    other.pool_ = pool_;
    other.data_ = data_;
    other.bytes_ = bytes_;
    other.last_ = pool_->home_;
    return other;
}

bool Buffer::shared() const {
    if (pool_ == nullptr) return false;
    const std::lock_guard lock(pool_->mutex_);
    const auto found = pool_->shared_.find(data_);
    return found != pool_->shared_.end() && found->second.others > 0;
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

void MemoryPool::recordUse(Accelerator::Event& until, Accelerator::Stream stream) {
    if (until != nullptr) {
        device_.wait(stream, until);
    } else {
        if (events_.empty()) events_.push_back(device_.makeEvent(false));
        until = events_.back();
        events_.pop_back();
    }
    device_.record(until, stream);
}

void MemoryPool::giveBack(Buffer& buffer) noexcept {
    const std::lock_guard lock(mutex_);
    Accelerator::Event until = nullptr;
    if (const auto found = shared_.find(buffer.data_); found != shared_.end()) {
        Shares& shares = found->second;
        if (shares.others > 0) {
            try {
                if (buffer.last_ != home_) recordUse(shares.until, buffer.last_);
            } catch (...) {
                // The device has failed, as the next call will report.
            }
            if (--shares.others == 0 && shares.until == nullptr) shared_.erase(found);
            return;
        }
        until = shares.until;
        shared_.erase(found);
    }
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
        if (buffer.last_ != home_) recordUse(until, buffer.last_);
        if (until == nullptr) {
            blocks.own.insert(buffer.data_);
        } else {
            blocks.others.push_back({buffer.data_, until});
        }
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
