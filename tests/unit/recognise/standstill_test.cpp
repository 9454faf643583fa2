#include "core/recognise/standstill.h"

#include "core/formats/read_trace.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bubblescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// One action per ms, then an instant after 9 s; an action whose name ends with "…" stays open.
std::string rankFile(int rank, const std::vector<std::string>& actions) {
    std::string events;
    for (std::size_t i = 0; i < actions.size(); ++i) {
        const bool open = actions[i].ends_with("…");
        const std::string name = open ? actions[i].substr(0, actions[i].size() - 3) : actions[i];
        events += fmt::format(R"({}{{"ph":"{}","name":"{}","pid":1,"tid":1,"ts":{}{}}})", i == 0 ? "" : ",",
                              open ? 'B' : 'X', name, 1000 * i, open ? "" : R"(,"dur":900)");
    }
    return fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"rank":{}}},"traceEvents":[{},
        {{"ph":"i","name":"end","pid":1,"tid":1,"ts":9000000,"s":"t"}}]}})",
                       rank, events);
}

Standstill standstill(const std::vector<std::vector<std::string>>& ranks) {
    const test::ScratchFolder folder;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        folder.write(fmt::format("rank{}.json", rank), rankFile(static_cast<int>(rank), ranks[rank]));
    JobControl control;
    return standstillOf(*readTraces({folder.path()}, control).value().trace);
}

TEST(Standstill, NamesTheCycleOfTwoRanks) {
    // In the second step, rank 1 wants both inputs before it computes.
    const Standstill found = standstill({{"0F0", "0SEND_F0", "0RECV_B0", "0B0", "0F0", "0SEND_F0", "0RECV_B0…"},
                                         {"1RECV_F0", "1F0", "1B0", "1SEND_B0", "1RECV_F0", "1F0", "1RECV_F1…"}});
    EXPECT_TRUE(found.is_cycle);
    EXPECT_EQ(cycleText(found.waits).text(),
              "rank 0: 0RECV_B0 waits for 1SEND_B0; rank 1: 1SEND_B0 is posted only after 1RECV_F1; "
              "rank 1: 1RECV_F1 waits for 0SEND_F1; rank 0: 0SEND_F1 is posted only after 0RECV_B0");
    ASSERT_EQ(found.ranks.size(), 2U);
    EXPECT_THAT(found.ranks[0].last, ElementsAre("0F0", "0SEND_F0", "0RECV_B0")) << "only of the last step";
    EXPECT_EQ(found.ranks[1].waits_in, "1RECV_F1");
}

TEST(Standstill, ACallThatEndedWhenItsPeerWasStoppedCounts) {
    const test::ScratchFolder folder;
    folder.write("rank0.json", rankFile(0, {"0F0", "0SEND_F0", "0RECV_B0…"}));
    const auto ended = [&](int until) {
        folder.write("rank1.json", fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"rank":1}},"traceEvents":[
            {{"ph":"X","name":"1F0","pid":1,"tid":1,"ts":0,"dur":100}},
            {{"ph":"X","name":"1RECV_F1","pid":1,"tid":1,"ts":1000,"dur":{}}},
            {{"ph":"i","name":"end","pid":1,"tid":1,"ts":9000000,"s":"t"}}]}})",
                                               until));
        JobControl control;
        return standstillOf(*readTraces({folder.path()}, control).value().trace);
    };
    EXPECT_TRUE(ended(8900000).is_cycle);
    EXPECT_FALSE(ended(1000000).is_cycle) << "it went on";
}

TEST(Standstill, FollowsAChainToTheRankThatWaitsForNone) {
    const Standstill found =
        standstill({{"0F0", "0SEND_F0", "0RECV_B0…"}, {"1RECV_F0", "1F0", "1RECV_B0…"}, {"2RECV_F0", "2F0…"}});
    EXPECT_FALSE(found.is_cycle);
    EXPECT_EQ(cycleText(found.waits).text(),
              "rank 0: 0RECV_B0 waits for 1SEND_B0; rank 1: 1SEND_B0 is posted only after 1RECV_B0; "
              "rank 1: 1RECV_B0 waits for 2SEND_B0");
    EXPECT_EQ(found.ranks[2].waits_in, "");
}

TEST(Standstill, AnUsualWaitIsNotAHang) {
    const test::ScratchFolder folder;
    for (int rank = 0; rank < 2; ++rank)
        folder.write(fmt::format("rank{}.json", rank),
                     fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"rank":{0}}},
            "traceEvents":[{{"ph":"X","name":"{0}RECV_F0","pid":1,"tid":1,"ts":0,"dur":5000000}},
            {{"ph":"B","name":"{0}RECV_F1","pid":1,"tid":1,"ts":5000000}},
            {{"ph":"i","name":"end","pid":1,"tid":1,"ts":9000000,"s":"t"}}]}})",
                                 rank));
    JobControl control;
    EXPECT_FALSE(standstillOf(*readTraces({folder.path()}, control).value().trace).stands());
}

TEST(Standstill, NothingStandsInAJobThatEnded) {
    EXPECT_FALSE(standstill({{"0F0", "0SEND_F0", "0RECV_B0", "0B0"}, {"1RECV_F0", "1F0", "1B0", "1SEND_B0"}}).stands());
    EXPECT_THAT(standstill({{"step 1"}}).ranks, IsEmpty());
}

} // namespace
} // namespace bubblescope
