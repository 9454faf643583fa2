#pragma once

#include "runtime/accelerator/memory_pool.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// A stream with memory for its work, on which layers queue their computations. For one thread.
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
    /// Waits for the work of a stream, then destroys the stream.
    static void end(Accelerator& device, Accelerator::Stream stream) noexcept {
        try {
            device.finish(stream);
        } catch (const std::exception&) {
            // The device has failed, so no work is running on it.
        }
        device.destroy(stream);
    }
    [[nodiscard]] const std::shared_ptr<Accelerator>& sharedDevice() const { return device_; }

private:
    std::shared_ptr<Accelerator> device_;
    Accelerator::Stream stream_;
    MemoryPool pool_;
};

/// Device memory for the sums of many digests, which are copied to the host together.
class DigestPage {
public:
    static constexpr std::size_t kDigests = 1024;
    static constexpr std::int64_t kBytes = kDigests * sizeof(std::uint64_t);

    /// The page is in the memory of `home`; it is cleared by `first`, the first queue to use it.
    DigestPage(WorkQueue& home, WorkQueue& first);

    /// Number of places that are not taken.
    [[nodiscard]] std::size_t room() const { return kDigests - used_; }
    /// Takes neighbouring places; returns the first one.
    [[nodiscard]] std::size_t take(std::size_t count) { return std::exchange(used_, used_ + count); }
    [[nodiscard]] std::uint64_t* at(std::size_t index) const { return buffer_.as<std::uint64_t>() + index; }
    /// Waits for the home queue; sums queued elsewhere must be complete.
    [[nodiscard]] std::uint64_t sum(std::size_t index);

private:
    WorkQueue& home_;
    Buffer buffer_;
    std::size_t used_ = 0;
    std::vector<std::uint64_t> fetched_;
};

/// The digest of a buffer of `bytes` bytes, whose sum is in a page.
class DeviceDigest {
public:
    DeviceDigest(std::shared_ptr<DigestPage> page, std::size_t index, std::int64_t bytes)
        : page_(std::move(page)), index_(index), bytes_(bytes) {}
    /// Address of its sum.
    [[nodiscard]] std::uint64_t* at() const { return page_->at(index_); }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }
    [[nodiscard]] std::uint64_t value() const;

private:
    std::shared_ptr<DigestPage> page_;
    std::size_t index_;
    std::int64_t bytes_;
};

/// Values in device memory whose digest is needed.
struct DigestedArray {
    const void* data = nullptr;
    std::int64_t bytes = 0;
};

/// The pending digests of a rank. Only for the rank's thread.
class DigestPages {
public:
    /// `home` is the queue that copies digests to the host; it must outlive the pages.
    explicit DigestPages(WorkQueue& home) : home_(home) {}
    /// Queues the computation of digests (core/aadiff/digest.h) on `user`: `home`, or a queue that waits for `home`.
    /// Takes one launch per DigestKernel::kArrays arrays.
    [[nodiscard]] std::vector<DeviceDigest> queue(std::span<const DigestedArray> arrays, WorkQueue& user);
    [[nodiscard]] DeviceDigest queue(const DigestedArray& array, WorkQueue& user) {
        return queue(std::span(&array, 1), user).front();
    }
    /// Returns a digest for a buffer of `bytes` bytes. Its sum must be queued next on `user`, as above.
    [[nodiscard]] DeviceDigest next(std::int64_t bytes, WorkQueue& user);

private:
    /// Takes neighbouring places in one page; returns the first one.
    std::size_t take(std::size_t count, WorkQueue& user);

    WorkQueue& home_;
    std::shared_ptr<DigestPage> page_;
};

} // namespace bubblescope::runtime
