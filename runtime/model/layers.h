#pragma once

#include "runtime/model/compute_queue.h"
#include "runtime/model/data_plan.h"
#include "runtime/model/layer_watch.h"
#include "runtime/model/parameters.h"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

template <class T>
constexpr Storage kStorage = sizeof(T) == sizeof(float) ? Storage::Float : Storage::Bf16;

/// The rows of a piece: `batch` sequences one after another, with the positions of each starting at `begin`.
struct PieceRows {
    int batch = 1;
    int begin = 0;
    int length = 0;   ///< number of the piece's positions in each sequence
    int sequence = 0; ///< number of positions in a complete sequence

    [[nodiscard]] std::int64_t tokens() const { return std::int64_t{batch} * length; }
};

/// The result of layer normalisation (Ba, Kiros and Hinton 2016) before gain and bias.
struct Normalised {
    Buffer values;             ///< x̂ = (x − mean) / deviation, row-major
    Buffer inverse_deviations; ///< one per row, in float
    Buffer scaled = {};        ///< with gain and bias; kept if these may leave before the weight gradient

    [[nodiscard]] std::int64_t bytes() const { return values.bytes() + inverse_deviations.bytes() + scaled.bytes(); }
};

/// Sums the parts of a matrix that several ranks have computed, in float. All ranks make the calls in the same order.
class PartSums {
public:
    virtual ~PartSums() = default;
    /// Returns the sum of all ranks' parts, which is bit-identical on all ranks.
    [[nodiscard]] virtual Buffer addUp(Buffer part, std::int64_t rows, std::int64_t columns) = 0;
};

/// The context of a layer's computation.
struct LayerPlace {
    ComputeQueue& rank;
    WorkQueue& on;               ///< the rank's queue or its check queue
    PartSums* sums = nullptr;    ///< connects the ranks that share the stage; null if the stage is not shared
    LayerProbe* probe = nullptr; ///< receives the results; null = none

    /// Passes values of type U to the probe; `memory` as in ComputeQueue::live().
    template <class U>
    void show(CheckedTensor tensor, U* values, std::int64_t count, std::shared_ptr<const Buffer> memory) const {
        if (probe == nullptr || count == 0) return;
        constexpr Storage kStored = sizeof(U) == sizeof(float) ? Storage::Float : Storage::Bf16;
        probe->touch(tensor, *rank.live(on, values, count, kStored, std::move(memory)));
    }
    template <class U>
    void show(CheckedTensor tensor, const Buffer& values) const {
        if (probe == nullptr) return;
        show(tensor, values.as<U>(), values.bytes() / static_cast<std::int64_t>(sizeof(U)),
             std::make_shared<const Buffer>(values.share()));
    }
};

/// The operations of a transformer's layers. Each operation has a forward, a gradient of the input and a gradient of
/// the weights, so that schedules can run the two gradients separately. Matrices have one row per token and are stored
/// as T. Results depend only on the arguments.
template <class T>
class Layers {
public:
    /// `parameters` contains the parameters of one layer, whose parts are numbered from 0.
    Layers(const LayerPlace& place, const ParameterView<T>& parameters) : place_(place), parameters_(parameters) {}

    [[nodiscard]] const LayerPlace& place() const { return place_; }
    [[nodiscard]] WorkQueue& queue() const { return place_.on; }
    [[nodiscard]] const ParameterView<T>& parameters() const { return parameters_; }

    /// Passes a result with values of type U to the probe.
    template <class U = T>
    void show(CheckedTensor tensor, const Buffer& values) const {
        place_.show<U>(tensor, values);
    }
    void show(const Normalised& normalised) const {
        show(CheckedTensor::Normalised, normalised.values);
        show<float>(CheckedTensor::Deviations, normalised.inverse_deviations);
    }

    /// Allocates memory for values of type U.
    template <class U = T>
    [[nodiscard]] Buffer take(std::int64_t count) const {
        return queue().pool().take(count * static_cast<std::int64_t>(sizeof(U)));
    }

    /// Number of output features of a part on this rank.
    [[nodiscard]] std::int64_t columns(std::size_t part) const { return parameters_.part(part).columns; }

    // Linear layers: y = x·weight + bias. If a rank holds only some rows of the weight, its result is only a partial
    // sum. The same is true of the input gradient if the rank holds only some columns. In these cases applyOnto() and
    // inputGradient() sum over the ranks, in float.
    [[nodiscard]] Buffer apply(std::size_t part, const Buffer& input, std::int64_t tokens) const;
    /// Adds the result to `output`; if `output` is shared, the sum is in new memory.
    void applyOnto(Buffer& output, std::size_t part, const Buffer& input, std::int64_t tokens) const;
    /// Like apply(), but with a result in float for any T.
    [[nodiscard]] Buffer applyExactly(std::size_t part, const Buffer& input, std::int64_t tokens) const;
    [[nodiscard]] Buffer inputGradient(std::size_t part, const Buffer& output_grad, std::int64_t tokens) const;
    void weightGradient(std::size_t part, const Buffer& input, const Buffer& output_grad, std::int64_t tokens,
                        GradientSum::Target target) const;
    /// As above, for a normalised input that is first scaled with the gain and bias of the part `norm`.
    void weightGradient(std::size_t part, std::size_t norm, const Normalised& input, const Buffer& output_grad,
                        std::int64_t tokens, GradientSum::Target target) const;

    // Normalisation: y = x̂ ∘ gain + bias.
    [[nodiscard]] Normalised normalise(const Buffer& input, std::int64_t tokens, std::int64_t width) const;
    struct NormalisedInput {
        Normalised normalised;
        Buffer scaled;
    };
    /// Normalises the input and applies a part's gain and bias; passes the normalised values to the probe. Uses one
    /// pass, unless the probe may change the values.
    [[nodiscard]] NormalisedInput normaliseAndScale(std::size_t part, const Buffer& input, std::int64_t tokens) const;
    [[nodiscard]] Buffer scaled(std::size_t part, const Normalised& normalised, std::int64_t tokens) const;
    /// Adds `beside`, unless it is empty.
    [[nodiscard]] Buffer normInputGradient(std::size_t part, const Normalised& normalised, const Buffer& output_grad,
                                           const Buffer& beside, std::int64_t tokens) const;
    void normWeightGradient(std::size_t part, const Normalised& normalised, const Buffer& output_grad,
                            std::int64_t tokens, GradientSum::Target target) const;

    // GELU.
    [[nodiscard]] Buffer gelu(const Buffer& before) const;
    /// Replaces the gradient of the output with the gradient of the input.
    void geluGradient(Buffer& grad, const Buffer& before) const;

private:
    [[nodiscard]] Gemm forward(std::size_t part, const Buffer& input, std::int64_t tokens) const;
    [[nodiscard]] bool summed(std::size_t part, PartLayout::Cut cut) const {
        return place_.sums != nullptr && parameters_.part(part).cut == cut;
    }
    /// Returns the sum of all ranks' parts, in float; `part` is this rank's part.
    [[nodiscard]] Buffer addUp(Buffer part, std::int64_t tokens, std::int64_t columns) const;

    LayerPlace place_;
    ParameterView<T> parameters_;
};

} // namespace bubblescope::runtime
