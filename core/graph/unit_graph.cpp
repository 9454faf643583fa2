#include "core/graph/unit_graph.h"

#include <utility>

namespace bubblescope {

UnitGraph unitGraph(const OpGraph& ops) {
    UnitGraph graph;
    const auto at = [](OpIndex index) { return static_cast<std::size_t>(index); };
    graph.op.reserve(at(ops.size()));
    graph.unit_of.assign(at(ops.size()), kNoUnit);
    bool pairs = false;
    for (OpIndex i = 0; i < ops.size() && !pairs; ++i)
        pairs = ops.partner(i) != kNoOp;
    const std::size_t inputs = pairs || ops.joins() ? 2 : 1;
    std::vector<TaskIndex> rows;
    rows.reserve((1 + inputs) * at(ops.size()));
    std::vector<UnitIndex> latest(at(ops.rankCount()), kNoUnit); // per rank
    const auto unitAt = [&](OpIndex producer) { return producer < 0 ? kNoUnit : graph.unit_of[at(producer)]; };
    const auto input = [&](OpIndex op) { return unitAt(op == kNoOp ? kNoOp : ops.producers(op).stage); };
    graph.blocked = visitInOrder(ops, [&](OpIndex op, OpIndex partner) {
        const UnitIndex unit = graph.size();
        graph.op.push_back(op);
        rows.push_back(std::exchange(latest[ops.rank(op).index()], unit));
        rows.push_back(input(op));
        if (inputs == 2) rows.push_back(partner == kNoOp ? unitAt(ops.joinedInput(op)) : input(partner));
        graph.unit_of[at(op)] = unit;
        if (partner != kNoOp) graph.unit_of[at(partner)] = unit;
    });
    graph.tasks = TaskGraph(1 + inputs, std::move(rows));
    return graph;
}

} // namespace bubblescope
