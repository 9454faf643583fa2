#include "core/optimize/partition/step_evaluator.h"

#include "core/graph/validate.h"

#include <algorithm>

namespace bubblescope {
namespace {

std::array<std::uint8_t, 3> countsOf(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return {1, 0, 0};
    case OpKind::Backward: return {0, 1, 1};
    case OpKind::BackwardInput: return {0, 1, 0};
    case OpKind::BackwardWeight: return {0, 0, 1};
    case OpKind::Optimizer: break;
    }
    return {0, 0, 0};
}

} // namespace

Result<StepEvaluator> StepEvaluator::make(const Schedule& schedule, std::int64_t comm_ns) {
    BUBBLESCOPE_ASSIGN(const Execution execution, prepareExecution(schedule));
    const OpGraph& graph = execution.graph;
    StepEvaluator evaluator;
    evaluator.stages_ = static_cast<std::size_t>(schedule.stages());
    evaluator.comm_ = comm_ns;
    std::vector<OpIndex> node_of(execution.order.size(), kNoOp);
    std::vector<OpIndex> last(schedule.ranks.size(), kNoOp);
    for (const OpIndex index : execution.order) {
        const OpIndex partner = graph.partner(index);
        if (partner != kNoOp && partner < index) continue; // runs with its other half
        Node node;
        const auto take = [&](OpIndex half, std::size_t which) {
            node.stage[which] = graph.stage(half).value;
            node.counts[which] = countsOf(graph.op(half).kind);
            const OpIndex needs = graph.producers(half).stage;
            if (needs < 0) return;
            (which == 0 ? node.producer : node.other_producer) = node_of[static_cast<std::size_t>(needs)];
            if (graph.rank(needs) != graph.rank(half)) node.crosses |= static_cast<std::uint8_t>(1U << which);
        };
        take(index, 0);
        if (partner != kNoOp) take(partner, 1);
        auto& before = last[graph.rank(index).index()];
        node.before = before;
        before = static_cast<OpIndex>(evaluator.nodes_.size());
        node_of[static_cast<std::size_t>(index)] = before;
        if (partner != kNoOp) node_of[static_cast<std::size_t>(partner)] = before;
        evaluator.nodes_.push_back(node);
    }
    evaluator.ends_.resize(evaluator.nodes_.size());
    evaluator.starts_.resize(evaluator.nodes_.size());
    return evaluator;
}

std::int64_t StepEvaluator::duration(const Node& node, const std::vector<StageDurations>& times) const {
    std::int64_t sum = 0;
    for (std::size_t half = 0; half < 2; ++half) {
        const StageDurations& stage = times[static_cast<std::size_t>(node.stage[half])];
        for (std::size_t kind = 0; kind < 3; ++kind)
            sum += node.counts[half][kind] * stage[kind];
    }
    return sum;
}

std::int64_t StepEvaluator::arrival(OpIndex producer, bool crosses) const {
    return producer < 0 ? 0 : ends_[static_cast<std::size_t>(producer)] + (crosses ? comm_ : 0);
}

std::int64_t StepEvaluator::length(const std::vector<StageDurations>& times) {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const Node& node = nodes_[i];
        std::int64_t start = node.before < 0 ? 0 : ends_[static_cast<std::size_t>(node.before)];
        start = std::max(start, arrival(node.producer, (node.crosses & 1U) != 0));
        if (node.other_producer >= 0) start = std::max(start, arrival(node.other_producer, (node.crosses & 2U) != 0));
        starts_[i] = start;
        ends_[i] = start + duration(node, times);
        last = std::max(last, ends_[i]);
    }
    return last;
}

StepPath StepEvaluator::longestPath() const {
    StepPath path;
    path.counts.resize(stages_);
    if (ends_.empty()) return path;
    auto at = static_cast<OpIndex>(std::ranges::max_element(ends_) - ends_.begin());
    while (at >= 0) {
        const Node& node = nodes_[static_cast<std::size_t>(at)];
        for (std::size_t half = 0; half < 2; ++half) {
            for (std::size_t kind = 0; kind < 3; ++kind)
                path.counts[static_cast<std::size_t>(node.stage[half])][kind] += node.counts[half][kind];
        }
        const std::int64_t start = starts_[static_cast<std::size_t>(at)];
        const auto leads = [&](OpIndex from, bool crosses) { return from >= 0 && arrival(from, crosses) == start; };
        // Along the rank where both lead there: such paths stay on one rank, and bound it best.
        if (leads(node.before, false)) {
            at = node.before;
        } else if (leads(node.producer, (node.crosses & 1U) != 0)) {
            path.transfers += node.crosses & 1U;
            at = node.producer;
        } else if (leads(node.other_producer, (node.crosses & 2U) != 0)) {
            path.transfers += (node.crosses & 2U) >> 1U;
            at = node.other_producer;
        } else {
            break;
        }
    }
    return path;
}

} // namespace bubblescope
