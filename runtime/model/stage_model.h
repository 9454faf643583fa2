#pragma once

#include "core/base/ids.h"
#include "core/schedule/op.h"
#include "runtime/model/data_plan.h"
#include "runtime/model/tensor.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>

namespace bubblescope::runtime {

/// Memory held for training in bytes, excluding the data.
struct MemoryUse {
    std::int64_t weights = 0;
    std::int64_t gradients = 0;   ///< gradients of the weights: the sum, and gradients that wait to be added
    std::int64_t optimizer = 0;   ///< the optimizer's moments
    std::int64_t activations = 0; ///< kept by forwards and backwards for later ops of the same piece

    [[nodiscard]] std::int64_t total() const { return weights + gradients + optimizer + activations; }

    MemoryUse& operator+=(const MemoryUse& other) {
        weights += other.weights;
        gradients += other.gradients;
        optimizer += other.optimizer;
        activations += other.activations;
        return *this;
    }
};

/// The computations of one stage, with one call per op of the engine. The stage keeps the data that its backward needs.
/// Used by one thread at a time. Failures are reported as exceptions, which the engine turns into the run's Error.
class StageModel {
public:
    virtual ~StageModel() = default;

    /// F. `input` is the output of the previous stage, or the sum of the encoders' outputs; empty on the first stage of
    /// a model or encoder, which reads the data. The last stage computes the loss and returns an empty tensor.
    [[nodiscard]] virtual Tensor forward(Piece piece, Tensor input) = 0;

    /// I, or the first half of B. `output_grad` is the result of the next stage; empty on the last stage. Returns the
    /// gradient of the input.
    [[nodiscard]] virtual Tensor backwardInput(Piece piece, Tensor output_grad) = 0;

    /// W, or the second half of B; frees the data kept for the piece.
    virtual void backwardWeight(Piece piece) = 0;

    /// Frees what F has kept for the piece, because its other ops run elsewhere.
    virtual void forget(Piece /*piece*/) { cannotMove(); }

    // Call these functions between F and I of a piece, which must be a complete micro-batch. The functions offload the
    // data that F has kept, reload it, or compute it again if F has kept only its input (StageTask::recomputed).
    virtual void offload(Piece /*piece*/) { cannotMove(); }
    virtual void reload(Piece /*piece*/) { cannotMove(); }
    virtual void recompute(Piece /*piece*/) { cannotMove(); }

    /// Rehearses a step on dummy input before the first step: call this once for each op of the step, in the schedule's
    /// order. The rehearsal makes a device load its code and allocate its memory early; later, loading might have to
    /// wait for a transfer to a peer. All results are discarded by endRehearsal(), and watches do not observe a
    /// rehearsal. In a rehearsal, sums over the ranks that share the stage use only this rank's part.
    virtual void rehearse(OpKind /*kind*/, Piece /*piece*/) {}
    virtual void endRehearsal() {}

    /// Returns the gradients of all parameters, summed over the stage's pieces in the order of DataPlan, as one column,
    /// and starts over.
    [[nodiscard]] virtual Tensor takeGradient() = 0;

    /// Weights that travel between ranks (runtime/engine/weight_run.h). takeWeights() moves them out as one column,
    /// which leaves the stage without weights; setWeights() moves in the weights of the same stage that `steps` updates
    /// have produced. Forwards then read the data of that step.
    [[nodiscard]] virtual Tensor takeWeights() { cannotMove(); }
    virtual void setWeights(Tensor /*weights*/, std::int64_t /*steps*/) { cannotMove(); }

    /// O: one optimizer step with the mean of the micro-batch gradients in `sum`.
    virtual void applyGradient(const Tensor& sum) = 0;

    /// The stage's share of the mean loss over all micro-batches since the last call; 0 on stages without a loss. Call
    /// this after each update.
    [[nodiscard]] virtual double takeLoss() = 0;

    /// The number of times that an op of this kind sums over the ranks that share the stage.
    [[nodiscard]] virtual int sumsIn(OpKind /*kind*/) const { return 0; }

    /// The current memory use, between two calls. Cheap.
    [[nodiscard]] virtual MemoryUse memory() const = 0;

    /// The layers that a watch (see StageTask) observes; none if the backend cannot run a single layer.
    [[nodiscard]] virtual LayerRange layers() const { return {}; }

    /// Passes the current weights of a layer to the probe.
    virtual void showWeights(int /*layer*/, LayerProbe& /*probe*/) {}

    /// Computes a known answer (runtime/model/known_answers.h) on the stage's device, and passes it to the probe.
    virtual void computeKnown(CheckedTensor /*tensor*/, LayerProbe& /*probe*/) {}

    /// Continues an FNV-1a hash with the bytes of all parameters.
    [[nodiscard]] virtual std::uint64_t digest(std::uint64_t hash) const = 0;

private:
    [[noreturn]] static void cannotMove() {
        throw std::logic_error("this stage cannot move weights, or offload or recompute activations");
    }
};

/// Creates stage models; called once per stage, on the thread of the rank that holds it.
using StageFactory = std::function<std::unique_ptr<StageModel>(const StageTask&)>;

} // namespace bubblescope::runtime
