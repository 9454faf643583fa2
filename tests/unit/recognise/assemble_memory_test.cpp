// The memory for assembling a run of many steps: records are freed as they are used.
#include "core/recognise/assemble.h"
#include "core/recognise/op_counts.h"
#include "tests/mpi/heap_watch.h"
#include "tests/support/sanitized.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr int kRanks = 8;
constexpr int kMicrobatches = 16;

/// One piece a rank, as files have them.
FoundOps foundIn(int steps) {
    FoundOps found;
    for (int rank = 0; rank < kRanks; ++rank) {
        std::vector<FoundOp> ops;
        std::vector<FoundComm> comm;
        for (int step = 0; step < steps; ++step) {
            for (int i = 0; i < 2 * kMicrobatches; ++i) {
                FoundOp op;
                op.owner = rank;
                op.step = step;
                op.kind = i < kMicrobatches ? OpKind::Forward : OpKind::Backward;
                op.microbatch = i % kMicrobatches;
                op.start = TimeNs{1000 * (2 * kMicrobatches * step + i)};
                op.end = op.start + TimeNs{900};
                ops.push_back(op);
                const bool sends = i < kMicrobatches && rank + 1 < kRanks;
                if (!sends) continue;
                comm.push_back({rank, step, CommKind::Send, Payload::Activation, 0, op.microbatch, rank + 1, op.end,
                                op.end + TimeNs{50}, 0, 0});
            }
        }
        ops.shrink_to_fit();
        comm.shrink_to_fit();
        found.ops.append(FoundOpList(ops));
        found.comm.append(std::move(comm));
    }
    return found;
}

struct Held {
    std::int64_t found = 0; ///< bytes that the records take
    std::int64_t most = 0;  ///< while steps are made of them
    std::int64_t kept = 0;  ///< by the steps
};

Held assembling(int steps) {
    const std::int64_t before = test::heapBytes();
    FoundOps found = foundIn(steps);
    Held held;
    held.found = test::heapBytes() - before;
    Layout layout = inferLayout(found, "here").value();
    test::watchHeap();
    DiagnosticLog log;
    const auto made = assembleSteps(std::move(found), layout, "here", log);
    EXPECT_EQ(made.value().size(), static_cast<std::size_t>(steps));
    EXPECT_EQ(made.value().back().ranks[3].size(), std::size_t{2 * kMicrobatches});
    EXPECT_EQ(made.value().back().comm[3].size(), std::size_t{kMicrobatches});
    EXPECT_TRUE(log.entries().empty());
    held.most = test::heapPeak() - before;
    held.kept = test::heapBytes() - before;
    return held;
}

TEST(AssembleSteps, NeedHardlyMoreThanTheirRecords) {
#if BUBBLESCOPE_SANITIZED
    GTEST_SKIP() << "what is allocated is not counted under sanitizers";
#endif
    (void)assembling(4); // what is allocated once
    const Held few = assembling(100);
    const Held many = assembling(1100);
    constexpr std::int64_t kSteps = 1000;
    constexpr std::int64_t kOps = std::int64_t{kRanks} * 2 * kMicrobatches;
    constexpr std::int64_t kComm = std::int64_t{kRanks - 1} * kMicrobatches;
    const auto ofStep = [&](std::int64_t Held::*bytes) { return (many.*bytes - few.*bytes) / kSteps; };
    RecordProperty("found_a_step", std::to_string(ofStep(&Held::found)));
    RecordProperty("most_a_step", std::to_string(ofStep(&Held::most)));
    RecordProperty("kept_a_step", std::to_string(ofStep(&Held::kept)));
    EXPECT_LE(ofStep(&Held::found), kOps * 48 + kComm * 48 + 64);
    // The records of one rank at a time exist twice: an eighth of all, in addition to the tables of a step.
    EXPECT_LE(ofStep(&Held::most), ofStep(&Held::found) * 5 / 4 + 2048);
    EXPECT_LE(ofStep(&Held::kept), kOps * static_cast<std::int64_t>(sizeof(TimelineOp)) +
                                       kComm * static_cast<std::int64_t>(sizeof(CommSpan)) + kRanks * 160 + 1024);
}

/// In any order, and however often they were summed up.
TEST(OpCounts, AreOfEachRankOfAStepAndTakeFewBytes) {
    constexpr int kSteps = 1000;
    OpCounts counts;
    for (int round = 0; round < 3; ++round) {
        for (int rank = 0; rank < kRanks; ++rank) {
            for (int step = 0; step < kSteps; ++step) {
                for (int i = 0; i <= rank; ++i)
                    counts.add({step, step % 2}, rank);
            }
        }
    }
    counts.finish();
    EXPECT_LE(counts.bytes(), std::size_t{16} * kRanks * kSteps);
    for (const int step : {0, 1, kSteps - 1, 17}) {
        for (int rank = 0; rank < kRanks; ++rank) {
            std::vector<char> list;
            counts.reserve({step, step % 2}, rank, list);
            EXPECT_EQ(list.capacity(), 3U * static_cast<std::size_t>(rank + 1)) << step << ' ' << rank;
            std::vector<char> none;
            counts.reserve({step, 1 - step % 2}, rank, none);
            EXPECT_EQ(none.capacity(), 0U) << "of a replica without ops";
        }
    }
}

} // namespace
} // namespace bubblescope
