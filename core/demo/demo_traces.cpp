#include "core/demo/demo_traces.h"

#include "core/aadiff/digest.h"
#include "core/aadiff/plan.h"
#include "core/cost/measured_times.h"
#include "core/families/registry.h"
#include "core/formats/perfetto/writer.h"
#include "core/graph/simulate.h"
#include "core/timeline/checks.h"
#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// Pseudo-random numbers that are the same on every platform, unlike those of the standard library's distributions.
class Jitter {
public:
    explicit Jitter(std::string_view seed) {
        for (const char letter : seed)
            state_ = digest::mix(state_ + static_cast<unsigned char>(letter) + digest::kOdd);
    }

    [[nodiscard]] std::uint64_t bits() { return digest::mix(state_ += digest::kOdd); }

    /// Between `middle` · (1 − `spread`) and `middle` · (1 + `spread`), more often near the middle.
    [[nodiscard]] double around(double middle, double spread) { return middle * (1 + spread * (unit() + unit() - 1)); }

private:
    /// Uniform in [0, 1).
    [[nodiscard]] double unit() {
        constexpr double kScale = 1.0 / 9007199254740992.0; // 2^-53
        return static_cast<double>(bits() >> 11U) * kScale;
    }

    std::uint64_t state_ = 0;
};

constexpr int kLayersPerStage = 4;
constexpr int kFlippedStep = 4;
constexpr Rank kFlippedRank{2};
constexpr unsigned kFlippedBit = 9;

CheckedTensor resultOf(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return CheckedTensor::Output;
    case OpKind::BackwardWeight: return CheckedTensor::WeightGradient;
    default: return CheckedTensor::InputGradient;
    }
}

/// Different for each checked value, and the same on every call.
std::uint64_t madeUpDigest(const CheckRecord& check) {
    std::uint64_t value = 0;
    for (const std::int32_t part : {check.step, check.rank.value, static_cast<std::int32_t>(check.op.kind),
                                    check.op.microbatch.value, check.op.chunk.value, check.layer})
        value = digest::mix(value + static_cast<std::uint32_t>(part) + digest::kOdd);
    return value;
}

/// Creates a record in which one element of the tensor had a flipped bit in the first execution.
void flipABit(CheckRecord& check) {
    check.outcome = CheckOutcome::Mismatch;
    check.verdict = Verdict::Transient;
    check.second = digest::mix(check.first);
    TensorDifference difference;
    difference.elements = 2048;
    difference.differing = 1;
    difference.first = 517;
    difference.second_bits = 0x3d8345df; // 0.0641, as a float
    difference.first_bits = difference.second_bits ^ (std::uint64_t{1} << kFlippedBit);
    difference.ulp = std::int64_t{1} << kFlippedBit;
    check.difference = difference;
}

CheckRecord recordOf(const PlannedCheck& planned, const RankPlan& plan, const StepTimeline& step) {
    const CheckUnit& unit = plan.units[planned.unit];
    const Stage stage = step.stageOf(unit.rank, unit.chunk);
    CheckRecord check;
    check.outcome = CheckOutcome::Equal;
    check.step = step.index;
    check.rank = unit.rank;
    check.op = {unit.kind, planned.microbatch, unit.chunk};
    check.layer = 1 + stage.value * kLayersPerStage + unit.layer; // the embedding is layer 0
    check.tensor = tensorName(resultOf(unit.kind));
    check.first = madeUpDigest(check);
    check.second = check.first;
    check.start = step.begin + planned.start;
    check.end = check.start + unit.cost; // the margin stays idle
    return check;
}

/// The checks that a run of these steps would have made in its bubbles, placed by planChecks(), with made-up digests. A
/// check on rank 2 finds a flipped bit in step 4 that does not recur. Sorted by rank and time.
std::vector<CheckRecord> demoChecks(std::span<const StepTimeline> steps, const CostModel& costs) {
    std::vector<CheckRecord> checks;
    bool flipped = false;
    for (std::size_t number = 0; number < steps.size(); ++number) {
        const StepTimeline& step = steps[number];
        PlanLimits limits;
        limits.layers.assign(static_cast<std::size_t>(step.pp * step.vpp), kLayersPerStage);
        const AadiffPlan plan = planChecks(slotsOf(step), step, costs, limits);
        for (const RankPlan& rank : plan.ranks) {
            if (rank.steps.empty()) continue;
            for (const PlannedCheck& planned : rank.steps[number % rank.steps.size()]) {
                CheckRecord check = recordOf(planned, rank, step);
                if (!flipped && check.step == kFlippedStep && check.rank == kFlippedRank &&
                    check.op.kind == OpKind::Forward) {
                    flipABit(check);
                    flipped = true;
                }
                checks.push_back(std::move(check));
            }
        }
    }
    std::ranges::sort(checks, {}, [](const CheckRecord& check) { return std::tuple(check.rank, check.start); });
    return checks;
}

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::array<DemoTrace, 3> kDemos{{
    {"balanced", "A balanced 1F1B step",
     "Four ranks with equal stages: the bubbles match the closed form, and nothing is wrong."},
    {"slow-last-stage", "A slow last stage",
     "The output head makes the last of four stages 60 % slower: all ranks wait for it. A better layer split would "
     "recover that time."},
    {"checked-zb-h1", "Self-checking ZB-H1",
     "Rank 1 is slow, and A/A checks recompute ops in the bubbles: one check found a flipped bit."},
}};

/// The parameters of a demo's simulation.
struct DemoPlan {
    ScheduleSpec schedule;
    std::vector<double> stage_times; ///< factor by which the ops of each stage are longer than nominal
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

/// Every op takes its stage's time, varied by a few per cent.
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
    // If this fails, writing also fails and reports the reason.
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    return perfetto::writeTimeline(file, run.info, run.steps, run.checks);
}

} // namespace bubblescope
