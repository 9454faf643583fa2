#pragma once

#include "runtime/backend/accelerator/device_parameters.h"
#include "runtime/backend/accelerator/device_tensor.h"
#include "runtime/model/layer_watch.h"

#include <span>

namespace bubblescope::runtime {

template <class T>
constexpr Storage kStorage = sizeof(T) == sizeof(float) ? Storage::Float : Storage::Bf16;

/// Normalised, on a device.
struct DeviceNormalised {
    Buffer values;
    Buffer inverse_deviations; ///< in float

    [[nodiscard]] std::int64_t bytes() const { return values.bytes() + inverse_deviations.bytes(); }
};

/// The parts of runtime/model/layers.h on a device, for the parameters of one stage. Matrices have a row per token.
template <class T>
class DeviceLayers {
public:
    /// `sums` joins the ranks that share the stage; null where it is whole.
    DeviceLayers(RankQueue& rank, const DeviceParameters<T>& parameters, DeviceSums* sums = nullptr)
        : DeviceLayers(rank, rank, parameters, sums) {}
    /// Their work is queued elsewhere than the rank's.
    DeviceLayers(RankQueue& rank, WorkQueue& on, const DeviceParameters<T>& parameters, DeviceSums* sums = nullptr)
        : rank_(rank), queue_(on), parameters_(parameters), sums_(sums) {}

    [[nodiscard]] WorkQueue& queue() const { return queue_; }

    /// Shows what has just been computed, values of type U. `probe` may be null.
    template <class U = T>
    void show(LayerProbe* probe, CheckedTensor tensor, const Buffer& values) const {
        showRun(probe, tensor, values.as<U>(), values.bytes() / static_cast<std::int64_t>(sizeof(U)));
    }
    template <class U>
    void showRun(LayerProbe* probe, CheckedTensor tensor, U* values, std::int64_t count) const {
        if (probe == nullptr || count == 0) return;
        DeviceTensor live(rank_, queue_, values, count, kStorage<U>);
        probe->touch(tensor, live);
    }

    /// Memory for values of type U.
    template <class U = T>
    [[nodiscard]] Buffer take(std::int64_t count) const {
        return queue_.pool().take(count * static_cast<std::int64_t>(sizeof(U)));
    }

    /// Features that a part's output has, on this rank.
    [[nodiscard]] std::int64_t columns(std::size_t part) const { return parameters_.part(part).columns; }

    // Linear parts. Those whose rows are shared out give part of a sum each, and so do the input gradients of those
    // whose columns are: there applyOnto() and inputGradient() add up with the other ranks, in float.
    [[nodiscard]] Buffer apply(std::size_t part, const Buffer& input, std::int64_t tokens) const;
    /// Adds the output to `output`.
    void applyOnto(Buffer& output, std::size_t part, const Buffer& input, std::int64_t tokens) const;
    /// As apply(), stored as float whatever T is.
    [[nodiscard]] Buffer applyExactly(std::size_t part, const Buffer& input, std::int64_t tokens) const;
    [[nodiscard]] Buffer inputGradient(std::size_t part, const Buffer& output_grad, std::int64_t tokens) const;
    void weightGradient(std::size_t part, const Buffer& input, const Buffer& output_grad, std::int64_t tokens,
                        DeviceGradientSum::Target target) const;

    // Normalisations.
    [[nodiscard]] DeviceNormalised normalise(const Buffer& input, std::int64_t tokens, std::int64_t width) const;
    [[nodiscard]] Buffer scaled(std::size_t part, const DeviceNormalised& normalised, std::int64_t tokens) const;
    /// Plus `beside`, unless it is empty.
    [[nodiscard]] Buffer normInputGradient(std::size_t part, const DeviceNormalised& normalised,
                                           const Buffer& output_grad, const Buffer& beside, std::int64_t tokens) const;
    void normWeightGradient(std::size_t part, const DeviceNormalised& normalised, const Buffer& output_grad,
                            std::int64_t tokens, DeviceGradientSum::Target target) const;

    // GELU.
    [[nodiscard]] Buffer gelu(const Buffer& before) const;
    /// Turns the gradient for the output into that for the input.
    void geluGradient(Buffer& grad, const Buffer& before) const;

private:
    [[nodiscard]] Gemm forward(std::size_t part, const Buffer& input, std::int64_t tokens) const;
    [[nodiscard]] bool summed(std::size_t part, PartLayout::Cut cut) const {
        return sums_ != nullptr && parameters_.part(part).cut == cut;
    }
    /// Of this rank's part, in float, that of all ranks.
    [[nodiscard]] Buffer addUp(Buffer part, std::int64_t tokens, std::int64_t columns) const;

    RankQueue& rank_;
    WorkQueue& queue_;
    const DeviceParameters<T>& parameters_;
    DeviceSums* sums_;
};

/// How rows and columns lie, as AttentionShape on the host.
struct DeviceAttentionShape {
    int batch = 1;
    int heads = 1;
    std::int64_t width = 1;

    [[nodiscard]] std::int64_t each() const { return width / heads; }
};

/// What attention works in.
struct AttentionScratch {
    Buffer gathered; ///< columns of all slices of one sequence, where there are several
    Buffer scores;
    Buffer weights;
};

/// Causal self-attention. Scores and weights of some heads at a time are kept in scratch memory that a GPU's cache can
/// hold, and made again for the gradient, so that memory grows with the tokens and not with their square.
template <class T>
class DeviceAttention {
public:
    DeviceAttention(const DeviceLayers<T>& layers, DeviceAttentionShape shape) : layers_(layers), shape_(shape) {}

    /// `columns` hold queries, keys and values of `tokens` rows, `earlier` those of the slices before, in their order.
    [[nodiscard]] Buffer attend(const Buffer& columns, std::span<const Buffer* const> earlier,
                                std::int64_t tokens) const;
    /// The gradient for `columns`, to which that from later slices is added, unless it is empty: keys and values in
    /// float. What falls on earlier slices is added to theirs.
    [[nodiscard]] Buffer gradient(const Buffer& output_grad, const Buffer& columns,
                                  std::span<const Buffer* const> earlier, std::int64_t tokens, const Buffer& later_grad,
                                  std::span<Buffer* const> earlier_grads) const;

private:
    /// Some heads of one sequence.
    struct Group {
        const T* queries = nullptr; ///< of the group's first head
        const T* keys = nullptr;
        const T* values = nullptr;
        std::int64_t rows = 0; ///< queries
        std::int64_t seen = 0; ///< keys
        int first = 0;         ///< head
        int heads = 0;
    };

    [[nodiscard]] std::int64_t seen(std::span<const Buffer* const> earlier, std::int64_t rows) const;
    [[nodiscard]] int headsAtOnce(std::int64_t rows, std::int64_t seen) const;
    /// Calls `work(sequence, group)` for all of them.
    template <class Work>
    void forGroups(const Buffer& columns, std::span<const Buffer* const> earlier, std::int64_t tokens,
                   AttentionScratch& scratch, const Work& work) const;
    void makeWeights(const Group& group, AttentionScratch& scratch) const;
    /// result = a · b, a head at a time.
    void multiply(const Group& group, GemmMatrix a, GemmMatrix b, GemmMatrix result, std::int64_t rows,
                  std::int64_t columns, std::int64_t inner, Storage out, float scale = 1.0F) const;
    [[nodiscard]] float scale() const;

    const DeviceLayers<T>& layers_;
    DeviceAttentionShape shape_;
};

} // namespace bubblescope::runtime
