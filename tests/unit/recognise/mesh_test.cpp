#include "core/recognise/mesh.h"
#include "core/recognise/run.h"
#include "tests/unit/formats/trace_bytes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bubblescope {
namespace {

using testing::HasSubstr;

MeshNumbers numbers(int pp, int dp, int cp, int tp, int ep) {
    return {{pp, dp, cp, tp, ep}};
}

TEST(Meshes, NumberRanksAsTorchtitanDoes) {
    const Mesh mesh = parseMesh("pp=4,dp=3,cp=2,tp=2,ep=4", "").value();
    // rank = ((pp*DP + dp)*CP + cp)*TP + tp
    EXPECT_EQ(mesh.placeOf(((2 * 3 + 1) * 2 + 1) * 2 + 1), numbers(2, 1, 1, 1, 3));
    EXPECT_EQ(mesh.placeOf(0), numbers(0, 0, 0, 0, 0));
    EXPECT_FALSE(mesh.placeOf(48).has_value());
    EXPECT_FALSE(mesh.placeOf(-1).has_value());
}

TEST(Meshes, NumberRanksInMegatronsOrders) {
    const Mesh usual = parseMesh("pp=2,dp=4,tp=2,ep=2", "megatron").value();
    EXPECT_EQ(usual.placeOf(8 + 3 * 2 + 1), numbers(1, 3, 0, 1, 1));
    const Mesh swapped = parseMesh("pp=2,dp=4,tp=2", "tp-cp-ep-pp-dp").value();
    EXPECT_EQ(swapped.placeOf(3 * 4 + 1 * 2 + 1), numbers(1, 3, 0, 1, 0));
}

TEST(Meshes, SayWhatIsWrong) {
    for (const auto& [sizes, order] : {std::pair<std::string, std::string>{"pp=4,dq=2", ""},
                                       {"pp", ""},
                                       {"pp=0", ""},
                                       {"pp=4,dp=2,ep=3", ""},
                                       {"pp=4", "tp-dp-pp"},
                                       {"pp=4", "fastest"},
                                       {"pp=1048576,dp=2", ""}}) {
        const auto mesh = parseMesh(sizes, order);
        ASSERT_FALSE(mesh.ok()) << sizes << ' ' << order;
        EXPECT_EQ(mesh.error().kind, ErrorKind::Usage);
    }
}

class MeshTraces : public testing::Test {
protected:
    /// Two stages of one micro-batch; ranks of a stage do the same at the same time.
    void writeRank(const std::string& name, int rank, int stage, const std::string& info = "") {
        const auto slice = [](int start, int end, const std::string& what) {
            return fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"{}","pid":1,"tid":1,"ts":{},"dur":{}}})",
                               what, start, end - start);
        };
        folder_.write(name,
                      fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"rank":{}{}}},"traceEvents":[{},{}]}})",
                                  rank, info, slice(stage * 10, stage * 10 + 10, fmt::format("PP:{}F0", stage)),
                                  slice(60 - stage * 20, 80 - stage * 20, fmt::format("PP:{}B0", stage))));
    }
    Result<bubblescope::Run> load(const std::string& mesh = "") {
        LoadOptions options;
        if (!mesh.empty()) options.mesh = parseMesh(mesh, "").value();
        JobControl control;
        return loadRun({folder_.path()}, control, options);
    }

    test::ScratchFolder folder_;
};

TEST_F(MeshTraces, UsersMeshTellsReplicasAndTensorRanks) {
    for (int rank = 0; rank < 8; ++rank)
        writeRank(fmt::format("r{}.json", rank), rank, rank / 4);
    const auto run = load("pp=2,dp=2,tp=2");
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_EQ(run.value().steps.size(), 2U) << "one for each data-parallel replica";
    EXPECT_EQ(run.value().steps[0].pp, 2);
    EXPECT_EQ(test::countOf(run.value().problems, "tensor-parallel"), 4);
    ASSERT_TRUE(run.value().places.has_value());
    EXPECT_EQ(run.value().places->source, "mesh");
    EXPECT_EQ(run.value().places->ranks.at(5), numbers(1, 0, 0, 1, 0));

    const auto small = load("pp=2,dp=2");
    ASSERT_FALSE(small.ok());
    EXPECT_THAT(small.error().text(), HasSubstr("outside the mesh"));
}

TEST_F(MeshTraces, ProcessGroupsTellPlaces) {
    for (int rank = 0; rank < 4; ++rank) {
        const int stage = rank / 2;
        const std::string ranks = rank % 2 == 0 ? "[0, 2]" : "[1, 3]";
        const std::string others = stage == 0 ? R"("[0, 1]")" : R"("[2, 3]")"; // on demand lists are texts
        writeRank(fmt::format("r{}.json", rank), rank, stage,
                  fmt::format(R"(,"pg_config":[{{"pg_desc":"default_pg","ranks":[0,1,2,3]}},)"
                              R"({{"pg_desc":"mesh_pp","ranks":{}}},{{"pg_desc":"mesh_tp","ranks":{}}}])",
                              ranks, others));
    }
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_TRUE(run.value().places.has_value());
    EXPECT_EQ(run.value().places->source, "process groups");
    EXPECT_EQ(run.value().places->sizes, numbers(2, 1, 1, 2, 1));
    EXPECT_EQ(run.value().steps.size(), 1U);
    EXPECT_EQ(test::countOf(run.value().problems, "tensor-parallel"), 2);
}

TEST_F(MeshTraces, FileNamesTellPlaces) {
    for (int rank = 0; rank < 4; ++rank)
        writeRank(fmt::format("job_dp_{}_pp{}.json", rank % 2, rank / 2), rank, rank / 2);
    const auto run = load();
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_TRUE(run.value().places.has_value());
    EXPECT_EQ(run.value().places->source, "file names");
    EXPECT_EQ(run.value().steps.size(), 2U);
}

} // namespace
} // namespace bubblescope
