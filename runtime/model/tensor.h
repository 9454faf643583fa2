#pragma once

#include "runtime/model/live_tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// A row-major matrix on the host. Rows are tokens and columns are features; parameter gradients form one column.
class HostMatrix {
public:
    HostMatrix() = default;
    HostMatrix(std::int64_t rows, std::int64_t cols, float value = 0.0F)
        : rows_(rows), cols_(cols), values_(static_cast<std::size_t>(rows * cols), value) {}
    HostMatrix(std::int64_t rows, std::int64_t cols, const float* values)
        : rows_(rows), cols_(cols), values_(values, values + rows * cols) {}

    [[nodiscard]] std::int64_t rows() const { return rows_; }
    [[nodiscard]] std::int64_t cols() const { return cols_; }
    [[nodiscard]] std::int64_t size() const { return rows_ * cols_; }
    [[nodiscard]] std::int64_t bytes() const { return size() * static_cast<std::int64_t>(sizeof(float)); }
    [[nodiscard]] float* data() { return values_.data(); }
    [[nodiscard]] const float* data() const { return values_.data(); }
    [[nodiscard]] float& operator()(std::int64_t row, std::int64_t column) {
        return values_[static_cast<std::size_t>(row * cols_ + column)];
    }
    [[nodiscard]] float operator()(std::int64_t row, std::int64_t column) const {
        return values_[static_cast<std::size_t>(row * cols_ + column)];
    }
    /// Adds a matrix of the same shape.
    HostMatrix& operator+=(const HostMatrix& other) {
        if (rows_ != other.rows_ || cols_ != other.cols_) throw std::logic_error("matrices have different shapes");
        for (std::size_t i = 0; i < values_.size(); ++i)
            values_[i] += other.values_[i];
        return *this;
    }
    friend bool operator==(const HostMatrix&, const HostMatrix&) = default;

private:
    std::int64_t rows_ = 0;
    std::int64_t cols_ = 0;
    std::vector<float> values_;
};

/// The arrival of data from another process: two timed events on the stream that received the data.
struct DeviceArrival {
    explicit DeviceArrival(Accelerator& accelerator)
        : device(accelerator), begin(device.makeEvent(true)), end(device.makeEvent(true)) {}
    DeviceArrival(const DeviceArrival&) = delete;
    DeviceArrival& operator=(const DeviceArrival&) = delete;
    ~DeviceArrival() {
        device.destroy(begin);
        device.destroy(end);
    }

    Accelerator& device;
    Accelerator::Event begin; ///< the receiver is ready
    Accelerator::Event end;   ///< the data has arrived
    Buffer stamp;             ///< 8 bytes with the device's time at `end`; only in paced runs
};

/// A matrix in the memory of a rank's device: one row per token, or a column of gradients. Work on the matrix is queued
/// on the device in the order of the calls; only toHost() waits for the work.
class DeviceArray {
public:
    DeviceArray(std::shared_ptr<ComputeQueue> queue, Buffer buffer, std::int64_t rows, std::int64_t cols,
                Storage storage)
        : queue_(std::move(queue)), buffer_(std::move(buffer)), rows_(rows), cols_(cols), storage_(storage) {}

    [[nodiscard]] std::int64_t rows() const { return rows_; }
    [[nodiscard]] std::int64_t cols() const { return cols_; }
    [[nodiscard]] std::int64_t bytes() const { return buffer_.bytes(); }
    [[nodiscard]] Storage storage() const { return storage_; }
    [[nodiscard]] const std::shared_ptr<ComputeQueue>& queue() const { return queue_; }
    [[nodiscard]] Buffer& buffer() { return buffer_; }
    [[nodiscard]] const Buffer& buffer() const { return buffer_; }
    /// A copy on the same device.
    [[nodiscard]] std::unique_ptr<DeviceArray> clone() const;
    /// Adds `other`; both arrays must be gradients of the same rank and shape.
    void add(const DeviceArray& other);
    [[nodiscard]] HostMatrix toHost() const;
    /// The array's values; operations on them are queued in the order of the calls.
    [[nodiscard]] std::unique_ptr<LiveTensor> live();
    /// Like live(), for an array whose users finish with it in the current op. A snapshot of the array is then its last
    /// owner and marks its use: an event in the middle of an op would split the op's graph.
    [[nodiscard]] std::unique_ptr<LiveTensor> liveInOp();
    /// Moves the values to memory without other owners, before a change.
    void makeOwn();

