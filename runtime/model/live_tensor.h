#pragma once

#include "core/aadiff/mismatch.h"
#include "core/timeline/checks.h"
#include "runtime/accelerator/work_queue.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

class ComputeQueue;

/// Values in a device's memory. They do not change while an owner of the memory exists.
struct DeviceValues {
    const void* data = nullptr;
    std::int64_t bytes = 0;
    Storage storage = Storage::Float;
    std::shared_ptr<const Buffer> memory; ///< contains the values; null = they may change
};

/// A snapshot of a tensor in the memory of a rank's device: its digest, and its values if they were requested. The
/// device may not have computed the digest and values yet. Used by the thread of the rank that requested the snapshot.
class DeviceSnapshot {
public:
    /// A snapshot that keeps its values; without an owner, these may change after the digest is queued.
    DeviceSnapshot(std::shared_ptr<ComputeQueue> queue, DeviceValues values, bool keeps_values)
        : queue_(std::move(queue)), values_(std::move(values)), keeps_values_(keeps_values) {}
    DeviceSnapshot(std::shared_ptr<ComputeQueue> queue, DeviceDigest digest)
        : queue_(std::move(queue)), digest_(std::move(digest)) {}

    /// Queues the computation of digests together, on `on` or the rank's current queue, unless this was done before.
    /// All snapshots are of one rank.
    static void queueDigests(std::span<const DeviceSnapshot* const> snapshots, WorkQueue* on = nullptr);
    /// Waits for the device.
    [[nodiscard]] std::uint64_t digest() const {
        const DeviceSnapshot* const self = this;
        queueDigests(std::span(&self, 1));
        return digest_->value();
    }
    /// Empty if only the digest was requested. Waits for the device.
    [[nodiscard]] std::vector<float> values() const;
    /// Size of the device memory that holds the values.
    [[nodiscard]] std::int64_t bytes() const { return values_.memory ? values_.bytes : 0; }
    [[nodiscard]] const DeviceDigest& slot() const { return digest_.value(); }

private:
    std::shared_ptr<ComputeQueue> queue_; // must outlive the members below
    mutable std::optional<DeviceDigest> digest_;
    mutable DeviceValues values_;
    bool keeps_values_ = false; ///< false = until the digest is queued
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

/// On a device: queues the computation of digests that do not exist yet, together; see DeviceSnapshot.
void queueDigests(std::span<const ShownTensor> shown);

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
    /// Records the tensor with its values. On a device this queues no work: the snapshot owns the memory, too, and its
    /// digest is computed when it is needed.
    [[nodiscard]] virtual ShownTensor keep(CheckedTensor tensor) { return show(tensor, true); }
    /// Records the tensor's digest. On a device this queues no work: call queueDigests(), and do not change values
    /// without an owner before. The snapshot also owns the memory until then.
    [[nodiscard]] virtual ShownTensor note(CheckedTensor tensor) { return show(tensor, false); }
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
/// or its check stream. Values without an owner cannot be kept: a snapshot of them has only the digest.
class DeviceTensor final : public LiveTensor {
public:
    DeviceTensor(ComputeQueue& rank, WorkQueue& on, void* data, std::int64_t count, Storage storage,
                 std::shared_ptr<const Buffer> memory)
        : rank_(rank), on_(on), data_(data), count_(count), storage_(storage), memory_(std::move(memory)) {}
    [[nodiscard]] std::int64_t count() const override { return count_; }
    void flip(std::int64_t element, std::int64_t bit) override;
    void disturb(std::uint64_t chance) override;
    [[nodiscard]] ShownTensor show(CheckedTensor tensor, bool with_values) override;
    [[nodiscard]] ShownTensor keep(CheckedTensor tensor) override;
    [[nodiscard]] ShownTensor note(CheckedTensor tensor) override;

private:
    /// Without a digest.
    [[nodiscard]] ShownTensor shown(CheckedTensor tensor, bool keeps_values) const;

    ComputeQueue& rank_;
    WorkQueue& on_;
    void* data_;
    std::int64_t count_;
    Storage storage_;
    std::shared_ptr<const Buffer> memory_;
};

} // namespace bubblescope::runtime
