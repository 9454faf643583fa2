#include "core/base/field.h"
#include "runtime/faults/fault.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope::runtime {
namespace {

Error refuse(const Fault& fault, std::string message, std::string way_out) {
    Error error = usageError(std::move(message), std::move(way_out));
    error.where = Field("inject").is(fault.text);
    return error;
}

Status checkRanks(const Fault& fault, const FaultRange& ranks, int count, std::string_view what) {
    if (ranks.first < count && (ranks.last < count || ranks.last == FaultRange{}.last)) return {};
    const int beyond = ranks.first < count ? ranks.last : ranks.first;
    return refuse(fault, fmt::format("there is no {} {}", what, beyond),
                  fmt::format("use {}s 0 to {}", what, count - 1));
}

/// True if the rank has such an op with that tensor: an input from another rank, or an output. W and O have neither.
bool hasTensor(const Schedule& schedule, Rank rank, const Op& op, FaultTensor tensor) {
    const bool forward = op.kind == OpKind::Forward;
    if (!forward && !producesInputGradient(op.kind)) return false;
    const int apart = routes(schedule.placement);
    const int stage = schedule.stageOf(rank, op.chunk).value;
    const bool towards_last = forward == (tensor == FaultTensor::Output);
    return towards_last ? stage + apart < schedule.stages() : stage - apart >= 0;
}

Status checkOps(const Fault& fault, const Schedule& schedule) {
    const bool flips = fault.kind == FaultKind::Flip && !fault.layer && !fault.shown; // a flip between stages
    bool met = fault.ops.matches({OpKind::Optimizer, {}, {}}) && !flips; // every step ends with an optimizer op
    bool tensor_met = false;
    for (int r = 0; r < schedule.pp; ++r) {
        if (!fault.ranks.holds(r)) continue;
        for (const Op& op : schedule.ranks[Rank{r}.index()]) {
            if (!fault.ops.matches(op)) continue;
            met = true;
            tensor_met = tensor_met || hasTensor(schedule, Rank{r}, op, fault.tensor);
        }
    }
    if (!met) {
        return refuse(fault, "none of these ranks runs such an op",
                      "`bubblescope schedule` with the same options shows which ops each rank runs");
    }
    if (flips && !tensor_met) {
        return refuse(fault,
                      fmt::format("this op {} a neighbour",
                                  fault.tensor == FaultTensor::Input ? "receives nothing from" : "sends nothing to"),
                      "the first stage's forward and the last stage's backward receive nothing, the last stage's "
                      "forward and the first stage's backward send nothing, and W does neither");
    }
    return {};
}

} // namespace

Status checkFaults(std::span<const Fault> faults, const Schedule& schedule, int steps, int tensor_ranks) {
    for (const Fault& fault : faults) {
        BUBBLESCOPE_TRY(checkRanks(fault, fault.ranks, schedule.pp, "rank"));
        BUBBLESCOPE_TRY(checkRanks(fault, fault.peers, schedule.pp, "rank"));
        BUBBLESCOPE_TRY(checkRanks(fault, fault.tensor_ranks, tensor_ranks, "tensor rank"));
        if (fault.steps.first >= steps) {
            return refuse(fault, fmt::format("there is no step {}", fault.steps.first),
                          fmt::format("the run has steps 0 to {}; increase {} for more", steps - 1, Field("steps")));
        }
        const bool link = fault.kind == FaultKind::Link || fault.kind == FaultKind::Stall;
        if (!link) BUBBLESCOPE_TRY(checkOps(fault, schedule));
    }
    return {};
}

} // namespace bubblescope::runtime
