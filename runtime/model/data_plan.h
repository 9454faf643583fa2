#pragma once

#include "core/schedule/schedule.h"
#include "runtime/model/layer_watch.h"
#include "runtime/model/tensor_shard.h"

#include <vector>

namespace bubblescope::runtime {

/// What one op works on: a micro-batch of the data, or one slice of its rows.
struct Piece {
    Microbatch sample; ///< number of the micro-batch in the data, 0 … m−1
    int slice = 0;

    friend constexpr auto operator<=>(const Piece&, const Piece&) = default;
};

/// What the model must know of one stage. Two pipelines side by side hold each part of the model twice: two
/// stages with equal places.
struct StageTask {
    int place = 0;               ///< in its pipeline
    int places = 1;              ///< of its pipeline
    std::vector<Piece> pieces;   ///< that pass it, in the order in which their gradients are summed
    int slices = 1;              ///< of each micro-batch's rows
    int microbatches = 1;        ///< of the whole step, all replicas; the gradient and the loss are means over them
    TensorShard shard{};         ///< what of the stage; whole by default
    LayerWatch* watch = nullptr; ///< looks on while ops run; null = nobody
};

/// How a schedule's micro-batches map to the data, and in what order gradients are summed, which floats do
/// not leave open.
///
/// The data has m micro-batches. Where one pipeline numbers them through, an op's number is the data's. Two
/// pipelines may each number theirs from 0; so the data's numbers go by the op's number first and by the pipeline
/// second, which is the same where numbers are used once.
///
/// The gradient of a stage is summed over its pieces by ascending micro-batch, within one from the last
/// slice to the first (the order in which gradients of a split sequence come). Where there are two pipelines, each
/// sums its own and the first's sum comes first. That order is the same whatever the order of execution;
/// what is ready before its turn waits (see GradientSum). Replicas of the pipeline have m micro-batches each, the first
/// one's come first in the data, and their sums are added in their order. So every schedule of one pipeline and equal
/// slices trains to the same bits. Two pipelines, or slices, group the same terms in another way and differ in the last
/// bits.
class DataPlan {
public:
    /// `schedule` must be valid; it is not kept.
    explicit DataPlan(const Schedule& schedule, int replicas = 1);

    [[nodiscard]] Piece pieceOf(const Op& op, int replica = 0) const;
    [[nodiscard]] StageTask taskOf(Stage stage, int replica = 0) const;

    [[nodiscard]] int routes() const { return static_cast<int>(routes_.size()); }
    [[nodiscard]] int replicas() const { return replicas_; }
    [[nodiscard]] int places() const { return places_; }
    [[nodiscard]] int slices() const { return slices_; }
    /// The pipeline that a stage belongs to.
    [[nodiscard]] int routeOf(Stage stage) const { return stage.value % routes(); }
    /// The stage with the same part of the model in another pipeline.
    [[nodiscard]] Stage copyOf(Stage stage, int route) const { return Stage{stage.value - routeOf(stage) + route}; }

private:
    struct Route {
        std::vector<int> sample_of; ///< by the op's micro-batch; −1 = takes another way
        std::vector<Piece> pieces;  ///< in the order of the sum
    };

    int microbatches_; ///< of a replica
    int samples_ = 0;  ///< of a replica's data
    int replicas_;
    int places_;
    int slices_ = 1;
    std::vector<Route> routes_;
};

} // namespace bubblescope::runtime