    /// Event after which other ranks may read the array; null before the array is handed over.
    [[nodiscard]] Accelerator::Event ready() const { return ready_.get(); }
    void setReady(std::shared_ptr<Accelerator::EventState> ready) { ready_ = std::move(ready); }
    /// The array's arrival from another process; null if it was computed in this process.
    [[nodiscard]] const std::shared_ptr<const DeviceArrival>& arrival() const { return arrival_; }
    void cameBy(std::shared_ptr<const DeviceArrival> arrival) { arrival_ = std::move(arrival); }

private:
    std::shared_ptr<ComputeQueue> queue_; // must outlive the members below
    Buffer buffer_;
    std::int64_t rows_;
    std::int64_t cols_;
    Storage storage_;
    std::shared_ptr<Accelerator::EventState> ready_; ///< its deleter returns the event to the queue
    std::shared_ptr<const DeviceArrival> arrival_;
};

/// A matrix that stages pass to each other, on the host or a device. The engine moves, copies and adds tensors, but
/// never reads them.
class Tensor {
public:
    Tensor() = default;
    Tensor(HostMatrix values) : host_(std::move(values)) {} // NOLINT: implicit, because a matrix is a tensor
    explicit Tensor(std::unique_ptr<DeviceArray> array) : device_(std::move(array)) {}

    Tensor(Tensor&&) noexcept = default;
    Tensor& operator=(Tensor&&) noexcept = default;
    Tensor(const Tensor& other) : host_(other.host_), device_(other.device_ ? other.device_->clone() : nullptr) {}
    Tensor& operator=(const Tensor& other) { return *this = Tensor(other); }
    ~Tensor() = default;

    [[nodiscard]] bool onHost() const { return device_ == nullptr; }
    [[nodiscard]] std::int64_t rows() const { return device_ ? device_->rows() : host_.rows(); }
    [[nodiscard]] std::int64_t cols() const { return device_ ? device_->cols() : host_.cols(); }
    [[nodiscard]] std::int64_t size() const { return rows() * cols(); }
    [[nodiscard]] bool empty() const { return size() == 0; }

    /// Only for a tensor on the host.
    [[nodiscard]] const HostMatrix& host() const& {
        requireHost();
        return host_;
    }
    [[nodiscard]] HostMatrix& host() & {
        requireHost();
        return host_;
    }
    [[nodiscard]] HostMatrix host() && {
        requireHost();
        return std::move(host_);
    }
    /// Only for a tensor on a device.
    [[nodiscard]] DeviceArray& device() const {
        if (!device_) throw std::logic_error("a tensor is not on the device that uses it");
        return *device_;
    }
    /// A copy of the values on the host.
    [[nodiscard]] HostMatrix toHost() const { return device_ ? device_->toHost() : host_; }

    /// The values, accessible where they are stored.
    [[nodiscard]] std::unique_ptr<LiveTensor> live() {
        return device_ ? device_->live() : std::make_unique<HostTensor>(host_.data(), host_.size());
    }
    /// See DeviceArray.
    [[nodiscard]] std::unique_ptr<LiveTensor> liveInOp() { return device_ ? device_->liveInOp() : live(); }
    void makeOwn() {
        if (device_) device_->makeOwn();
    }

    /// Both tensors must be on the same device and have the same shape.
    Tensor& operator+=(const Tensor& other) {
        if (onHost() != other.onHost()) throw std::logic_error("tensors on different devices cannot be added");
        if (device_) {
            device_->add(*other.device_);
        } else {
            host_ += other.host_;
        }
        return *this;
    }

private:
    void requireHost() const {
        if (device_) throw std::logic_error("the values of this tensor are not on the host");
    }

    HostMatrix host_; ///< empty if the tensor is on a device
    std::unique_ptr<DeviceArray> device_;
};

} // namespace bubblescope::runtime
