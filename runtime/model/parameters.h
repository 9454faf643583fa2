#pragma once

#include "runtime/model/compute_queue.h"
#include "runtime/model/data_plan.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_layout.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// The position of a parameter's weights and bias in the single column that holds all parameters of a stage. Weights
/// are column-major; each parameter begins at a suitably aligned address.
struct FlatPart {
    PartLayout::Cut cut = PartLayout::Cut::Whole; ///< division among the ranks that share the stage; sizes are per rank
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t weight = 0; ///< index of the first value
    std::int64_t bias = 0;
    std::int64_t bias_size = 0;
    bool decays = false; ///< true if weight decay applies
    int groups = 1;      ///< number of adjacent matrices, as in PartLayout
    bool hidden = false; ///< true for matrices inside blocks

    [[nodiscard]] std::int64_t weightSize() const { return rows * columns; }
};

/// The layout of a stage's column.
struct FlatLayout {
    std::vector<FlatPart> parts;
    std::int64_t size = 0; ///< number of values, including gaps
};
/// `alignment`: see ComputeQueue::Traits.
[[nodiscard]] FlatLayout flatLayout(const ModelConfig& config, const StageTask& task, std::int64_t alignment);

/// Some parameters of a stage, such as the parameters of one layer. Positions are relative to `exact` and `rounded`.
template <class T>
struct ParameterView {
    std::span<const FlatPart> parts;
    float* exact = nullptr;
    T* rounded = nullptr; ///< the values used in products; the exact values if T is float

    [[nodiscard]] const FlatPart& part(std::size_t index) const { return parts[index]; }
    [[nodiscard]] float* weight(std::size_t index) const { return exact + parts[index].weight; }
    [[nodiscard]] float* bias(std::size_t index) const { return exact + parts[index].bias; }
    [[nodiscard]] T* roundedWeight(std::size_t index) const { return rounded + parts[index].weight; }
    [[nodiscard]] T* roundedBias(std::size_t index) const { return rounded + parts[index].bias; }
};

/// The parameters of one stage on a device: exact values for the optimizer, and the values used in products. If T is
/// float, both are the same memory; if T is Bf16, the values used in products are a rounded copy.
template <class T>
class StageParameters {
public:
    /// Initialises the weights according to stageLayout(); the values are bit-identical on every device.
    StageParameters(ComputeQueue& queue, const ModelConfig& config, const StageTask& task);

    [[nodiscard]] const FlatPart& part(std::size_t index) const { return parts_[index]; }
    [[nodiscard]] std::size_t parts() const { return parts_.size(); }
    /// Number of values in the column, including gaps.
    [[nodiscard]] std::int64_t size() const { return size_; }

    [[nodiscard]] ParameterView<T> view(std::size_t first, std::size_t count) const {
        return {std::span(parts_).subspan(first, count), (shown_ ? shown_->exact : exact_).template as<float>(),
                shown_ ? shown_->values() : rounded()};
    }
    [[nodiscard]] ParameterView<T> view() const { return view(0, parts_.size()); }

    /// Allocates the optimizer's moments, so that the first step need not allocate them.
    void prepareSteps();
    /// One step of the optimizer with the mean of the `microbatches` gradients in `sum`.
    void step(const float* sum, int microbatches);
    /// Stores a copy of the current weights under a number, for ops that need them after the next step.
    void keep(int version);
    void drop(int version) {
        kept_.erase(version);
        shown_ = nullptr;
    }
    /// Makes view() show the copy under this number, or the current weights if there is none.
    void show(int version);
    /// Call this after other code has written the weights.
    void round();
    /// Moves the weights out; no other function may use them until set() moves in a column of the same layout.
    [[nodiscard]] Buffer take() { return std::move(exact_); }
    void set(Buffer exact) {
        exact_ = std::move(exact);
        round();
    }

    [[nodiscard]] std::int64_t bytes() const;
    [[nodiscard]] std::int64_t optimizerBytes() const { return first_.bytes() + second_.bytes(); }
    /// The digest (core/aadiff/digest.h) of the column. Waits for the device.
    [[nodiscard]] std::uint64_t digest() const;
    /// True if products use a rounded copy.
    [[nodiscard]] bool hasRounded() const { return !rounded_.empty(); }
    /// The values of this column, or of a column of gradients, without gaps and in the order of stageLayout(). Waits
    /// for the device.
    [[nodiscard]] std::vector<float> toHost(const float* column) const;
    [[nodiscard]] std::vector<float> toHost() const { return toHost(exact_.as<float>()); }
    /// The inverse, for tests.
    void fromHost(const std::vector<float>& values);

private:
    struct Kept {
        Buffer exact;
        Buffer rounded;
        [[nodiscard]] T* values() const { return (rounded.empty() ? exact : rounded).template as<T>(); }
    };

    [[nodiscard]] T* rounded() const;
    /// Applies AdamW to `count` consecutive values that start at `at`.
    void stepAdamW(const float* sum, int microbatches, std::int64_t at, std::int64_t count, bool decays);
    /// Applies SGD or Muon to the weights of a part.
    void stepOther(const float* sum, int microbatches, const FlatPart& part);

