// Files that a run wrote on several hosts, put on one clock by what the run recorded of them.

#include "core/analysis/steps/run_analyzer.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/recognise/run.h"
#include "profiler/recorder/recorder.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope::profiler {
namespace {

constexpr TimeNs kAhead{3'000'000'123}; ///< of the second host's clock
constexpr TimeNs kStart{7'000'000'000}; ///< on the first one's
constexpr TimeNs kWay{4'000};           ///< of a ping, each
constexpr int kRanks = 4;

/// Four ranks of 1F1B in three steps, the latter two on a host whose clock is ahead.
struct TwoHosts {
    ProcessInfo first{"alpha", "clock of alpha", 11};
    ProcessInfo second{"beta", "clock of beta", 22};
    bool pings = true;
    TimeNs ahead = kAhead;

    [[nodiscard]] TimeNs shown(Rank rank, TimeNs time) const {
        return kStart + time + (rank.value >= kRanks / 2 ? ahead : TimeNs{0});
    }

    void record(const std::filesystem::path& dir) const {
        CostModel costs;
        costs.times = makeOpTimes(TimeNs{1'000'000}, TimeNs{2'000'000}, {}, {}).value();
        costs.comm = TimeNs{300'000};
        const Schedule schedule = makeSchedule({"1f1b", "", kRanks, 8, 1}).value();
        const StepTimeline step = simulate(schedule, costs).value();
        RecorderConfig config;
        config.dir = dir;
        config.info = RunInfo::of("run", schedule);
        config.info.backend = "cpu";
        config.flush_interval = std::chrono::milliseconds{0};
        for (int r = 0; r < kRanks; ++r) {
            const Rank rank{r};
            config.ranks = {rank};
            config.process = r < kRanks / 2 ? first : second;
            auto recorder = Recorder::open(config);
            ASSERT_TRUE(recorder.ok()) << recorder.error().text();
            for (int index = 0; index < 3; ++index) {
                const TimeNs since = (step.wall() + costs.times.forward) * index;
                const auto move = [&](auto span) {
                    span.start = shown(rank, span.start + since);
                    span.end = shown(rank, span.end + since);
                    return span;
                };
                for (const TimelineOp& op : step.ranks[rank.index()]) {
                    const SliceRecord slice = SliceRecord::of(move(op), step.stageOf(rank, op.op.chunk), index);
                    recorder.value()->ring(rank).push(slice);
                }
                for (const CommSpan& span : step.comm[rank.index()])
                    recorder.value()->ring(rank).push(SliceRecord::of(move(span), index));
            }
            if (pings && r >= kRanks / 2) recorder.value()->addPings(pingsOf(rank));
            ASSERT_TRUE(recorder.value()->close().ok());
            ASSERT_EQ(recorder.value()->dropped(), 0);
        }
    }

    /// With rank 0.
    [[nodiscard]] std::vector<Ping> pingsOf(Rank rank) const {
        std::vector<Ping> made;
        for (int i = 0; i < 5; ++i) {
            const TimeNs sent{30'000'000 * i}; // from the run's begin to its end
            made.push_back({rank.value, 0, shown(rank, sent), shown(Rank{0}, sent + kWay),
                            shown(Rank{0}, sent + kWay + TimeNs{500}), shown(rank, sent + 2 * kWay + TimeNs{500})});
        }
        return made;
    }
};

DiagnosedRun diagnose(const TwoHosts& hosts) {
    const test::ScratchFolder dir;
    hosts.record(dir.path());
    JobControl control;
    auto run = loadRun({dir.path()}, control);
    EXPECT_TRUE(run.ok()) << run.error().text();
    auto diagnosed = diagnoseRun(std::move(run).value());
    EXPECT_TRUE(diagnosed.ok()) << diagnosed.error().text();
    return std::move(diagnosed).value();
}

TEST(HostClocks, RecordedPingsRelateTwoHosts) {
    const auto [run, report] = diagnose({});
    const RunClocks& clocks = report.clocks;
    EXPECT_EQ(clocks.method, ClockMethod::Aligned);
    EXPECT_EQ(clocks.reason, "ranks ran on different hosts");
    EXPECT_EQ(clocks.pings, 10U);
    ASSERT_EQ(clocks.ranks.size(), 4U);
    for (const RankClock& rank : clocks.ranks) {
        const bool second = rank.rank.value >= kRanks / 2;
        EXPECT_EQ(rank.host, second ? "beta" : "alpha");
        EXPECT_LE(rank.fit.bound, second ? 3 * kWay : TimeNs{0}) << "pings are far quicker than transfers";
        EXPECT_LE(std::chrono::abs(rank.fit.offset - (second ? kAhead : TimeNs{0})), rank.fit.bound);
        EXPECT_EQ(rank.file, static_cast<std::uint32_t>(rank.rank.value));
    }
    // Ranks of one host share its clock.
    EXPECT_EQ(clocks.ranks[2].fit.offset, clocks.ranks[3].fit.offset);
    EXPECT_TRUE(
        std::ranges::all_of(report.accounts, [](const StepAccounting& step) { return step.ignored_inputs == 0; }));
}

TEST(HostClocks, TransfersAloneRelateThemLessSharply) {
    TwoHosts hosts;
    hosts.pings = false;
    const auto [run, report] = diagnose(hosts);
    EXPECT_EQ(report.clocks.method, ClockMethod::Aligned);
    EXPECT_EQ(report.clocks.pings, 0U);
    EXPECT_GT(report.clocks.ranks[3].fit.bound, 10 * kWay);
    EXPECT_LE(std::chrono::abs(report.clocks.ranks[3].fit.offset - kAhead), report.clocks.ranks[3].fit.bound);
}

TEST(HostClocks, TwoContainersOfAMachineShareItsClock) {
    TwoHosts hosts;
    hosts.second.clock = hosts.first.clock;
    hosts.ahead = TimeNs{0};
    const auto [run, report] = diagnose(hosts);
    EXPECT_EQ(report.clocks.method, ClockMethod::Shared);
    EXPECT_EQ(report.clocks.bound(), TimeNs{0});
}

TEST(HostClocks, TwoMachinesOfOneNameDoNot) {
    TwoHosts hosts;
    hosts.second.host = hosts.first.host;
    const auto [run, report] = diagnose(hosts);
    EXPECT_EQ(report.clocks.method, ClockMethod::Aligned);
    EXPECT_LE(std::chrono::abs(report.clocks.ranks[3].fit.offset - kAhead), report.clocks.ranks[3].fit.bound);
}

TEST(HostClocks, ThisProcessNamesItsHost) {
    const ProcessInfo host = thisProcess();
    EXPECT_FALSE(host.host.empty());
    EXPECT_GT(host.pid, 0);
}

} // namespace
} // namespace bubblescope::profiler
