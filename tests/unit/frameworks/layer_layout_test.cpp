#include "core/frameworks/layer_layout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bubblescope {
namespace {

std::string problemOf(const std::string& text, int pp) {
    const auto layout = layoutFromMegatron(text, pp);
    return layout.ok() ? std::string("none") : layout.error().message;
}

/// From the descriptions of Megatron-core's pull requests 5318 and 5329.
TEST(LayerLayout, ReadsLossesAndMultiTokenUnitsOfSeveralStages) {
    const LayerLayout losses = layoutFromMegatron("E|(t|)*10m|m|m|LL|LL", 8).value();
    ASSERT_EQ(losses.stages.size(), 16U);
    EXPECT_EQ(losses.stages[13], std::vector{LayerKind::MultiToken});
    EXPECT_EQ(losses.stages[15], (std::vector{LayerKind::Loss, LayerKind::Loss}));
    EXPECT_EQ(losses.layers().layers_per_stage[11], 1);
    const LayerLayout units = layoutFromMegatron("E|(t|)*11m|m|m|L", 8).value();
    EXPECT_EQ(units.stages.size(), 16U);
    const auto written = layoutToMegatron(units, 8);
    ASSERT_FALSE(written.ok()) << "released versions reject it";
    EXPECT_EQ(written.error().message, "layout: stages 12 and 13 both have m units");
}

TEST(LayerLayout, ReadsWhatMegatronReads) {
    // Megatron-core documents this one: 1 stage, 29 stages of two layers, then a separate stage for m and for L.
    const auto layout = layoutFromMegatron("Ettt|(tt|)*29,m|L", 16);
    ASSERT_TRUE(layout.ok()) << layout.error().text();
    ASSERT_EQ(layout.value().stages.size(), 32U);
    EXPECT_EQ(layout.value().units().layers_per_stage.front(), 4);
    EXPECT_EQ(layout.value().layers().layers_per_stage.front(), 3);
    EXPECT_EQ(layout.value().stages[30], std::vector<LayerKind>{LayerKind::MultiToken});
    EXPECT_EQ(layout.value().layers().layers_per_stage[31], 0);
    const auto empty = layoutFromMegatron("E||t*5|L", 2);
    ASSERT_TRUE(empty.ok()) << empty.error().text();
    EXPECT_EQ(empty.value().units().layers_per_stage, (std::vector<int>{1, 0, 5, 1}));
}

TEST(LayerLayout, NamesWhatMegatronRejects) {
    EXPECT_EQ(problemOf("Ett|xL", 2), "layout, character 5: 'x' is not a unit (E, t, m or L)");
    EXPECT_EQ(problemOf("Ett|t|L", 2), "layout: 3 stages cannot be split evenly over 2 ranks");
    EXPECT_EQ(problemOf("tt|tL", 2), "layout: does not begin with exactly one E");
    EXPECT_EQ(problemOf("Et|tLt", 2), "layout: does not end with exactly one L");
    EXPECT_EQ(problemOf("Et|mt|t|L", 4), "layout: stage 1 has a t after an m");
    EXPECT_EQ(problemOf("Et|mm|L|L", 4), "layout: does not end with exactly one L"); // two m have three losses
    EXPECT_EQ(problemOf("Et|L|m|L", 4), "layout: does not end with exactly one L");
    EXPECT_EQ(problemOf("Et|m||L", 2),
              "layout: the m units are in chunk 0 of rank 1, which is not the rank's last chunk");
    EXPECT_EQ(problemOf("E(t|", 1), "layout, character 2: the bracket is not closed");
    EXPECT_EQ(problemOf("E(t|)L", 2), "layout, character 5: a bracket needs a factor, such as (tt|)*3");
    EXPECT_EQ(problemOf("Et*x|L", 2), "layout, character 3: '*' needs a number up to 1000000");
    EXPECT_NE(problemOf("E(t*1000|)*1000000|L", 2).find("more than"), std::string::npos);
    EXPECT_NE(problemOf("", 1), "none");
}

TEST(LayerLayout, WritesWhatItReads) {
    for (int pp = 1; pp <= 4; ++pp) {
        for (int vpp = 1; vpp <= 3; ++vpp) {
            for (int spare = 0; spare < 9; ++spare) {
                Partition partition;
                for (int s = 0; s < pp * vpp; ++s)
                    partition.layers_per_stage.push_back(1 + (s * spare) % 6);
                const LayerLayout layout = layoutOf(partition);
                const auto text = layoutToMegatron(layout, pp);
                ASSERT_TRUE(text.ok()) << text.error().text();
                const auto again = layoutFromMegatron(text.value(), pp);
                ASSERT_TRUE(again.ok()) << text.value() << ": " << again.error().text();
                EXPECT_EQ(again.value().stages, layout.stages) << text.value();
                const auto parts = partitionFromDeepSpeed(partitionToDeepSpeed(partition));
                ASSERT_TRUE(parts.ok());
                EXPECT_EQ(parts.value().layers_per_stage, partition.layers_per_stage);
            }
        }
    }
    const auto text = layoutToMegatron(layoutOf(Partition{{5, 2, 2, 2, 1}}), 5);
    EXPECT_EQ(text.value(), "Et*5|(tt|)*3tL");
}

TEST(LayerLayout, KeepsAnEmbeddingThatCountsAsALayer) {
    const std::vector<LayerKind> kinds{LayerKind::Embedding, LayerKind::Transformer, LayerKind::Transformer,
                                       LayerKind::MultiToken, LayerKind::Loss};
    const auto text = layoutToMegatron(layoutOf(Partition{{2, 3}}, kinds), 2);
    EXPECT_EQ(text.value(), "Et|tmL");
    EXPECT_EQ(layoutToMegatron(layoutOf(Partition{{1, 4}}, kinds), 2).value(), "E|ttmL");
}

TEST(LayerLayout, RejectsListsThatDeepSpeedWouldNotHold) {
    for (const char* text : {"", "[]", "0", "1,4", "0,5,4", "0,a", "0,4]x"})
        EXPECT_FALSE(partitionFromDeepSpeed(text).ok()) << text;
    EXPECT_EQ(partitionFromDeepSpeed("0, 5 ,9").value().layers_per_stage, (std::vector<int>{5, 4}));
}

TEST(LayerLayout, NamesModules) {
    const LayerLayout layout = layoutOf(Partition{{1, 2}});
    EXPECT_EQ(modulesPerStage(layout, false).value(),
              R"([["tok_embeddings", "layers.0"], ["layers.1", "layers.2", "norm", "lm_head"]])");
    EXPECT_NE(modulesPerStage(layout, true).value().find(R"("model.rotary_emb", "model.layers.1")"), std::string::npos);
}

} // namespace
} // namespace bubblescope
