#include "core/recognise/run.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/formats/trace_bytes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bubblescope {
namespace {

using test::countOf;

/// A record of one iteration: ops of 10 and 20 ms from these times on.
std::string recordOf(const std::vector<int>& forwards, const std::vector<int>& backwards, double total) {
    const auto ends = [](std::vector<int> starts, int by) {
        for (int& start : starts)
            start += by;
        return starts;
    };
    return fmt::format(
        R"({{"total": {}, "memory": 1.5, "fwd_start": {}, "fwd_end": {}, "bwd_start": {}, "bwd_end": {}}})", total,
        forwards, ends(forwards, 10), backwards, ends(backwards, 20));
}

TEST(PrimusRecords, BecomeARun) {
    const test::ScratchFolder folder;
    folder.write("config.json", R"({"pp_size": 2, "vp_size": 1, "num_mbs": 2})");
    for (int rank = 0; rank < 2; ++rank) {
        const std::string iteration = rank == 0 ? recordOf({0, 10}, {40, 70}, 90) : recordOf({10, 40}, {20, 50}, 70);
        folder.write(fmt::format("pp_rank_{}.json", rank),
                     fmt::format(R"({{"1": {}, "2": {}}})", iteration, iteration));
    }
    JobControl control;
    const auto run = loadRun({folder.path()}, control);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().format, "primus");
    EXPECT_EQ(run.value().schedule.name, "1f1b");
    ASSERT_EQ(run.value().steps.size(), 2U);
    EXPECT_EQ(run.value().steps[1].index, 2);
    EXPECT_EQ(run.value().steps[1].wall(), TimeNs{90'000'000});
    EXPECT_EQ(run.value().steps[1].begin - run.value().steps[0].begin, TimeNs{90'000'000});
    EXPECT_EQ(countOf(run.value().problems, "ignored-file"), 1); // config.json
}

TEST(PrimusRecords, OfSeveralChunksFollowMegatronsOrder) {
    const test::ScratchFolder folder;
    folder.write("config.json", R"({"pp_size": 2, "vp_size": 2, "num_mbs": 2})");
    const auto file = folder.write("pp_rank_1.json",
                                   fmt::format(R"({{"1": {}}})", recordOf({0, 10, 20, 30}, {50, 70, 90, 110}, 130)));
    JobControl control;
    const auto read = readTraces({file}, control);
    ASSERT_TRUE(read.ok()) << read.error().text();
    std::vector<std::string> names;
    for (SliceId slice = 0; slice < read.value().trace->sliceCount(); ++slice)
        names.emplace_back(read.value().trace->name(slice));
    EXPECT_EQ(names, (std::vector<std::string>{"F0.0", "F1.0", "F0.1", "F1.1", "B0.1", "B1.1", "B0.0", "B1.0"}));
}

TEST(PrimusRecords, LoseDamagedEntriesAlone) {
    const test::ScratchFolder folder;
    const auto file = folder.write("pp_rank_0.json", R"({"1": {"fwd_start": [0, 10, "x"], "fwd_end": [5, 8, 30],)"
                                                     R"( "bwd_start": [40], "bwd_end": [50, 60]}})");
    JobControl control;
    const auto read = readTraces({file}, control);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(read.value().trace->sliceCount(), 2U);
    EXPECT_EQ(countOf(read.value().problems, "bad-event"), 3);
    const auto cut = folder.write("pp_rank_1.json", R"({"1": {"total": 3, "fwd_start": [0, 10)");
    EXPECT_FALSE(readTraces({cut}, control).ok());
}

} // namespace
} // namespace bubblescope
