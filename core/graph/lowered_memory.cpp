#include "core/graph/lowered_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace bubblescope {
namespace {

struct Change {
    TimeNs time{0};
    std::int64_t bytes = 0;
};

using Piece = std::pair<std::int32_t, std::int32_t>; // stage and micro-batch

Piece pieceOf(const Action& action) {
    return {action.stage.value, action.microbatch.value};
}

/// Collects the changes of all ranks, because an offload to another rank changes two.
class Changes {
public:
    Changes(const LoweredSchedule& lowered, const LoweredStep& step, const MemoryModel& model)
        : lowered_(lowered), step_(step), model_(model), changes_(lowered.order.ranks.size()) {
        for (std::size_t r = 0; r < changes_.size(); ++r) {
            addActions(r);
            addOps(r);
        }
    }

    std::vector<Change>& of(std::size_t rank) { return changes_[rank]; }

private:
    [[nodiscard]] const StageMemory& stage(Stage stage) const { return model_.stages[stage.index()]; }
    void add(std::size_t rank, TimeNs time, std::int64_t bytes) { changes_[rank].push_back({time, bytes}); }
    void addWhile(std::size_t rank, TimeNs start, TimeNs end, std::int64_t bytes) {
        add(rank, start, bytes);
        add(rank, end, -bytes);
    }

    void addActions(std::size_t r) {
        std::map<Piece, const ActionTime*> offloads;
        recomputed_.clear();
        for (const ActionTime& time : step_.actions[r]) {
            const Action& action = time.action;
            const StageMemory& memory = stage(action.stage);
            const std::int64_t all = memory.activations.forward;
            if (action.kind == ActionKind::Unshard) add(r, time.start, memory.gathered);
            if (action.kind == ActionKind::Reshard) add(r, time.posted, -memory.gathered);
            if (action.kind == ActionKind::Offload) {
                add(r, time.end, -all);
                offloads[pieceOf(action)] = &time;
            }
            if (action.kind == ActionKind::Reload) {
                add(r, time.start, all);
                const auto offload = offloads.find(pieceOf(action));
                const int peer = offload == offloads.end() ? -1 : offload->second->action.peer;
                if (peer >= 0) {
                    add(static_cast<std::size_t>(peer), offload->second->start, all);
                    add(static_cast<std::size_t>(peer), time.end, -all);
                }
            }
            if (action.kind == ActionKind::Recompute) {
                recomputed_.insert(pieceOf(action));
                add(r, time.start, all - memory.kept_input);
                addWhile(r, time.start, time.end, memory.forward_workspace);
            }
        }
    }

    void addOps(std::size_t r) {
        for (const TimelineOp& op : step_.step.ranks[r]) {
            const Stage of = lowered_.order.stageOf(Rank{r}, op.op.chunk);
            const StageMemory& memory = stage(of);
            const ActivationSizes& sizes = memory.activations;
            switch (op.op.kind) {
            case OpKind::Forward:
                add(r, op.start,
                    recomputed_.contains({of.value, op.op.microbatch.value}) ? memory.kept_input : sizes.forward);
                addWhile(r, op.start, op.end, memory.forward_workspace);
                continue;
            case OpKind::Backward: add(r, op.end, -sizes.forward); break;
            case OpKind::BackwardInput: add(r, op.end, sizes.weight_grad - sizes.forward); break;
            case OpKind::BackwardWeight: add(r, op.end, -sizes.weight_grad); break;
            case OpKind::Optimizer: continue;
            }
            addWhile(r, op.start, op.end, memory.backward_workspace);
        }
    }

    const LoweredSchedule& lowered_;
    const LoweredStep& step_;
    const MemoryModel& model_;
    std::set<Piece> recomputed_; ///< on the current rank
    std::vector<std::vector<Change>> changes_;
};

/// The op or RECOMPUTE that runs at `time`, or that starts next.
std::string runningAt(const LoweredSchedule& lowered, const LoweredStep& step, std::size_t rank, TimeNs time) {
    std::pair<TimeNs, std::string> first{TimeNs::max(), ""};
    for (const TimelineOp& op : step.step.ranks[rank]) {
        if (op.end > time) first = std::min(first, {std::max(op.start, time), opName(op.op)});
    }
    for (const ActionTime& action : step.actions[rank]) {
        if (action.action.kind == ActionKind::Recompute && action.end > time)
            first =
                std::min(first, {std::max(action.start, time), actionName(lowered.order, Rank{rank}, action.action)});
    }
    return first.second;
}

} // namespace

std::vector<LoweredMemory> loweredMemory(const LoweredSchedule& lowered, const LoweredStep& step,
                                         const MemoryModel& model) {
    Changes changes(lowered, step, model);
    std::vector<LoweredMemory> ranks(lowered.order.ranks.size());
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        LoweredMemory& memory = ranks[r];
        memory.peak = fixedMemory(model, lowered.order.placement, lowered.order.pp, Rank{r}).fixed();
        memory.curve.push_back({step.step.begin, memory.peak});
        memory.peak_time = step.step.begin;
        auto& own = changes.of(r);
        std::ranges::stable_sort(own, {}, [](const Change& change) { return std::pair(change.time, change.bytes); });
        std::int64_t bytes = memory.peak;
        for (const Change& change : own) {
            if (change.bytes == 0) continue;
            bytes += change.bytes;
            if (memory.curve.back().time == change.time && memory.curve.size() > 1)
                memory.curve.back().bytes = bytes;
            else
                memory.curve.push_back({change.time, bytes});
            if (bytes <= memory.peak) continue;
            memory.peak = bytes;
            memory.peak_time = change.time;
        }
        memory.peak_op = runningAt(lowered, step, r, memory.peak_time);
    }
    return ranks;
}

} // namespace bubblescope
