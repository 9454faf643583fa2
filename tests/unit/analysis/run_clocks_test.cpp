#include "core/analysis/clocks/run_clocks.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/trace/trace_builder.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace bubblescope {
namespace {

using test::sharedDir;

struct Skew {
    double offset = 0;
    double drift = 0;
    [[nodiscard]] TimeNs shown(TimeNs time) const {
        const auto t = static_cast<double>(time.count());
        return TimeNs{std::llround(t + offset + drift * t)};
    }
};

void skew(StepTimeline& step, const std::vector<Skew>& skews) {
    const auto apply = [](auto& spans, const Skew& skew) {
        for (auto& span : spans) {
            span.start = skew.shown(span.start);
            span.end = skew.shown(span.end);
        }
    };
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        apply(step.ranks[r], skews[r]);
        apply(step.comm[r], skews[r]);
    }
    step.fitWindow();
}

std::vector<Skew> randomSkews(std::size_t ranks, std::mt19937_64& random, double drift) {
    std::vector<Skew> skews(ranks);
    for (std::size_t r = 1; r < ranks; ++r) {
        skews[r].offset = std::uniform_real_distribution<double>(-3e8, 3e8)(random);
        skews[r].drift = std::uniform_real_distribution<double>(-drift, drift)(random);
    }
    return skews;
}

/// Puts the run on one clock.
Result<RunClocks> align(Run& run, const ClockOptions& options = {}) {
    auto clocks = estimateClocks(run, options);
    if (clocks.ok()) run = alignRun(std::move(run), clocks.value());
    return clocks;
}

/// Skews each replica's ranks, aligns, and compares with what was put in; returns the largest bound.
TimeNs expectRecovered(Run run, double drift, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    int replicas = 0;
    for (const StepTimeline& step : run.steps)
        replicas = std::max(replicas, step.replica + 1);
    std::vector<std::vector<Skew>> skews;
    for (int i = 0; i < replicas; ++i)
        skews.push_back(randomSkews(run.steps.front().ranks.size(), random, drift));
    const std::vector<StepTimeline> before = run.steps;
    for (StepTimeline& step : run.steps)
        skew(step, skews[static_cast<std::size_t>(step.replica)]);
    run.trace = nullptr; // ranks then have a clock each
    ClockOptions options;
    options.use = ClockUse::Align;
    const auto clocks = align(run, options);
    EXPECT_TRUE(clocks.ok()) << (clocks.ok() ? "" : clocks.error().text());
    if (!clocks.ok()) return TimeNs{0};
    EXPECT_EQ(clocks.value().method, ClockMethod::Aligned);
    TimeNs widest{0};
    for (const RankClock& rank : clocks.value().ranks)
        widest = std::max(widest, rank.fit.bound);
    for (std::size_t s = 0; s < run.steps.size(); ++s) {
        for (std::size_t r = 0; r < run.steps[s].ranks.size(); ++r) {
            const RankClock& clock =
                clocks.value().ranks[static_cast<std::size_t>(run.steps[s].replica) * run.steps[s].ranks.size() + r];
            const TimeNs off = run.steps[s].ranks[r].front().start - before[s].ranks[r].front().start;
            EXPECT_LE(std::chrono::abs(off), clock.fit.bound + TimeNs{3}) << "step " << s << " rank " << r;
        }
    }
    return widest;
}

