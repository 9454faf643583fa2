#include "core/analysis/rank_tracks.h"
#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>

namespace bubblescope {
namespace {

using namespace std::chrono_literals;

/// Two ranks' ops, with 10 ms between them in time.
StepTimeline twoRanks() {
    StepTimeline step;
    step.pp = 2;
    step.microbatches = 2;
    step.ranks.resize(2);
    step.comm.resize(2);
    for (int rank = 0; rank < 2; ++rank) {
        for (int i = 0; i < 2; ++i) {
            const TimeNs start = 10ms * rank + 20ms * i;
            step.ranks[static_cast<std::size_t>(rank)].push_back(
                {{OpKind::Forward, Microbatch(i), Chunk(0)}, start, start + 5ms});
        }
    }
    step.fitWindow();
    return step;
}

/// The ops as slices of a process each, with a stream besides; all in one file or a file each. Clocks of `late` show
/// that much more.
bubblescope::Run tracedRun(bool one_file, TimeNs late = 0ms) {
    bubblescope::Run run;
    run.steps.push_back(twoRanks());
    TraceBuilder builder;
    for (int rank = 0; rank < 2; ++rank) {
        if (rank == 0 || !one_file) {
            TraceFile file;
            file.path = "file" + std::to_string(rank);
            file.format = "chrome";
            builder.addFile(file);
        }
        const TrackId host = builder.addTrack(one_file ? rank : 7, 1);
        const TrackId stream = builder.addTrack(one_file ? rank : 9, 2);
        for (const TimelineOp& op : run.steps[0].ranks[static_cast<std::size_t>(rank)]) {
            const TimeNs start = op.start + (rank == 1 ? late : 0ms);
            builder.addSlice({host, start, op.duration(), builder.intern("F"), 0, 0});
            builder.addSlice({stream, start + 1ms, 1ms, builder.intern("k"), 0, 0});
        }
        builder.addTrack(one_file ? rank : 9, 3); // without slices
    }
    DiagnosticLog log;
    run.trace = builder.finish(log);
    return run;
}

TEST(RankTracks, AreThoseOfTheProcessThatRecordedTheOps) {
    const auto run = tracedRun(true);
    const std::vector<RankTracks> ranks = rankTracks(run, {});
    ASSERT_EQ(ranks.size(), 2U);
    for (int rank = 0; rank < 2; ++rank) {
        const RankTracks& found = ranks[static_cast<std::size_t>(rank)];
        EXPECT_EQ(found.rank, Rank(rank));
        ASSERT_EQ(found.tracks.size(), 2U);
        for (const TrackId id : found.tracks)
            EXPECT_EQ(run.trace->tracks()[id].pid, rank);
    }
}

TEST(RankTracks, AreAllOfAFileThatIsTheRanksAlone) {
    const auto run = tracedRun(false);
    const std::vector<RankTracks> ranks = rankTracks(run, {});
    ASSERT_EQ(ranks.size(), 2U);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        ASSERT_EQ(ranks[rank].tracks.size(), 2U); // of two processes
        for (const TrackId id : ranks[rank].tracks)
            EXPECT_EQ(run.trace->tracks()[id].file, rank);
    }
}

TEST(RankTracks, AreFoundBehindAClockThatWasCorrected) {
    const auto run = tracedRun(false, 3ms);
    RunClocks clocks;
    clocks.method = ClockMethod::Aligned;
    RankClock first;
    RankClock second;
    second.rank = Rank(1);
    second.fit.offset = 3ms;
    clocks.ranks = {first, second};
    const std::vector<RankTracks> ranks = rankTracks(run, clocks);
    ASSERT_EQ(ranks.size(), 2U);
    EXPECT_EQ(ranks[1].tracks.size(), 2U);
    EXPECT_EQ(ranks[1].clock.toReference(13ms), 10ms);
    EXPECT_TRUE(rankTracks(run, {})[1].tracks.empty()); // by its own clock nothing begins when its ops do
}

/// The wait for its input was cut from every op of a rank, as in profiles of PyTorch: nothing begins when they do.
TEST(RankTracks, AreThoseOfTheFileThatStatesTheRank) {
    auto run = tracedRun(false);
    TraceBuilder builder;
    for (int rank = 0; rank < 2; ++rank) {
        TraceFile file;
        file.path = "file" + std::to_string(rank);
        file.rank = rank;
        builder.addFile(file);
        const TrackId host = builder.addTrack(7, 1);
        for (const TimelineOp& op : run.steps[0].ranks[static_cast<std::size_t>(rank)])
            builder.addSlice({host, op.start - 1ms, op.duration() + 1ms, builder.intern("F"), 0, 0});
    }
    DiagnosticLog log;
    run.trace = builder.finish(log);
    const std::vector<RankTracks> ranks = rankTracks(run, {});
    ASSERT_EQ(ranks.size(), 2U);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        ASSERT_EQ(ranks[rank].tracks.size(), 1U);
        EXPECT_EQ(run.trace->tracks()[ranks[rank].tracks[0]].file, rank);
    }
}

