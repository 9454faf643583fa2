#pragma once

#include "runtime/backend/cudnn/attention_kernels.h"
#include "runtime/backend/rank_queue.h"
#include "runtime/clock/host_clock.h"
#include "tests/support/eigen_matrix.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

namespace bubblescope::runtime::test {

/// Accelerator for the tests in this folder: an emulated device in every build, and a GPU if there is one. Each program
/// defines its own function. `batches` selects an accelerator that accepts batches of work. `kernel` is the duration of
/// each kernel if times are simulated.
[[nodiscard]] std::shared_ptr<Accelerator> testDevice(bool batches = false, TimeNs kernel = TimeNs{0});

/// Attention of the device: that of the variable BUBBLESCOPE_TEST_ATTENTION, "cudnn" or "own" (default).
[[nodiscard]] inline AttentionKernels testAttention() {
    const char* const name = std::getenv("BUBBLESCOPE_TEST_ATTENTION");
    return name != nullptr && std::string_view(name) == "cudnn" ? AttentionKernels::Cudnn : AttentionKernels::Own;
}

/// True if device times depend only on the schedule.
[[nodiscard]] bool timeIsMadeUp();

/// Creates the queue of a single rank on the device.
[[nodiscard]] inline std::shared_ptr<RankQueue> makeQueue(const std::shared_ptr<Accelerator>& device) {
    static MonotonicClock clock;
    auto queue = std::make_shared<RankQueue>(device, std::make_shared<DeviceTime>(*device, clock));
    queue->bindThread();
    return queue;
}

/// Transfers values to a device and back, for tests of kernels.
class OnDevice {
public:
    explicit OnDevice(std::shared_ptr<RankQueue> queue) : queue_(std::move(queue)) {}

    template <class T>
    [[nodiscard]] Buffer put(const std::vector<T>& values) {
        Buffer buffer = queue_->pool().take(static_cast<std::int64_t>(values.size() * sizeof(T)));
        queue_->device().copyIn(buffer.as<void>(), values.data(), buffer.bytes(), queue_->stream());
        return buffer;
    }
    /// Stored as T in row-major order.
    template <class T>
    [[nodiscard]] Buffer putRows(const Matrix<float>& matrix) {
        std::vector<T> values(static_cast<std::size_t>(matrix.size()));
        for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
            for (Eigen::Index column = 0; column < matrix.cols(); ++column)
                store(values[static_cast<std::size_t>(row * matrix.cols() + column)], matrix(row, column));
        }
        return put(values);
    }
    /// Initially filled with NaN, so that a missing write is detected.
    template <class T>
    [[nodiscard]] Buffer room(Eigen::Index count) {
        T nan;
        store(nan, std::numeric_limits<float>::quiet_NaN());
        return put(std::vector<T>(static_cast<std::size_t>(count), nan));
    }
    template <class T>
    [[nodiscard]] std::vector<T> get(const Buffer& buffer) {
        std::vector<T> values(static_cast<std::size_t>(buffer.bytes()) / sizeof(T));
        queue_->device().copyOut(values.data(), buffer.as<void>(), buffer.bytes(), queue_->stream());
        return values;
    }
    template <class T>
    [[nodiscard]] Matrix<float> getRows(const Buffer& buffer, Eigen::Index columns) {
        const std::vector<T> values = get<T>(buffer);
        Matrix<float> matrix(static_cast<Eigen::Index>(values.size()) / columns, columns);
        for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
            for (Eigen::Index column = 0; column < columns; ++column)
                matrix(row, column) = load(values[static_cast<std::size_t>(row * columns + column)]);
        }
        return matrix;
    }

private:
    std::shared_ptr<RankQueue> queue_;
};

/// Rounds values as in storage of type T.
template <class T>
[[nodiscard]] Matrix<float> rounded(const Matrix<float>& matrix) {
    return matrix.unaryExpr([](float x) {
        T stored;
        store(stored, x);
        return load(stored);
    });
}

class Numbers {
public:
    explicit Numbers(unsigned seed) : random_(seed) {}
    [[nodiscard]] Matrix<float> matrix(Eigen::Index rows, Eigen::Index columns, float scale = 1.0F) {
        Matrix<float> result(rows, columns);
        for (Eigen::Index i = 0; i < result.size(); ++i)
            result.data()[i] = scale * normal_(random_);
        return result;
    }

private:
    std::mt19937 random_;
    std::normal_distribution<float> normal_{0.0F, 1.0F};
};

/// Distance of `values` from the expected values, relative to the norm of these; infinite for NaN.
[[nodiscard]] inline double distance(const Matrix<float>& values, const Matrix<double>& expected) {
    if (values.rows() != expected.rows() || values.cols() != expected.cols() || !values.allFinite())
        return std::numeric_limits<double>::infinity();
    const double size = expected.norm();
    return (values.cast<double>() - expected).norm() / (size > 0 ? size : 1.0);
}

/// Largest difference that rounding can explain: for float sums, or for results stored as Bf16.
template <class T>
constexpr double kRounding = sizeof(T) == sizeof(float) ? 2e-6 : 6e-3;

/// Base class for tests of the computations in a rank's queue.
class DeviceTest : public testing::Test {
protected:
    std::shared_ptr<RankQueue> queue_ = makeQueue(testDevice());
    OnDevice device_{queue_};
};

/// Storage types on a device.
using Storages = testing::Types<float, Bf16>;

} // namespace bubblescope::runtime::test
