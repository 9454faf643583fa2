#include "core/demo/demo_traces.h"

#include "core/cost/measured_times.h"
#include "core/demo/demo_checks.h"
#include "core/demo/jitter.h"
#include "core/formats/perfetto/writer.h"
#include "core/graph/simulate.h"
#include "core/schedule/families/registry.h"
#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace bubblescope {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::array<DemoTrace, 3> kDemos{{
    {"balanced", "A balanced 1F1B step",
     "Four ranks with equal stages: the bubbles are those that the closed form allows, and nothing is wrong."},
    {"slow-last-stage", "A slow last stage",
     "The output head makes the last of four stages 60 % slower: all ranks wait for it, and a better split of the "
     "layers would win that back."},
    {"checked-zb-h1", "ZB-H1 that checks itself",
     "Rank 1 is slow, and A/A checks compute ops again in the bubbles: one of them found a flipped bit."},
}};

/// How a demo is simulated.
struct DemoPlan {
    ScheduleSpec schedule;
    std::vector<double> stage_times; ///< how much longer than the nominal time each stage's ops take
    int steps = 8;
    bool checked = false;
    std::string faults;
};

constexpr TimeNs kForward{milliseconds(6)};
constexpr TimeNs kBackward{milliseconds(12)};
constexpr TimeNs kTransfer{microseconds(150)};
constexpr TimeNs kOptimizer{milliseconds(7)};
constexpr TimeNs kBetweenSteps{milliseconds(2)};
constexpr double kJitter = 0.02;

DemoPlan planOf(std::string_view name) {
    if (name == "slow-last-stage") return {{"1f1b", "", 4, 8, 1}, {1, 1, 1, 1.6}, 8, false, "slow:stage=3,factor=1.6"};
    if (name == "checked-zb-h1")
        return {{"zb-h1", "", 4, 8, 1}, {1, 1.3, 1, 1}, 8, true, "slow:rank=1,factor=1.3 flip:F,rank=2,step=4"};
    return {{"1f1b", "", 4, 8, 1}, {1, 1, 1, 1}, 8, false, ""};
}

TimeNs scaled(TimeNs time, double by) {
    return TimeNs{static_cast<std::int64_t>(static_cast<double>(time.count()) * by)};
}

/// Every op of a step takes its stage's time, varied by a few per cent.
Result<StepTimeline> simulateOneStep(const Schedule& schedule, const DemoPlan& plan, CostModel costs, Jitter& jitter) {
    MeasuredTimes times;
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
        for (const Op& op : schedule.ranks[rank]) {
            const Stage stage = stageOf(schedule.placement, schedule.pp, Rank{rank}, op.chunk);
            const double factor = plan.stage_times[stage.index()] * jitter.around(1, kJitter);
            times.setOp(Rank{rank}, op, scaled(costs.times.of(op.kind), factor));
        }
    }
    costs.measured = std::make_shared<const MeasuredTimes>(std::move(times));
    return simulate(schedule, costs);
}

/// Places a step after the previous ones and adds the optimizer ops.
void place(StepTimeline& step, int index, TimeNs begin, Jitter& jitter) {
    step.index = index;
    moveTo(step, begin);
    for (auto& ops : step.ranks) {
        const TimeNs length = scaled(kOptimizer, jitter.around(1, kJitter));
        ops.push_back({{OpKind::Optimizer, Microbatch(0), Chunk(0)}, step.end, step.end + length});
    }
}

TimeNs lastEnd(const StepTimeline& step) {
    TimeNs end = step.end;
    for (const auto& ops : step.ranks) {
        for (const TimelineOp& op : ops)
            end = std::max(end, op.end);
    }
    return end;
}

} // namespace

std::span<const DemoTrace> demoTraces() {
    return kDemos;
}

const DemoTrace* findDemoTrace(std::string_view name) {
    const auto* const found = std::ranges::find(kDemos, name, &DemoTrace::name);
    return found == kDemos.end() ? nullptr : found;
}

Result<DemoRun> makeDemo(std::string_view name) {
    if (findDemoTrace(name) == nullptr) {
        std::string names;
        for (const DemoTrace& demo : kDemos)
            names.append(names.empty() ? "" : ", ").append(demo.name);
        return usageError("there is no demo '" + std::string(name) + "'", "there are " + names);
    }
    const DemoPlan plan = planOf(name);
    BUBBLESCOPE_ASSIGN(const Schedule schedule, makeSchedule(plan.schedule));
    CostModel costs;
    BUBBLESCOPE_ASSIGN(costs.times, makeOpTimes(kForward, kBackward, std::nullopt, std::nullopt));
    costs.comm = kTransfer;

    DemoRun run;
    run.info = RunInfo::of("simulate", schedule);
    run.info.faults = plan.faults;
    Jitter jitter(name);
    TimeNs begin{0};
    for (int i = 0; i < plan.steps; ++i) {
        BUBBLESCOPE_ASSIGN(StepTimeline step, simulateOneStep(schedule, plan, costs, jitter));
        place(step, i, begin, jitter);
        begin = lastEnd(step) + kBetweenSteps;
        run.steps.push_back(std::move(step));
    }
    if (plan.checked) run.checks = demoChecks(run.steps, costs);
    return run;
}

Status writeDemo(std::string_view name, const std::filesystem::path& file) {
    BUBBLESCOPE_ASSIGN(const DemoRun run, makeDemo(name));
    // If this fails, so does the writing, which reports the reason.
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    return perfetto::writeTimeline(file, run.info, run.steps, run.checks);
}

} // namespace bubblescope
