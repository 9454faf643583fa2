#pragma once

#include "core/timeline/check_record.h"
#include "runtime/faults/rank_faults.h"
#include "runtime/model/layer_watch.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// What one execution of a part of a layer computed, in that order. Executions of the same on the same inputs show the
/// same tensors. Where they are on a device, what looks into a result waits for it.
using LayerResult = std::vector<ShownTensor>;

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

    using LayerProbe::touch;
    void touch(CheckedTensor tensor, LiveTensor& values) override {
        strikes_.strike(tensor, values);
        result_.push_back(values.show(tensor, true));
    }

    [[nodiscard]] LayerResult take() { return std::move(result_); }

private:
    LayerStrikes strikes_;
    LayerResult result_;
};

/// Takes down the digests of what it is shown, which may be struck first.
class DigestProbe final : public LayerProbe {
public:
    explicit DigestProbe(LayerStrikes* strikes = nullptr) : strikes_(strikes) {}
    using LayerProbe::touch;
    void touch(CheckedTensor tensor, LiveTensor& values) override {
        if (strikes_ != nullptr) strikes_->strike(tensor, values);
        result_.push_back(values.show(tensor, false));
    }
    [[nodiscard]] LayerResult take() { return std::move(result_); }

private:
    LayerStrikes* strikes_;
    LayerResult result_;
};

} // namespace bubblescope::runtime
