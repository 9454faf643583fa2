// Which rows of a trace are the ranks of its pipeline, where neither names nor args of ops state it.

#include "core/recognise/run.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/formats/trace_bytes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace bubblescope {
namespace {

using test::countOf;

/// 1F1B of two ranks and two micro-batches: F takes 95 us, B 95 us, and the last op of rank 0 ends after 595 us.
std::string stepOf(int rank, const std::string& row, std::string_view category = "") {
    const std::string_view order = rank == 0 ? "F0F1B0B1" : "F0B0F1B1";
    const std::vector<int> starts = rank == 0 ? std::vector{0, 100, 300, 500} : std::vector{100, 200, 300, 400};
    std::string events;
    for (std::size_t i = 0; i < 4; ++i) {
        events += fmt::format(R"({{"ph":"X","cat":"{}","name":"{}",{},"ts":{},"dur":95}},)", category,
                              order[2 * i] == 'F' ? "forward_step" : "backward_step", row, 1000 + starts[i]);
    }
    return events;
}

class RanksOfRows : public testing::Test {
protected:
    void write(const std::string& file, std::string events, const std::string& before = "") {
        events.pop_back(); // the last comma
        folder_.write(file, fmt::format(R"({{{}"traceEvents":[{}]}})", before, events));
    }
    void expectTwoRanks(const std::string& problem, int replicas = 1) {
        JobControl control;
        const auto run = loadRun({folder_.path()}, control);
        ASSERT_TRUE(run.ok()) << run.error().text();
        EXPECT_EQ(run.value().schedule.name, "1f1b");
        EXPECT_EQ(run.value().schedule.pp, 2);
        ASSERT_EQ(run.value().steps.size(), static_cast<std::size_t>(replicas));
        EXPECT_EQ(run.value().steps[0].wall(), TimeNs{595'000});
        EXPECT_EQ(run.value().steps[0].ranks[0].front().start, TimeNs{0});
        if (problem.empty())
            EXPECT_TRUE(run.value().problems.empty());
        else
            EXPECT_EQ(countOf(run.value().problems, problem), 1);
    }

    test::ScratchFolder folder_;
};

TEST_F(RanksOfRows, AreProcesses) {
    write("trace.json", stepOf(1, R"("pid":20,"tid":1)") + stepOf(0, R"("pid":10,"tid":1)"));
    expectTwoRanks("guessed-ranks");
}

TEST_F(RanksOfRows, AreProcessesWhoseNamesStateThem) {
    write("trace.json", stepOf(1, R"("pid":10,"tid":1)") + stepOf(0, R"("pid":20,"tid":1)") +
                            R"({"ph":"M","name":"process_name","pid":10,"args":{"name":"worker rank 1"}},)"
                            R"({"ph":"M","name":"process_name","pid":20,"args":{"name":"worker rank 0"}},)");
    expectTwoRanks("");
}

TEST_F(RanksOfRows, AreProcessesThatATextIdentifies) {
    write("trace.json",
          stepOf(1, R"("pid":"rank 1","tid":"compute")") + stepOf(0, R"("pid":"rank 0","tid":"compute")"));
    expectTwoRanks("");
}

TEST_F(RanksOfRows, AreThreadsThatRunForwardsAtTheSameTime) {
    // Rank 1's second forward begins while rank 0 does nothing, its first one while rank 0 runs its second.
    write("trace.json", stepOf(0, R"("pid":1,"tid":0)") + stepOf(1, R"("pid":1,"tid":1)"));
    expectTwoRanks("threads-as-ranks");
}

TEST_F(RanksOfRows, AreNotThreadsOfWhichOneRunsTheBackwards) {
    std::string events;
    for (const auto& [name, thread, start] :
         {std::tuple("forward_step", 1, 0), std::tuple("forward_step", 1, 100), std::tuple("backward_step", 2, 200),
          std::tuple("backward_step", 2, 300)}) {
        events += fmt::format(R"({{"ph":"X","cat":"nvtx","name":"{}","pid":1,"tid":{},"ts":{},"dur":95}},)", name,
                              thread, start);
    }
    write("trace.json", events);
    JobControl control;
    const auto run = loadRun({folder_.path()}, control);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().schedule.pp, 1);
    EXPECT_EQ(countOf(run.value().problems, "threads-as-ranks"), 0);
}

TEST_F(RanksOfRows, AreStagesOfTheProcessGroupsInFiles) {
    // Two pipelines of two ranks: ranks 0 and 2, 1 and 3.
    for (int rank = 0; rank < 4; ++rank) {
        write(fmt::format("rank{}.json", rank), stepOf(rank / 2, R"("pid":1,"tid":1)", "user_annotation"),
              fmt::format(R"("schemaVersion":1,"distributedInfo":{{"rank":{},"world_size":4,"pg_config":[)"
                          R"({{"pg_name":"1","pg_desc":"PIPELINE_MODEL_PARALLEL_GROUP","ranks":[{},{}]}},)"
                          R"({{"pg_name":"2","pg_desc":"DATA_PARALLEL_GROUP","ranks":[{},{}]}}]}},)",
                          rank, rank % 2, rank % 2 + 2, rank / 2 * 2, rank / 2 * 2 + 1));
    }
    expectTwoRanks("", 2);
}

std::string documentOf(int rank, const std::string& row, bool rank_first = true) {
    std::string events = stepOf(rank, row, "user_annotation");
    events.pop_back();
    const std::string info = fmt::format(R"("distributedInfo":{{"rank":{},"world_size":2}})", rank);
    const std::string list = fmt::format(R"("traceEvents":[{}])", events);
    return fmt::format(R"({{"schemaVersion":1,{},{}}})", rank_first ? info : list, rank_first ? list : info);
}

TEST_F(RanksOfRows, AreDocumentsOfAJoinedFile) {
    // In containers all processes have the same number.
    for (const bool rank_first : {true, false}) {
        const std::string one = documentOf(1, R"("pid":1,"tid":1)", rank_first);
        const std::string zero = documentOf(0, R"("pid":1,"tid":1)", rank_first);
        folder_.write("all.json", one + "\n" + zero);
        expectTwoRanks("several-processes");
        folder_.write("all.json", "[" + one + "," + zero + "]");
        expectTwoRanks("several-processes");
    }
}

TEST_F(RanksOfRows, AreOneForEachRankThoughAFileWasCopiedAndCut) {
    folder_.write("rank0.json", documentOf(0, R"("pid":1,"tid":1)"));
    folder_.write("rank1.json", documentOf(1, R"("pid":1,"tid":1)"));
    std::string cut = documentOf(1, R"("pid":1,"tid":1)");
    cut.resize(cut.rfind(R"(,{"ph")"));
    folder_.write("rank1_copy.json", cut + "]}");
    expectTwoRanks("duplicate-rank");
}

} // namespace
} // namespace bubblescope
