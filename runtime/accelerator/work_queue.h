#pragma once

#include "runtime/accelerator/memory_pool.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// A stream with memory for its work, on which layers queue their computations. Used by one thread.
class WorkQueue {
public:
    WorkQueue(std::shared_ptr<Accelerator> device, Accelerator::Priority priority)
        : device_(std::move(device)), stream_(device_->makeStream(priority)), pool_(*device_, stream_) {}
    WorkQueue(const WorkQueue&) = delete;
    WorkQueue& operator=(const WorkQueue&) = delete;
    /// All buffers must have been returned.
    virtual ~WorkQueue() { end(*device_, stream_); }

    [[nodiscard]] Accelerator& device() const { return *device_; }
    [[nodiscard]] Accelerator::Stream stream() const { return stream_; }
    [[nodiscard]] MemoryPool& pool() { return pool_; }
    [[nodiscard]] const MemoryPool& pool() const { return pool_; }
    template <class Kernel>
    void launch(const Kernel& kernel) {
        device_->launch(kernel, stream_);
    }
    /// Waits until all queued work is done.
    void finish() { device_->finish(stream_); }

    /// A copy of the values, made after the work queued so far. Empty if `from` is empty.
    [[nodiscard]] Buffer copyOf(const Buffer& from) {
        Buffer copy = pool_.take(from.bytes());
        if (!copy.empty()) device_->copy(copy.as<void>(), from.as<void>(), from.bytes(), stream_);
        return copy;
    }

protected:
    /// Waits for the work of a stream and destroys it.
    static void end(Accelerator& device, Accelerator::Stream stream) noexcept {
        try {
            device.finish(stream);
        } catch (const std::exception&) {
            // The device has failed; nothing runs on it any more.
        }
        device.destroy(stream);
    }
    [[nodiscard]] const std::shared_ptr<Accelerator>& sharedDevice() const { return device_; }

private:
    std::shared_ptr<Accelerator> device_;
    Accelerator::Stream stream_;
    MemoryPool pool_;
};

/// Queues the digest (core/aadiff/digest.h) of device memory into 8 bytes of device memory.
void queueDigest(WorkQueue& on, std::uint64_t* to, const void* data, std::int64_t bytes);

/// Device memory for many digests, which are copied to the host together.
class DigestPage {
public:
    static constexpr std::size_t kDigests = 1024;

    explicit DigestPage(WorkQueue& home)
        : home_(home), buffer_(home.pool().take(static_cast<std::int64_t>(kDigests * sizeof(std::uint64_t)))) {}

    [[nodiscard]] bool full() const { return used_ == kDigests; }
    [[nodiscard]] std::size_t take() { return used_++; }
    [[nodiscard]] std::uint64_t* at(std::size_t index) const { return buffer_.as<std::uint64_t>() + index; }
    /// Waits for the owning queue; digests queued elsewhere must be complete.
    [[nodiscard]] std::uint64_t value(std::size_t index);

private:
    WorkQueue& home_;
    Buffer buffer_;
    std::size_t used_ = 0;
    std::vector<std::uint64_t> fetched_;
};

/// One digest of a page.
class DeviceDigest {
public:
    DeviceDigest(std::shared_ptr<DigestPage> page, std::size_t index) : page_(std::move(page)), index_(index) {}
    [[nodiscard]] std::uint64_t* at() const { return page_->at(index_); }
    [[nodiscard]] std::uint64_t value() const { return page_->value(index_); }

private:
    std::shared_ptr<DigestPage> page_;
    std::size_t index_;
};

/// The pending digests of a rank. For the rank's thread.
class DigestPages {
public:
    /// `home` is the queue that copies them to the host; it must outlive the pages.
    explicit DigestPages(WorkQueue& home) : home_(home) {}
    [[nodiscard]] DeviceDigest next();

private:
    WorkQueue& home_;
    std::shared_ptr<DigestPage> page_;
};

} // namespace bubblescope::runtime
