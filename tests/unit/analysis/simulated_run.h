#pragma once

#include "core/analysis/report.h"
#include "core/cost/measured_times.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

// Simulated runs, exact to the nanosecond, for tests of findings.
namespace bubblescope::test {

inline constexpr TimeNs kForward{1'000'000};
inline constexpr TimeNs kComm{10'000};

inline void shift(StepTimeline& step, TimeNs by) {
    for (auto& ops : step.ranks) {
        for (TimelineOp& op : ops) {
            op.start += by;
            op.end += by;
        }
    }
    for (auto& spans : step.comm) {
        for (CommSpan& span : spans) {
            span.start += by;
            span.end += by;
        }
    }
    step.fitWindow();
}

/// Simulates consecutive steps. `change(step, costs)` may change the costs of a step.
inline bubblescope::Run makeRun(
    const ScheduleSpec& spec, int steps, const std::function<void(int, CostModel&)>& change = [](int, CostModel&) {}) {
    bubblescope::Run run;
    run.schedule = makeSchedule(spec).value();
    TimeNs begin{0};
    for (int i = 0; i < steps; ++i) {
        CostModel costs;
        costs.times = makeOpTimes(kForward, 2 * kForward, {}, {}).value();
        costs.comm = kComm;
        change(i, costs);
        StepTimeline step = simulate(run.schedule, costs).value();
        step.index = i;
        shift(step, begin);
        begin = step.end + kForward;
        run.steps.push_back(std::move(step));
    }
    return run;
}

inline const ScheduleSpec k1F1B{"1f1b", "", 4, 8, 1};

inline std::vector<Anomaly> ofKind(const RunReport& report, AnomalyKind kind) {
    std::vector<Anomaly> found;
    std::ranges::copy_if(report.anomalies, std::back_inserter(found), [&](const Anomaly& a) { return a.kind == kind; });
    return found;
}

/// Time of a single op, in the order of the schedule.
using TimeOf = std::function<double(Rank rank, const Op& op)>;

/// Simulates steps in which each op takes `factor(step)(rank, op)` times its usual time.
inline bubblescope::Run makeRunOf(const ScheduleSpec& spec, int steps, const std::function<TimeOf(int)>& factor) {
    const Schedule schedule = makeSchedule(spec).value();
    return makeRun(spec, steps, [&](int step, CostModel& costs) {
        auto times = std::make_shared<MeasuredTimes>();
        const TimeOf of_step = factor(step);
        for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
            for (const Op& op : schedule.ranks[r]) {
                const auto usual =
                    static_cast<double>(costs.opTime(op.kind, Stage{static_cast<std::int32_t>(r)}).count());
                times->setOp(Rank{r}, op, TimeNs{std::llround(usual * of_step(Rank{r}, op))});
            }
        }
        costs.measured = std::move(times);
    });
}

/// Adds the steps of another run as a replica.
inline void addReplica(bubblescope::Run& run, const bubblescope::Run& other, int replica) {
    for (StepTimeline step : other.steps) {
        step.replica = replica;
        run.steps.push_back(std::move(step));
    }
    std::ranges::stable_sort(run.steps, [](const StepTimeline& a, const StepTimeline& b) {
        return std::pair(a.index, a.replica) < std::pair(b.index, b.replica);
    });
}

} // namespace bubblescope::test
