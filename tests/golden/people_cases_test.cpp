#include "core/analysis/devices/device_summary.h"
#include "core/base/median.h"
#include "core/recognise/run.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

// Files after public complaints, and what is right, which was computed apart from Bubblescope. They are not part of
// the source.
namespace bubblescope {
namespace {

class CasesOutside : public testing::Test {
protected:
    void SetUp() override {
        if (!std::filesystem::exists(test::sharedDir() / "cases")) GTEST_SKIP() << "needs cases";
    }
    static LoadedTrace load(const std::string& name) {
        JobControl control;
        auto loaded = loadTrace({test::sharedDir() / name}, control);
        EXPECT_TRUE(loaded.ok()) << name << ": " << (loaded.ok() ? "" : loaded.error().text());
        return loaded.ok() ? std::move(loaded).value() : LoadedTrace{};
    }
    static std::vector<DeviceSummary> devicesOf(const std::string& name) {
        std::vector<DeviceSummary> devices;
        const auto activity = activityOf(load(name));
        EXPECT_TRUE(activity.ok()) << name;
        for (const FileActivity& file : activity.value())
            devices.insert(devices.end(), file.devices.begin(), file.devices.end());
        return devices;
    }
};

/// Pipelines: four ranks, eight micro-batches, 1F1B.
TEST_F(CasesOutside, ArePipelinesOfTheRightSize) {
    for (const std::string name : {"12b-merged-with-marks", "20-nsys-one-process-4-gpus", "11k-name-contradicts-info",
                                   "19a-nsys-zero-bubble-names", "50-vescale-ndtimeline", "40a-one-rank-no-steps",
                                   "40b-same-step-number", "44-copies-in-folder", "07b-other-json-in-folder"}) {
        const LoadedTrace loaded = load("cases/" + name);
        ASSERT_FALSE(loaded.no_pipeline.has_value()) << name << ": " << loaded.no_pipeline->text();
        const bubblescope::Run& run = loaded.run;
        EXPECT_EQ(run.schedule.name, "1f1b") << name;
        EXPECT_EQ(run.schedule.pp, 4) << name;
        EXPECT_EQ(run.schedule.microbatches, 8) << name;
        EXPECT_GE(run.steps.size(), 2U) << name;
        std::vector<TimeNs> walls;
        for (const StepTimeline& step : run.steps)
            walls.push_back(step.wall());
        constexpr double kRight = 334.2;
        EXPECT_NEAR(static_cast<double>(median(walls).count()) * 1e-6, kRight, 0.8) << name;
    }
}

TEST_F(CasesOutside, PrimusRunsOnEightRanks) {
    const LoadedTrace loaded = load("traces/primus");
    ASSERT_FALSE(loaded.no_pipeline.has_value());
    EXPECT_EQ(loaded.run.schedule.name, "1f1b");
    EXPECT_EQ(loaded.run.schedule.pp, 8);
    EXPECT_EQ(loaded.run.schedule.microbatches, 16);
    std::vector<TimeNs> walls;
    for (const StepTimeline& step : loaded.run.steps) {
        if (step.index > 1) walls.push_back(step.wall()); // the first is a warm-up
    }
    EXPECT_NEAR(static_cast<double>(median(walls).count()) * 1e-6, 3246.5, 2.0);
}

struct Busy {
    const char* name;
    std::size_t device;
    std::string called;
    double busy_us; ///< with at least one kernel, copy or transfer
    double communication_us;
};

TEST_F(CasesOutside, DevicesAreBusyForTheRightTime) {
    for (const Busy& right : {Busy{"cases/28-comm-classes/trace.json", 0, "GPU 0", 1400, 1000},
                              {"cases/45-gpu-annotation-busy", 0, "GPU 0", 100, 0},
                              {"cases/08-rocm-overflow", 0, "GPU 2", 20'000, 0},
                              {"cases/35-rocprofv3-pftrace/908_results.pftrace", 0, "agent 4", 1080, 180},
                              {"cases/35-rocprofv3-pftrace/908_results.pftrace", 1, "agent 5", 840, 140},
                              {"traces/ascend-mstt", 0, "NPU", 1790, 0}}) {
        const std::vector<DeviceSummary> devices = devicesOf(right.name);
        ASSERT_GT(devices.size(), right.device) << right.name;
        const DeviceSummary& device = devices[right.device];
        EXPECT_EQ(device.name, right.called) << right.name;
        const auto us = [](TimeNs time) { return static_cast<double>(time.count()) * 1e-3; };
        EXPECT_NEAR(us(device.times.span() - device.times.idle()), right.busy_us, 0.01 * right.busy_us) << right.name;
        EXPECT_NEAR(us(device.times.communication()), right.communication_us, 1) << right.name;
    }
}

TEST_F(CasesOutside, AscendRanksAreThoseOfTheirFolders) {
    const LoadedTrace loaded = load("cases/07-ascend-pp");
    std::vector<std::int32_t> ranks;
    for (const TraceFile& file : loaded.run.inputs())
        ranks.push_back(file.rank.value_or(-1));
    std::ranges::sort(ranks);
    EXPECT_EQ(ranks, (std::vector<std::int32_t>{0, 1, 2, 3}));
    const std::vector<DeviceSummary> devices = devicesOf("cases/07-ascend-pp");
    ASSERT_EQ(devices.size(), 4U);
    for (const DeviceSummary& device : devices)
        EXPECT_GT(device.times.communication(), TimeNs{0});
}

TEST_F(CasesOutside, StepsAreTimedWithoutAPipeline) {
    const auto activity = activityOf(load("cases/10-step-overlaps-stack"));
    ASSERT_TRUE(activity.ok());
    ASSERT_EQ(activity.value().size(), 1U);
    const std::vector<StepActivity>& steps = activity.value()[0].steps;
    ASSERT_EQ(steps.size(), 4U);
    for (const StepActivity& step : steps) {
        EXPECT_EQ(step.duration, TimeNs{9'990'500});
        EXPECT_EQ(step.times.span(), step.duration);
        EXPECT_GT(step.times.compute(), TimeNs{0});
    }
    EXPECT_EQ(steps.front().index, 10);
}

} // namespace
} // namespace bubblescope
