#pragma once

#include "runtime/model/live_tensor.h"

#include <Eigen/Core>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

namespace bubblescope::runtime {

// Rows are tokens, columns are features. Eigen works on one thread here and its results depend on values
// and shapes alone, which is what makes runs comparable bit by bit. The maths is written for any scalar, so that tests
// can hold gradients against finite differences in double precision; training uses float.
template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <class Scalar>
using Row = Eigen::Matrix<Scalar, 1, Eigen::Dynamic>;
template <class Scalar>
using Column = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

template <class Dense>
[[nodiscard]] std::int64_t bytesOf(const Dense& values) {
    return static_cast<std::int64_t>(values.size()) * static_cast<std::int64_t>(sizeof(typename Dense::Scalar));
}

/// A matrix in the memory of a device that is not the host. Work on it is queued on the device in the order of the
/// calls; only toHost() waits for it.
class DeviceArray {
public:
    virtual ~DeviceArray() = default;
    [[nodiscard]] virtual Eigen::Index rows() const = 0;
    [[nodiscard]] virtual Eigen::Index cols() const = 0;
    [[nodiscard]] virtual std::int64_t bytes() const = 0;
    /// The same values in memory of their own, on the same device.
    [[nodiscard]] virtual std::unique_ptr<DeviceArray> clone() const = 0;
    /// Adds what `other` holds, which must be on the same device and have the same shape.
    virtual void add(const DeviceArray& other) = 0;
    [[nodiscard]] virtual Matrix<float> toHost() const = 0;
    /// Its values, to be looked at in the order of the calls.
    [[nodiscard]] virtual std::unique_ptr<LiveTensor> live() = 0;
};

/// What stages hand to each other: a matrix, wherever its values are. The engine moves tensors, copies them and adds
/// them up, and looks at none; on the host their values are a Matrix<float>.
class Tensor {
public:
    Tensor() = default;
    Tensor(Matrix<float> values) : host_(std::move(values)) {} // NOLINT: a matrix is a tensor
    template <class Derived>
    Tensor(const Eigen::DenseBase<Derived>& values) : host_(values) {} // NOLINT: likewise
    explicit Tensor(std::unique_ptr<DeviceArray> array) : device_(std::move(array)) {}

    Tensor(Tensor&&) noexcept = default;
    Tensor& operator=(Tensor&&) noexcept = default;
    Tensor(const Tensor& other) : host_(other.host_), device_(other.device_ ? other.device_->clone() : nullptr) {}
    Tensor& operator=(const Tensor& other) { return *this = Tensor(other); }
    ~Tensor() = default;

    [[nodiscard]] bool onHost() const { return device_ == nullptr; }
    [[nodiscard]] Eigen::Index rows() const { return device_ ? device_->rows() : host_.rows(); }
    [[nodiscard]] Eigen::Index cols() const { return device_ ? device_->cols() : host_.cols(); }
    [[nodiscard]] Eigen::Index size() const { return rows() * cols(); }
    [[nodiscard]] bool empty() const { return size() == 0; }

    /// Only of a tensor on the host.
    [[nodiscard]] const Matrix<float>& host() const& {
        requireHost();
        return host_;
    }
    [[nodiscard]] Matrix<float>& host() & {
        requireHost();
        return host_;
    }
    [[nodiscard]] Matrix<float> host() && {
        requireHost();
        return std::move(host_);
    }
    /// The array on a device; nullptr on the host.
    [[nodiscard]] DeviceArray* device() const { return device_.get(); }
    /// Leaves an empty tensor.
    [[nodiscard]] std::unique_ptr<DeviceArray> takeDevice() { return std::move(device_); }
    /// The values, from wherever they are.
    [[nodiscard]] Matrix<float> toHost() const { return device_ ? device_->toHost() : host_; }

    /// The values, to be looked at wherever they are.
    [[nodiscard]] std::unique_ptr<LiveTensor> live() {
        return device_ ? device_->live() : std::make_unique<HostTensor>(host_.data(), host_.size());
    }

    /// Both on one device and of one shape.
    Tensor& operator+=(const Tensor& other) {
        if (onHost() != other.onHost()) throw std::logic_error("tensors of two devices cannot be added");
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

    Matrix<float> host_; ///< empty when on a device
    std::unique_ptr<DeviceArray> device_;
};

} // namespace bubblescope::runtime
