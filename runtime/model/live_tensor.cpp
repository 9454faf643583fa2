#include "runtime/model/live_tensor.h"

#include "core/aadiff/digest.h"
#include "runtime/accelerator/kernels/number_hash.h"
#include "runtime/model/compute_queue.h"

#include <bit>
#include <cstddef>
#include <stdexcept>

namespace bubblescope::runtime {

void HostTensor::flip(std::int64_t element, std::int64_t bit) {
    float& value = values_[element];
    value =
        std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (std::uint32_t{1} << static_cast<unsigned>(bit)));
}

void HostTensor::disturb(std::uint64_t chance) {
    for (std::int64_t i = 0; i < count_; ++i) {
        if ((mixBits(chance + static_cast<std::uint64_t>(i)) & 1U) != 0) flip(i, 0);
    }
}

ShownTensor HostTensor::show(CheckedTensor tensor, bool with_values) {
    ShownTensor shown;
    shown.tensor = tensor;
    shown.digest = digest::of(values_, static_cast<std::size_t>(count_) * sizeof(float));
    shown.count = count_;
    if (with_values) shown.values.assign(values_, values_ + count_);
    return shown;
}

void DeviceSnapshot::queueDigests(std::span<const DeviceSnapshot* const> snapshots, WorkQueue* on) {
    std::vector<const DeviceSnapshot*> wanted;
    std::vector<DigestedArray> arrays;
    for (const DeviceSnapshot* const one : snapshots) {
        if (one->digest_) continue;
        wanted.push_back(one);
        arrays.push_back({one->values_.data, one->values_.bytes});
    }
    if (wanted.empty()) return;
    ComputeQueue& rank = *wanted.front()->queue_;
    const std::vector<DeviceDigest> digests = rank.digests().queue(arrays, on != nullptr ? *on : rank.current());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i]->digest_ = digests[i];
        if (!wanted[i]->keeps_values_) wanted[i]->values_.memory.reset();
    }
}

void queueDigests(std::span<const ShownTensor> shown) {
    std::vector<const DeviceSnapshot*> snapshots;
    for (const ShownTensor& one : shown) {
        if (one.late) snapshots.push_back(one.late.get());
    }
    DeviceSnapshot::queueDigests(snapshots);
}

std::vector<float> DeviceSnapshot::values() const {
    std::vector<float> values(static_cast<std::size_t>(bytes() / bytesOf(values_.storage)));
    if (values.empty()) return values;
    if (values_.storage == Storage::Float) {
        queue_->device().copyOut(values.data(), values_.data, values_.bytes, queue_->stream());
        return values;
    }
    std::vector<Bf16> rounded(values.size());
    queue_->device().copyOut(rounded.data(), values_.data, values_.bytes, queue_->stream());
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = load(rounded[i]);
    return values;
}

void DeviceTensor::flip(std::int64_t element, std::int64_t bit) {
    if (storage_ == Storage::Float) {
        on_.launch(FlipKernel<float>{static_cast<float*>(data_) + element, static_cast<unsigned>(bit)});
    } else {
        on_.launch(FlipKernel<Bf16>{static_cast<Bf16*>(data_) + element, static_cast<unsigned>(bit % 16)});
    }
}

void DeviceTensor::disturb(std::uint64_t chance) {
    if (storage_ == Storage::Float) {
        on_.launch(DisturbKernel<float>{static_cast<float*>(data_), count_, chance});
    } else {
        on_.launch(DisturbKernel<Bf16>{static_cast<Bf16*>(data_), count_, chance});
    }
}

ShownTensor DeviceTensor::show(CheckedTensor tensor, bool with_values) {
    ShownTensor made = shown(tensor, with_values);
    const DeviceSnapshot* const snapshot = made.late.get();
    DeviceSnapshot::queueDigests(std::span(&snapshot, 1), &on_);
    return made;
}

ShownTensor DeviceTensor::keep(CheckedTensor tensor) {
    if (!memory_) throw std::logic_error("a tensor without an owner cannot be kept");
    return shown(tensor, true);
}

ShownTensor DeviceTensor::note(CheckedTensor tensor) {
    return shown(tensor, false);
}

ShownTensor DeviceTensor::shown(CheckedTensor tensor, bool keeps_values) const {
    ShownTensor shown;
    shown.tensor = tensor;
    shown.type = storage_ == Storage::Float ? ElementType::Float32 : ElementType::BFloat16;
    shown.count = count_;
    shown.late = std::make_shared<DeviceSnapshot>(
        rank_.shared_from_this(), DeviceValues{data_, count_ * bytesOf(storage_), storage_, memory_}, keeps_values);
    return shown;
}

} // namespace bubblescope::runtime
