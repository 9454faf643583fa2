#include "profiler/capture/capture_options.h"
#include "profiler/capture/rank_identity.h"
#include "profiler/events/tick_clock.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

#include <map>

namespace bubblescope::profiler {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

ReadVariable reading(Variables variables) {
    return [variables = std::move(variables)](std::string_view name) {
        const auto known = variables.find(name);
        return known == variables.end() ? std::nullopt : std::optional(known->second);
    };
}

TimeNs ms(std::int64_t count) {
    return std::chrono::milliseconds(count);
}

TEST(RankIdentity, KnowsEveryLauncher) {
    struct Case {
        Variables variables;
        int rank;
        int size;
        std::string told_by;
    };
    const std::vector<Case> cases{
        {{{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}}, 3, 8, "RANK"},
        {{{"PADDLE_TRAINER_ID", "2"}, {"PADDLE_TRAINERS_NUM", "4"}}, 2, 4, "PADDLE_TRAINER_ID"},
        {{{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "6"}}, 5, 6, "OMPI_COMM_WORLD_RANK"},
        {{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}, 1, 2, "PMI_RANK"},
        {{{"MV2_COMM_WORLD_RANK", "1"}, {"MV2_COMM_WORLD_SIZE", "2"}}, 1, 2, "MV2_COMM_WORLD_RANK"},
        {{{"SLURM_PROCID", "7"}, {"SLURM_NTASKS", "16"}}, 7, 16, "SLURM_PROCID"},
    };
    for (const Case& c : cases) {
        const RankIdentity identity = identify(reading(c.variables));
        EXPECT_EQ(identity.rank, c.rank) << c.told_by;
        EXPECT_EQ(identity.size, c.size) << c.told_by;
        EXPECT_EQ(identity.told_by, c.told_by);
    }
}

TEST(RankIdentity, TrustsTheInnermostLauncherAndNoNonsense) {
    // torchrun within a Slurm step: one task a node, ranks by torchrun.
    EXPECT_EQ(identify(reading({{"SLURM_PROCID", "1"}, {"RANK", "9"}})).rank, 9);
    EXPECT_EQ(identify(reading({{"RANK", "two"}, {"SLURM_PROCID", "1"}})).rank, 1);
    EXPECT_EQ(identify(reading({{"RANK", "-1"}})).rank, std::nullopt);
    EXPECT_EQ(identify(reading({})).rank, std::nullopt);
}

TEST(RankIdentity, NamesTracesSoThatReadersFindRankAndPlace) {
    const RankIdentity placed = identify(reading({{"RANK", "3"}, {"PP_RANK", "1"}, {"TP_RANK", "0"}}));
    EXPECT_EQ(traceName(placed, {.host = "node 7", .pid = 4711, .program = "python"}), "rank3-pp1-tp0.pid4711");
    EXPECT_EQ(traceName({}, {.host = "node/7", .pid = 4711, .program = "python"}), "node_7.pid4711");
}

TEST(CaptureOptions, ReadsAndWritesWhatItKnows) {
    CaptureOptions options;
    const Status parsed = parseCaptureOptions(
        "mode=pipeline, record=nvtx+cuda,steps=10-20\nsize = 2GiB # each\nduration=30s,buffer=1MiB\n"
        "# "
        "nothing\nstep=iter,delay=1s,flush=20ms,checks=bubbles,checks-margin=25,checks-cost=2,checks-memory=1MiB,"
        "memory=device,kernels=every=10",
        options);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    EXPECT_EQ(options.mode, CaptureOptions::Mode::Pipeline);
    EXPECT_TRUE(options.nvtx && options.cuda && !options.nccl);
    EXPECT_EQ(options.first_step, 10);
    EXPECT_EQ(options.last_step, 20);
    EXPECT_EQ(options.size, std::int64_t{2} << 30);
    EXPECT_EQ(options.duration, std::chrono::seconds(30));
    EXPECT_EQ(options.step_name, "iter");
    EXPECT_TRUE(options.checks);
    EXPECT_TRUE(options.memory);
    EXPECT_EQ(options.kernels_every, 10);
    EXPECT_EQ(options.checks_margin, 0.25);
    EXPECT_EQ(options.checks_cost, 0.02);
    EXPECT_EQ(options.checks_memory, std::int64_t{1} << 20);

    CaptureOptions again;
    ASSERT_TRUE(parseCaptureOptions(captureOptionsText(options), again).ok());
    EXPECT_EQ(captureOptionsText(again), captureOptionsText(options));
    EXPECT_EQ(captureOptionsText(CaptureOptions{}), "");
}

TEST(CaptureOptions, SaysWhatItDoesNotUnderstand) {
    for (const char* text : {"mode=fast", "record=gpu", "steps=20-10", "steps=a", "steps=-3", "size=2GB", "size=-1",
                             "duration=30", "buffer=0", "flush=1us", "kernels=10", "kernels=every=0", "kernels=every=x",
                             "memory=all", "colour=red", "pipeline", "size=9223372036854775807GiB"}) {
        CaptureOptions options;
        const Status parsed = parseCaptureOptions(text, options);
        ASSERT_FALSE(parsed.ok()) << text;
        EXPECT_EQ(parsed.error().kind, ErrorKind::Usage) << text;
        EXPECT_FALSE(parsed.error().hint.empty()) << text;
    }
}

TEST(CaptureOptions, TheEnvironmentOverridesTheFileAndBadPartsStopNoJob) {
    const test::ScratchFolder scratch;
    const auto file = scratch.write("options", "size=1MiB\nmode=pipeline\n");
    std::vector<std::string> problems;
    const CaptureOptions options = captureOptionsFrom(reading({{"BUBBLESCOPE_CAPTURE_DIR", "/somewhere"},
                                                               {"BUBBLESCOPE_CAPTURE_FILE", file.string()},
                                                               {"BUBBLESCOPE_CAPTURE", "size=5,colour=red"}}),
                                                      problems);
    EXPECT_EQ(options.dir, "/somewhere");
    EXPECT_EQ(options.size, 5);
    EXPECT_EQ(options.mode, CaptureOptions::Mode::Pipeline);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_NE(problems[0].find("colour"), std::string::npos);
    std::vector<std::string> none;
    EXPECT_TRUE(captureOptionsFrom(reading({}), none).dir.empty());
    EXPECT_TRUE(none.empty());
}

TEST(CaptureWindow, FollowsStepsByNumberOrByCount) {
    CaptureOptions options;
    options.first_step = 2;
    options.last_step = 3;
    CaptureWindow numbered(options);
    CaptureWindow counted(options);
    for (int step = 0; step < 6; ++step) {
        numbered.observe("ProfilerStep#" + std::to_string(step), ms(10 * step));
        counted.observe("step", ms(10 * step));
        for (const CaptureWindow& window : {numbered, counted})
            EXPECT_EQ(window.contains(ms(10 * step + 5)), step == 2 || step == 3) << step;
    }
    EXPECT_TRUE(numbered.isOver(ms(60)));
    EXPECT_FALSE(numbered.beginsStep("stepper"));
    EXPECT_TRUE(numbered.beginsStep("step: 4"));
}

TEST(CaptureWindow, WaitsAndEnds) {
    CaptureOptions options;
    options.delay = ms(10);
    options.duration = ms(20);
    CaptureWindow window(options);
    window.observe("F0", ms(100));
    EXPECT_FALSE(window.contains(ms(105)));
    window.observe("F1", ms(115));
    EXPECT_TRUE(window.contains(ms(112)));
    EXPECT_TRUE(window.contains(ms(129)));
    EXPECT_FALSE(window.contains(ms(130)));
    EXPECT_FALSE(window.isOver(ms(129)));
    EXPECT_TRUE(window.isOver(ms(130)));
}

TEST(TickMap, PutsTicksAndWallClockOnTheMonotonicClock) {
    TickMap map;
    map.add({1000, TimeNs{5'000}, TimeNs{1'000'000}});
    map.add({3000, TimeNs{6'000}, TimeNs{1'001'000}}); // half a nanosecond a tick
    map.add({4000, TimeNs{7'000}, TimeNs{1'102'000}}); // then one; and the wall clock was set forward by 100 us
    EXPECT_EQ(map.fromTicks(2000), TimeNs{5'500});
    EXPECT_EQ(map.fromTicks(3500), TimeNs{6'500});
    EXPECT_EQ(map.fromTicks(5000), TimeNs{8'000});
    EXPECT_EQ(map.fromTicks(0), TimeNs{4'500});
    EXPECT_EQ(map.fromRealtime(TimeNs{1'000'400}), TimeNs{5'400});
    EXPECT_EQ(map.fromRealtime(TimeNs{1'102'010}), TimeNs{7'010});
    EXPECT_EQ(map.fromRealtime(TimeNs{999'000}), TimeNs{4'000});
}

} // namespace
} // namespace bubblescope::profiler
