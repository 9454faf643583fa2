#pragma once

#include "core/cost/measured_times.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/recognise/run.h"
#include "core/schedule/dependency.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <utility>

namespace bubblescope::test {

/// A run of a schedule in which all steps differ, as in real runs: the time of each op varies independently, and the
/// times of a complete step vary together.
struct JitteredRun {
    ScheduleSpec spec;
    OpTimes times{TimeNs{1'000'000}, TimeNs{2'000'000}, TimeNs{1'000'000}, TimeNs{1'000'000}, TimeNs{0}};
    TimeNs comm{100'000};
    int steps = 10;
    double op_spread = 0.02;   ///< standard deviation of the logarithm of an op's time
    double step_spread = 0.01; ///< standard deviation of the logarithm of a factor for the complete step
    /// Additional factor for the time of an op or a transfer; null = none.
    std::function<double(int step, Rank rank, const Op& op)> op_factor = {};
    std::function<double(int step, Rank from, Rank to)> link_factor = {};
};

/// Simulates the run, reproducibly for the same seed. The spec must be valid.
[[nodiscard]] inline Run makeJitteredRun(const JitteredRun& wanted, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    Run run;
    run.schedule = makeSchedule(wanted.spec).value();
    const Schedule& schedule = run.schedule;
    const OpGraph graph(schedule);
    TimeNs origin{0};
    for (int step = 0; step < wanted.steps; ++step) {
        const double common = std::exp(wanted.step_spread * normal(random));
        const auto vary = [&](TimeNs time, double factor) {
            const double own = std::exp(wanted.op_spread * normal(random));
            return TimeNs{std::llround(static_cast<double>(time.count()) * common * own * factor)};
        };
        auto measured = std::make_shared<MeasuredTimes>();
        for (OpIndex i = 0; i < graph.size(); ++i) {
            const Op& op = graph.op(i);
            const Rank rank = graph.rank(i);
            measured->setOp(rank, op,
                            vary(wanted.times.of(op.kind), wanted.op_factor ? wanted.op_factor(step, rank, op) : 1));
            if (!graph.receives(i)) continue;
            const Rank from = graph.rank(graph.producers(i).stage);
            measured->setTransfer(payloadOf(op.kind), op.microbatch, graph.stage(i), op.sequence,
                                  vary(wanted.comm, wanted.link_factor ? wanted.link_factor(step, from, rank) : 1));
        }
        CostModel costs;
        costs.times = wanted.times;
        costs.comm = wanted.comm;
        costs.measured = std::move(measured);
        StepTimeline timeline = simulate(schedule, costs).value();
        timeline.index = step;
        const TimeNs length = timeline.end;
        for (auto& ops : timeline.ranks) {
            for (TimelineOp& op : ops) {
                op.start += origin;
                op.end += origin;
            }
        }
        for (auto& spans : timeline.comm) {
            for (CommSpan& span : spans) {
                span.start += origin;
                span.end += origin;
            }
        }
        timeline.begin += origin;
        timeline.end += origin;
        origin += length + TimeNs{200'000};
        run.steps.push_back(std::move(timeline));
    }
    run.span = origin;
    return run;
}

} // namespace bubblescope::test
