// Runs that check themselves in their bubbles, on a device: planned checks run, planted faults are found and named,
// and training has the same bits as without checks.

#include "tests/gpu/checked_device_run.h"
#include "tests/gpu/flavors.h"
#include "tests/unit/runtime/schedules.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace bubblescope::runtime::test {
namespace {

using profiler::SliceRecord;

/// The plan of such a run.
std::unique_ptr<CheckSetup> setupOf(const Schedule& schedule) {
    const CheckedEngineRun run(schedule, opTimes());
    ModelConfig model = run.model;
    model.layers_per_stage = 2;
    return CheckSetup::make({run.schedule, run.times, model, true, false, 1, {}}, {}).value();
}

class CheckedPipelines : public testing::TestWithParam<Flavor> {};

TEST_P(CheckedPipelines, CoverWhatIsPlannedAndTrainToTheSameBits) {
    for (const int slices : {1, 2}) {
        const std::optional<Schedule> schedule = orderOf(GetParam(), slices);
        if (!schedule) continue;
        const auto setup = setupOf(*schedule);
        std::size_t steps = 1;
        std::size_t units = 0;
        for (const RankPlan& rank : setup->study.plan().ranks) {
            steps = std::max(steps, rank.steps.size());
            units += rank.units.size() - rank.never.size();
        }
        const Storage storage = slices == 1 ? Storage::Bf16 : Storage::Float;
        DeviceRun checked(*schedule, storage);
        const std::uint64_t weights = checked.train(static_cast<int>(steps));
        EXPECT_TRUE(checked.run.mismatches.empty());
        std::set<std::tuple<Rank, Chunk, OpKind, int>> seen;
        std::string others;
        for (const CheckRecord& check : checked.checks(CheckKind::Replay)) {
            if (check.outcome == CheckOutcome::Equal) {
                seen.insert({check.rank, check.op.chunk, check.op.kind, check.layer});
            } else {
                others += fmt::format("\nstep {}, rank {}, {}, layer {}: {}", check.step, check.rank.value,
                                      opName(check.op), check.layer, checkOutcomeName(check.outcome));
            }
        }
        if (timeIsMadeUp()) {
            EXPECT_EQ(seen.size(), units) << "in " << steps << " steps" << others;
        }
        EXPECT_GT(seen.size(), 0U);
        EXPECT_GT(checked.outcomes(CheckKind::Transfer)[CheckOutcome::Equal], 0);
        EXPECT_GT(checked.outcomes(CheckKind::Weights)[CheckOutcome::Equal], 0);

        DeviceRun plain(*schedule, storage);
        plain.run.aadiff.reset();
        EXPECT_EQ(plain.train(static_cast<int>(steps)), weights);
    }
}

INSTANTIATE_TEST_SUITE_P(Registry, CheckedPipelines, testing::ValuesIn(allFlavors()), nameOfFlavor);

TEST(DeviceChecks, NameATransientFlipAndItsPlace) {
    const Schedule schedule = scheduleOf("zb-h1", 4, 8);
    const auto setup = setupOf(schedule);
    const std::map<OpKind, std::string> tensors{{OpKind::Forward, "hidden"},
                                                {OpKind::BackwardInput, "hidden-gradient"},
                                                {OpKind::BackwardWeight, "weight-gradient"}};
    std::set<OpKind> met;
    for (std::size_t rank = 1; rank < 4; ++rank) {
        const RankPlan& plan = setup->study.plan().ranks[rank];
        for (std::size_t planned = 0; planned < plan.steps.size(); ++planned) {
            // A real device loads code in the first steps; the plan repeats.
            const std::size_t step = planned + (timeIsMadeUp() ? 0 : plan.steps.size());
            for (const PlannedCheck& check : plan.steps[planned]) {
                const Op op = setup->study.timeline().ranks[rank][check.op].op;
                const int layer =
                    setup->layersOf(schedule.stageOf(Rank{rank}, Chunk{0})).first + plan.units[check.unit].layer;
                if (layer == setup->headLayer() || !met.insert(op.kind).second) continue;
                for (const Storage storage : {Storage::Float, Storage::Bf16}) {
                    const std::string text = fmt::format("flip:{},rank={},step={},layer={},tensor={},bit=69",
                                                         opName(op), rank, step, layer, tensors.at(op.kind));
                    SCOPED_TRACE(text);
                    DeviceRun checked(schedule, storage, {text});
                    checked.train(static_cast<int>(step) + 1);
                    ASSERT_FALSE(checked.run.mismatches.empty()) << checked.fateOf(op, static_cast<int>(step));
                    const CheckRecord& found = checked.run.mismatches.front();
                    EXPECT_EQ(found.kind, CheckKind::Replay);
                    EXPECT_EQ(found.verdict, Verdict::Transient);
                    EXPECT_EQ(found.step, static_cast<int>(step));
                    EXPECT_EQ(found.rank, Rank{rank});
                    EXPECT_EQ(opName(found.op), opName(op));
                    EXPECT_EQ(found.layer, layer);
                    EXPECT_EQ(parseTensor(found.tensor), parseTensor(tensors.at(op.kind)));
                    ASSERT_TRUE(found.difference);
                    EXPECT_EQ(found.difference->differing, 1);
                    EXPECT_EQ(found.difference->first, 2) << "32 bits a number";
                    EXPECT_EQ(found.difference->first_bits ^ found.difference->second_bits, 1U << 5U);
                    EXPECT_EQ(checked.run.mismatches.size(), 1U);
                }
            }
        }
    }
    EXPECT_EQ(met.size(), tensors.size());
}

TEST(DeviceChecks, FindWhatHappensBetweenOps) {
    const Schedule schedule = scheduleOf("1f1b", 4, 8);
    DeviceRun transfer(schedule, Storage::Bf16, {"flip:F2,rank=1,tensor=in,bit=40"});
    transfer.train(1);
    ASSERT_EQ(transfer.run.mismatches.size(), 1U);
    EXPECT_EQ(transfer.run.mismatches[0].kind, CheckKind::Transfer);
    EXPECT_EQ(transfer.run.mismatches[0].rank, Rank{1});
    EXPECT_EQ(opName(transfer.run.mismatches[0].op), "F2.0");

    DeviceRun weights(schedule, Storage::Bf16, {"flip:F2,rank=1,step=1,layer=4,tensor=weights,bit=40"});
    weights.train(2);
    ASSERT_EQ(weights.run.mismatches.size(), 1U);
    EXPECT_EQ(weights.run.mismatches[0].kind, CheckKind::Weights);
    EXPECT_EQ(weights.run.mismatches[0].verdict, Verdict::Device);
    EXPECT_EQ(weights.run.mismatches[0].step, 1);
    EXPECT_EQ(weights.run.mismatches[0].layer, 4);

    DeviceRun answer(schedule, Storage::Float, {"flip:F,rank=3,tensor=product,bit=40,stay=sticky"});
    answer.train(1);
    ASSERT_EQ(answer.run.mismatches.size(), 1U);
    EXPECT_EQ(answer.run.mismatches[0].kind, CheckKind::KnownAnswer);
    EXPECT_EQ(answer.run.mismatches[0].verdict, Verdict::Device);
    EXPECT_EQ(answer.run.mismatches[0].rank, Rank{3});
}

TEST(DeviceChecks, KnowTheAnswersInEitherStorage) {
    for (const Storage storage : {Storage::Float, Storage::Bf16}) {
        DeviceRun checked(scheduleOf("1f1b", 3, 4), storage);
        checked.train(1);
        EXPECT_TRUE(checked.run.mismatches.empty());
        EXPECT_EQ(checked.outcomes(CheckKind::KnownAnswer)[CheckOutcome::Equal], 3 * 2) << "of ranks that wait first";
    }
}

TEST(DeviceChecks, ChooseStepsWhereOpsTakeTheirTime) {
    for (const int replicas : {1, 2}) {
        const Schedule schedule = scheduleOf("1f1b", 4, 8);
        constexpr int kSteps = 32;
        const auto unpaced = [&](const std::optional<AadiffOptions>& aadiff) {
            auto made =
                std::make_unique<DeviceRun>(schedule, Storage::Bf16, std::vector<std::string>(), TimeNs{10'000});
            made->run.paced = false;
            made->run.replicas = replicas;
            made->run.aadiff = aadiff;
            return made;
        };
        AadiffOptions options;
        options.cost = 0.003;
        const auto checked = unpaced(options);
        const std::uint64_t weights = checked->train(kSteps);
        EXPECT_TRUE(checked->run.mismatches.empty()) << "weights are written between the steps that are checked";
        std::set<int> with;
        for (const CheckRecord& check : checked->checks(CheckKind::Transfer)) {
            EXPECT_EQ(check.outcome, CheckOutcome::Equal);
            with.insert(check.step);
        }
        for (int step = CheckedSteps::kFirst; step < CheckedSteps::kTried; step += 2)
            EXPECT_TRUE(with.contains(step)) << step;
        for (const int step : with)
            EXPECT_TRUE(step == 0 || (step >= CheckedSteps::kFirst && step % 2 == 0)) << step;
        std::map<CheckOutcome, int> replays = checked->outcomes(CheckKind::Replay);
        EXPECT_GT(replays[CheckOutcome::Equal], replays[CheckOutcome::Skipped]);
        EXPECT_EQ(unpaced(std::nullopt)->train(kSteps), weights);
    }
}

TEST(DeviceChecks, CompareReplicasOfTheWeights) {
    DeviceRun checked(scheduleOf("1f1b", 2, 4), Storage::Bf16);
    checked.run.replicas = 2;
    checked.train(3);
    EXPECT_TRUE(checked.run.mismatches.empty());
    EXPECT_EQ(checked.outcomes(CheckKind::Replicas)[CheckOutcome::Equal], 3 * 4) << "each of two, of two ranks, a step";
}

TEST(DeviceChecks, BlameNoDeviceForWhatNeverRepeats) {
    DeviceRun checked(scheduleOf("1f1b", 4, 8), Storage::Bf16, {"nondet:F,layer=3,tensor=hidden"});
    checked.train(4);
    ASSERT_FALSE(checked.run.mismatches.empty());
    for (const CheckRecord& check : checked.run.mismatches)
        EXPECT_EQ(check.verdict, Verdict::Open) << "its ranks share one device: none can tell code from hardware";
}

TEST(DeviceChecks, DelayNobody) {
    if (!timeIsMadeUp()) GTEST_SKIP() << "of a real device the report measures it";
    for (const char* const name : {"gpipe", "1f1b", "zb-h1"}) {
        SCOPED_TRACE(name);
        DeviceRun checked(scheduleOf(name, 4, 8), Storage::Float);
        checked.train(3);
        const TimeNs planned = checked.run.checks->study.executed.wall();
        for (int step = 0; step < 3; ++step) {
            TimeNs begin = TimeNs::max();
            TimeNs end{0};
            for (const auto& rank : checked.run.records) {
                for (const SliceRecord& record : rank) {
                    const bool op = record.category == SliceRecord::Category::Op && record.kind != OpKind::Optimizer;
                    if (!op || record.step != step) continue;
                    begin = std::min(begin, record.start);
                    end = std::max(end, record.end);
                }
            }
            EXPECT_EQ(end - begin, planned) << "step " << step;
        }
        EXPECT_EQ(checked.outcomes(CheckKind::Replay).size(), 1U) << "none is given up or left out";
    }
}

} // namespace
} // namespace bubblescope::runtime::test
