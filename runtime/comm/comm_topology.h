#pragma once

#include "core/schedule/schedule.h"
#include "runtime/comm/message.h"
#include "runtime/model/data_plan.h"

#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// The position of a rank in the run.
struct MeshPlace {
    Rank rank;       ///< rank in its pipeline
    int replica = 0; ///< replica of the pipeline
    int tensor = 0;  ///< index among the ranks that share its stages
};

/// Replicas of one pipeline, each with its own data, whose gradients are summed. Each stage is shared by `tensor_ranks`
/// ranks. The ranks of the whole run are numbered with the pipeline's rank outermost and the tensor rank innermost, as
/// in torchtitan: world rank = (rank · replicas + replica) · tensor_ranks + tensor.
struct RunMesh {
    int pp = 1;
    int replicas = 1;     ///< dp
    int tensor_ranks = 1; ///< tp

    [[nodiscard]] int ranks() const { return pp * replicas * tensor_ranks; }
    [[nodiscard]] Rank world(const MeshPlace& place) const {
        return Rank{(place.rank.value * replicas + place.replica) * tensor_ranks + place.tensor};
    }
    [[nodiscard]] MeshPlace placeOf(Rank world_rank) const {
        const int pipeline = world_rank.value / tensor_ranks;
        return {Rank{pipeline / replicas}, pipeline % replicas, world_rank.value % tensor_ranks};
    }
    [[nodiscard]] Rank rankOf(Rank world_rank) const { return placeOf(world_rank).rank; }
    /// The number of (replica, tensor rank) pairs; each pair is a pipeline whose ranks are threads or
    /// processes.
    [[nodiscard]] int lanes() const { return replicas * tensor_ranks; }
    [[nodiscard]] std::size_t laneOf(int replica, int tensor) const {
        return static_cast<std::size_t>(replica * tensor_ranks + tensor);
    }
};

/// The messages that one rank sends and receives. Peers are world ranks.
class CommTopology {
public:
    struct Route {
        Rank peer;
        MessageKey key;
    };
    /// One copy of a stage; all copies hold the same weights.
    struct Copy {
        Stage stage;
        Rank holder;
        bool own = false; ///< true for the stage itself
    };

    /// References must outlive it.
    CommTopology(const Schedule& schedule, const DataPlan& plan, RunMesh mesh, Rank world_rank);

    /// The rank's number in its pipeline.
    [[nodiscard]] Rank rank() const { return place_.rank; }
    [[nodiscard]] Stage stageOf(const Op& op) const { return schedule_.stageOf(place_.rank, op.chunk); }
    [[nodiscard]] Stage stageOf(Chunk chunk) const { return schedule_.stageOf(place_.rank, chunk); }

    /// The tensor that the op receives from a neighbouring stage; nothing if the op needs no input.
    [[nodiscard]] std::optional<Route> inputOf(const Op& op) const;
    /// The tensor that the op sends to a neighbouring stage; nothing if no stage needs its output.
    [[nodiscard]] std::optional<Route> outputOf(const Op& op) const;
    /// Where two encoders join: the tensors that the op also receives from, or sends to, the first encoder.
    [[nodiscard]] std::optional<Route> joinedInputOf(const Op& op) const;
    [[nodiscard]] std::optional<Route> joinedOutputOf(const Op& op) const;

    /// All copies of one of the rank's stages, in the order in which gradients are summed: by replica, then by
    /// pipeline.
    [[nodiscard]] std::vector<Copy> copiesOf(Stage stage) const;
    /// The key of the gradients that `producer` sends to `consumer`.
    [[nodiscard]] static MessageKey sumKey(Stage producer, Stage consumer) {
        return {Content::GradientSum, producer, consumer, {}};
    }

    /// The ranks that share this rank's stages, including itself, in the order in which parts are summed.
    [[nodiscard]] std::vector<Rank> tensorGroup() const;

    /// All messages, except parts of sums, that the rank receives from other ranks in a step, in order of arrival.
    [[nodiscard]] std::vector<Expected> expectedInStep() const;

private:
    [[nodiscard]] static MessageKey keyOf(const Op& op, Stage producer, Stage consumer);
    [[nodiscard]] Rank holderOf(Stage stage, int replica) const {
        return mesh_.world({locate(schedule_.placement, schedule_.pp, stage).rank, replica, place_.tensor});
    }
    [[nodiscard]] bool inside(int stage) const { return stage >= 0 && stage < schedule_.stages(); }

    const Schedule& schedule_;
    const DataPlan& plan_;
    RunMesh mesh_;
    Rank world_;
    MeshPlace place_;
};

} // namespace bubblescope::runtime
