#include "core/formats/file_identity.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/formats/trace_bytes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

using test::countOf;

std::string kinetoOf(std::optional<int> rank, int start) {
    const std::string stated = rank ? fmt::format(R"("distributedInfo":{{"rank":{}}},)", *rank) : "";
    return fmt::format(
        R"({{{}"schemaVersion":1,"traceEvents":[{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{},"dur":5}}]}})", stated,
        start);
}

class FileIdentity : public testing::Test {
protected:
    ReadTraces read() {
        JobControl control;
        auto read = readTraces({folder_.path()}, control);
        EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().text());
        return read.ok() ? std::move(read).value() : ReadTraces{};
    }
    static std::vector<std::optional<std::int32_t>> ranksOf(const ReadTraces& read) {
        std::vector<std::optional<std::int32_t>> ranks;
        for (const TraceFile& file : read.trace->files())
            ranks.push_back(file.rank);
        return ranks;
    }

    test::ScratchFolder folder_;
};

TEST_F(FileIdentity, NamesDecideWhereFilesStateOneRank) {
    for (const int rank : {0, 1, 2})
        folder_.write(fmt::format("rank{}.json", rank), kinetoOf(0, rank));
    const ReadTraces read = this->read();
    EXPECT_THAT(ranksOf(read), testing::ElementsAre(0, 1, 2));
    EXPECT_EQ(countOf(read.problems, "rank-contradiction"), 3);
}

TEST_F(FileIdentity, FilesAreBelievedWhereTheirRanksDiffer) {
    folder_.write("rank0.json", kinetoOf(4, 0));
    folder_.write("rank1.json", kinetoOf(5, 1));
    const ReadTraces read = this->read();
    EXPECT_THAT(ranksOf(read), testing::ElementsAre(4, 5));
    EXPECT_EQ(countOf(read.problems, "rank-contradiction"), 2);
}

TEST_F(FileIdentity, FoldersAndFilesBesideStateRanks) {
    folder_.write("a_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", kinetoOf({}, 0));
    folder_.write("a_ascend_pt/profiler_info_3.json", R"({"rank_id": 3})");
    folder_.write("rank_7/trace.json", kinetoOf({}, 1));
    const ReadTraces read = this->read();
    EXPECT_THAT(ranksOf(read), testing::UnorderedElementsAre(3, 7));
    EXPECT_EQ(countOf(read.problems, "ignored-file"), 1);
    EXPECT_EQ(countOf(read.problems, "unusable-file"), 0);
}

TEST_F(FileIdentity, CopiesAreUsedOnce) {
    folder_.write("rank0.json", kinetoOf(0, 0));
    folder_.write("rank0 (1).json", kinetoOf(0, 0));
    folder_.write("rank1.json", kinetoOf(1, 0)); // the same events of another rank
    const ReadTraces read = this->read();
    EXPECT_THAT(ranksOf(read), testing::ElementsAre(0, 1));
    EXPECT_EQ(countOf(read.problems, "copy"), 1);
}

TEST_F(FileIdentity, RunsOfOneRankAreNoCopies) {
    folder_.write("run-a/rank0.json", kinetoOf(0, 0));
    folder_.write("run-b/rank0.json", kinetoOf(0, 9));
    const ReadTraces read = this->read();
    EXPECT_THAT(ranksOf(read), testing::ElementsAre(0, 0));
    EXPECT_EQ(countOf(read.problems, "copy"), 0);
}

TEST(RankInName, IsTheNumberAfterTheWord) {
    EXPECT_EQ(rankInName("rank3_trace.json"), 3);
    EXPECT_EQ(rankInName("rank-34.Jul_15.pt.trace.json.gz"), 34);
    EXPECT_EQ(rankInName("trace-rank_007.pftrace"), 7);
    EXPECT_EQ(rankInName("rank.json"), std::nullopt);
    EXPECT_EQ(rankInName("trace.json"), std::nullopt);
}

TEST(RanksAroundFiles, AreThoseOfTheNearestName) {
    const test::ScratchFolder folder;
    EXPECT_EQ(rankAround(folder.path() / "rank_3" / "rank5.json"), 5);
    EXPECT_EQ(rankAround(folder.path() / "rank_3" / "trace.json"), 3);
    EXPECT_EQ(rankAround(folder.path() / "franks" / "trace.json"), std::nullopt);
    folder.write("out/profiler_info_1.json", "{}");
    EXPECT_EQ(rankAround(folder.path() / "out" / "trace_view.json"), 1);
    folder.write("out/profiler_info_2.json", "{}");
    EXPECT_EQ(rankAround(folder.path() / "out" / "trace_view.json"), std::nullopt) << "two do not tell";
}

} // namespace
} // namespace bubblescope
