#include "tests/gui/sample_run.h"

#include "core/cost/cost_model.h"
#include "core/simulate/simulate.h"

namespace bubblescope::gui {

namespace {

/// A begin other than 0, as real clocks have.
constexpr TimeNs kOrigin{std::chrono::hours(5)};

} // namespace

Run sampleRun(const SampleSpec& spec) {
    Run run;
    run.files = {"sample.pftrace"};
    run.format = "perfetto";
    run.annotation = "our own";
    run.schedule = makeSchedule(spec.schedule).value();
    CostModel costs;
    costs.times = makeOpTimes(spec.forward, spec.backward, std::nullopt, std::nullopt).value();
    costs.comm = spec.comm;
    const StepTimeline model = simulate(run.schedule, costs).value();
    TimeNs origin = kOrigin;
    for (int i = 0; i < spec.steps; ++i) {
        StepTimeline step = model;
        step.index = i;
        step.begin += origin;
        step.end += origin;
        for (auto& ops : step.ranks) {
            for (TimelineOp& op : ops) {
                op.start += origin;
                op.end += origin;
            }
            if (spec.gap > TimeNs{0})
                ops.push_back({{OpKind::Optimizer, Microbatch(0), Chunk(0)}, step.end, step.end + spec.gap / 2});
        }
        for (auto& spans : step.comm) {
            for (CommSpan& span : spans) {
                span.start += origin;
                span.end += origin;
            }
        }
        origin = step.end + spec.gap;
        run.steps.push_back(std::move(step));
    }
    return run;
}

SessionPtr sampleSession(const SampleSpec& spec) {
    return makeSession(sampleRun(spec), JobControl()).value();
}

} // namespace bubblescope::gui
