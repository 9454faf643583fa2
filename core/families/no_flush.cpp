// Pipelines without a flush: 1F1B over the micro-batches of many updates. A rank updates its weights as soon as it has
// the gradients of a group of micro-batches, while those of the next group are in progress. An order contains the
// updates from one empty pipeline to the next. Its last update is not listed, because every step ends with one.
//
// PipeDream (Narayanan et al., 2019) updates after every micro-batch by default. A micro-batch keeps, on each rank, the
// weights of its forward for its backward ("stashing"); with "vertical-sync" all ranks use the weights that rank 0
// used.
//
// PipeDream-2BW (Narayanan et al., 2021) updates after groups of at least p−1 micro-batches. Two versions of the
// weights then suffice, and gradients are one update late on all ranks: the "one-step delay" of later work.

#include "core/families/no_flush.h"

#include "core/families/families.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope {
namespace {

constexpr std::string_view kPipeDream = "pipedream";
constexpr std::string_view kPipeDream2Bw = "pipedream-2bw";

Result<Schedule> generateUpdating(const ScheduleSpec& spec, int group) {
    BUBBLESCOPE_TRY(requireOneChunk(spec));
    if (spec.microbatches % group != 0) {
        const int below = std::max(1, spec.microbatches / group) * group;
        return usageError(fmt::format("{} updates the weights after every {} micro-batches, which does not divide {}",
                                      spec.name, group, spec.microbatches),
                          fmt::format("use {} or {} micro-batches", below, below + group));
    }
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const auto forward = [](int k) { return Op{OpKind::Forward, Microbatch{k}, Chunk{0}}; };
    const auto backward = [](int k) { return Op{OpKind::Backward, Microbatch{k}, Chunk{0}}; };
    for (int s = 0; s < spec.pp; ++s) {
        std::vector<Op>& ops = schedule.ranks.emplace_back();
        for (const Op& op :
             phaseOrder(spec.microbatches, std::min(spec.microbatches, spec.pp - s - 1), forward, backward)) {
            ops.push_back(op);
            const int done = op.microbatch.value + 1;
            if (op.kind == OpKind::Backward && done % group == 0 && done < spec.microbatches)
                ops.emplace_back(OpKind::Optimizer);
        }
    }
    return schedule;
}

Result<Schedule> generatePipeDream(const ScheduleSpec& spec) {
    return generateUpdating(spec, std::max(1, spec.group_size));
}

Result<Schedule> generatePipeDream2Bw(const ScheduleSpec& spec) {
    const int group = spec.group_size > 0 ? spec.group_size : spec.pp;
    if (group < spec.pp - 1) {
        return usageError(
            fmt::format("pipedream-2bw needs groups of at least p − 1 = {} micro-batches, not {}", spec.pp - 1, group),
            fmt::format("use {} or more, or switch to pipedream", Field("group_size").is(spec.pp - 1)));
    }
    return generateUpdating(spec, group);
}

} // namespace

bool trainsWithDelay(std::string_view family) {
    return family == kPipeDream || family == kPipeDream2Bw;
}

ScheduleFamily pipeDream2BwFamily() {
    return {.name = kPipeDream2Bw,
            .title = "PipeDream-2BW (no flush, one-step delay)",
            .aliases = {"2bw", "one-step-delay"},
            .placement = Placement::Loop,
            .limits = "m divisible by N, v = 1; N ≥ p−1 micro-batches per update (default p)",
            .uses = {{SpecPart::GroupSize}},
            .generate = generatePipeDream2Bw};
}

ScheduleFamily pipeDreamFamily() {
    return {.name = kPipeDream,
            .title = "PipeDream (no flush, weight stashing)",
            .flavors = {"stashing", "vertical-sync"},
            .placement = Placement::Loop,
            .limits = "m divisible by N, v = 1; N micro-batches per update (default: 1)",
            .uses = {{SpecPart::GroupSize}},
            .generate = generatePipeDream};
}

} // namespace bubblescope
