#include "core/graph/hang.h"

#include "core/graph/lowered_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace bubblescope {
namespace {

/// The calls that are still blocked when no further event can happen.
class BlockedCalls {
public:
    BlockedCalls(const LoweredGraph& graph, const Communicators& communicators)
        : graph_(graph), communicators_(communicators), happened_(static_cast<std::size_t>(graph.eventCount()), 0) {
        const auto edges = graph.edges();
        const auto successors = successorLists(happened_.size(), edges);
        const auto order = topologicalOrder(successors, edges);
        for (const TaskIndex event : order)
            happened_[static_cast<std::size_t>(event)] = 1;
        all_ = order.size() == happened_.size();
        if (!all_) findFirstBlocked();
    }

    [[nodiscard]] bool none() const { return all_; }

    /// Each blocked call waits for another blocked call, so there is a cycle.
    [[nodiscard]] std::vector<ActionIndex> shortestCycle() {
        std::vector<ActionIndex> found;
        for (const ActionIndex start : reachable()) {
            auto cycle = cycleThrough(start, found.empty() ? reachable_.size() + 1 : found.size());
            if (!cycle.empty() && (found.empty() || cycle.size() < found.size())) found = std::move(cycle);
        }
        return found;
    }

    [[nodiscard]] WaitStep step(ActionIndex call, ActionIndex next) const {
        const auto name = [this](ActionIndex index) {
            return actionName(graph_.lowered().order, graph_.rank(index), graph_.action(index));
        };
        const Rank rank = graph_.rank(call);
        WaitStep step{rank,
                      static_cast<std::size_t>(call - graph_.firstOf(rank)),
                      name(call),
                      name(next),
                      WaitStep::Why::OtherEnd,
                      {}};
        if (!has(graph_.passed(call))) {
            step.why = isFirstBlocked(call) ? WaitStep::Why::Input : WaitStep::Why::NotPosted;
        } else if (!has(graph_.atHead(graph_.callOf(call)))) {
            step.why = WaitStep::Why::Queue;
            step.communicator = communicators_.nameOf(graph_.communicator(call), graph_.lowered().order.pp);
        }
        return step;
    }

private:
    [[nodiscard]] bool has(TaskIndex event) const { return happened_[static_cast<std::size_t>(event)] != 0; }
    [[nodiscard]] bool isFirstBlocked(ActionIndex index) const {
        return first_blocked_[graph_.rank(index).index()] == index;
    }

    void findFirstBlocked() {
        for (int r = 0; r < graph_.lowered().order.pp; ++r) {
            ActionIndex index = graph_.firstOf(Rank{r});
            while (index < graph_.endOf(Rank{r}) && has(graph_.passed(index)))
                ++index;
            first_blocked_.push_back(index < graph_.endOf(Rank{r}) ? index : kNoAction);
        }
    }

    /// The calls that a call waits for.
    const std::vector<ActionIndex>& next(ActionIndex call) {
        const auto [entry, added] = next_.try_emplace(call);
        if (!added) return entry->second;
        std::vector<ActionIndex>& result = entry->second;
        if (!has(graph_.passed(call))) {
            const ActionIndex first = first_blocked_[graph_.rank(call).index()];
            if (first != call) return result = {first};
            for (const ActionIndex input : graph_.inputs(call)) {
                if (!has(graph_.ended(input))) result.push_back(input);
            }
            return result;
        }
        std::int32_t head = graph_.callOf(call);
        if (has(graph_.atHead(head))) return result = {graph_.otherEnd(call)};
        while (!has(graph_.atHead(head)))
            head = graph_.call(head).before;
        for (const ActionIndex end : graph_.call(head).ends) {
            if (!has(graph_.ended(end))) result.push_back(end);
        }
        return result;
    }

    /// The calls reachable from the first blocked action of each rank and the blocked calls at the heads of queues.
    const std::vector<ActionIndex>& reachable() {
        if (!reachable_.empty()) return reachable_;
        std::unordered_map<ActionIndex, bool> seen;
        const auto take = [&](ActionIndex index) {
            if (index != kNoAction && seen.try_emplace(index, true).second) reachable_.push_back(index);
        };
        for (const ActionIndex index : first_blocked_)
            take(index);
        for (ActionIndex index = 0; index < graph_.actionCount(); ++index) {
            const std::int32_t call = graph_.callOf(index);
            if (call >= 0 && has(graph_.atHead(call)) && !has(graph_.ended(index))) take(index);
        }
        for (std::size_t i = 0; i < reachable_.size(); ++i) {
            for (const ActionIndex index : next(reachable_[i]))
                take(index);
        }
        return reachable_;
    }

