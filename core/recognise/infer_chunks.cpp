#include "core/recognise/infer_chunks.h"

#include "core/recognise/match_schedule.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// The forwards and backwards of a step, by rank, in their order.
using StepOps = std::map<std::int64_t, std::vector<BareFoundOp*>>;

std::map<std::pair<std::int64_t, std::int64_t>, StepOps> stepOps(FoundOps& found) {
    std::map<std::pair<std::int64_t, std::int64_t>, StepOps> steps; // by replica and step
    for (BareFoundOp& op : found.ops) {
        if (op.kind != OpKind::Optimizer) steps[{op.replica, op.step}][op.owner].push_back(&op);
    }
    for (auto& [key, ranks] : steps) {
        for (auto& [owner, ops] : ranks)
            std::ranges::stable_sort(ops, {}, [](const BareFoundOp* op) { return op->start; });
    }
    return steps;
}

bool backwardsAreSplit(const Schedule& schedule) {
    return std::any_of(schedule.ranks.begin(), schedule.ranks.end(), [](const auto& ops) {
        return std::any_of(ops.begin(), ops.end(), [](const Op& op) {
            return op.kind == OpKind::BackwardInput || op.kind == OpKind::BackwardWeight;
        });
    });
}

/// The number of each rank's forwards, if all have the same number, and as many whole backwards; else 0.
int forwardsOf(const StepOps& step) {
    std::optional<std::ptrdiff_t> all;
    for (const auto& [owner, ops] : step) {
        const auto count = [&ops = ops](OpKind kind) {
            return std::ranges::count_if(ops, [kind](const BareFoundOp* op) { return op->kind == kind; });
        };
        const auto forwards = count(OpKind::Forward);
        if (count(OpKind::Backward) != forwards || 2 * forwards != std::ssize(ops) ||
            all.value_or(forwards) != forwards)
            return 0;
        all = forwards;
    }
    return static_cast<int>(all.value_or(0));
}

bool sameKinds(const StepOps& step, const Schedule& schedule) {
    return std::ranges::equal(step, schedule.ranks, [](const auto& rank, const std::vector<Op>& ops) {
        return std::ranges::equal(rank.second, ops, [](const BareFoundOp* found, const Op& op) {
            return found->kind == op.kind && found->overlapped == op.overlapped;
        });
    });
}

/// The first schedule with `vpp` chunks that runs the kinds of ops in this order.
std::optional<Schedule> scheduleOfKinds(const StepOps& step, int forwards, int vpp) {
    Schedule like;
    like.pp = static_cast<int>(step.size());
    like.microbatches = forwards / vpp;
    like.vpp = vpp;
    for (const Placement placement : {Placement::Loop, Placement::V}) {
        if (vpp == 1 && placement == Placement::V) continue; // same as a loop
        like.placement = placement;
        for (const ScheduleSpec& spec : specsLike(like)) {
            ScheduleSpec small = spec;
            small.microbatches = std::min(spec.microbatches, 2 * spec.pp);
            const auto first = makeSchedule(small); // the whole may be large
            if (first.ok() && backwardsAreSplit(first.value())) continue;
            auto made = makeSchedule(spec);
            if (made.ok() && sameKinds(step, made.value())) return std::move(made).value();
        }
    }
    return std::nullopt;
}

void takeNumbers(StepOps& step, const Schedule& schedule) {
    auto rank = schedule.ranks.begin();
    for (auto& [owner, ops] : step) {
        for (const OpKind kind : {OpKind::Forward, OpKind::Backward}) {
            auto op = rank->begin();
            for (BareFoundOp* found : ops) {
                if (found->kind != kind) continue;
                op = std::find_if(op, rank->end(), [kind](const Op& each) { return each.kind == kind; });
                found->microbatch = op->microbatch.value;
                found->chunk_or_stage = op->chunk.value;
                ++op;
            }
        }
        ++rank;
    }
}

} // namespace

void inferChunks(FoundOps& found, const std::string& where, DiagnosticLog& log) {
    if (!found.chunks_unknown) return;
    auto steps = stepOps(found);
    std::size_t ranks = 0;
    for (const auto& [key, step] : steps)
        ranks = std::max(ranks, step.size());
    const auto complete = [ranks](const auto& entry) {
        return entry.second.size() == ranks && forwardsOf(entry.second) > 0;
    };
    const auto first = std::ranges::find_if(steps, complete);
    if (first == steps.end()) return;
    const int forwards = forwardsOf(first->second);
    for (int vpp = 1; vpp <= std::min(forwards, kMaxChunks); ++vpp) {
        if (forwards % vpp != 0) continue;
        const auto schedule = scheduleOfKinds(first->second, forwards, vpp);
        if (!schedule) continue;
        if (vpp == 1) return;
        for (auto& [key, step] : steps) {
            if (step.size() == ranks && forwardsOf(step) == forwards) takeNumbers(step, *schedule);
        }
        log.add("inferred", where,
                say("names do not contain chunks; inferred {} chunks per rank, because the order matches {}", vpp,
                    schedule->name));
        const auto transfers = static_cast<std::int64_t>(found.comm.size());
        if (transfers > 0) log.add("unassigned-transfer", where, say("skipped transfers without a chunk"), transfers);
        found.comm.clear();
        return;
    }
}

} // namespace bubblescope