Run simulated(const ScheduleSpec& request, TimeNs comm, int steps) {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{1'000'000}, TimeNs{2'000'000}, {}, {}).value();
    costs.comm = comm;
    Run run;
    run.schedule = makeSchedule(request).value();
    for (int i = 0; i < steps; ++i) {
        StepTimeline step = simulate(run.schedule, costs).value();
        step.index = i;
        const TimeNs begin = (step.wall() + TimeNs{500'000}) * i;
        for (auto* lists : {&step.ranks}) {
            for (auto& ops : *lists) {
                for (auto& op : ops) {
                    op.start += begin;
                    op.end += begin;
                }
            }
        }
        for (auto& spans : step.comm) {
            for (auto& span : spans) {
                span.start += begin;
                span.end += begin;
            }
        }
        step.fitWindow();
        run.steps.push_back(std::move(step));
    }
    return run;
}

TEST(RunClocks, RecoversSkewsOfSimulatedRuns) {
    EXPECT_LT(expectRecovered(simulated({"1f1b", "", 4, 8, 1}, TimeNs{20'000}, 5), 0, 1), TimeNs{300'000});
    EXPECT_LT(expectRecovered(simulated({"1f1b", "", 4, 8, 1}, TimeNs{20'000}, 40), 80e-6, 2), TimeNs{300'000});
    EXPECT_LT(expectRecovered(simulated({"interleaved", "", 4, 8, 2}, TimeNs{20'000}, 5), 0, 3), TimeNs{300'000});
    EXPECT_LT(expectRecovered(simulated({"zb-h1", "", 8, 16, 1}, TimeNs{5'000}, 3), 0, 4), TimeNs{300'000});
}

TEST(RunClocksOfOutsideTraces, AreRecovered) {
    BUBBLESCOPE_NEED_TRACES("bytedance-straggler");
    JobControl control;
    auto st = loadRun({test::realTrace("bytedance-straggler/timeline-ST.json.gz")}, control);
    ASSERT_TRUE(st.ok()) << st.error().text();
    EXPECT_LT(expectRecovered(st.value(), 0, 5), TimeNs{5'000'000});
    EXPECT_LT(expectRecovered(st.value(), 50e-6, 6), TimeNs{5'000'000});
}

TEST(RunClocks, RecoversSkewsOfPyTorchJobs) {
    JobControl control;
    for (const char* const name : {"1f1b_pp4_mb8", "gpipe_pp2_mb4", "interleaved1f1b_pp4_mb8_v2", "zbv_pp2_mb4_v2"}) {
        auto torch = loadRun({test::realTrace(std::string("torch-pp-cpu-gloo/") + name)}, control);
        ASSERT_TRUE(torch.ok()) << torch.error().text();
        EXPECT_LT(expectRecovered(torch.value(), 0, 7), TimeNs{20'000'000}) << name;
    }
}

TEST(RunClocks, RanksOfOneHostShareTheirClock) {
    JobControl control;
    auto torch = loadRun({test::realTrace("torch-pp-cpu-gloo/1f1b_pp4_mb8")}, control);
    ASSERT_TRUE(torch.ok());
    const auto clocks = align(torch.value());
    ASSERT_TRUE(clocks.ok());
    EXPECT_EQ(clocks.value().method, ClockMethod::Shared);
    EXPECT_EQ(clocks.value().bound(), TimeNs{0});
    ASSERT_EQ(clocks.value().ranks.size(), 4U);
    EXPECT_FALSE(clocks.value().ranks[0].host.empty());
}

/// A run with one file per rank, from these hosts.
Run onHosts(Run run, const std::vector<std::string>& hosts) {
    TraceBuilder builder;
    for (std::size_t r = 0; r < hosts.size(); ++r) {
        builder.addFile({"rank" + std::to_string(r) + ".json", "kineto", static_cast<std::int32_t>(r), hosts[r]});
        const TrackId track = builder.addTrack(static_cast<std::int64_t>(r), 1);
        for (const StepTimeline& step : run.steps) {
            for (const TimelineOp& op : step.ranks[r])
                builder.addSlice({track, op.start, op.duration(), builder.intern(opName(op.op)), 0, 0});
        }
    }
    DiagnosticLog log;
    run.trace = builder.finish(log);
    run.files = {"rank0.json"};
    return run;
}

/// As `record` writes them: each file's first event names the host, and its clock, which containers share.
Run recordedOn(Run run, const std::vector<std::string>& hosts, const std::vector<std::string>& clocks) {
    TraceBuilder builder;
    for (std::size_t r = 0; r < hosts.size(); ++r) {
        builder.addFile({"rank" + std::to_string(r) + ".pftrace", "perfetto", static_cast<std::int32_t>(r), ""});
        const TrackId track = builder.addTrack(static_cast<std::int64_t>(r), 1);
        std::vector<StoredArg> args(2);
        args[0].name = builder.intern("host");
        args[0].setText(builder.intern(hosts[r]));
        args[1].name = builder.intern("clock");
        args[1].setText(builder.intern(clocks[r]));
        builder.addInstant(
            {track, TimeNs{0}, builder.intern("capture begins"), builder.intern("capture"), builder.args().add(args)});
        for (const StepTimeline& step : run.steps) {
            for (const TimelineOp& op : step.ranks[r])
                builder.addSlice({track, op.start, op.duration(), builder.intern(opName(op.op)), 0, 0});
        }
    }
    DiagnosticLog log;
    run.trace = builder.finish(log);
    run.files = {"rank0.pftrace"};
    return run;
}

/// Ranks 2 and 3 are a second late.
Run lateHalf(Run run) {
    for (StepTimeline& step : run.steps)
        skew(step, {{}, {}, {1e9, 0}, {1e9, 0}});
    return run;
}

TEST(RunClocks, AlignsWhatHostsOrViolationsCallFor) {
    const auto late = lateHalf(simulated({"1f1b", "", 4, 8, 1}, TimeNs{20'000}, 3));
    const TimeNs wall = simulated({"1f1b", "", 4, 8, 1}, TimeNs{20'000}, 1).steps[0].wall();

    auto two_hosts = onHosts(late, {"a", "a", "b", "b"});
    const auto aligned = align(two_hosts);
    ASSERT_TRUE(aligned.ok()) << aligned.error().text();
    EXPECT_EQ(aligned.value().method, ClockMethod::Aligned);
    EXPECT_EQ(aligned.value().ranks[1].fit.offset, TimeNs{0});
    EXPECT_EQ(aligned.value().ranks[1].fit.bound, TimeNs{0});
    EXPECT_NEAR(static_cast<double>(aligned.value().ranks[3].fit.offset.count()), 1e9, 1e5);
    EXPECT_NEAR(static_cast<double>(two_hosts.steps[0].wall().count()), static_cast<double>(wall.count()), 1e5);

    auto unknown = onHosts(late, {"", "", "", ""});
    const auto contradicted = align(unknown);
    ASSERT_TRUE(contradicted.ok());
    EXPECT_EQ(contradicted.value().method, ClockMethod::Aligned) << "receives end before their sends start";

    auto fine = onHosts(simulated({"1f1b", "", 4, 8, 1}, TimeNs{20'000}, 3), {"", "", "", ""});
    const auto trusted = align(fine);
    ASSERT_TRUE(trusted.ok());
    EXPECT_EQ(trusted.value().method, ClockMethod::AsRecorded);
    EXPECT_GT(trusted.value().bound(), TimeNs{0}) << "nothing proves that they agree better";
    EXPECT_EQ(fine.steps[0].wall(), wall);

    auto off = onHosts(late, {"a", "a", "b", "b"});
    ClockOptions options;
    options.use = ClockUse::Off;
    ASSERT_TRUE(align(off, options).ok());
    EXPECT_GT(off.steps[0].wall(), TimeNs{900'000'000});
}

TEST(RunClocks, RecordedFilesNameTheirHostsAndClocks) {
    const auto fine = simulated({"1f1b", "", 4, 8, 1}, TimeNs{20'000}, 3);
    auto containers = recordedOn(fine, {"a", "b", "c", "d"}, {"boot", "boot", "boot", "boot"});
    const auto shared = align(containers);
    ASSERT_TRUE(shared.ok());
    EXPECT_EQ(shared.value().method, ClockMethod::Shared);
    EXPECT_EQ(shared.value().bound(), TimeNs{0});
    EXPECT_EQ(shared.value().ranks[0].host, "a");

    // Their own clocks are nearer to each other than transfers could show.
    auto two_hosts = recordedOn(fine, {"a", "a", "b", "b"}, {"boot 1", "boot 1", "boot 2", "boot 2"});
    const auto trusted = align(two_hosts);
    ASSERT_TRUE(trusted.ok());
    EXPECT_EQ(trusted.value().method, ClockMethod::AsRecorded);
    EXPECT_EQ(trusted.value().reason, "ranks ran on different hosts; their events agree with their clocks");
    EXPECT_EQ(trusted.value().ranks[1].fit.bound, TimeNs{0});
    EXPECT_GT(trusted.value().ranks[2].fit.bound, TimeNs{0});

    auto late = recordedOn(lateHalf(fine), {"a", "a", "b", "b"}, {"boot 1", "boot 1", "boot 2", "boot 2"});
    const auto aligned = align(late);
    ASSERT_TRUE(aligned.ok());
    EXPECT_EQ(aligned.value().method, ClockMethod::Aligned);
    EXPECT_NEAR(static_cast<double>(aligned.value().ranks[3].fit.offset.count()), 1e9, 1e5);
}

TEST(RunClocks, RefusesRanksThatNothingRelates) {
    auto forward_only = simulated({"1f1b", "", 4, 8, 1}, TimeNs{20'000}, 2);
    for (StepTimeline& step : forward_only.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            std::erase_if(step.ranks[r], [](const TimelineOp& op) { return op.op.kind == OpKind::Backward; });
            std::erase_if(step.comm[r], [](const CommSpan& span) { return span.payload == Payload::Gradient; });
        }
    }
    auto two_hosts = onHosts(forward_only, {"a", "a", "b", "b"});
    const auto refused = align(two_hosts);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().text().find("cannot align the clocks of rank 0 (a) and rank 2 (b)"), std::string::npos)
        << refused.error().text();
    EXPECT_NE(refused.error().hint.find("clocks=off"), std::string::npos);
}

TEST(RunClocks, RefusesEventsThatContradictEachOtherTooMuch) {
    constexpr int kSteps = 24; // a clock may be set a few times, but not back and forth with every step
    auto run = onHosts(simulated({"1f1b", "", 4, 8, 1}, TimeNs{20'000}, kSteps), {"a", "a", "b", "b"});
    for (std::size_t step = 1; step < std::size_t{kSteps}; step += 2)
        skew(run.steps[step], {{}, {}, {4e7, 0}, {4e7, 0}});
    const auto refused = align(run);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().text().find("contradict each other"), std::string::npos) << refused.error().text();
}

} // namespace
} // namespace bubblescope
