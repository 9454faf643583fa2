#pragma once

#include "core/aadiff/check_record.h"
#include "runtime/fault/rank_faults.h"
#include "runtime/model/layer_watch.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// A tensor that a layer computed.
struct ShownTensor {
    CheckedTensor tensor = CheckedTensor::Output;
    std::uint64_t digest = 0;
    std::vector<float> values; ///< empty where only the digest was wanted
};

/// What one execution of a part of a layer computed, in that order. Executions of the same on the same inputs show the
/// same tensors.
using LayerResult = std::vector<ShownTensor>;

[[nodiscard]] std::uint64_t digestOf(const float* values, std::int64_t count);
[[nodiscard]] std::uint64_t digestOf(const LayerResult& result);

/// The place of the first tensor that differs; nothing where all agree.
[[nodiscard]] std::optional<std::size_t> firstDifference(const LayerResult& first, const LayerResult& second);

/// Between the tensors at a place of two executions, whose values must be there. Elements count through all tensors of
/// the same name, such as the gradients of a layer's parts.
[[nodiscard]] TensorDifference differenceOf(const LayerResult& first, const LayerResult& second, std::size_t at);

/// Takes down what an execution shows, struck by the rank's faults as the hardware would be.
class ResultProbe final : public LayerProbe {
public:
    ResultProbe(const RankFaults& faults, const LayerRun& run) : strikes_(faults, run) {}

    void touch(CheckedTensor tensor, float* values, std::int64_t count) override {
        strikes_.strike(tensor, values, count);
        result_.push_back({tensor, digestOf(values, count), {values, values + count}});
    }

    [[nodiscard]] LayerResult take() { return std::move(result_); }

private:
    LayerStrikes strikes_;
    LayerResult result_;
};

} // namespace bubblescope::runtime
