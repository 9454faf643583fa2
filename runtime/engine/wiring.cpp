#include "runtime/engine/wiring.h"

namespace bubblescope::runtime {

Wiring::Wiring(const Schedule& schedule, const DataPlan& plan, RunMesh mesh, Rank world_rank)
    : schedule_(schedule), plan_(plan), mesh_(mesh), world_(world_rank), rank_(mesh.rankOf(world_rank)),
      replica_(mesh.replicaOf(world_rank)) {}

std::optional<Wiring::Route> Wiring::inputOf(const Op& op) const {
    const bool forward = op.kind == OpKind::Forward;
    if (!forward && !producesInputGradient(op.kind)) return std::nullopt;
    const Stage stage = stageOf(op);
    const Stage producer{stage.value + (forward ? -plan_.routes() : plan_.routes())};
    if (!inside(producer.value)) return std::nullopt;
    return Route{holderOf(producer, replica_),
                 {forward ? Content::Activation : Content::Gradient, producer, stage, op.microbatch, op.sequence}};
}

std::optional<Wiring::Route> Wiring::outputOf(const Op& op) const {
    const bool forward = op.kind == OpKind::Forward;
    if (!forward && !producesInputGradient(op.kind)) return std::nullopt;
    const Stage stage = stageOf(op);
    const Stage consumer{stage.value + (forward ? plan_.routes() : -plan_.routes())};
    if (!inside(consumer.value)) return std::nullopt;
    return Route{holderOf(consumer, replica_),
                 {forward ? Content::Activation : Content::Gradient, stage, consumer, op.microbatch, op.sequence}};
}

std::vector<Wiring::Copy> Wiring::copiesOf(Stage stage) const {
    std::vector<Copy> copies;
    for (int replica = 0; replica < mesh_.replicas; ++replica) {
        for (int route = 0; route < plan_.routes(); ++route) {
            const Stage copy = plan_.copyOf(stage, route);
            copies.push_back({copy, holderOf(copy, replica), copy == stage && replica == replica_});
        }
    }
    return copies;
}

std::vector<Expected> Wiring::expectedInStep() const {
    std::vector<Expected> expected;
    const auto add = [&](Rank from, const MessageKey& key) {
        if (from != world_) expected.push_back({from, key});
    };
    for (const Op& op : schedule_.ranks[rank_.index()]) {
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
