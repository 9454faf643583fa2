#pragma once

#include "runtime/accelerator/memory_pool.h"

#include <exception>
#include <memory>
#include <utility>

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

} // namespace bubblescope::runtime
