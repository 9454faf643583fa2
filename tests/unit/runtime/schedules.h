#pragma once

#include "core/families/registry.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace bubblescope::runtime::test {

inline Schedule scheduleOf(std::string name, int pp, int microbatches, int vpp = 1) {
    ScheduleSpec spec;
    spec.name = std::move(name);
    spec.pp = pp;
    spec.microbatches = microbatches;
    spec.vpp = vpp;
    Result<Schedule> made = makeSchedule(spec);
    EXPECT_TRUE(made.ok()) << made.error().text();
    return std::move(made).value();
}

/// Splits every complete backward. The weight gradients move to the end of the rank's list in reverse order, so that no
/// rank runs them in the order of micro-batches.
inline Schedule withDelayedWeightGradients(Schedule schedule) {
    schedule.name = "custom";
    for (auto& list : schedule.ranks) {
        std::vector<Op> weights;
        for (Op& op : list) {
            if (op.kind != OpKind::Backward) continue;
            op.kind = OpKind::BackwardInput;
            weights.push_back({OpKind::BackwardWeight, op.microbatch, op.chunk});
        }
        list.insert(list.end(), weights.rbegin(), weights.rend());
    }
    return schedule;
}

/// Two chunks per rank in V placement: the last rank has two adjacent stages, and the first rank has the first and the
/// last stage. All forwards precede the backwards, which start with the last micro-batch.
inline Schedule vShaped(int pp, int microbatches) {
    Schedule schedule;
    schedule.name = "custom";
    schedule.pp = pp;
    schedule.microbatches = microbatches;
    schedule.vpp = 2;
    schedule.placement = Placement::V;
    std::vector<Op> list;
    for (const int chunk : {0, 1}) {
        for (int m = 0; m < microbatches; ++m)
            list.push_back({OpKind::Forward, Microbatch{m}, Chunk{chunk}});
    }
    for (const int chunk : {1, 0}) {
        for (int m = microbatches; m-- > 0;)
            list.push_back({OpKind::Backward, Microbatch{m}, Chunk{chunk}});
    }
    schedule.ranks.assign(static_cast<std::size_t>(pp), list);
    return schedule;
}

} // namespace bubblescope::runtime::test