/// Ops of many ranks begin at the same times, and rows of several processes have slices that begin then.
TEST(RankTracks, AreThoseOfTheProcessWithMostBegins) {
    std::mt19937 random(1);
    const auto below = [&random](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
    for (int round = 0; round < 200; ++round) {
        constexpr int kRanks = 5;
        constexpr int kProcesses = 6;
        bubblescope::Run run;
        StepTimeline step;
        step.pp = kRanks;
        step.ranks.resize(kRanks);
        step.comm.resize(kRanks);
        for (auto& ops : step.ranks) {
            std::vector<int> starts;
            for (int i = below(50); i >= 0; --i)
                starts.push_back(below(200));
            std::ranges::sort(starts);
            for (const int start : starts)
                ops.push_back({{OpKind::Forward, Microbatch(0), Chunk(0)}, TimeNs{start}, TimeNs{start}});
        }
        run.steps.push_back(step);
        TraceBuilder builder;
        builder.addFile({"file", {}, std::nullopt});
        const TrackId first = builder.addTrack(100, 0); // so that the trace begins at 0
        builder.addSlice({first, TimeNs{0}, TimeNs{0}, 0, 0, 0});
        for (int row = 0; row < 2 * kProcesses; ++row) {
            const TrackId track = builder.addTrack(1 + row % kProcesses, row);
            for (int i = below(60); i > 0; --i)
                builder.addSlice({track, TimeNs{below(220)}, TimeNs{0}, 0, 0, 0});
        }
        DiagnosticLog log;
        run.trace = builder.finish(log);
        const auto tracks = run.trace->tracks();
        const std::vector<RankTracks> found = rankTracks(run, {});
        ASSERT_EQ(found.size(), std::size_t{kRanks});
        for (const RankTracks& rank : found) {
            std::map<std::int64_t, int> votes; // by process
            const auto& ops = step.ranks[rank.rank.index()];
            for (const Track& track : tracks) {
                for (std::size_t i = 0; i < std::min<std::size_t>(32, ops.size()); ++i) {
                    for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
                        if (run.trace->start(slice) != ops[i].start) continue;
                        ++votes[track.pid];
                        break;
                    }
                }
            }
            const auto best = std::ranges::max_element(votes, {}, [](const auto& one) { return one.second; });
            if (best == votes.end()) {
                EXPECT_TRUE(rank.tracks.empty());
                continue;
            }
            ASSERT_FALSE(rank.tracks.empty());
            for (const TrackId id : rank.tracks)
                EXPECT_EQ(tracks[id].pid, best->first);
        }
    }
}

TEST(RankTracks, NeedATrace) {
    auto run = tracedRun(true);
    run.trace = nullptr;
    EXPECT_TRUE(rankTracks(run, {}).empty());
}

} // namespace
} // namespace bubblescope
