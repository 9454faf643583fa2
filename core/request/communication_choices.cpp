#include "core/request/communication_choices.h"

#include "core/graph/hang.h"
#include "core/schedule/order_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

struct Edge {
    Rank from;
    Rank to;
    friend auto operator<=>(const Edge&, const Edge&) = default;
};

std::set<Edge> edgesOf(const Schedule& order) {
    std::set<Edge> edges;
    for (const auto& [low, high] : linkedRanks(order))
        edges.insert({{low, high}, {high, low}});
    return edges;
}

/// Puts each edge into the first communicator with which everything stays safe. Edges without a rule yet have one
/// communicator each, which adds no waits beyond those of one per edge.
std::vector<CommunicatorRule> mergedEdges(const LoweredSchedule& lowered, QueueModel queues) {
    const std::set<Edge> edges = edgesOf(lowered.order);
    std::vector<CommunicatorRule> alone;
    for (const Edge& edge : edges)
        alone.push_back({fmt::format("{} to {}", edge.from.value, edge.to.value), {}, edge.from, edge.to});
    std::vector<CommunicatorRule> merged;
    for (std::size_t i = 0; i < alone.size(); ++i) {
        std::vector<std::string> names;
        for (const CommunicatorRule& rule : merged) {
            if (std::ranges::find(names, rule.name) == names.end()) names.push_back(rule.name);
        }
        names.push_back(alone[i].name);
        for (const std::string& name : names) {
            CommunicatorRule rule = alone[i];
            rule.name = name;
            auto rules = merged;
            rules.push_back(rule);
            rules.insert(rules.end(), alone.begin() + static_cast<std::ptrdiff_t>(i) + 1, alone.end());
            queues.communicators = {CommunicatorKind::Rules, std::move(rules)};
            if (hangVerdict(lowered, queues).hangs()) continue;
            merged.push_back(std::move(rule));
            break;
        }
    }
    return merged;
}

std::size_t communicatorCount(const Communicators& communicators, const Schedule& order) {
    std::set<std::int64_t> numbers;
    for (const auto& [low, high] : linkedRanks(order)) {
        numbers.insert(communicators.of(Payload::Activation, low, high, order.pp));
        numbers.insert(communicators.of(Payload::Gradient, high, low, order.pp));
    }
    return numbers.size();
}

bool fewEnoughToMerge(const LoweredSchedule& lowered) {
    constexpr std::size_t kMost = 3'000'000; // takes a few seconds
    std::size_t actions = 0;
    for (const auto& list : lowered.actions)
        actions += list.size();
    return actions * edgesOf(lowered.order).size() < kMost;
}

Result<CommunicationChoice> choose(const LoweredSchedule& lowered, const CostModel& costs, const QueueModel& queues,
                                   const WeightTimes& weights) {
    CommunicationChoice choice;
    choice.kind = queues.communicators.kind;
    choice.communicators = communicatorCount(queues.communicators, lowered.order);
    choice.can_hang = hangVerdict(lowered, queues).hangs();
    choice.pairs_wrongly = choice.can_hang && !wrongPairings(lowered, queues.communicators).empty();
    if (choice.can_hang) return choice;
    BUBBLESCOPE_ASSIGN(const LoweredStep step, simulateLowered(lowered, costs, queues, weights));
    choice.makespan = step.step.wall();
    return choice;
}

} // namespace

Result<std::vector<CommunicationChoice>> communicationChoices(const Schedule& order, const CostModel& costs,
                                                              LoweringRequest lowering, QueueModel queues,
                                                              const WeightTimes& weights) {
    std::vector<CommunicationChoice> choices;
    lowering.lower = "torch"; // the only one with a choice of where to place receives
    struct Receives {
        bool deferred = false;
        std::optional<int> ahead;
    };
    std::vector<std::vector<Action>> early; // more ops ahead are often as early as PyTorch's
    for (const Receives& receives :
         {Receives{}, Receives{true, {}}, Receives{false, 1}, Receives{false, 2}, Receives{false, 3}}) {
        lowering.defer_receives = receives.deferred;
        lowering.receives_ahead = receives.ahead;
        BUBBLESCOPE_ASSIGN(const LoweredSchedule lowered, lowering.lowered(order, {}));
        if (receives.ahead && lowered.actions == early) break;
        if (early.empty()) early = lowered.actions;
        const auto add = [&](CommunicationChoice choice) {
            choice.deferred_receives = receives.deferred;
            choice.receives_ahead = receives.ahead;
            choices.push_back(std::move(choice));
        };
        for (const CommunicatorKind kind :
             {CommunicatorKind::One, CommunicatorKind::Direction, CommunicatorKind::Pair, CommunicatorKind::Edge}) {
            queues.communicators = {kind, {}};
            BUBBLESCOPE_ASSIGN(CommunicationChoice choice, choose(lowered, costs, queues, weights));
            add(std::move(choice));
        }
        const bool worth = choices[choices.size() - 4].can_hang && choices.back().safe();
        if (!worth || !fewEnoughToMerge(lowered)) continue;
        queues.communicators = {CommunicatorKind::Rules, mergedEdges(lowered, queues)};
        BUBBLESCOPE_ASSIGN(CommunicationChoice merged, choose(lowered, costs, queues, weights));
        merged.rules = queues.communicators.rules;
        add(std::move(merged));
    }
    std::ranges::stable_sort(choices, {}, [](const CommunicationChoice& each) {
        return std::tuple(!each.safe(), each.makespan.value_or(TimeNs{0}), each.communicators);
    });
    return choices;
}

} // namespace bubblescope
