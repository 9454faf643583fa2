#pragma once

#include "core/families/registry.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"

#include <string>

namespace bubblescope::test {

constexpr TimeNs kForwardTime{1'000'000};
constexpr TimeNs kBackwardTime{2'000'000};

inline Schedule scheduleOf(const std::string& name, int pp, int microbatches, int vpp = 1) {
    return makeSchedule({name, "", pp, microbatches, vpp}).value();
}

/// A step in which each rank runs its ops without pauses. It is a valid timeline, but not realistic.
inline StepTimeline packedStep(const Schedule& schedule, int index, TimeNs begin) {
    StepTimeline step;
    step.index = index;
    step.pp = schedule.pp;
    step.microbatches = schedule.microbatches;
    step.vpp = schedule.vpp;
    step.placement = schedule.placement;
    step.comm.resize(schedule.ranks.size());
    for (const auto& ops : schedule.ranks) {
        auto& timed = step.ranks.emplace_back();
        TimeNs now = begin;
        for (const Op& op : ops) {
            const TimeNs end = now + (op.kind == OpKind::Forward ? kForwardTime : kBackwardTime);
            timed.push_back({op, now, end});
            now = end;
        }
    }
    step.fitWindow();
    return step;
}

inline RunInfo infoOf(const Schedule& schedule) {
    return RunInfo::of("simulate", schedule);
}

} // namespace bubblescope::test
