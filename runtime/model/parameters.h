#pragma once

#include "runtime/model/compute_queue.h"
#include "runtime/model/data_plan.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_layout.h"

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// Where a part's weights and bias lie in one long column of all parameters of a stage. Weights lie column by column;
/// each part begins at an address that suits the device.
struct FlatPart {
    PartLayout::Cut cut = PartLayout::Cut::Whole; ///< what of it ranks hold that share the stage; sizes are this rank's
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t weight = 0; ///< place of the first value
    std::int64_t bias = 0;
    std::int64_t bias_size = 0;
    bool decays = false; ///< of the weights

    [[nodiscard]] std::int64_t weightSize() const { return rows * columns; }
};

/// A stage's column.
struct FlatLayout {
    std::vector<FlatPart> parts;
    std::int64_t size = 0; ///< values, gaps included
};
/// `alignment`: see ComputeQueue::Traits.
[[nodiscard]] FlatLayout flatLayout(const ModelConfig& config, const StageTask& task, std::int64_t alignment);

/// Some parts of a stage's parameters, such as those of a layer. Places are relative to `exact` and `rounded`.
template <class T>
struct ParameterView {
    std::span<const FlatPart> parts;
    float* exact = nullptr;
    T* rounded = nullptr; ///< what products read; the exact ones where T is float

    [[nodiscard]] const FlatPart& part(std::size_t index) const { return parts[index]; }
    [[nodiscard]] float* weight(std::size_t index) const { return exact + parts[index].weight; }
    [[nodiscard]] float* bias(std::size_t index) const { return exact + parts[index].bias; }
    [[nodiscard]] T* roundedWeight(std::size_t index) const { return rounded + parts[index].weight; }
    [[nodiscard]] T* roundedBias(std::size_t index) const { return rounded + parts[index].bias; }
};

/// The parameters of one stage on a device: exact ones that the optimizer works on, and what the products read, which
/// is the same memory where T is float and a rounded copy where it is Bf16.
template <class T>
class StageParameters {
public:
    /// With the weights that stageLayout() states: the same bits on every device.
    StageParameters(ComputeQueue& queue, const ModelConfig& config, const StageTask& task);

    [[nodiscard]] const FlatPart& part(std::size_t index) const { return parts_[index]; }
    [[nodiscard]] std::size_t parts() const { return parts_.size(); }
    /// Values in the column, gaps included.
    [[nodiscard]] std::int64_t size() const { return size_; }

    [[nodiscard]] ParameterView<T> view(std::size_t first, std::size_t count) const {
        return {std::span(parts_).subspan(first, count), exact_.as<float>(), rounded()};
    }
    [[nodiscard]] ParameterView<T> view() const { return view(0, parts_.size()); }

    /// AdamW with the mean of `microbatches` gradients that `sum` adds up.
    void step(const float* sum, int microbatches);
    /// After weights were written from outside.
    void round();

    [[nodiscard]] std::int64_t bytes() const { return exact_.bytes() + rounded_.bytes(); }
    [[nodiscard]] std::int64_t optimizerBytes() const { return first_.bytes() + second_.bytes(); }
    /// That of core/aadiff/digest.h, of the column. Waits for the device.
    [[nodiscard]] std::uint64_t digest() const;
    /// Whether what products read is a copy.
    [[nodiscard]] bool hasRounded() const { return !rounded_.empty(); }
    /// The values without gaps, in the order of stageLayout(); of this column or of one of gradients. Waits.
    [[nodiscard]] std::vector<float> toHost(const float* column) const;
    [[nodiscard]] std::vector<float> toHost() const { return toHost(exact_.as<float>()); }
    /// The opposite, for tests.
    void fromHost(const std::vector<float>& values);

private:
    [[nodiscard]] T* rounded() const;

    ComputeQueue& queue_;
    AdamWConfig optimizer_;
    std::vector<FlatPart> parts_;
    std::int64_t size_ = 0;
    Buffer exact_;
    Buffer rounded_; ///< only where T is not float
    Buffer first_;   ///< moments; from the first step on
    Buffer second_;
    std::int64_t steps_ = 0;
};

/// The values of a column that some parts lie in, gaps between them included.
struct FlatRun {
    std::int64_t first = 0;
    std::int64_t size = 0;
};
[[nodiscard]] FlatRun runOf(const FlatPart& first, const FlatPart& last);

/// Sums the gradients of a step's pieces in the order that DataPlan states, whatever the order in which they come:
/// float sums depend on their order, and schedules differ in theirs. A gradient whose turn it is is added to the sum by
/// the kernels that compute it, or from memory of its own (ComputeQueue::Traits::separate_gradients); one that comes
/// early keeps memory of its own until its turn.
class GradientSum {
public:
    GradientSum(ComputeQueue& queue, std::vector<Piece> order, std::int64_t size)
        : queue_(queue), order_(std::move(order)), size_(size) {}

    struct Target {
        float* column;
        bool accumulate; ///< add to what is there
    };
    /// Where the piece's gradient goes. Then end() with the same piece.
    [[nodiscard]] Target begin(Piece piece);
    void end(Piece piece);

    /// The sum over all pieces, each of which must have come; then starts anew.
    [[nodiscard]] Buffer take();

    /// Bytes of the sum and of what came early, between ops.
    [[nodiscard]] std::int64_t bytes() const;

private:
    [[nodiscard]] bool isNext(Piece piece) const { return next_ < order_.size() && order_[next_] == piece; }
    [[nodiscard]] Buffer zeros();
    /// For a gradient whose every value will be written: gaps between the parts are zero.
    [[nodiscard]] Buffer room();
    void add(Buffer next);

    ComputeQueue& queue_;
    std::vector<Piece> order_;
    std::int64_t size_;
    std::size_t next_ = 0;
    Buffer sum_;
    std::map<Piece, Buffer> early_;
};

} // namespace bubblescope::runtime