    ComputeQueue& queue_;
    OptimizerConfig optimizer_;
    std::vector<FlatPart> parts_;
    std::int64_t size_ = 0;
    Buffer exact_;
    Buffer rounded_; ///< only if T is not float
    Buffer first_;   ///< moments; allocated by the first step
    Buffer second_;
    std::int64_t steps_ = 0;
    std::map<int, Kept> kept_;
    const Kept* shown_ = nullptr; ///< null = the current weights
};

/// The range of a column that contains some parameters, including gaps between them.
struct FlatRun {
    std::int64_t first = 0;
    std::int64_t size = 0;

    [[nodiscard]] bool empty() const { return size == 0; }
};
[[nodiscard]] FlatRun runOf(std::span<const FlatPart> parts);
/// Clears the values between consecutive parameters in a column of this layout.
void zeroGaps(WorkQueue& on, std::span<const FlatPart> parts, float* column);

/// Sums the gradients of a step's pieces in the order of DataPlan, regardless of the order in which they are computed.
/// Otherwise results would differ between schedules, because float sums depend on the order. The kernels that compute
/// the next gradient in that order add it to the sum, either directly or from separate memory
/// (ComputeQueue::Traits::separate_gradients). An early gradient is kept in separate memory until its turn.
class GradientSum {
public:
    /// `ends` contains the number of pieces summed before each take(), if it is called several times in a step.
    GradientSum(ComputeQueue& queue, std::vector<Piece> order, std::int64_t size, std::vector<std::size_t> ends = {})
        : queue_(queue), order_(std::move(order)), ends_(std::move(ends)), size_(size) {
        if (ends_.empty()) ends_.push_back(order_.size());
    }

    /// The target of a gradient. Both columns have the layout of the stage's column, but only the requested range is
    /// valid.
    struct Target {
        float* column;
        const float* before; ///< the sum to add to; may be `column`; null = none

        [[nodiscard]] const float* beforeAt(std::int64_t place) const {
            return before == nullptr ? nullptr : before + place;
        }
    };
    /// Sums of a range. While others own `memory`, the sums do not change before the next take().
    struct Kept {
        std::shared_ptr<const Buffer> memory; ///< null = no sums
        float* values = nullptr;              ///< of the range
    };
    /// The use of a range's gradient: IsKept for a check, IsKeptLater if that of a later piece of the step will be.
    enum class Use : std::uint8_t { Adds, IsKeptLater, IsKept };
    struct RangeTarget {
        Target target;
        Kept before; ///< the sum to add to, if the range was ever kept; own it until the work that reads it is queued
        Kept after;  ///< only if the gradient is kept
    };

    /// Call begin() before and end() after the piece's gradient is computed.
    void begin(Piece piece);
    void end(Piece piece);
    /// The target of the current piece's gradient of a layer, which has these parameters. Use::IsKept adds the gradient
    /// into other memory, so that the sums before and after it can be compared later. This costs neither copies nor
    /// launches if all pieces from the first one on announce it.
    [[nodiscard]] RangeTarget target(std::span<const FlatPart> layer, Use use);

    /// Returns the sum over the pieces up to the next end, all of which must have been added, and starts over.
    [[nodiscard]] Buffer take();

    /// Bytes of the sum and of early gradients, between ops.
    [[nodiscard]] std::int64_t bytes() const;

private:
    [[nodiscard]] bool isNext(Piece piece) const { return next_ < order_.size() && order_[next_] == piece; }
    [[nodiscard]] Buffer zeros();
    /// Memory for a gradient whose values will all be written; gaps between the parameters are zero.
    [[nodiscard]] Buffer room();
    void add(Buffer next);

    /// The sums of a range that were in memory of their own.
    struct Range {
        std::int64_t size = 0;
        std::shared_ptr<const Buffer> home;  ///< the column, while others own the range; null = nobody does
        std::shared_ptr<const Buffer> apart; ///< where the sums are; null = in the column
        [[nodiscard]] static bool kept(const std::shared_ptr<const Buffer>& memory) { return memory.use_count() > 1; }
    };
    [[nodiscard]] Kept now(std::int64_t first, Range& range);
    /// Memory for a range, in which only the parameters are undefined.
    [[nodiscard]] std::shared_ptr<const Buffer> roomFor(std::span<const FlatPart> layer) const;
    void addTo(std::int64_t first, std::int64_t size, const Buffer& next);

    ComputeQueue& queue_;
    std::vector<Piece> order_;
    std::vector<std::size_t> ends_;
    std::int64_t size_;
    std::size_t next_ = 0;
    std::size_t begin_ = 0; ///< of the current sum
    std::size_t taken_ = 0; ///< sums in this step
    Buffer sum_;
    std::map<std::int64_t, Range> ranges_; ///< by first value
    std::map<Piece, Buffer> early_;
    Buffer* current_early_ = nullptr; ///< the current piece's gradient if it must wait; null = it is added to the sum
};

} // namespace bubblescope::runtime
