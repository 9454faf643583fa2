#include "core/recognise/moving_guess.h"

#include "core/graph/moving_orders.h"
#include "core/recognise/match_schedule.h"
#include "core/schedule/schedule.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

bool isWork(const BareFoundOp& op) {
    return op.kind != OpKind::Optimizer;
}

/// The first step with the most ops: the recording may begin or end within a step.
std::int64_t fullestStep(const FoundOps& found) {
    std::map<std::int64_t, std::int64_t> counts;
    std::for_each(found.ops.begin(), found.ops.end(), [&](const BareFoundOp& op) { counts[op.step] += isWork(op); });
    const auto fullest = std::ranges::max_element(
        counts, {}, [](const auto& step) { return step.second; }); // the first of several equal ones
    return fullest == counts.end() ? 0 : fullest->first;
}

/// The order of a step whose chunks are stages; nothing if an op ran twice, or if each stage ran on only one rank.
std::optional<Schedule> orderByStage(const FoundOps& found, std::int64_t step) {
    std::map<std::int64_t, std::vector<const BareFoundOp*>> ranks;
    std::set<std::tuple<OpKind, std::int64_t, std::int64_t>> seen;
    std::set<std::int64_t> stages;
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    std::int64_t last_stage = 0;
    std::int64_t last_microbatch = 0;
    for (const BareFoundOp& op : found.ops) {
        if (op.step != step || !isWork(op)) continue;
        const bool sound = op.replica == 0 && op.sequence == 0 && op.chunk_or_stage >= 0 && op.microbatch >= 0 &&
                           op.chunk_or_stage < std::numeric_limits<std::int16_t>::max() &&
                           op.microbatch < std::numeric_limits<std::int32_t>::max();
        if (!sound || !seen.emplace(op.kind, op.chunk_or_stage, op.microbatch).second) return std::nullopt;
        ranks[op.owner].push_back(&op);
        stages.insert(op.chunk_or_stage);
        places.emplace(op.chunk_or_stage, op.owner);
        last_stage = std::max(last_stage, std::int64_t{op.chunk_or_stage});
        last_microbatch = std::max(last_microbatch, std::int64_t{op.microbatch});
    }
    if (places.size() == stages.size() || stages.size() != static_cast<std::size_t>(last_stage) + 1)
        return std::nullopt;
    Schedule order;
    order.placement = Placement::Moving;
    order.pp = static_cast<int>(ranks.size());
    order.vpp = static_cast<int>(stages.size());
    order.microbatches = static_cast<int>(last_microbatch) + 1;
    for (auto& [owner, ops] : ranks) {
        std::ranges::stable_sort(ops, {}, [](const BareFoundOp* op) { return op->start; });
        std::vector<Op>& list = order.ranks.emplace_back();
        for (const BareFoundOp* op : ops)
            list.emplace_back(op->kind, Microbatch{static_cast<std::int32_t>(op->microbatch)},
                              Chunk{static_cast<std::int32_t>(op->chunk_or_stage)});
    }
    return order;
}

} // namespace

void guessMovingStages(FoundOps& found, const std::string& where, DiagnosticLog& log) {
    if (found.parts != Parts::Stages || found.bidirectional) return;
    const std::optional<Schedule> order = orderByStage(found, fullestStep(found));
    if (!order) return;
    const std::vector<Schedule> known = movingOrders(order->pp, order->microbatches, order->vpp);
    const auto same =
        std::ranges::find_if(known, [&](const Schedule& each) { return !compareOrders(each, *order).departure; });
    if (same == known.end()) return;
    found.moving = true;
    found.parts = Parts::Chunks;
    log.add("inferred", where,
            say("stages ran on several ranks; inferred that weights move, because the order matches {}", same->name));
}

} // namespace bubblescope
