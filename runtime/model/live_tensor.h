#pragma once

#include "core/aadiff/element_difference.h"
#include "core/timeline/check_record.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace bubblescope::runtime {

/// What a device is still to tell of a tensor as it was when it was shown. Used by the thread of the rank that it was
/// shown to.
class LateTensor {
public:
    LateTensor() = default;
    LateTensor(const LateTensor&) = delete;
    LateTensor& operator=(const LateTensor&) = delete;
    virtual ~LateTensor() = default;

    /// Waits for the device.
    [[nodiscard]] virtual std::uint64_t digest() const = 0;
    /// Empty where only the digest was wanted. Waits for the device.
    [[nodiscard]] virtual std::vector<float> values() const = 0;
    /// Device memory that holds the values.
    [[nodiscard]] virtual std::int64_t bytes() const = 0;
};

/// A tensor as it was when it was shown.
struct ShownTensor {
    CheckedTensor tensor = CheckedTensor::Output;
    std::uint64_t digest = 0;  ///< see digestNow()
    std::vector<float> values; ///< see valuesNow(); empty where only the digest was wanted
    ElementType type = ElementType::Float32;
    std::int64_t count = 0;
    std::shared_ptr<const LateTensor> late; ///< who knows digest and values, on a device; null on the host

    // Where these are on a device they wait for it.
    [[nodiscard]] std::uint64_t digestNow() const { return late ? late->digest() : digest; }
    [[nodiscard]] std::vector<float> valuesNow() const { return late ? late->values() : values; }
    /// Held for the values.
    [[nodiscard]] std::int64_t bytes() const {
        return late ? late->bytes() : static_cast<std::int64_t>(values.size() * sizeof(float));
    }
};

/// A tensor that has just been computed, wherever its numbers are; for as long as a call lasts. On a device what is
/// done to it is queued behind what computes it.
class LiveTensor {
public:
    LiveTensor() = default;
    LiveTensor(const LiveTensor&) = delete;
    LiveTensor& operator=(const LiveTensor&) = delete;
    virtual ~LiveTensor() = default;

    [[nodiscard]] virtual std::int64_t count() const = 0;
    /// Flips a bit of a number, from its lowest; numbers count as they lie in memory. Of numbers of 16 bits the bits
    /// count as those of the floats that they are the upper half of, and the lower half of these folds onto them.
    virtual void flip(std::int64_t element, std::int64_t bit) = 0;
    /// Flips the lowest bit of about half of the numbers; which, `chance` says.
    virtual void disturb(std::uint64_t chance) = 0;
    /// Takes down its digest, and its values too if they are wanted.
    [[nodiscard]] virtual ShownTensor show(CheckedTensor tensor, bool with_values) = 0;
};

/// On the host.
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

} // namespace bubblescope::runtime
