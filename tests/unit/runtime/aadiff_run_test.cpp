// Runs that check themselves in their bubbles, on a host whose time passes only during sleeps.

#include "core/families/no_flush.h"
#include "core/families/registry.h"
#include "core/timeline/checks.h"
#include "runtime/checks/layer_result.h"
#include "runtime/model/known_answers.h"
#include "tests/unit/runtime/checked_engine_run.h"
#include "tests/unit/runtime/schedules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace bubblescope::runtime {
namespace {

using profiler::SliceRecord;

std::unique_ptr<test::CheckedEngineRun> checkedRun(const Schedule& schedule, int steps,
                                                   const std::vector<std::string>& faults = {}, int replicas = 1) {
    auto run = std::make_unique<test::CheckedEngineRun>(schedule, test::someTimes(TimeNs{100'000}));
    run->model.layers_per_stage = 2;
    run->steps = steps;
    run->replicas = replicas;
    run->aadiff.emplace();
    for (const std::string& fault : faults)
        run->faults.push_back(parseFault(fault).value());
    const auto result = run->run();
    EXPECT_TRUE(result.ok()) << result.error().text();
    return run;
}

/// The plan of such a run.
std::unique_ptr<CheckSetup> setupOf(const Schedule& schedule) {
    const test::CheckedEngineRun run(schedule, test::someTimes(TimeNs{100'000}));
    ModelConfig model = run.model;
    model.layers_per_stage = 2;
    return CheckSetup::make({run.schedule, run.times, model, true, true, 4, {}}, {}).value();
}

/// Those of one kind that found nothing.
std::vector<std::pair<Rank, CheckRecord>> checksOf(const test::CheckedEngineRun& run, CheckKind kind) {
    std::vector<std::pair<Rank, CheckRecord>> checks;
    for (std::size_t r = 0; r < run.records.size(); ++r) {
        for (const SliceRecord& record : run.records[r]) {
            if (record.category == SliceRecord::Category::Check && record.check == kind)
                checks.emplace_back(Rank{r}, record.asCheck());
        }
    }
    return checks;
}

std::map<CheckOutcome, int> outcomes(const test::CheckedEngineRun& run, CheckKind kind) {
    std::map<CheckOutcome, int> counts;
    for (const auto& [rank, check] : checksOf(run, kind))
        ++counts[check.outcome];
    return counts;
}

/// The first and the last begin of an op in a step, as the ranks recorded them.
TimeNs wallOf(const test::CheckedEngineRun& run, int step) {
    TimeNs begin = TimeNs::max();
    TimeNs end{0};
    for (const auto& rank : run.records) {
        for (const SliceRecord& record : rank) {
            if (record.step != step || record.category != SliceRecord::Category::Op || record.kind == OpKind::Optimizer)
                continue;
            begin = std::min(begin, record.start);
            end = std::max(end, record.end);
        }
    }
    return end - begin;
}

TEST(AadiffRun, RunsWhatIsPlannedAndDelaysNobody) {
    const Schedule schedule = test::scheduleOf("1f1b", 4, 8);
    const auto run = checkedRun(schedule, 3);
    EXPECT_TRUE(run->mismatches.empty());
    const auto replays = outcomes(*run, CheckKind::Replay);
    std::size_t planned = 0;
    for (int step = 0; step < 3; ++step) {
        for (const RankPlan& rank : run->checks->study.plan().ranks)
            planned += rank.steps.empty() ? 0 : rank.steps[static_cast<std::size_t>(step) % rank.steps.size()].size();
    }
    EXPECT_GT(planned, 50U);
    ASSERT_TRUE(replays.contains(CheckOutcome::Equal));
    // Some of the ops that are checked more than once in a step are left to other ranks.
    const auto elsewhere = static_cast<std::size_t>(outcomes(*run, CheckKind::Elsewhere)[CheckOutcome::Equal]);
    EXPECT_LE(static_cast<std::size_t>(replays.at(CheckOutcome::Equal)), planned);
    EXPECT_GE(static_cast<std::size_t>(replays.at(CheckOutcome::Equal)) + elsewhere, planned);
    EXPECT_EQ(replays.size(), 1U) << "none is given up or left out";
    const TimeNs makespan = run->checks->study.executed.wall();
    for (int step = 0; step < 3; ++step)
        EXPECT_EQ(wallOf(*run, step), makespan) << "step " << step;
}

TEST(AadiffRun, CoversEveryLayerOfEverySchedule) {
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (trainsWithDelay(family.name)) continue; // runs of these have no checks
        for (const std::string_view flavor :
             family.flavors.empty() ? std::vector<std::string_view>{""} : family.flavors) {
            ScheduleSpec spec{std::string(family.name), std::string(flavor), 4, 8, 1};
            auto made = makeSchedule(spec);
            for (const auto& [microbatches, vpp] : {std::pair{8, 2}, {4, 1}, {4, 2}, {12, 2}}) {
                if (made.ok()) break;
                spec.microbatches = microbatches;
                spec.vpp = vpp;
                made = makeSchedule(spec);
            }
            ASSERT_TRUE(made.ok()) << family.name << ": " << made.error().text();
            SCOPED_TRACE(fmt::format("{}/{}", family.name, flavor));
            const AadiffPlan planned = setupOf(made.value())->study.plan();
            std::size_t steps = 1;
            for (const RankPlan& rank : planned.ranks)
                steps = std::max(steps, rank.steps.size());
            const auto run = checkedRun(made.value(), static_cast<int>(steps));
            const AadiffPlan& plan = run->checks->study.plan();
            EXPECT_TRUE(run->mismatches.empty());
            std::set<std::tuple<Rank, Chunk, OpKind, int>> seen;
            for (const auto& [rank, check] : checksOf(*run, CheckKind::Replay)) {
                if (check.outcome == CheckOutcome::Equal)
                    seen.insert({rank, check.op.chunk, check.op.kind, check.layer});
            }
            std::size_t units = 0;
            for (const RankPlan& rank : plan.ranks)
                units += rank.units.size() - rank.never.size();
            EXPECT_EQ(seen.size(), units) << "in " << steps << " steps";
            for (int step = 0; step < run->steps; ++step)
                EXPECT_EQ(wallOf(*run, step), run->checks->study.executed.wall()) << "step " << step;
        }
    }
}

TEST(AadiffRun, NamesATransientFlipAndItsPlace) {
    const Schedule schedule = test::scheduleOf("1f1b", 4, 8);
    // Which ops the plan checks in step 0 of rank 2.
    const auto setup = setupOf(schedule);
    const RankPlan& plan = setup->study.plan().ranks[2];
    ASSERT_FALSE(plan.steps.empty());
    for (const PlannedCheck& check : plan.steps[0]) {
        const Op op = setup->study.timeline().ranks[2][check.op].op;
        const CheckUnit& unit = plan.units[check.unit];
        if (op.kind != OpKind::Forward) continue;
        const int layer = 1 + 2 * 2 + unit.layer; // two blocks on each rank
        const std::string text = fmt::format("flip:{},rank=2,step=0,layer={},tensor=hidden,bit=69", opName(op), layer);
        const auto run = checkedRun(schedule, 2, {text});
        ASSERT_EQ(run->mismatches.size(), 1U) << text;
        const CheckRecord& found = run->mismatches.front();
        EXPECT_EQ(found.kind, CheckKind::Replay);
        EXPECT_EQ(found.verdict, Verdict::Transient);
        EXPECT_EQ(found.step, 0);
        EXPECT_EQ(found.rank, Rank{2});
        EXPECT_EQ(opName(found.op), opName(op));
        EXPECT_EQ(found.layer, layer);
        EXPECT_EQ(found.tensor, "hidden");
        ASSERT_TRUE(found.difference);
        EXPECT_EQ(found.difference->differing, 1);
        EXPECT_EQ(found.difference->first, 2) << "32 bits a number";
        EXPECT_EQ(found.difference->first_bits ^ found.difference->second_bits, 1U << 5U);
        return;
    }
    FAIL() << "no forward is planned";
}

TEST(AadiffRun, TellsDevicesCodeAndMomentsApart) {
    const Schedule schedule = test::scheduleOf("1f1b", 4, 8);
    const auto verdicts = [&](const std::string& text) {
        std::map<Verdict, std::set<Rank>> found;
        const auto run = checkedRun(schedule, 8, {text});
        for (const CheckRecord& check : run->mismatches)
            found[check.verdict].insert(check.rank);
        return found;
    };
    // Rank 1 holds layers 3 and 4.
    const auto sticky = verdicts("flip:F,rank=1,layer=3,tensor=hidden,bit=9,stay=sticky");
    ASSERT_TRUE(sticky.contains(Verdict::Device));
    EXPECT_EQ(sticky.at(Verdict::Device), std::set<Rank>{Rank{1}});
    EXPECT_FALSE(sticky.contains(Verdict::Everywhere));

    const auto nondet = verdicts("nondet:F,layer=3,tensor=hidden");
    ASSERT_TRUE(nondet.contains(Verdict::Everywhere));
    EXPECT_FALSE(nondet.contains(Verdict::Device));

    const auto replay = verdicts("flip:F,rank=1,layer=3,tensor=hidden,bit=9,stay=replay");
    ASSERT_TRUE(replay.contains(Verdict::Transient));
    EXPECT_EQ(replay.size(), 1U);

    // The same bit each time: only another rank can see that, and a third one can tell who is right.
    const auto fixed = verdicts("flip:F,rank=1,layer=3,tensor=hidden,bit=9,stay=fixed");
    ASSERT_TRUE(fixed.contains(Verdict::Device));
    EXPECT_EQ(fixed.at(Verdict::Device), std::set<Rank>{Rank{1}});
}

TEST(AadiffRun, FindsWhatHappensBetweenOps) {
    const Schedule schedule = test::scheduleOf("1f1b", 4, 8);
    const auto transfer = checkedRun(schedule, 1, {"flip:F2,rank=1,tensor=in,bit=40"});
    ASSERT_EQ(transfer->mismatches.size(), 1U);
    EXPECT_EQ(transfer->mismatches[0].kind, CheckKind::Transfer);
    EXPECT_EQ(transfer->mismatches[0].rank, Rank{1});
    EXPECT_EQ(opName(transfer->mismatches[0].op), "F2.0");

    const auto weights = checkedRun(schedule, 2, {"flip:F2,rank=1,step=1,layer=4,tensor=weights,bit=40"});
    ASSERT_EQ(weights->mismatches.size(), 1U);
    EXPECT_EQ(weights->mismatches[0].kind, CheckKind::Weights);
    EXPECT_EQ(weights->mismatches[0].verdict, Verdict::Device);
    EXPECT_EQ(weights->mismatches[0].step, 1);
    EXPECT_EQ(weights->mismatches[0].layer, 4);

    const auto answer = checkedRun(schedule, 1, {"flip:F,rank=3,tensor=product,bit=40,stay=sticky"});
    ASSERT_EQ(answer->mismatches.size(), 1U);
    EXPECT_EQ(answer->mismatches[0].kind, CheckKind::KnownAnswer);
    EXPECT_EQ(answer->mismatches[0].verdict, Verdict::Device);
    EXPECT_EQ(answer->mismatches[0].rank, Rank{3});
}

TEST(AadiffRun, ComparesReplicasOfTheWeights) {
    const Schedule schedule = test::scheduleOf("1f1b", 2, 4);
    const auto clean = checkedRun(schedule, 3, {}, 2);
    EXPECT_TRUE(clean->mismatches.empty());
    EXPECT_EQ(outcomes(*clean, CheckKind::Replicas).at(CheckOutcome::Equal), 3 * 4)
        << "each of two, of two ranks, a step";
}

TEST(AadiffRun, KnowsTheAnswersOnEveryMachine) {
    class Taker final : public LayerProbe {
    public:
        using LayerProbe::touch;
        void touch(CheckedTensor tensor, LiveTensor& values) override { digest = values.show(tensor, false).digest; }
        std::uint64_t digest = 0;
    };
    const auto queue = makeCpuQueue();
    const KnownComputation<float> computation(*queue);
    for (const KnownAnswer& known : knownAnswers()) {
        Taker taker;
        computation.compute(known.tensor, {*queue, *queue, nullptr, &taker});
        EXPECT_EQ(taker.digest, known.digest) << tensorName(known.tensor) << fmt::format(": {:#x}", taker.digest);
    }
}

} // namespace
} // namespace bubblescope::runtime
