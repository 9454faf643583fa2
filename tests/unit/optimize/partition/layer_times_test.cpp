#include "core/optimize/partition/layer_times.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TEST(LayerTimes, JsonWithUnitsCountsAndOuterLayers) {
    const auto layers = layerTimesFromJson(R"({
        "unit": "ms",
        "embedding": {"forward": 0.25, "backward": 0.5},
        "layers": [{"name": "dense", "forward": 1.5, "backward": 3, "count": 2, "memory": 7},
                   {"name": "moe", "forward": "2500us", "input_grad": 3, "weight_grad": 1}],
        "head": {"name": "head", "forward": "4ms", "backward": "9ms", "input_grad": "4ms"}
    })",
                                           "file");
    ASSERT_TRUE(layers.ok()) << layers.error().text();
    ASSERT_EQ(layers.value().size(), 5U);
    EXPECT_EQ(layers.value()[0].times.forward, TimeNs{250'000});
    EXPECT_EQ(layers.value()[2].name, "dense");
    EXPECT_EQ(layers.value()[2].memory, 7);
    EXPECT_EQ(layers.value()[2].times.input_grad, TimeNs{1'500'000});
    EXPECT_EQ(layers.value()[3].times.forward, TimeNs{2'500'000});
    EXPECT_EQ(layers.value()[3].times.backward, TimeNs{4'000'000});
    EXPECT_EQ(layers.value()[4].times.weight_grad, TimeNs{5'000'000});
}

TEST(LayerTimes, CsvWithUnitsInTheHeaderOrTheCell) {
    const auto layers = layerTimesFromCsv(
        "name,forward_us,backward,memory\r\nblock 0,1500,3ms,4\r\n\r\n\"block 1\",0.0004,20ns,\r\n", "file");
    ASSERT_TRUE(layers.ok()) << layers.error().text();
    ASSERT_EQ(layers.value().size(), 2U);
    EXPECT_EQ(layers.value()[0].times.forward, TimeNs{1'500'000});
    EXPECT_EQ(layers.value()[0].times.backward, TimeNs{3'000'000});
    EXPECT_EQ(layers.value()[0].memory, 4);
    EXPECT_EQ(layers.value()[1].name, "block 1");
    EXPECT_EQ(layers.value()[1].times.forward, TimeNs{0}); // finer than a nanosecond
}

TEST(LayerTimes, DamageIsNamedWithItsPlace) {
    const auto textOf = [](const Result<std::vector<Layer>>& layers) {
        return layers.ok() ? std::string("accepted") : layers.error().text();
    };
    const auto json = [&](const char* text) { return textOf(layerTimesFromJson(text, "f.json")); };
    const auto csv = [&](const char* text) { return textOf(layerTimesFromCsv(text, "f.csv")); };
    EXPECT_NE(json("{").find("f.json, byte"), std::string::npos);
    EXPECT_NE(json("7").find("list \"layers\" missing"), std::string::npos);
    EXPECT_NE(json("[]").find("contains no layer"), std::string::npos);
    EXPECT_NE(json(R"([{"forward":1,"backward":2}])").find("layers[0]: forward is 1 without a unit"),
              std::string::npos);
    EXPECT_NE(json(R"({"unit":"hours","layers":[]})").find("unit is \"hours\""), std::string::npos);
    EXPECT_NE(json(R"({"unit":"ms","layers":[{"forward":1}]})").find("backward is missing"), std::string::npos);
    EXPECT_NE(json(R"({"unit":"ms","layers":[{"backward":1}]})").find("forward is missing"), std::string::npos);
    EXPECT_NE(json(R"({"unit":"ms","layers":[{"forward":-1,"backward":1}]})").find("forward is -1"), std::string::npos);
    EXPECT_NE(json(R"({"unit":"ms","layers":[{"forward":1,"bakward":1}]})").find("unknown field"), std::string::npos);
    EXPECT_NE(json(R"({"unit":"ms","layers":[{"forward":1,"backward":1,"count":0}]})").find("count is 0"),
              std::string::npos);
    EXPECT_NE(json(R"({"unit":"ms","layers":[{"forward":1,"backward":4,"input_grad":1,"weight_grad":1}]})")
                  .find("backward is not"),
              std::string::npos);
    EXPECT_NE(csv("").find("contains no layer"), std::string::npos);
    EXPECT_NE(csv("forward,size\n").find("f.csv, line 1: unknown column 'size'"), std::string::npos);
    EXPECT_NE(csv("forward,backward\n1ms\n").find("f.csv, line 2: 1 instead of 2 cells"), std::string::npos);
    EXPECT_NE(csv("forward,backward\n1ms,two\n").find("f.csv, line 2: backward is 'two'"), std::string::npos);
    EXPECT_NE(csv("forward,backward\n1ms,2parsec\n").find("unknown unit 'parsec'"), std::string::npos);
    EXPECT_NE(csv("forward,backward\n1ms,1e30s\n").find("use a time from 0"), std::string::npos);
}

} // namespace
} // namespace bubblescope