    /// The shortest cycle through `start` with fewer than `limit` calls; empty if there is none.
    std::vector<ActionIndex> cycleThrough(ActionIndex start, std::size_t limit) {
        std::unordered_map<ActionIndex, ActionIndex> from;
        std::vector<std::pair<ActionIndex, std::size_t>> queue{{start, 1}};
        for (std::size_t i = 0; i < queue.size(); ++i) {
            const auto [call, length] = queue[i];
            if (length >= limit) return {};
            for (const ActionIndex index : next(call)) {
                if (index == start) return pathTo(call, start, from);
                if (from.try_emplace(index, call).second) queue.emplace_back(index, length + 1);
            }
        }
        return {};
    }
    static std::vector<ActionIndex> pathTo(ActionIndex call, ActionIndex start,
                                           const std::unordered_map<ActionIndex, ActionIndex>& from) {
        std::vector<ActionIndex> path{call};
        while (path.back() != start)
            path.push_back(from.at(path.back()));
        std::ranges::reverse(path);
        return path;
    }

    const LoweredGraph& graph_;
    const Communicators& communicators_;
    std::vector<char> happened_;
    bool all_ = true;
    std::vector<ActionIndex> first_blocked_; ///< per rank; kNoAction if it finished
    std::unordered_map<ActionIndex, std::vector<ActionIndex>> next_;
    std::vector<ActionIndex> reachable_;
};

std::optional<HangVerdict> hangWith(const LoweredSchedule& lowered, const QueueModel& queues,
                                    LoweredGraph::Eager eager) {
    const LoweredGraph graph(lowered, queues, eager);
    BlockedCalls blocked(graph, queues.communicators);
    if (blocked.none()) return std::nullopt;
    const auto cycle = blocked.shortestCycle();
    HangVerdict verdict;
    for (std::size_t i = 0; i < cycle.size(); ++i)
        verdict.cycle.push_back(blocked.step(cycle[i], cycle[(i + 1) % cycle.size()]));
    return verdict;
}

Sentence stepText(const WaitStep& step) {
    switch (step.why) {
    case WaitStep::Why::OtherEnd:
    case WaitStep::Why::Input: return say("rank {}: {} waits for {}", step.rank.value, step.call, step.waits_for);
    case WaitStep::Why::Queue:
        return say("rank {}: {} waits behind {} on communicator {}", step.rank.value, step.call, step.waits_for,
                   step.communicator);
    case WaitStep::Why::NotPosted:
        return say("rank {}: {} is posted only after {}", step.rank.value, step.call, step.waits_for);
    }
    return {};
}

} // namespace

Sentence cycleText(const std::vector<WaitStep>& cycle) {
    Sentence text;
    for (const WaitStep& step : cycle)
        text = text.empty() ? stepText(step) : say("{}; {}", text, stepText(step));
    return text;
}

HangVerdict hangVerdict(const LoweredSchedule& lowered, const QueueModel& queues) {
    auto large = hangWith(lowered, queues, {});
    if (!large) return {};
    // Eager sends wait less than large payloads, so if they hang, all sizes hang.
    if (auto eager = hangWith(lowered, queues, {true, true})) return *std::move(eager);
    large->from_bytes = queues.eager_bytes + 1;
    return *std::move(large);
}

std::vector<WrongPairing> wrongPairings(const LoweredSchedule& lowered, const Communicators& communicators) {
    if (communicators.kind == CommunicatorKind::Tag) return {};
    const LoweredGraph graph(lowered, {communicators, 0, false}, {});
    struct Lane {
        std::vector<ActionIndex> sends;
        std::vector<ActionIndex> receives;
    };
    std::map<std::tuple<std::int64_t, int, int>, Lane> lanes;
    for (ActionIndex index = 0; index < graph.actionCount(); ++index) {
        const ActionIndex other = graph.otherEnd(index);
        if (other == kNoAction || graph.communicator(index) < 0) continue;
        const bool send = isSend(graph.action(index).kind);
        const int here = graph.rank(index).value;
        const int there = graph.rank(other).value;
        Lane& lane = lanes[{graph.communicator(index), send ? here : there, send ? there : here}];
        (send ? lane.sends : lane.receives).push_back(index);
    }
    std::vector<WrongPairing> found;
    const auto name = [&](ActionIndex index) {
        return actionName(lowered.order, graph.rank(index), graph.action(index));
    };
    for (const auto& [key, lane] : lanes) {
        for (std::size_t i = 0; i < std::min(lane.sends.size(), lane.receives.size()); ++i) {
            const ActionIndex send = lane.sends[i];
            const ActionIndex receive = lane.receives[i];
            if (graph.otherEnd(send) == receive) continue;
            const Rank rank = graph.rank(receive);
            found.push_back({rank, static_cast<std::size_t>(receive - graph.firstOf(rank)), name(receive), name(send),
                             graph.rank(send)});
            break;
        }
    }
    return found;
}

} // namespace bubblescope
