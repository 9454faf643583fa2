#pragma once

#include "core/timeline/checks.h"
#include "runtime/faults/rank_faults.h"
#include "runtime/model/layer_watch.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// The tensors computed by one execution of a part of a layer, in the order of their computation. Executions of the
/// same part on the same inputs report the same tensors. On a device, reading a result waits until the device has
/// computed it.
using LayerResult = std::vector<ShownTensor>;

[[nodiscard]] std::uint64_t digestOf(const LayerResult& result);

/// Index of the first tensor that differs; nothing if all are equal.
[[nodiscard]] std::optional<std::size_t> firstDifference(const LayerResult& first, const LayerResult& second);

/// The difference between the tensors at index `at` of two executions, whose values must be present. Elements are
/// numbered across all tensors of the same name, such as the gradients of a layer's parameters.
[[nodiscard]] TensorDifference differenceOf(const LayerResult& first, const LayerResult& second, std::size_t at);

/// Records the tensors that an execution reports, after injecting the rank's faults.
class ResultProbe final : public LayerProbe {
public:
    explicit ResultProbe(LayerInjection injection) : injection_(std::move(injection)) {}

    using LayerProbe::touch;
    void touch(CheckedTensor tensor, LiveTensor& values) override {
        injection_.inject(tensor, values);
        result_.push_back(values.show(tensor, true));
    }
    [[nodiscard]] bool changes() const override { return !injection_.none(); }

    [[nodiscard]] LayerResult take() { return std::move(result_); }

private:
    LayerInjection injection_;
    LayerResult result_;
};

/// Records the tensors that an execution reports, for queueDigests().
class DigestProbe final : public LayerProbe {
public:
    using LayerProbe::touch;
    void touch(CheckedTensor tensor, LiveTensor& values) override { result_.push_back(values.note(tensor)); }
    [[nodiscard]] LayerResult take() { return std::move(result_); }

private:
    LayerResult result_;
};

} // namespace bubblescope::runtime
