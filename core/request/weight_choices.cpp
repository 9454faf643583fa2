#include "core/request/weight_choices.h"

#include "core/analysis/whatif/reschedule.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// A wait of an op for its weights. `unshard` and `op` are indices of actions.
struct WeightWait {
    Rank rank;
    std::size_t unshard = 0;
    std::size_t op = 0;
    TimeNs exposed{0};
};

/// For each UNSHARD, the time for which the first op that uses it waits for nothing else.
std::vector<WeightWait> weightWaits(const LoweredSchedule& lowered, const LoweredStep& step) {
    std::vector<WeightWait> waits;
    for (std::size_t r = 0; r < lowered.actions.size(); ++r) {
        const auto& actions = lowered.actions[r];
        const auto& ops = step.step.ranks[r];
        std::vector<std::pair<std::size_t, TimeNs>> gathered; // UNSHARDs without an op yet
        std::vector<const ActionTime*> received;
        std::size_t side = 0; // index among the actions other than ops
        std::size_t op = 0;
        TimeNs free{0};
        for (std::size_t i = 0; i < actions.size(); ++i) {
            const Action& action = actions[i];
            if (action.kind != ActionKind::Compute) {
                const ActionTime& time = step.actions[r][side++];
                if (action.kind == ActionKind::Unshard) gathered.emplace_back(i, time.end);
                if (isReceive(action.kind)) received.push_back(&time);
                continue;
            }
            TimeNs ready = free;
            for (const ActionTime* const time : received) {
                if (time->action.stage == action.stage && time->action.microbatch == action.microbatch)
                    ready = std::max(ready, time->end);
            }
            std::erase_if(gathered, [&](const auto& unshard) {
                if (actions[unshard.first].stage != action.stage) return false;
                waits.push_back({Rank{r}, unshard.first, i, std::max(unshard.second - ready, TimeNs{0})});
                return true;
            });
            free = ops[op].end;
            op += ops[op].op.overlapped && op + 1 < ops.size() && ops[op + 1].op.overlapped ? 2 : 1;
        }
    }
    return waits;
}

/// Moves an UNSHARD before the `count`-th op before it; none if there are fewer ops.
std::optional<LoweredSchedule> unsharded(LoweredSchedule lowered, const WeightWait& wait, int count) {
    auto& actions = lowered.actions[wait.rank.index()];
    std::size_t to = wait.unshard;
    while (count > 0 && to > 0) {
        --to;
        if (actions[to].kind == ActionKind::Compute) --count;
        // It cannot come before the RESHARD of an earlier use.
        if (actions[to].kind == ActionKind::Reshard && actions[to].stage == actions[wait.unshard].stage)
            return std::nullopt;
    }
    if (count > 0) return std::nullopt;
    std::rotate(actions.begin() + static_cast<std::ptrdiff_t>(to),
                actions.begin() + static_cast<std::ptrdiff_t>(wait.unshard),
                actions.begin() + static_cast<std::ptrdiff_t>(wait.unshard) + 1);
    return lowered;
}

} // namespace

Result<std::vector<WeightChoice>> weightChoices(const Schedule& order, const CostModel& costs, LoweringRequest lowering,
                                                const QueueModel& queues, const WeightTimes& weights,
                                                const MemoryRequest& memory) {
    std::vector<WeightChoice> choices;
    lowering.lower = "torch";
    for (int most = 1; most <= order.vpp; ++most) {
        std::set<std::vector<std::vector<std::string>>> seen; // "auto" often gives the same actions
        for (const char* const lookahead : {"full", "auto"}) {
            lowering.max_active_stages = most;
            lowering.unshard_lookahead = lookahead;
            BUBBLESCOPE_ASSIGN(const LoweredSchedule lowered, lowering.lowered(order, {}));
            std::vector<std::vector<std::string>> cells;
            for (std::size_t r = 0; r < lowered.actions.size(); ++r)
                cells.push_back(actionCells(lowered, Rank{r}));
            if (!seen.insert(std::move(cells)).second) continue;
            BUBBLESCOPE_ASSIGN(const LoweredStep step, simulateLowered(lowered, costs, queues, weights));
            BUBBLESCOPE_ASSIGN(const auto report, memory.report(lowered, step));
            WeightChoice& choice = choices.emplace_back(WeightChoice{most, lookahead, step.step.wall(), {}});
            if (report) choice.peak = std::ranges::max(report->ranks, {}, &RankMemory::peak).peak();
        }
    }
    std::ranges::stable_sort(choices, {}, [](const WeightChoice& choice) {
        return std::tuple(choice.makespan, choice.peak.value_or(0), choice.max_active_stages);
    });
    return choices;
}

Result<std::vector<EarlierUnshard>> earlierUnshards(const LoweredSchedule& lowered, const CostModel& costs,
                                                    const QueueModel& queues, const WeightTimes& weights) {
    constexpr std::size_t kMostWaits = 8;
    constexpr int kMostOps = 3;
    BUBBLESCOPE_ASSIGN(const LoweredStep now, simulateLowered(lowered, costs, queues, weights));
    std::vector<WeightWait> waits = weightWaits(lowered, now);
    std::ranges::stable_sort(waits, std::greater(), &WeightWait::exposed);
    if (waits.size() > kMostWaits) waits.resize(kMostWaits);
    std::vector<EarlierUnshard> found;
    for (const WeightWait& wait : waits) {
        if (wait.exposed == TimeNs{0}) break;
        const auto& actions = lowered.actions[wait.rank.index()];
        EarlierUnshard best{wait.rank, actions[wait.op].stage, actionName(lowered.order, wait.rank, actions[wait.op]),
                            0,         wait.exposed,           TimeNs{0}};
        for (int count = 1; count <= kMostOps; ++count) {
            const auto moved = unsharded(lowered, wait, count);
            if (!moved) break;
            const auto step = simulateLowered(*moved, costs, queues, weights);
            if (!step.ok()) break;
            for (const WeightWait& after : weightWaits(*moved, step.value())) {
                if (after.rank != wait.rank || after.op != wait.op || wait.exposed - after.exposed <= best.hidden)
                    continue;
                best.hidden = wait.exposed - after.exposed;
                best.ops_earlier = count;
            }
        }
        if (best.ops_earlier > 0) found.push_back(std::move(best));
    }
    std::ranges::stable_sort(found, std::greater(), &EarlierUnshard::hidden);
    return found;
}

Result<std::vector<EarlierUnshard>> earlierUnshards(const RunModel& run, const Schedule& order, const ModelCut& cut,
                                                    TimeNs unshard) {
    BUBBLESCOPE_ASSIGN(const MeanPipeline pipeline, MeanPipeline::of(run, order, cut));
    LoweringRequest lowering;
    lowering.lower = "torch";
    BUBBLESCOPE_ASSIGN(const LoweredSchedule lowered, lowering.lowered(order, {}));
    WeightTimes weights;
    weights.unshard = unshard;
    return earlierUnshards(lowered, pipeline.costs(order, {}), {}, weights);
}

} // namespace bubblescope
