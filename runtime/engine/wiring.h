#pragma once

#include "core/schedule/schedule.h"
#include "runtime/model/data_plan.h"
#include "runtime/transport/message.h"

#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// Replicas of one pipeline that train on data of their own and add up their gradients. The ranks of the whole run are
/// numbered with the pipeline's rank outermost, as torchtitan's: world rank = rank · replicas + replica.
struct RunMesh {
    int pp = 1;
    int replicas = 1; ///< dp

    [[nodiscard]] int ranks() const { return pp * replicas; }
    [[nodiscard]] Rank world(Rank rank, int replica) const { return Rank{rank.value * replicas + replica}; }
    [[nodiscard]] Rank rankOf(Rank world_rank) const { return Rank{world_rank.value / replicas}; }
    [[nodiscard]] int replicaOf(Rank world_rank) const { return world_rank.value % replicas; }
};

/// Who hands what to whom, as one rank sees it. Peers are world ranks.
class Wiring {
public:
    struct Route {
        Rank peer;
        MessageKey key;
    };
    /// One of the copies of a stage, which hold the same weights.
    struct Copy {
        Stage stage;
        Rank holder;
        bool own = false; ///< the stage itself
    };

    /// References must outlive it.
    Wiring(const Schedule& schedule, const DataPlan& plan, RunMesh mesh, Rank world_rank);

    [[nodiscard]] Stage stageOf(const Op& op) const { return schedule_.stageOf(rank_, op.chunk); }
    [[nodiscard]] Stage stageOf(Chunk chunk) const { return schedule_.stageOf(rank_, chunk); }

    /// What the op takes from a neighbouring stage; nothing where it needs none.
    [[nodiscard]] std::optional<Route> inputOf(const Op& op) const;
    /// What it hands on.
    [[nodiscard]] std::optional<Route> outputOf(const Op& op) const;

    /// All copies of a stage of the rank in the order in which their gradients are summed: by replica, in
    /// each by pipeline.
    [[nodiscard]] std::vector<Copy> copiesOf(Stage stage) const;
    /// The gradients that `copy` sends for `stage`, or `stage` for `copy`.
    [[nodiscard]] static MessageKey sumKey(Stage producer, Stage consumer) {
        return {Content::GradientSum, producer, consumer, {}};
    }

    /// Everything that the rank takes in a step from other ranks, in that order.
    [[nodiscard]] std::vector<Expected> expectedInStep() const;

private:
    [[nodiscard]] Rank holderOf(Stage stage, int replica) const {
        return mesh_.world(locate(schedule_.placement, schedule_.pp, stage).rank, replica);
    }
    [[nodiscard]] bool inside(int stage) const { return stage >= 0 && stage < schedule_.stages(); }

    const Schedule& schedule_;
    const DataPlan& plan_;
    RunMesh mesh_;
    Rank world_;
    Rank rank_;
    int replica_;
};

} // namespace bubblescope::runtime
