#include "core/cost/memory_model.h"

#include "core/schedule/order_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace bubblescope {
namespace {

/// The part of one slice in a size that is divided among all slices; the parts add up to the size.
std::int64_t partOf(std::int64_t bytes, int slice, int slices, const std::vector<double>& tokens) {
    if (tokens.size() != static_cast<std::size_t>(slices)) return bytes / slices + (slice < bytes % slices ? 1 : 0);
    const auto upTo = [&](int count) {
        const double share = std::accumulate(tokens.begin(), tokens.begin() + count, 0.0);
        return count == slices ? bytes : static_cast<std::int64_t>(share * static_cast<double>(bytes));
    };
    return upTo(slice + 1) - upTo(slice);
}

/// Tracks the memory of a rank while it runs its ops.
class Holdings {
public:
    Holdings(const MemoryModel& model, Placement placement, int pp, Rank rank, int slices)
        : model_(model), placement_(placement), pp_(pp), rank_(rank), slices_(slices) {}

    /// Visits the ops in order, one op or overlapped pair at a time: visit(index of the first op, bytes while it runs,
    /// bytes afterwards).
    template <class Visit>
    void follow(const std::vector<Op>& ops, Visit visit) {
        for (std::size_t i = 0; i < ops.size();) {
            std::int64_t workspace = 0;
            std::int64_t freed = 0;
            const std::span<const Op> unit = opOrPairAt(ops, i);
            for (const Op& op : unit) {
                held_ += taken(op);
                freed += freedBy(op);
                workspace += workspaceOf(op);
            }
            const std::int64_t during = held_ + workspace;
            held_ -= freed;
            visit(i, during, held_);
            i += unit.size();
        }
    }

private:
    [[nodiscard]] const StageMemory& stage(const Op& op) const {
        return model_.stages[stageOf(placement_, pp_, rank_, op.chunk).index()];
    }
    [[nodiscard]] std::int64_t taken(const Op& op) const {
        return op.kind == OpKind::Forward
                   ? partOf(stage(op).activations.forward, op.sequence, slices_, model_.slice_tokens)
                   : 0;
    }
    [[nodiscard]] std::int64_t freedBy(const Op& op) const {
        if (op.kind == OpKind::Forward || op.kind == OpKind::Optimizer) return 0;
        const ActivationSizes& sizes = stage(op).activations;
        const std::int64_t weight_grad = partOf(sizes.weight_grad, op.sequence, slices_, model_.slice_tokens);
        if (op.kind == OpKind::BackwardWeight) return weight_grad;
        const std::int64_t all = partOf(sizes.forward, op.sequence, slices_, model_.slice_tokens);
        return op.kind == OpKind::Backward ? all : all - weight_grad;
    }

    [[nodiscard]] std::int64_t workspaceOf(const Op& op) const {
        if (op.kind == OpKind::Optimizer) return 0;
        return op.kind == OpKind::Forward ? stage(op).forward_workspace : stage(op).backward_workspace;
    }

    const MemoryModel& model_;
    Placement placement_;
    int pp_;
    Rank rank_;
    int slices_;
    std::int64_t held_ = 0;
};

void scale(StageMemory& stage, double factor) {
    const auto by = [factor](std::int64_t& bytes) { bytes = std::llround(static_cast<double>(bytes) * factor); };
    by(stage.activations.input_grad);
    by(stage.activations.weight_grad);
    stage.activations.forward = stage.activations.input_grad + stage.activations.weight_grad;
    by(stage.kept_input);
    by(stage.forward_workspace);
    by(stage.backward_workspace);
}

} // namespace

RankMemory fixedMemory(const MemoryModel& model, Placement placement, int pp, Rank rank) {
    RankMemory memory;
    memory.other = model.other;
    for (std::size_t s = 0; s < model.stages.size(); ++s) {
        if (locate(placement, pp, Stage{s}).rank != rank) continue;
        memory.weights += model.stages[s].weights;
        memory.gradients += model.stages[s].gradients;
        memory.optimizer += model.stages[s].optimizer;
    }
    return memory;
}

std::vector<RankMemory> memoryUse(const Schedule& schedule, const MemoryModel& model,
                                  std::optional<std::int64_t> budget) {
    const int slices = slicesOf(schedule);
    std::vector<RankMemory> ranks;
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
        RankMemory memory = fixedMemory(model, schedule.placement, schedule.pp, Rank{r});
        Holdings(model, schedule.placement, schedule.pp, Rank{r}, slices)
            .follow(schedule.ranks[r], [&](std::size_t op, std::int64_t during, std::int64_t) {
                if (during > memory.peak_activations) {
                    memory.peak_activations = during;
                    memory.peak_op = op;
                }
                if (budget && !memory.over_budget && memory.fixed() + during > *budget) memory.over_budget = op;
            });
        ranks.push_back(memory);
    }
    return ranks;
}

