#pragma once

#include "core/base/ids.h"
#include "core/schedule/op.h"
#include "runtime/model/data_plan.h"
#include "runtime/model/tensor.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace bubblescope::runtime {

/// Bytes held for training, the data itself aside.
struct MemoryUse {
    std::int64_t weights = 0;
    std::int64_t gradients = 0;   ///< for the weights: the sum, and what waits for its turn in it
    std::int64_t optimizer = 0;   ///< its moments
    std::int64_t activations = 0; ///< what forward and backward leave for later ops of their piece

    [[nodiscard]] std::int64_t total() const { return weights + gradients + optimizer + activations; }

    MemoryUse& operator+=(const MemoryUse& other) {
        weights += other.weights;
        gradients += other.gradients;
        optimizer += other.optimizer;
        activations += other.activations;
        return *this;
    }
};

/// The maths of one stage, as the engine sees it: one call per op. The stage keeps what its backward needs.
/// Used by one thread at a time. Failures are exceptions; the engine turns them into the run's Error.
class StageModel {
public:
    virtual ~StageModel() = default;

    /// F. `input` is what the previous stage returned; empty for the first, which has the data. The last
    /// stage computes the loss and returns an empty tensor.
    [[nodiscard]] virtual Tensor forward(Piece piece, Tensor input) = 0;

    /// I, or the first half of B. `output_grad` is what the next stage returned; empty for the last.
    /// Returns the gradient for the input.
    [[nodiscard]] virtual Tensor backwardInput(Piece piece, Tensor output_grad) = 0;

    /// W, or the second half of B; frees what the piece kept.
    virtual void backwardWeight(Piece piece) = 0;

    /// The gradients of all parameters, summed over the stage's pieces in the order that DataPlan states, as one
    /// column; then starts anew.
    [[nodiscard]] virtual Tensor takeGradient() = 0;

    /// O: one step with the mean of the micro-batches whose gradients `sum` adds up.
    virtual void applyGradient(const Tensor& sum) = 0;

    /// The stage's share of the mean loss over all micro-batches since the last call; 0 on stages without a loss.
    [[nodiscard]] virtual double takeLoss() = 0;

    /// How often an op of this kind adds up parts with the ranks that share the stage.
    [[nodiscard]] virtual int sumsIn(OpKind /*kind*/) const { return 0; }

    /// At this moment, between two calls; takes no time to speak of.
    [[nodiscard]] virtual MemoryUse memory() const = 0;

    /// Those that a watch (see StageTask) is told of; none where the backend cannot run a layer by itself.
    [[nodiscard]] virtual LayerRange layers() const { return {}; }

    /// Shows a layer's weights as they are.
    virtual void showWeights(int /*layer*/, LayerProbe& /*probe*/) {}

    /// Computes a known answer (runtime/model/known_answers.h) where the stage computes, and shows it.
    virtual void computeKnown(CheckedTensor /*tensor*/, LayerProbe& /*probe*/) {}

    /// Continues an FNV-1a hash with the bytes of all parameters.
    [[nodiscard]] virtual std::uint64_t digest(std::uint64_t hash) const = 0;
};

/// Makes stage models; called once per stage, by the thread of the rank that holds it.
using StageFactory = std::function<std::unique_ptr<StageModel>(const StageTask&)>;

inline constexpr std::uint64_t kFnvOffset = 0xCBF29CE484222325ULL;
inline constexpr std::uint64_t kFnvPrime = 0x100000001B3ULL;

} // namespace bubblescope::runtime
