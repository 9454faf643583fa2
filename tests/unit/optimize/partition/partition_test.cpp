#include "core/cost/partition.h"
#include "tests/support/oracles.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

using Counts = std::vector<int>;

TEST(Partition, GivesWhatIsLeftOverToTheFirstStages) {
    EXPECT_EQ(partitionEvenly(8, 4).value().layers_per_stage, (Counts{2, 2, 2, 2}));
    EXPECT_EQ(partitionEvenly(7, 4).value().layers_per_stage, (Counts{2, 2, 2, 1}));
    EXPECT_EQ(partitionEvenly(5, 4).value().layers_per_stage, (Counts{2, 1, 1, 1}));
    EXPECT_EQ(partitionEvenly(4, 4).value().layers_per_stage, (Counts{1, 1, 1, 1}));
    EXPECT_FALSE(partitionEvenly(3, 4).ok());
    EXPECT_FALSE(partitionEvenly(-3, 4).ok());
    EXPECT_FALSE(partitionEvenly(3, 0).ok());
    EXPECT_FALSE(partitionEvenly(2'000'000'000, 4).ok());
}

TEST(Partition, MakesRoomOnTheFirstAndLastStage) {
    // 30 layers and one each for embedding and head are 32 parts on 8 stages.
    EXPECT_EQ(partitionEvenly(30, 8, 1, 1).value().layers_per_stage, (Counts{3, 4, 4, 4, 4, 4, 4, 3}));
    EXPECT_EQ(partitionEvenly(31, 8, 1, 1).value().layers_per_stage, (Counts{4, 4, 4, 4, 4, 4, 4, 3}));
    EXPECT_EQ(partitionEvenly(6, 1, 1, 1).value().layers_per_stage, (Counts{6}));
    EXPECT_FALSE(partitionEvenly(2, 2, 1, 3).ok()) << "nothing would be left for the last stage";
    EXPECT_FALSE(partitionEvenly(8, 4, -1, 0).ok());
}

TEST(Partition, DealsEachRanksLayersToItsChunks) {
    const Partition seed = partitionByRank({5, 3}, 2, Placement::Loop).value();
    EXPECT_EQ(seed.layers(), (std::vector<std::vector<int>>{{0, 1, 2}, {3, 4}, {5, 6}, {7}}));
    EXPECT_EQ(partitionByRank({5, 3}, 2, Placement::V).value().layers_per_stage, (Counts{3, 2, 1, 2}));
    const auto too_few = partitionByRank({5, 1}, 2, Placement::Loop);
    ASSERT_FALSE(too_few.ok());
    EXPECT_EQ(too_few.error().kind, ErrorKind::Usage);
    EXPECT_NE(too_few.error().message.find("rank 1 has 1 layers for its 2 chunks"), std::string::npos);
}

/// PaddlePaddle's cut of layers that the user placed rank by rank, the rule this follows.
TEST(Partition, EqualsPaddleForUserGivenLayers) {
    const test::Json& document = test::oracleDocument("paddle/layer_segmentation.json");
    int compared = 0;
    int refused = 0;
    for (const auto& one : document.at("pir_vpp")) {
        const auto& params = one.at("params");
        const auto& expected = one.contains("develop_55325a0d") ? one.at("develop_55325a0d") : one.at("pr70230_final");
        Counts per_rank(params.at("pp_degree").get<std::size_t>(), 0);
        for (const auto& stage : params.at("user_layer_to_stage"))
            ++per_rank.at(stage.get<std::size_t>());
        const auto partition = partitionByRank(per_rank, params.at("vpp_degree").get<int>(), Placement::Loop);
        if (expected.contains("rejected")) {
            EXPECT_FALSE(partition.ok()) << params.dump();
            ++refused;
            continue;
        }
        ASSERT_TRUE(partition.ok()) << params.dump() << partition.error().text();
        const auto layers = partition.value().layers();
        ASSERT_EQ(layers.size(), expected.at("segments").size());
        for (std::size_t s = 0; s < layers.size(); ++s) {
            EXPECT_EQ(layers[s], expected.at("segments")[s].at("layers").get<Counts>())
                << params.dump() << " stage " << s;
        }
        ++compared;
    }
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 20);
    EXPECT_GT(refused, 0);
}

} // namespace
} // namespace bubblescope
