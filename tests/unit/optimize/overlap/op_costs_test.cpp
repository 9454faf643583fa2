// Cost-model files: the values read, and the errors of damaged ones.

#include "core/optimize/overlap/operators.h"
#include "core/optimize/overlap/study.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

namespace bubblescope::overlap {
namespace {

constexpr const char* kModel = R"({
  "name": "two operators", "note": ["for people"], "layers_per_stage": 3, "stream_priority": 0,
  "cut_time": "2us", "cut_budget": "9us", "slices": {"most": 6, "loss": 0.1},
  "forward": [{"op": "matmul", "time": "20us", "assumed": "8us", "splittable": true},
              {"op": "all-reduce", "time": "10us", "all_reduce": true}],
  "backward": [{"op": "grad", "time": "40us", "weight_grad": "20us"},
               {"op": "all-reduce", "time": "10us", "all_reduce": true}, {"op": "add", "time": "1us"}]})";

std::string errorOf(std::string_view text) {
    const auto costs = opCostsFromJson(text, "costs.json");
    if (costs.ok()) return "accepted";
    EXPECT_EQ(costs.error().kind, ErrorKind::Input);
    EXPECT_EQ(costs.error().where.find("costs.json"), 0U) << costs.error().text();
    return costs.error().text();
}

/// The model with one piece of its text replaced.
std::string with(std::string_view from, std::string_view to) {
    std::string text = kModel;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(OpCosts, EveryMemberIsRead) {
    const OpCosts costs = opCostsFromJson(kModel, "costs.json").value();
    EXPECT_EQ(costs.name, "two operators");
    EXPECT_EQ(costs.layers, 3);
    EXPECT_FALSE(costs.rules.high_priority);
    EXPECT_EQ(costs.rules.cut_time, TimeNs{2000});
    EXPECT_EQ(costs.cut_budget, TimeNs{9000});
    EXPECT_EQ(costs.max_slices, 6);
    EXPECT_EQ(costs.slice_loss, 0.1);
    ASSERT_EQ(costs.forward.size(), 2U);
    EXPECT_EQ(costs.forward[0].assumed, TimeNs{8000});
    EXPECT_TRUE(costs.forward[0].splittable);
    EXPECT_TRUE(costs.forward[1].all_reduce);
    EXPECT_EQ(costs.forward[1].assumed, TimeNs{10000}) << "its time where nothing else is said";
    EXPECT_EQ(costs.backward[0].weight_grad, TimeNs{20000});
}

TEST(OpCosts, OnlyTheListsAreNeeded) {
    const OpCosts costs =
        opCostsFromJson(R"({"forward":[{"op":"f","time":"1us"}],"backward":[{"op":"b","time":"2us"}]})", "x").value();
    EXPECT_EQ(costs.layers, 1);
    EXPECT_TRUE(costs.rules.high_priority);
    for (const Variant& variant : variants())
        EXPECT_EQ(studyPair(costs, variant).pairTime(), TimeNs{3000}) << variant.name << ": nothing to hide";
}

TEST(OpCosts, DamagedFilesAreRefusedWithThePlace) {
    const std::pair<std::string, const char*> cases[] = {
        {"", "not valid JSON"},
        {"[1,2]", "not a JSON object"},
        {std::string(kModel).substr(0, 200), "byte 2"},
        {with("\"20us\", \"assumed\"", "20, \"assumed\""), "forward[0].time is 20, not a time"},
        {with("\"20us\", \"assumed\"", "\"20\", \"assumed\""), "forward[0].time is \"20\""},
        {with("\"20us\", \"assumed\"", "\"-20us\", \"assumed\""), "forward[0].time"},
        {with("\"time\": \"1us\"", "\"tme\": \"1us\""), "backward[2].time is missing"},
        {with("\"op\": \"add\", ", ""), "backward[2].op is missing"},
        {with("\"splittable\": true", "\"splitable\": true"), "forward[0].splitable is unknown"},
        {with("\"splittable\": true", "\"splittable\": 1"), "forward[0].splittable is 1"},
        {with("\"weight_grad\": \"20us\"", "\"weight_grad\": \"41us\""), "backward[0].weight_grad is longer"},
        {with("\"layers_per_stage\": 3", "\"layers_per_stage\": 0"), "layers_per_stage is 0"},
        {with("\"layers_per_stage\": 3", "\"layers_per_stage\": 99999999999999999999"), "layers_per_stage"},
        {with("\"stream_priority\": 0", "\"stream_priority\": 1"), "stream_priority is 1"},
        {with("\"loss\": 0.1", "\"loss\": 1.5"), "slices.loss is 1.5"},
        {with("\"most\": 6", "\"most\": 17"), "slices.most is 17"},
        {with("\"slices\": {\"most\": 6, \"loss\": 0.1}", "\"slices\": 6"), "slices is not an object"},
        {with("{\"op\": \"add\", \"time\": \"1us\"}", "7"), "backward[2] is not an operator"},
        {with("\"forward\"", "\"foreward\""), "forward is not a list"},
        {with("\"20us\", \"assumed\"", "\"400s\", \"assumed\""), "check the units"},
        {with("\"cut_time\": \"2us\"", "\"cut_time\": \"2s\""), "cut_time is longer than a second"},
        {with("{\"op\": \"add\", \"time\": \"1us\"}", R"({"op": "r", "time": "1us", "all_reduce": true})"),
         "backward[2] is an all-reduce without a compute operator before it"},
        {R"({"forward":[{"op":"r","time":"1us","all_reduce":true}],"backward":[]})", "forward[0] is an all-reduce"},
        {with("\"splittable\": true", "\"splittable\": true, \"all_reduce\": true"), "forward[0].all_reduce"},
    };
    for (const auto& [text, expected] : cases)
        EXPECT_NE(errorOf(text).find(expected), std::string::npos) << errorOf(text);
}

TEST(OpCosts, FilesThatCannotBeReadAreNamed) {
    const bubblescope::test::ScratchFolder scratch;
    for (const std::string& file : {scratch.file("missing.json"), scratch.path().string()}) {
        const auto costs = readOpCosts(file);
        ASSERT_FALSE(costs.ok());
        EXPECT_EQ(costs.error().where, file);
    }
    EXPECT_EQ(readOpCosts(scratch.write("costs.json", kModel)).value().layers, 3);
}

TEST(OpCosts, SlicesOfOneLongOpHideSeveralAllReduces) {
    const OpCosts costs = opCostsFromJson(R"({
      "forward": [{"op": "matmul", "time": "20us", "splittable": true}],
      "backward": [{"op": "a", "time": "1us"}, {"op": "r", "time": "10us", "all_reduce": true},
                   {"op": "b", "time": "1us"}, {"op": "r", "time": "10us", "all_reduce": true},
                   {"op": "c", "time": "1us"}]})",
                                          "costs.json")
                              .value();
    const auto study = [&](const char* name) { return studyPair(costs, variantNamed(name).value()); };
    // In one piece the matmul covers one all-reduce; its two halves cover both.
    EXPECT_EQ(study("search").pairTime(), TimeNs{33'000});
    EXPECT_EQ(study("search-split").pairTime(), TimeNs{23'000});
    EXPECT_EQ(study("search-split").slices, 1);
    EXPECT_EQ(study("paddle").hidden[passIndex(Pass::Backward)], TimeNs{0}) << "20 do not fit into 10";
    EXPECT_EQ(study("paddle-split").pairTime(), TimeNs{23'000});
}

TEST(OpCosts, SearchedCutsAreNeverWorse) {
    for (const int priority : {-1, 0}) {
        OpCosts costs = opCostsFromJson(kModel, "costs.json").value();
        costs.rules.high_priority = priority < 0;
        const auto pair = [&](const char* name) { return studyPair(costs, variantNamed(name).value()).pairTime(); };
        EXPECT_LE(pair("search"), pair("none"));
        EXPECT_LE(pair("search"), pair("every"));
        EXPECT_LE(pair("search-split"), pair("search"));
        EXPECT_LE(pair("search-split+dw"), pair("dw"));
        EXPECT_EQ(pair("none"), 3 * TimeNs{30'000 + 51'000});
    }
    EXPECT_NE(variantNamed("serch").error().text().find("search-split"), std::string::npos);
}

} // namespace
} // namespace bubblescope::overlap
