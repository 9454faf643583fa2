#include "core/cost/memory_estimate.h"
#include "core/families/registry.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TransformerShape gpt() {
    TransformerShape shape;
    shape.layers = 8;
    shape.hidden = 1024;
    shape.heads = 16;
    shape.sequence = 512;
    shape.microbatch = 2;
    return shape;
}

TEST(TransformerSizes, AreThosePublishedFor16BitGpt) {
    const std::int64_t h = 1024;
    const std::int64_t a = 16;
    const std::int64_t s = 512;
    const std::int64_t tokens = 2 * s;
    const LayerSizes layer = transformerSizes(gpt()).value().layers.front();
    EXPECT_EQ(layer.parameters, 12 * h * h + 13 * h);
    EXPECT_EQ(layer.activation, tokens * (34 * h + 5 * a * s));
    EXPECT_EQ(layer.until_weight_grad, tokens * 32 * h);

    TransformerShape split = gpt();
    split.tp = 4;
    EXPECT_EQ(transformerSizes(split).value().layers[0].activation, tokens * (10 * h + 24 * h / 4 + 5 * a * s / 4));
    EXPECT_EQ(transformerSizes(split).value().layers[0].until_weight_grad, tokens * (8 * h + 24 * h / 4));
    split.sequence_parallel = true;
    EXPECT_EQ(transformerSizes(split).value().layers[0].activation, tokens * (34 * h + 5 * a * s) / 4);
    split.recompute = TransformerShape::Recompute::Attention;
    EXPECT_EQ(transformerSizes(split).value().layers[0].activation, tokens * 34 * h / 4);
    EXPECT_EQ(transformerSizes(split).value().layers[0].backward_workspace, tokens * 5 * a * s / 4);

    TransformerShape full = gpt();
    full.recompute = TransformerShape::Recompute::Full;
    const LayerSizes recomputed = transformerSizes(full).value().layers.front();
    EXPECT_EQ(recomputed.activation, tokens * 2 * h);
    EXPECT_EQ(recomputed.activation + recomputed.backward_workspace, layer.activation);
}

TEST(TransformerSizes, CoverLlamaAndItsEnds) {
    // Llama 3 8B: 32 layers, h 4096, 32 heads, 8 of them for keys and values, f 14336, V 128256.
    TransformerShape shape;
    shape.layers = 32;
    shape.hidden = 4096;
    shape.heads = 32;
    shape.kv_heads = 8;
    shape.ffn = 14336;
    shape.sequence = 8192;
    shape.vocabulary = 128256;
    shape.swiglu = true;
    shape.dropout = false;
    shape.flash_attention = true;
    const ModelSizes sizes = transformerSizes(shape).value();
    std::int64_t parameters = sizes.first.parameters + sizes.last.parameters;
    for (const LayerSizes& layer : sizes.layers)
        parameters += layer.parameters;
    EXPECT_EQ(parameters, 8'030'261'248) << "as published";
    EXPECT_EQ(sizes.layers[0].activation, std::int64_t{8192} * (4 * 2 * 4096 + 2 * 2 * (4096 + 1024) + 3 * 2 * 14336));
    EXPECT_EQ(sizes.first.activation, 0) << "no dropout behind the embedding";
    EXPECT_EQ(sizes.last.activation, std::int64_t{8192} * (2 * 2 * 4096 + 4 * 128256));
}

TEST(TransformerSizes, RefuseWhatDoesNotFit) {
    const auto refused = [](auto change) {
        TransformerShape shape = gpt();
        change(shape);
        const auto sizes = transformerSizes(shape);
        return !sizes.ok() && sizes.error().kind == ErrorKind::Usage && !sizes.error().hint.empty();
    };
    EXPECT_TRUE(refused([](auto& s) { s.layers = 0; }));
    EXPECT_TRUE(refused([](auto& s) { s.heads = 3; }));
    EXPECT_TRUE(refused([](auto& s) { s.tp = 5; }));
    EXPECT_TRUE(refused([](auto& s) { s.kv_heads = 3; }));
    EXPECT_TRUE(refused([](auto& s) { s.sequence = std::int64_t{1} << 62; }));
    EXPECT_TRUE(refused(
        [](auto& s) { s.hidden = 100'000'000, s.sequence = 1'000'000'000, s.microbatch = 1'000'000, s.heads = 1; }));
}

TEST(MemoryEstimate, CutsTheModelIntoStages) {
    ModelSizes sizes;
    sizes.layers.assign(5, {10, 100, 40, 0, 3, 7});
    sizes.first = {1000, 5, 0, 0, 0, 0};
    sizes.last = {2000, 6, 6, 0, 0, 90};
    sizes.optimizer_shards = 4;
    const Schedule schedule = makeSchedule({"1f1b", "", 2, 2, 1}).value();
    const MemoryModel model = memoryModel(sizes, schedule).value();
    ASSERT_EQ(model.stages.size(), 2U);
    EXPECT_EQ(model.stages[0].weights, 2 * (3 * 10 + 1000));
    EXPECT_EQ(model.stages[0].gradients, 2 * 1030);
    EXPECT_EQ(model.stages[0].optimizer, 12 * 1030 / 4);
    EXPECT_EQ(model.stages[0].activations.forward, 305);
    EXPECT_EQ(model.stages[0].activations.weight_grad, 120);
    EXPECT_EQ(model.stages[0].activations.input_grad, 185);
    EXPECT_EQ(model.stages[0].forward_workspace, 3);
    EXPECT_EQ(model.stages[0].backward_workspace, 7);
    EXPECT_EQ(model.stages[1].weights, 2 * (2 * 10 + 2000));
    EXPECT_EQ(model.stages[1].backward_workspace, 90);

    sizes.layers_per_stage = {1, 4};
    EXPECT_EQ(memoryModel(sizes, schedule).value().stages[1].activations.forward, 406);
    sizes.layers_per_stage = {1, 3};
    EXPECT_FALSE(memoryModel(sizes, schedule).ok());
    sizes.layers_per_stage = {};
    sizes.layers.resize(1);
    EXPECT_FALSE(memoryModel(sizes, schedule).ok()) << "a stage without a layer";
}

TEST(MemoryEstimate, PipelinesSideBySideHoldTheModelTwice) {
    ModelSizes sizes;
    sizes.layers.assign(8, {10, 100, 40, 0, 0});
    const Schedule schedule = makeSchedule({"chimera", "", 4, 4, 2}).value();
    const MemoryModel model = memoryModel(sizes, schedule).value();
    ASSERT_EQ(model.stages.size(), 8U);
    std::int64_t weights = 0;
    for (const RankMemory& rank : memoryUse(schedule, model))
        weights += rank.weights;
    EXPECT_EQ(weights, 2 * 2 * 80);
}

TEST(MemoryEstimate, SizesThatCannotBeAddedUpAreRefused) {
    ModelSizes sizes;
    sizes.layers.assign(4, {std::int64_t{1} << 59, std::int64_t{1} << 59, 0, 0, 0});
    EXPECT_FALSE(memoryModel(sizes, makeSchedule({"1f1b", "", 4, 1000, 1}).value()).ok());
}

} // namespace
} // namespace bubblescope
