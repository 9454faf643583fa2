#pragma once

#include "runtime/accelerator/work_queue.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace bubblescope::runtime {

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
