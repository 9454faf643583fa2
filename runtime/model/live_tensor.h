#pragma once

#include "core/aadiff/mismatch.h"
#include "core/timeline/checks.h"
#include "runtime/accelerator/work_queue.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

class ComputeQueue;

/// A snapshot of a tensor in the memory of a rank's device: its digest, and its values if they were requested. The
/// device may not have computed the digest and values yet. Used by the thread of the rank that requested the snapshot.
class DeviceSnapshot {
public:
    DeviceSnapshot(std::shared_ptr<ComputeQueue> queue, DeviceDigest digest, Buffer values, Storage storage)
        : queue_(std::move(queue)), digest_(std::move(digest)), values_(std::move(values)), storage_(storage) {}

    /// Waits for the device.
    [[nodiscard]] std::uint64_t digest() const { return digest_.value(); }
    /// Empty if only the digest was requested. Waits for the device.
    [[nodiscard]] std::vector<float> values() const;
    /// Size of the device memory that holds the values.
    [[nodiscard]] std::int64_t bytes() const { return values_.bytes(); }
    [[nodiscard]] const DeviceDigest& slot() const { return digest_; }

private:
    std::shared_ptr<ComputeQueue> queue_; // must outlive the members below
    DeviceDigest digest_;
    Buffer values_;
    Storage storage_;
};

/// A snapshot of a tensor at the time of LiveTensor::show().
struct ShownTensor {
    CheckedTensor tensor = CheckedTensor::Output;
    std::uint64_t digest = 0;  ///< see digestNow()
    std::vector<float> values; ///< see valuesNow(); empty if only the digest was requested
    ElementType type = ElementType::Float32;
    std::int64_t count = 0;
    std::shared_ptr<const DeviceSnapshot> late; ///< provides digest and values on a device; null on the host

    // These functions wait for the device, if the tensor is on a device.
    [[nodiscard]] std::uint64_t digestNow() const { return late ? late->digest() : digest; }
    [[nodiscard]] std::vector<float> valuesNow() const { return late ? late->values() : values; }
    /// Size of the memory that holds the values.
    [[nodiscard]] std::int64_t bytes() const {
        return late ? late->bytes() : static_cast<std::int64_t>(values.size() * sizeof(float));
    }
};

/// A tensor that has just been computed, on the host or a device. Valid during a call. On a device, operations on the
/// tensor are queued after its computation.
class LiveTensor {
public:
    LiveTensor() = default;
    LiveTensor(const LiveTensor&) = delete;
    LiveTensor& operator=(const LiveTensor&) = delete;
    virtual ~LiveTensor() = default;

    [[nodiscard]] virtual std::int64_t count() const = 0;
    /// Flips a bit of a number; bit 0 is the lowest, and numbers are counted in memory order. A 16-bit number is the
    /// upper half of a float: bits are counted as in that float, and bits of the lower half are mapped to the upper
    /// half.
    virtual void flip(std::int64_t element, std::int64_t bit) = 0;
    /// Flips the lowest bit of about half of the numbers, selected by `chance`.
    virtual void disturb(std::uint64_t chance) = 0;
    /// Records the tensor's digest, and its values if requested.
    [[nodiscard]] virtual ShownTensor show(CheckedTensor tensor, bool with_values) = 0;
};

/// A tensor on the host.
class HostTensor final : public LiveTensor {
public:
    HostTensor(float* values, std::int64_t count) : values_(values), count_(count) {}
    [[nodiscard]] std::int64_t count() const override { return count_; }
    void flip(std::int64_t element, std::int64_t bit) override;
    void disturb(std::uint64_t chance) override;
    [[nodiscard]] ShownTensor show(CheckedTensor tensor, bool with_values) override;

private:
    float* values_;
    std::int64_t count_;
};

/// Numbers in the memory of a rank's device. Operations on the numbers are queued on `on`, which is the rank's stream
/// or its check stream.
class DeviceTensor final : public LiveTensor {
public:
    DeviceTensor(ComputeQueue& rank, WorkQueue& on, void* data, std::int64_t count, Storage storage)
        : rank_(rank), on_(on), data_(data), count_(count), storage_(storage) {}
    [[nodiscard]] std::int64_t count() const override { return count_; }
    void flip(std::int64_t element, std::int64_t bit) override;
    void disturb(std::uint64_t chance) override;
    [[nodiscard]] ShownTensor show(CheckedTensor tensor, bool with_values) override;

private:
    ComputeQueue& rank_;
    WorkQueue& on_;
    void* data_;
    std::int64_t count_;
    Storage storage_;
};

} // namespace bubblescope::runtime
