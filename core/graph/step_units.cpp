#include "core/graph/step_units.h"

#include "core/base/large_list.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace bubblescope {
namespace {

std::size_t placeOf(std::int32_t index) {
    return static_cast<std::size_t>(index);
}

} // namespace

StepUnits::StepUnits(std::shared_ptr<const OpGraph> graph) : ops(std::move(graph)) {
    reserve();
    blocked = visitInOrder(*ops, [this](OpIndex index, OpIndex partner) { add(index, partner); });
    linkInputs();
}

StepUnits::StepUnits(std::shared_ptr<const OpGraph> graph, std::span<const OpIndex> order) : ops(std::move(graph)) {
    reserve();
    for (const OpIndex index : order)
        add(index, ops->partner(index));
    linkInputs();
}

void StepUnits::reserve() {
    const std::size_t most = placeOf(ops->size());
    last.assign(placeOf(ops->rankCount()), kNoUnit);
    unit_of = largeList(most, kNoUnit);
    reserveLarge(rank, most);
    reserveLarge(op, most);
}

void StepUnits::add(OpIndex index, OpIndex partner) {
    const auto unit = static_cast<UnitIndex>(rank.size());
    const Rank of = ops->rank(index);
    rank.push_back(of.value);
    op.push_back(index - ops->firstOf(of));
    unit_of[placeOf(index)] = unit;
    if (partner != kNoOp) unit_of[placeOf(partner)] = unit;
}

void StepUnits::linkInputs() {
    const std::size_t units = rank.size();
    kind.resize(units);
    resizeLarge(chunk, units);
    pair.resize(units);
    constexpr std::size_t kAhead = 24; // neighbours in the units' order are far apart among the ops
    const auto opOf = [this](std::size_t unit) { return ops->firstOf(Rank{rank[unit]}) + op[unit]; };
    std::atomic<bool> pairs{false};
    parallelPieces(units, [&](std::size_t begin, std::size_t end) {
        for (std::size_t unit = begin; unit < end; ++unit) {
            if (unit + kAhead < end) __builtin_prefetch(&ops->op(opOf(unit + kAhead)));
            const OpIndex index = opOf(unit);
            kind[unit] = ops->op(index).kind;
            chunk[unit] = ops->op(index).chunk;
            pair[unit] = ops->partner(index) != kNoOp ? 1 : 0;
            if (pair[unit] != 0) pairs.store(true, std::memory_order_relaxed);
        }
    });
    const std::size_t inputs = pairs || ops->joins() ? 2 : 1;
    const std::size_t width = 1 + inputs;
    for (std::size_t side = 0; side < inputs; ++side)
        way[side].resize(units);
    auto rows = largeList<TaskIndex>(width * units);
    for (std::size_t unit = 0; unit < units; ++unit)
        rows[width * unit] = std::exchange(last[placeOf(rank[unit])], static_cast<UnitIndex>(unit));
    std::atomic<std::int64_t> ignored{0};
    parallelPieces(units, [&](std::size_t begin, std::size_t end) {
        std::int64_t ignored_here = 0;
        for (std::size_t unit = begin; unit < end; ++unit) {
            if (unit + kAhead < end) __builtin_prefetch(&ops->producers(opOf(unit + kAhead)));
            for (std::size_t side = 0; side < inputs; ++side) {
                TaskIndex& source = rows[width * unit + 1 + side];
                source = kNoUnit;
                way[side][unit] = Way::None;
                const bool joined = side > pair[unit]; // the second input of a single op
                if (joined && !ops->joins()) continue;
                const OpIndex index = opOf(unit) + (joined ? 0 : static_cast<OpIndex>(side));
                const OpIndex producer = joined ? ops->joinedInput(index) : ops->producers(index).stage;
                if (producer == kNoOp) continue;
                const UnitIndex from = producer >= 0 ? unit_of[placeOf(producer)] : kNoUnit;
                if (from == kNoUnit || from >= static_cast<UnitIndex>(unit)) {
                    ++ignored_here;
                    continue;
                }
                source = from;
                const Way by_transfer = payloadOf(side == 0 ? kind[unit] : ops->op(index).kind) == Payload::Activation
                                            ? Way::Activation
                                            : Way::Gradient;
                way[side][unit] = ops->rank(producer).value == rank[unit] ? Way::Stays : by_transfer;
            }
        }
        ignored += ignored_here;
    });
    ignored_inputs = ignored;
    tasks = TaskGraph(width, std::move(rows));
}

std::shared_ptr<const ExecutedUnits> executedUnits(const StepTimeline& step,
                                                   std::shared_ptr<const ExecutedUnits> latest) {
    if (latest != nullptr && latest->order.isOf(step)) return latest;
    return std::make_shared<const ExecutedUnits>(step);
}

std::shared_ptr<const ExecutedUnits> executedUnits(const StepTimeline& step,
                                                   std::shared_ptr<const ExecutedUnits> latest,
                                                   const std::function<void(const StepOrder&)>& beside) {
    if (latest != nullptr && latest->order.isOf(step)) {
        beside(latest->order);
        return latest;
    }
    StepOrder order(step);
    std::shared_ptr<const StepUnits> units;
    parallelCalls(
        static_cast<std::size_t>(order.graph().size()),
        [&] { units = std::make_shared<const StepUnits>(order.sharedGraph()); }, [&] { beside(order); });
    return std::make_shared<const ExecutedUnits>(std::move(order), std::move(units));
}

} // namespace bubblescope
