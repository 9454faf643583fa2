#include "core/demo/demo_traces.h"

#include "core/analysis/steps/run_analyzer.h"
#include "tests/support/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace bubblescope {
namespace {

using testing::HasSubstr;

class Demos : public testing::Test {
protected:
    /// Written, loaded and diagnosed as any other trace.
    void open(const std::string& name) {
        const std::filesystem::path file = folder_.path() / "below" / (name + ".pftrace");
        const Status written = writeDemo(name, file);
        ASSERT_TRUE(written.ok()) << written.error().text();
        JobControl control;
        Result<bubblescope::Run> loaded = loadRun({file}, control);
        ASSERT_TRUE(loaded.ok()) << loaded.error().text();
        EXPECT_TRUE(loaded.value().problems.empty());
        Result<DiagnosedRun> diagnosed = diagnoseRun(std::move(loaded).value());
        ASSERT_TRUE(diagnosed.ok()) << diagnosed.error().text();
        run_ = std::move(diagnosed.value().run);
        report_ = std::move(diagnosed.value().report);
    }
    [[nodiscard]] const Anomaly* found(AnomalyKind kind) const {
        const auto at = std::ranges::find(report_.anomalies, kind, &Anomaly::kind);
        return at == report_.anomalies.end() ? nullptr : &*at;
    }

    test::ScratchFolder folder_;
    bubblescope::Run run_;
    RunReport report_;
};

TEST_F(Demos, EveryOneIsReadAsItWasMade) {
    ASSERT_EQ(demoTraces().size(), 3U);
    for (const DemoTrace& demo : demoTraces()) {
        SCOPED_TRACE(demo.name);
        EXPECT_FALSE(demo.title.empty());
        EXPECT_TRUE(demo.description.ends_with('.'));
        open(std::string(demo.name));
        const DemoRun made = makeDemo(demo.name).value();
        EXPECT_EQ(run_.info->source, "simulate");
        EXPECT_EQ(run_.info->faults, made.info.faults);
        EXPECT_EQ(run_.schedule.name, made.info.schedule);
        ASSERT_EQ(run_.steps.size(), made.steps.size());
        for (std::size_t i = 0; i < made.steps.size(); ++i)
            EXPECT_EQ(run_.steps[i].wall(), made.steps[i].wall());
        EXPECT_EQ(run_.checks.checks.size(), made.checks.size());
    }
}

TEST_F(Demos, TheBalancedOneHasNothingWrong) {
    open("balanced");
    EXPECT_TRUE(report_.anomalies.empty()) << report_.anomalies.front().message.text();
}

TEST_F(Demos, TheSlowLastStageIsFound) {
    open("slow-last-stage");
    const Anomaly* slow = found(AnomalyKind::LastStageImbalance);
    ASSERT_NE(slow, nullptr);
    EXPECT_EQ(slow->rank, Rank{3});
    EXPECT_EQ(slow, report_.anomalies.data()); // it costs most
    // 8 micro-batches of 18 ms, 60 % longer, minus the part that the other ranks' warm-up and cool-down hide.
    EXPECT_GT(slow->cost, std::chrono::milliseconds(60));
    EXPECT_LT(slow->cost, std::chrono::milliseconds(100));
}

TEST_F(Demos, ChecksRunInBubblesAndOneFindsAFlippedBit) {
    open("checked-zb-h1");
    const Anomaly* slow = found(AnomalyKind::Straggler);
    if (slow == nullptr) slow = found(AnomalyKind::SlowStage);
    ASSERT_NE(slow, nullptr);
    EXPECT_EQ(slow->rank, Rank{1});
    const Anomaly* flipped = found(AnomalyKind::AadiffMismatch);
    ASSERT_NE(flipped, nullptr);
    EXPECT_EQ(flipped->rank, Rank{2});
    EXPECT_EQ(flipped->step, 4);
    EXPECT_THAT(flipped->message.text(), HasSubstr("bit 9 flipped"));
    ASSERT_TRUE(report_.coverage.has_value());
    EXPECT_GT(report_.coverage->unitsThatAre(Covered::Yes), 0);
    // No check is in the way of an op.
    for (const CheckRecord& check : run_.checks.checks) {
        const StepTimeline& step = run_.steps[static_cast<std::size_t>(check.step)];
        for (const TimelineOp& op : step.ranks[check.rank.index()])
            EXPECT_TRUE(op.end <= check.start || op.start >= check.end);
    }
}

TEST_F(Demos, AreTheSameEachTime) {
    const auto bytes = [&](const char* name) {
        const std::filesystem::path file = folder_.path() / name;
        EXPECT_TRUE(writeDemo("checked-zb-h1", file).ok());
        return test::readAll(file);
    };
    const std::string once = bytes("a");
    EXPECT_GT(once.size(), 1000U);
    EXPECT_EQ(once, bytes("b"));
}

TEST_F(Demos, AnUnknownNameNamesThoseThereAre) {
    EXPECT_EQ(findDemoTrace("nothing"), nullptr);
    const Status written = writeDemo("nothing", folder_.path() / "x");
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().kind, ErrorKind::Usage);
    EXPECT_THAT(written.error().hint, HasSubstr("slow-last-stage"));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "x"));
}

TEST_F(Demos, AFolderThatCannotBeMadeIsTold) {
    std::ofstream(folder_.path() / "file") << "no folder";
    const Status written = writeDemo("balanced", folder_.path() / "file" / "balanced.pftrace");
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().kind, ErrorKind::Input);
    EXPECT_THAT(written.error().text(), HasSubstr("balanced.pftrace"));
}

} // namespace
} // namespace bubblescope
