#include "core/demo/demo_checks.h"

#include "core/aadiff/digest.h"
#include "core/aadiff/plan.h"
#include "core/timeline/check_record.h"

#include <algorithm>
#include <tuple>

namespace bubblescope {
namespace {

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

/// Different for each checked number, and the same on every call.
std::uint64_t madeUpDigest(const CheckRecord& check) {
    std::uint64_t value = 0;
    for (const std::int32_t part : {check.step, check.rank.value, static_cast<std::int32_t>(check.op.kind),
                                    check.op.microbatch.value, check.op.chunk.value, check.layer})
        value = digest::mix(value + static_cast<std::uint32_t>(part) + digest::kOdd);
    return value;
}

/// Makes a record in which one element of the tensor had a bit flipped in the first execution.
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

} // namespace

std::vector<CheckRecord> demoChecks(std::span<const StepTimeline> steps, const CostModel& costs) {
    std::vector<CheckRecord> checks;
    bool flipped = false;
    for (std::size_t number = 0; number < steps.size(); ++number) {
        const StepTimeline& step = steps[number];
        PlanLimits limits;
        limits.layers.assign(static_cast<std::size_t>(step.pp * step.vpp), kLayersPerStage);
        const AadiffPlan plan = planChecks(ScheduleSlots(step), step, costs, limits);
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

} // namespace bubblescope
