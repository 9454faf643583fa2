#pragma once

#include "core/analysis/whatif/run_model.h"
#include "core/cost/measured_times.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::test {

using namespace std::chrono_literals;

inline OpTimes opTimes(TimeNs forward, TimeNs input_grad, TimeNs weight_grad) {
    return {forward, input_grad + weight_grad, input_grad, weight_grad, TimeNs{0}};
}

/// 1 ms forward, 2 ms backward.
inline OpTimes unitTimes() {
    return opTimes(1ms, 1ms, 1ms);
}

inline Schedule scheduleOf(const std::string& name, int pp, int microbatches, int vpp = 1) {
    ScheduleSpec spec;
    spec.name = name;
    spec.pp = pp;
    spec.microbatches = microbatches;
    spec.vpp = vpp;
    return makeSchedule(spec).value();
}

/// A run of one simulated step.
inline Run simulatedRun(const Schedule& schedule, const CostModel& costs) {
    Run run;
    run.files = {"simulated"};
    run.schedule = schedule;
    run.steps.push_back(simulate(schedule, costs).value());
    return run;
}

inline Run simulatedRun(const Schedule& schedule, std::vector<OpTimes> stages, TimeNs comm = TimeNs{0}) {
    CostModel costs;
    costs.stages = std::move(stages);
    costs.comm = comm;
    return simulatedRun(schedule, costs);
}

} // namespace bubblescope::test
