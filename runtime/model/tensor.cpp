#include "runtime/model/tensor.h"

#include "runtime/model/compute_queue.h"

namespace bubblescope::runtime {

std::unique_ptr<DeviceArray> DeviceArray::clone() const {
    return std::make_unique<DeviceArray>(queue_, queue_->copyOf(buffer_), rows_, cols_, storage_);
}

void DeviceArray::add(const DeviceArray& other) {
    if (other.queue_ != queue_ || other.storage_ != Storage::Float || storage_ != Storage::Float ||
        other.bytes() != bytes()) {
        throw std::logic_error("only gradients of the same shape and rank can be added on a device");
    }
    queue_->launch(AddKernel{buffer_.as<float>(), other.buffer_.as<float>(), rows_ * cols_});
}

HostMatrix DeviceArray::toHost() const {
    HostMatrix result(rows_, cols_);
    const auto fill = [&](const auto& values) {
        for (std::int64_t row = 0; row < rows_; ++row) {
            for (std::int64_t column = 0; column < cols_; ++column)
                result(row, column) = load(values[static_cast<std::size_t>(row * cols_ + column)]);
        }
    };
    const auto get = [&](auto values) {
        queue_->device().copyOut(values.data(), buffer_.as<void>(), buffer_.bytes(), queue_->stream());
        fill(values);
    };
    const auto count = static_cast<std::size_t>(rows_ * cols_);
    if (storage_ == Storage::Float) {
        get(std::vector<float>(count));
    } else {
        get(std::vector<Bf16>(count));
    }
    return result;
}

std::unique_ptr<LiveTensor> DeviceArray::live() {
    Buffer owner = buffer_.share();
    owner.usedOn(queue_->stream());
    return queue_->live(*queue_, buffer_.as<void>(), rows_ * cols_, storage_,
                        std::make_shared<const Buffer>(std::move(owner)));
}

std::unique_ptr<LiveTensor> DeviceArray::liveInOp() {
    Buffer owner = std::exchange(buffer_, buffer_.share());
    owner.usedOn(queue_->stream());
    return queue_->live(*queue_, buffer_.as<void>(), rows_ * cols_, storage_,
                        std::make_shared<const Buffer>(std::move(owner)));
}

void DeviceArray::makeOwn() {
    if (buffer_.shared()) buffer_ = queue_->copyOf(buffer_);
}

} // namespace bubblescope::runtime
