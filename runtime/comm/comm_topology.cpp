#include "runtime/comm/comm_topology.h"

namespace bubblescope::runtime {

CommTopology::CommTopology(const Schedule& schedule, const DataPlan& plan, RunMesh mesh, Rank world_rank)
    : schedule_(schedule), plan_(plan), mesh_(mesh), world_(world_rank), place_(mesh.placeOf(world_rank)) {}

std::vector<Rank> CommTopology::tensorGroup() const {
    std::vector<Rank> group;
    for (int tensor = 0; tensor < mesh_.tensor_ranks; ++tensor)
        group.push_back(mesh_.world({place_.rank, place_.replica, tensor}));
    return group;
}

std::optional<CommTopology::Route> CommTopology::inputOf(const Op& op) const {
    const bool forward = op.kind == OpKind::Forward;
    if (!forward && !producesInputGradient(op.kind)) return std::nullopt;
    const Stage stage = stageOf(op);
    const Stage producer{stage.value + (forward ? -plan_.routes() : plan_.routes())};
    if (!inside(producer.value)) return std::nullopt;
    return Route{holderOf(producer, place_.replica),
                 {forward ? Content::Activation : Content::Gradient, producer, stage, op.microbatch, op.sequence}};
}

std::optional<CommTopology::Route> CommTopology::outputOf(const Op& op) const {
    const bool forward = op.kind == OpKind::Forward;
    if (!forward && !producesInputGradient(op.kind)) return std::nullopt;
    const Stage stage = stageOf(op);
    const Stage consumer{stage.value + (forward ? plan_.routes() : -plan_.routes())};
    if (!inside(consumer.value)) return std::nullopt;
    return Route{holderOf(consumer, place_.replica),
                 {forward ? Content::Activation : Content::Gradient, stage, consumer, op.microbatch, op.sequence}};
}

std::vector<CommTopology::Copy> CommTopology::copiesOf(Stage stage) const {
    std::vector<Copy> copies;
    for (int replica = 0; replica < mesh_.replicas; ++replica) {
        for (int route = 0; route < plan_.routes(); ++route) {
            const Stage copy = plan_.copyOf(stage, route);
            copies.push_back({copy, holderOf(copy, replica), copy == stage && replica == place_.replica});
        }
    }
    return copies;
}

std::vector<Expected> CommTopology::expectedInStep() const {
    std::vector<Expected> expected;
    const auto add = [&](Rank from, const MessageKey& key) {
        if (from != world_) expected.push_back({from, key});
    };
    for (const Op& op : schedule_.ranks[place_.rank.index()]) {
        if (const auto input = inputOf(op)) add(input->peer, input->key);
    }
    for (int c = 0; c < schedule_.vpp; ++c) {
        const Stage stage = stageOf(Chunk{c});
        for (const Copy& copy : copiesOf(stage))
            add(copy.holder, sumKey(copy.stage, stage));
    }
    return expected;
}

} // namespace bubblescope::runtime
