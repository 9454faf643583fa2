#pragma once

#include "core/schedule/schedule.h"
#include "core/schedule/weight_versions.h"
#include "runtime/model/layer_watch.h"
#include "runtime/model/tensor.h"

#include <optional>
#include <set>
#include <vector>

namespace bubblescope::runtime {

/// The ranks that share a stage (tensor parallelism), from the point of view of one of them.
class ShardSums {
public:
    virtual ~ShardSums() = default;

    /// Takes this rank's part, in float, and returns the sum of all ranks' parts. Parts are added in the ranks' order,
    /// so that the sum is bit-identical on all ranks. The other ranks must sum the same parts in the same order. On the
    /// host, the call waits for the other ranks. On a device, the call waits until the other ranks have queued their
    /// parts, not until the parts are computed.
    [[nodiscard]] virtual Tensor addUp(Tensor part) = 0;
};

/// The part of a stage's matrices that a rank holds, as in Shoeybi et al., "Megatron-LM" (2019). For queries, keys and
/// values, the part consists of the columns of the rank's heads; for attention's projection, of the rows of these
/// heads. For the MLP's first matrix, the part consists of some columns; for the second, of the corresponding rows.
/// Every rank holds all normalisations, embeddings, the head, and the biases that are added after a sum.
struct TensorShard {
    int size = 1;              ///< number of ranks that share the stage
    int index = 0;             ///< index of this rank
    ShardSums* sums = nullptr; ///< needed if size is above 1
};

/// The data of one op: a micro-batch, or one slice of its rows.
struct Piece {
    Microbatch sample; ///< number of the micro-batch in the data, 0 … m−1
    int slice = 0;

    friend constexpr auto operator<=>(const Piece&, const Piece&) = default;
};

/// Describes one stage to the model. Two pipelines in opposite directions hold each part of the model twice, in two
/// stages with the same `place`.
struct StageTask {
    int place = 0;                   ///< position of the stage in its pipeline
    int places = 1;                  ///< number of stages in that pipeline
    std::vector<Piece> pieces;       ///< pieces that pass through the stage, in the order in which their gradients are
                                     ///< summed
    int slices = 1;                  ///< number of slices per micro-batch
    int microbatches = 1;            ///< micro-batches in a step over all replicas; gradient and loss are averaged over
                                     ///< them
    TensorShard shard{};             ///< the part of the stage on this rank; by default, the complete stage
    LayerWatch* watch = nullptr;     ///< observes ops; null = none
    std::set<Piece> recomputed = {}; ///< pieces whose F keeps only the input, because recompute() follows
    /// By sample, for an order that updates weights within the step (core/schedule/weight_versions.h); otherwise
    /// empty.
    std::vector<int> update_of{};  ///< the update that applies the sample's gradient
    std::vector<int> version_of{}; ///< number of this step's updates already applied to the weights of the sample's ops
    int encoder = 0;     ///< number of the encoder with the stage, from 1; 0 = the trunk, or a model without encoders
    bool begins = false; ///< true for the first stage of a second encoder, or of a trunk with encoders
    bool gradient_per_piece = false; ///< true if weights travel: gradients are taken after each piece, and the weights
                                     ///< may leave between its I and W

    /// True if the stage embeds tokens. An encoder has tokens of its own.
    [[nodiscard]] bool embeds() const { return place == 0 || begins; }
    /// True if the stage adds its embedding to the outputs of encoders, whose sum is its input.
    [[nodiscard]] bool joins() const { return begins && encoder == 0; }
    /// Updates per step.
    [[nodiscard]] int updates() const { return update_of.empty() ? 1 : update_of.back() + 1; }
};

/// The mapping of a schedule's micro-batches to the data, and the order in which gradients are summed, which affects
/// float results.
///
/// The data has m micro-batches. If there is one pipeline, an op's micro-batch has the same number in the data. Two
/// pipelines may each number their micro-batches from 0, so the data is ordered by that number first and by the
/// pipeline second. This does not change the order if each number is used once.
///
/// The gradient of a stage is summed over its pieces by ascending micro-batch, and within a micro-batch from the last
/// slice to the first. The gradients of a split sequence arrive in this order. Two pipelines sum their gradients
/// separately, and the sum of the first pipeline comes first. This order does not depend on the order of execution: a
/// gradient that is ready early waits (see GradientSum). Replicas of the pipeline have m micro-batches each. The first
/// replica's micro-batches come first in the data, and the replicas' sums are added in order. All schedules of one
/// pipeline with equal slices therefore produce bit-identical results. With two pipelines or different slices, the same
/// terms are grouped differently, so results differ in their last bits.
class DataPlan {
public:
    /// `schedule` must be valid; the plan stores no reference to it.
    explicit DataPlan(const Schedule& schedule, int replicas = 1);

    [[nodiscard]] Piece pieceOf(const Op& op, int replica = 0) const;
    [[nodiscard]] StageTask taskOf(Stage stage, int replica = 0) const;

    [[nodiscard]] int routes() const { return static_cast<int>(routes_.size()); }
    [[nodiscard]] int replicas() const { return replicas_; }
    [[nodiscard]] int places() const { return places_; }
    [[nodiscard]] int slices() const { return slices_; }
    [[nodiscard]] int updates() const { return versions_ ? versions_->updates : 1; }
    /// The pipeline of a stage.
    [[nodiscard]] int routeOf(Stage stage) const { return stage.value % routes(); }
    /// The stage that holds the same part of the model in another pipeline.
    [[nodiscard]] Stage copyOf(Stage stage, int route) const { return Stage{stage.value - routeOf(stage) + route}; }

private:
    struct Route {
        std::vector<int> sample_of; ///< number in the data by the op's micro-batch; −1 = the micro-batch uses the other
                                    ///< pipeline
        std::vector<Piece> pieces; ///< pieces in the order of the sum
    };

    int microbatches_; ///< number of micro-batches per replica
    int samples_ = 0;  ///< number of samples in a replica's data
    int replicas_;
    int places_;
    Encoders encoders_;
    int slices_ = 1;
    std::vector<Route> routes_;
    std::optional<WeightVersions> versions_; ///< none = one update per step
};

} // namespace bubblescope::runtime
