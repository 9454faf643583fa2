// Runs whose ranks send each other requests, as processes do; here each is a separate engine, on a host whose time
// passes only during sleeps.

#include "runtime/checks/remote_check_broker.h"
#include "tests/unit/runtime/checked_engine_run.h"
#include "tests/unit/runtime/schedules.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

namespace bubblescope::runtime {
namespace {

struct Verdicts {
    std::map<Verdict, std::set<Rank>> on;
    std::map<Verdict, std::set<CheckKind>> by;
    std::set<Rank> written_by; ///< whose trace has them
    int elsewhere = 0;         ///< checks by another rank that found nothing
    std::string error;
};

/// Four ranks; what they write of mismatches, and what became of the run.
Verdicts run(int steps, const std::vector<std::string>& faults, AadiffOptions options = {}) {
    constexpr int kRanks = 4;
    test::EngineRun of(test::scheduleOf("1f1b", kRanks, 8), test::someTimes(TimeNs{100'000}));
    of.model.layers_per_stage = 2;
    of.steps = steps;
    for (const std::string& fault : faults)
        of.faults.push_back(parseFault(fault).value());
    InProcessTransports transports(kRanks, of.clock, std::nullopt);
    const std::vector<Transport*> ends = transports.ends();
    Verdicts verdicts;
    std::mutex mutex;
    std::vector<std::thread> processes;
    std::vector<std::unique_ptr<CheckSetup>> setups;
    for (std::size_t r = 0; r < ends.size(); ++r) {
        setups.push_back(CheckSetup::make({of.schedule, of.times, of.model, true, true, 1, {}}, options).value());
        setups[r]->broker = std::make_unique<RemoteCheckBroker>(*ends[r], kRanks);
        setups[r]->write = [&, r](Rank world, const CheckRecord& check) {
            const std::lock_guard lock(mutex);
            EXPECT_EQ(world, Rank{r}) << "a process writes its own trace";
            EXPECT_EQ(check.rank, Rank{r});
            verdicts.on[check.verdict].insert(check.rank);
            verdicts.by[check.verdict].insert(check.kind);
        };
        of.rings.push_back(std::make_unique<profiler::RecordRing>(1 << 16));
    }
    std::vector<JobControl> controls(ends.size());
    for (std::size_t r = 0; r < ends.size(); ++r) {
        processes.emplace_back([&, r] {
            const EngineParts parts{.clock = of.clock,
                                    .make_stage = of.make_stage,
                                    .ranks = {ends[r]},
                                    .rings = {of.rings[r].get()},
                                    .attach = attachChecks(setups[r].get())};
            const auto result = runEngine(of, parts, controls[r]);
            const std::lock_guard lock(mutex);
            if (!result.ok()) verdicts.error = result.error().text();
        });
    }
    for (std::thread& process : processes)
        process.join();
    for (const auto& ring : of.rings) {
        std::vector<profiler::SliceRecord> records;
        ring->drain(records);
        for (const profiler::SliceRecord& record : records) {
            const bool elsewhere =
                record.category == profiler::SliceRecord::Category::Check && record.check == CheckKind::Elsewhere;
            verdicts.elsewhere += elsewhere && record.asCheck().outcome == CheckOutcome::Equal ? 1 : 0;
        }
    }
    return verdicts;
}

TEST(ProcessChecks, FindNothingWhereNothingIsWrongAndRunLayersElsewhere) {
    const Verdicts clean = run(6, {});
    EXPECT_EQ(clean.error, "");
    EXPECT_TRUE(clean.on.empty());
    EXPECT_GT(clean.elsewhere, 8);
}

TEST(ProcessChecks, TellDevicesCodeAndMomentsApart) {
    // Rank 1 holds layers 3 and 4.
    const Verdicts sticky = run(6, {"flip:F,rank=1,layer=3,tensor=hidden,bit=9,stay=sticky"});
    EXPECT_EQ(sticky.error, "");
    ASSERT_TRUE(sticky.on.contains(Verdict::Device));
    EXPECT_EQ(sticky.on.at(Verdict::Device), std::set<Rank>{Rank{1}});
    EXPECT_FALSE(sticky.on.contains(Verdict::Everywhere));
    EXPECT_FALSE(sticky.on.contains(Verdict::Open));

    const Verdicts nondet = run(6, {"nondet:F,layer=3,tensor=hidden"});
    EXPECT_EQ(nondet.error, "");
    ASSERT_TRUE(nondet.on.contains(Verdict::Everywhere));
    EXPECT_FALSE(nondet.on.contains(Verdict::Device));
    EXPECT_FALSE(nondet.on.contains(Verdict::Open));

    const Verdicts replay = run(6, {"flip:F,rank=1,layer=3,tensor=hidden,bit=9,stay=replay"});
    ASSERT_TRUE(replay.on.contains(Verdict::Transient));
    EXPECT_EQ(replay.on.size(), 1U);

    // The same bit each time: only another rank can see that, and a third one can tell who is right.
    const Verdicts fixed = run(10, {"flip:F,rank=1,layer=3,tensor=hidden,bit=9,stay=fixed"});
    ASSERT_TRUE(fixed.on.contains(Verdict::Device));
    EXPECT_EQ(fixed.on.at(Verdict::Device), std::set<Rank>{Rank{1}});
    EXPECT_EQ(fixed.by.at(Verdict::Device), std::set<CheckKind>{CheckKind::Elsewhere});
}

/// The rank that finds the difference is not the rank with the fault: the latter receives the verdict.
TEST(ProcessChecks, TellTheRankThatIsWrong) {
    // Rank 2 computes other ranks' forwards of layers 3 wrongly; its own layers are others.
    const Verdicts wrong = run(10, {"flip:F,rank=2,layer=3,tensor=hidden,bit=9,stay=fixed"});
    EXPECT_EQ(wrong.error, "");
    ASSERT_TRUE(wrong.on.contains(Verdict::Device));
    EXPECT_EQ(wrong.on.at(Verdict::Device), std::set<Rank>{Rank{2}});
}

TEST(ProcessChecks, LeaveAVerdictOpenWhereWhoWasAskedDies) {
    // Rank 1 asks its successor in the first forward; that rank dies before the end of the step.
    const Verdicts open = run(3, {"flip:F,rank=1,layer=3,tensor=hidden,bit=9,stay=sticky", "die:rank=2,step=0,op=B0"});
    EXPECT_NE(open.error.find("rank 2, B0.0 of step 0: terminated by an injected fault"), std::string::npos)
        << open.error;
    EXPECT_EQ(open.on, (std::map<Verdict, std::set<Rank>>{{Verdict::Open, {Rank{1}}}}));
}

TEST(ProcessChecks, CanEndTheRun) {
    AadiffOptions stop;
    stop.stop = true;
    const Verdicts stopped = run(6, {"flip:F,rank=1,layer=3,tensor=hidden,bit=9,stay=sticky"}, stop);
    EXPECT_NE(stopped.error.find("hidden of F"), std::string::npos) << stopped.error;
    EXPECT_NE(stopped.error.find("differs between two executions (device)"), std::string::npos) << stopped.error;
}

} // namespace
} // namespace bubblescope::runtime
