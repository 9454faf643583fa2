#pragma once

#include "runtime/backend/queued/rank_queue.h"
#include "runtime/model/live_tensor.h"

namespace bubblescope::runtime {

/// A snapshot of a tensor in the memory of a rank's device: its digest, and its values if they were requested.
class DeviceSnapshot final : public LateTensor {
public:
    DeviceSnapshot(std::shared_ptr<RankQueue> queue, DeviceDigest digest, Buffer values, Storage storage)
        : queue_(std::move(queue)), digest_(std::move(digest)), values_(std::move(values)), storage_(storage) {}

    [[nodiscard]] std::uint64_t digest() const override { return digest_.value(); }
    [[nodiscard]] std::vector<float> values() const override;
    [[nodiscard]] std::int64_t bytes() const override { return values_.bytes(); }
    [[nodiscard]] const DeviceDigest& slot() const { return digest_; }

private:
    std::shared_ptr<RankQueue> queue_; // must outlive the members below
    DeviceDigest digest_;
    Buffer values_;
    Storage storage_;
};

/// Numbers in the memory of a rank's device. Operations on them are queued on `on`: the rank's stream or that of its
/// checks.
class DeviceTensor final : public LiveTensor {
public:
    DeviceTensor(RankQueue& rank, WorkQueue& on, void* data, std::int64_t count, Storage storage)
        : rank_(rank), on_(on), data_(data), count_(count), storage_(storage) {}

    [[nodiscard]] std::int64_t count() const override { return count_; }
    void flip(std::int64_t element, std::int64_t bit) override;
    void disturb(std::uint64_t chance) override;
    [[nodiscard]] ShownTensor show(CheckedTensor tensor, bool with_values) override;

private:
    RankQueue& rank_;
    WorkQueue& on_;
    void* data_;
    std::int64_t count_;
    Storage storage_;
};

} // namespace bubblescope::runtime
