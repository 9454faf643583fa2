#pragma once

#include "runtime/model/compute_queue.h"
#include "runtime/model/layer_watch.h"
#include "runtime/model/parameters.h"
#include "runtime/model/tensor_shard.h"

#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope::runtime {

template <class T>
constexpr Storage kStorage = sizeof(T) == sizeof(float) ? Storage::Float : Storage::Bf16;

/// Which rows a piece has: `batch` sequences one after the other, of each the positions from `begin` on.
struct PieceRows {
    int batch = 1;
    int begin = 0;
    int length = 0;   ///< positions of the piece in each sequence
    int sequence = 0; ///< positions of a whole sequence

    [[nodiscard]] std::int64_t tokens() const { return std::int64_t{batch} * length; }
};

/// What layer normalisation (Ba, Kiros and Hinton 2016) makes of its input.
struct Normalised {
    Buffer values;             ///< x̂ = (x − mean) / deviation, by row
    Buffer inverse_deviations; ///< by row, in float

    [[nodiscard]] std::int64_t bytes() const { return values.bytes() + inverse_deviations.bytes(); }
};

/// Adds up parts that ranks have computed of a matrix, in float. Calls come in the same order on all of them.
class PartSums {
public:
    virtual ~PartSums() = default;
    /// The sum of all ranks' parts, which has the same bits on all of them.
    [[nodiscard]] virtual Buffer addUp(Buffer part, std::int64_t rows, std::int64_t columns) = 0;
};

/// Where layers compute, and who examines what they do.
struct LayerPlace {
    ComputeQueue& rank;
    WorkQueue& on;               ///< what their work is queued on: the rank's, or that of its checks
    PartSums* sums = nullptr;    ///< joins the ranks that share the stage; null where it is whole
    LayerProbe* probe = nullptr; ///< is shown what is computed; null for none

    template <class U>
    void show(CheckedTensor tensor, U* values, std::int64_t count) const {
        if (probe == nullptr || count == 0) return;
        constexpr Storage kStored = sizeof(U) == sizeof(float) ? Storage::Float : Storage::Bf16;
        probe->touch(tensor, *rank.live(on, values, count, kStored));
    }
    /// Values of type U.
    template <class U>
    void show(CheckedTensor tensor, const Buffer& values) const {
        show(tensor, values.as<U>(), values.bytes() / static_cast<std::int64_t>(sizeof(U)));
    }
};

/// The parts of a transformer's layers, each as forward, gradient for the input and gradient for the weights, so that
/// schedules can run the last two apart. Matrices have a row per token and are stored as T. Results depend on the
/// arguments alone.
template <class T>
class Layers {
public:
    /// `parameters`: of one layer, whose parts are numbered from 0.
    Layers(const LayerPlace& place, const ParameterView<T>& parameters) : place_(place), parameters_(parameters) {}

    [[nodiscard]] const LayerPlace& place() const { return place_; }
    [[nodiscard]] WorkQueue& queue() const { return place_.on; }
    [[nodiscard]] const ParameterView<T>& parameters() const { return parameters_; }

    /// Shows what has just been computed, values of type U.
    template <class U = T>
    void show(CheckedTensor tensor, const Buffer& values) const {
        place_.show<U>(tensor, values);
    }
    void show(const Normalised& normalised) const {
        show(CheckedTensor::Normalised, normalised.values);
        show<float>(CheckedTensor::Deviations, normalised.inverse_deviations);
    }

    /// Memory for values of type U.
    template <class U = T>
    [[nodiscard]] Buffer take(std::int64_t count) const {
        return queue().pool().take(count * static_cast<std::int64_t>(sizeof(U)));
    }

    /// Features that a part's output has, on this rank.
    [[nodiscard]] std::int64_t columns(std::size_t part) const { return parameters_.part(part).columns; }

    // Linear parts: y = x·weight + bias. Those whose rows are shared out give part of a sum each, and so do the input
    // gradients of those whose columns are: there applyOnto() and inputGradient() add up with the other ranks, in
    // float.
    [[nodiscard]] Buffer apply(std::size_t part, const Buffer& input, std::int64_t tokens) const;
    /// Adds the output to `output`.
    void applyOnto(Buffer& output, std::size_t part, const Buffer& input, std::int64_t tokens) const;
    /// As apply(), stored as float whatever T is.
    [[nodiscard]] Buffer applyExactly(std::size_t part, const Buffer& input, std::int64_t tokens) const;
    [[nodiscard]] Buffer inputGradient(std::size_t part, const Buffer& output_grad, std::int64_t tokens) const;
    void weightGradient(std::size_t part, const Buffer& input, const Buffer& output_grad, std::int64_t tokens,
                        GradientSum::Target target) const;

    // Normalisations: y = x̂ ∘ gain + bias.
    [[nodiscard]] Normalised normalise(const Buffer& input, std::int64_t tokens, std::int64_t width) const;
    [[nodiscard]] Buffer scaled(std::size_t part, const Normalised& normalised, std::int64_t tokens) const;
    /// Plus `beside`, unless it is empty.
    [[nodiscard]] Buffer normInputGradient(std::size_t part, const Normalised& normalised, const Buffer& output_grad,
                                           const Buffer& beside, std::int64_t tokens) const;
    void normWeightGradient(std::size_t part, const Normalised& normalised, const Buffer& output_grad,
                            std::int64_t tokens, GradientSum::Target target) const;

    // GELU.
    [[nodiscard]] Buffer gelu(const Buffer& before) const;
    /// Turns the gradient for the output into that for the input.
    void geluGradient(Buffer& grad, const Buffer& before) const;

private:
    [[nodiscard]] Gemm forward(std::size_t part, const Buffer& input, std::int64_t tokens) const;
    [[nodiscard]] bool summed(std::size_t part, PartLayout::Cut cut) const {
        return place_.sums != nullptr && parameters_.part(part).cut == cut;
    }
    /// Of this rank's part, in float, that of all ranks.
    [[nodiscard]] Buffer addUp(Buffer part, std::int64_t tokens, std::int64_t columns) const;

    LayerPlace place_;
    ParameterView<T> parameters_;
};

} // namespace bubblescope::runtime