std::vector<HeldPieces> heldDuring(const Schedule& schedule, const MemoryModel& model, Rank rank, std::size_t op) {
    const auto& ops = schedule.ranks[rank.index()];
    const int slices = slicesOf(schedule);
    std::map<std::int64_t, int, std::greater<>> counts; // by size
    const std::size_t end = op + opOrPairAt(ops, op).size();
    for (std::size_t i = 0; i < end; ++i) {
        const Op& each = ops[i];
        const StageMemory& stage = model.stages[schedule.stageOf(rank, each.chunk).index()];
        const std::int64_t all = partOf(stage.activations.forward, each.sequence, slices, model.slice_tokens);
        const std::int64_t rest = partOf(stage.activations.weight_grad, each.sequence, slices, model.slice_tokens);
        if (each.kind == OpKind::Forward) ++counts[all];
        if (i >= op) continue; // an op frees memory at its end
        if (each.kind == OpKind::Backward || each.kind == OpKind::BackwardInput) --counts[all];
        if (each.kind == OpKind::BackwardInput) ++counts[rest];
        if (each.kind == OpKind::BackwardWeight) --counts[rest];
    }
    std::vector<HeldPieces> held;
    for (const auto& [bytes, count] : counts) {
        if (count > 0 && bytes > 0) held.push_back({bytes, count});
    }
    return held;
}

Result<MemoryModel> fittedTo(const std::vector<MeasuredPeak>& peaks, const Schedule& schedule, MemoryModel model) {
    const std::vector<RankMemory> own = memoryUse(schedule, model);
    const auto count = static_cast<double>(peaks.size());
    const auto above = [&](const MeasuredPeak& peak) { // the part that is not explained by the model's weights
        return static_cast<double>(peak.bytes - own[peak.rank.index()].fixed());
    };
    const auto held = [&](const MeasuredPeak& peak) {
        return static_cast<double>(own[peak.rank.index()].peak_activations);
    };
    double mean_above = 0;
    double mean_held = 0;
    for (const MeasuredPeak& peak : peaks) {
        if (peak.rank.value < 0 || peak.rank.value >= schedule.pp)
            return usageError(fmt::format("rank {} does not exist", peak.rank.value), "number the ranks from 0");
        mean_above += above(peak) / count;
        mean_held += held(peak) / count;
    }
    double together = 0;
    double square = 0;
    for (const MeasuredPeak& peak : peaks) {
        together += (held(peak) - mean_held) * (above(peak) - mean_above);
        square += (held(peak) - mean_held) * (held(peak) - mean_held);
    }
    if (!(square > 0))
        return usageError(
            "these ranks hold the same number of activations, so their peaks do not reveal an activation's size",
            "specify the peaks of two ranks that hold different numbers of activations");
    const double factor = together / square;
    const double other = mean_above - factor * mean_held;
    constexpr double kLargest = 1e6;
    const bool weights_fit = std::ranges::all_of(
        own, [other](const RankMemory& rank) { return static_cast<double>(rank.fixed()) + other >= 0; });
    if (!(factor > 0) || factor > kLargest || !weights_fit)
        return usageError("these peaks contradict the order and the sizes of the model",
                          "check the ranks, the schedule and the bytes per parameter");
    for (StageMemory& stage : model.stages)
        scale(stage, factor);
    model.other = std::llround(other);
    return model;
}

std::vector<MemoryPoint> memoryCurve(const StepTimeline& step, Rank rank, const MemoryModel& model) {
    int slices = 1;
    std::vector<Op> own;
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        for (const TimelineOp& op : step.ranks[r]) {
            slices = std::max(slices, op.op.sequence + 1);
            if (Rank{r} == rank) own.push_back(op.op);
        }
    }
    const std::int64_t fixed = fixedMemory(model, step.placement, step.pp, rank).fixed();
    std::vector<MemoryPoint> curve{{step.begin, fixed}};
    const auto append = [&](TimeNs time, std::int64_t bytes) {
        if (curve.back().bytes != fixed + bytes) curve.push_back({time, fixed + bytes});
    };
    const auto& ops = step.ranks[rank.index()];
    Holdings(model, step.placement, step.pp, rank, slices)
        .follow(own, [&](std::size_t op, std::int64_t during, std::int64_t after) {
            append(ops[op].start, during);
            append(ops[op].end, after);
        });
    return curve;
}

} // namespace bubblescope
