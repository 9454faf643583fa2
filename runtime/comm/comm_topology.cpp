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
    const int stage = stageOf(op).value;
    const Placement placement = schedule_.placement;
    const Stage producer{forward ? stageBefore(placement, stage) : stageAfter(placement, stage)};
    if (!inside(producer.value)) return std::nullopt;
    return Route{holderOf(producer, place_.replica), keyOf(op, producer, Stage{stage})};
}

MessageKey CommTopology::keyOf(const Op& op, Stage producer, Stage consumer) {
    return {op.kind == OpKind::Forward ? Content::Activation : Content::Gradient, producer, consumer, op.microbatch,
            op.sequence};
}

std::optional<CommTopology::Route> CommTopology::joinedInputOf(const Op& op) const {
    const int producer = joinedStage(schedule_.placement, stageOf(op).value);
    if (producer < 0 || op.kind != OpKind::Forward) return std::nullopt;
    return Route{holderOf(Stage{producer}, place_.replica), keyOf(op, Stage{producer}, Stage{schedule_.stages()})};
}

std::optional<CommTopology::Route> CommTopology::joinedOutputOf(const Op& op) const {
    const int consumer = joinedStage(schedule_.placement, stageOf(op).value);
    if (consumer < 0 || !producesInputGradient(op.kind)) return std::nullopt;
    return Route{holderOf(Stage{consumer}, place_.replica), keyOf(op, stageOf(op), Stage{consumer})};
}

std::optional<CommTopology::Route> CommTopology::outputOf(const Op& op) const {
    const bool forward = op.kind == OpKind::Forward;
    if (!forward && !producesInputGradient(op.kind)) return std::nullopt;
    const int stage = stageOf(op).value;
    const Placement placement = schedule_.placement;
    const Stage consumer{forward ? stageAfter(placement, stage) : stageBefore(placement, stage)};
    if (!inside(consumer.value)) return std::nullopt;
    const Payload payload = forward ? Payload::Activation : Payload::Gradient;
    const Stage number{transferNumber(placement, schedule_.stages(), payload, stage)};
    return Route{holderOf(consumer, place_.replica), keyOf(op, Stage{stage}, number)};
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
        if (const auto joined = joinedInputOf(op)) add(joined->peer, joined->key);
    }
    for (int c = 0; c < schedule_.vpp; ++c) {
        const Stage stage = stageOf(Chunk{c});
        for (const Copy& copy : copiesOf(stage))
            add(copy.holder, sumKey(copy.stage, stage));
    }
    return expected;
}

} // namespace bubblescope::runtime
