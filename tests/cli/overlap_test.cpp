#include "tests/cli/program.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

namespace bubblescope::test {
namespace {

std::string example(const std::string& name) {
    return (dataDir() / "../../resources/examples/op-costs" / name).string();
}

const std::string kPaddle = "gpt3-6.7b-mp2-paddle.json";

nlohmann::json overlapJson(const std::string& file, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"overlap", "--op-costs", file, "--pp", "4", "--microbatches", "16", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = runProgram(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.json();
}

nlohmann::json variant(const nlohmann::json& document, const std::string& name) {
    for (const auto& one : document["variants"]) {
        if (one["variant"] == name) return one;
    }
    ADD_FAILURE() << name;
    return {};
}

TEST(OverlapCommand, PaddlesFiguresHideLessThanAThird) {
    const auto document = overlapJson(example(kPaddle));
    const auto paddle = variant(document, "paddle");
    EXPECT_EQ(paddle["pair"]["all_reduce_ns"]["backward"], 16 * 400'000);
    // Six forward pieces until the rule meets an op that is longer than the all-reduce.
    EXPECT_EQ(paddle["pair"]["hidden_ns"]["backward"], (55 + 399 + 368 + 389 + 244 + 295) * 1000);
    EXPECT_EQ(paddle["pair"]["pieces"].size(), 2U * 6 + 2);
    int blocking = 0;
    for (const auto& one : paddle["pair"]["backward_all_reduces"])
        blocking += one["own_stream"].get<bool>() ? 0 : 1;
    EXPECT_EQ(blocking, 10);
    for (const auto& step : paddle["steps"]) {
        EXPECT_GT(step["backward_hidden_share"], 0.1);
        EXPECT_LT(step["backward_hidden_share"], 1.0 / 3);
    }
    EXPECT_EQ(paddle["steps"][0]["pairs"], 15 + 14 + 13 + 12);
    EXPECT_LT(paddle["steps"][0]["gain"], 0) << "plain 1F1B brings the forward's input too late";
    EXPECT_GT(paddle["steps"][1]["gain"], 0.01);
}

TEST(OverlapCommand, EachRemedyGains) {
    for (const std::string& file : {example(kPaddle), example("gpt3-6.7b-mp2-nvlink.json"),
                                    example("hidden-12288-tp8-nvlink.json"), example("hidden-12288-tp8-pcie.json")}) {
        const auto document = overlapJson(file, {"--layers", "3"});
        const auto pair = [&](const char* name) { return variant(document, name)["pair"]["pair_ns"].get<long>(); };
        EXPECT_LE(pair("paddle"), pair("none")) << file;
        EXPECT_LE(pair("search"), pair("paddle")) << file;
        EXPECT_LE(pair("search"), pair("every")) << file;
        EXPECT_LE(pair("search-split"), pair("search")) << file;
        EXPECT_LT(pair("dw"), pair("none")) << file;
        EXPECT_LE(pair("search-split+dw"), pair("dw")) << file;
        const long ideal = document["ideal_makespan_ns"].get<long>();
        for (const auto& one : document["variants"])
            EXPECT_GE(one["steps"][1]["makespan_ns"].get<long>(), ideal) << file << one["variant"];
    }
}

TEST(OverlapCommand, WithoutOverlapTheStepIsOneFOneBs) {
    const auto none = variant(overlapJson(example(kPaddle)), "none");
    const auto simulated = runProgram({"simulate", "--schedule", "1f1b", "--pp", "4", "--microbatches", "16",
                                       "--op-costs", example(kPaddle), "--json"});
    ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
    for (const auto& step : none["steps"])
        EXPECT_EQ(step["makespan_ns"], simulated.json()["makespan_ns"]);
}

TEST(OverlapCommand, SimulateAndFormulaTakeThePairsTime) {
    const auto document = overlapJson(example(kPaddle));
    for (const char* cuts : {"paddle", "search-split+dw"}) {
        const auto pair = variant(document, cuts)["pair"];
        const long both = pair["forward_ns"].get<long>() + pair["backward_ns"].get<long>();
        for (const auto& [flavor, pairs] : {std::pair{"combined", 15L}, {"paddle-mp", 29L}}) {
            const std::vector<std::string> options{
                "--schedule", "1f1b-overlap", "--flavor",       flavor,        "--pp", "4",     "--microbatches",
                "16",         "--op-costs",   example(kPaddle), "--pair-cuts", cuts,   "--json"};
            const long expected = 4 * both + pairs * pair["pair_ns"].get<long>();
            for (const char* command : {"simulate", "formula"}) {
                std::vector<std::string> arguments{command};
                arguments.insert(arguments.end(), options.begin(), options.end());
                const auto result = runProgram(arguments);
                ASSERT_EQ(result.exit_code, 0) << result.err;
                EXPECT_EQ(result.json()["makespan_ns"], expected) << command << ' ' << flavor << ' ' << cuts;
            }
        }
    }
}

TEST(OverlapCommand, TextTellsWhyAndDraws) {
    const auto result = runProgram({"overlap", "--op-costs", example(kPaddle), "--pp", "4", "--microbatches", "16",
                                    "--layers", "4", "--chart", "paddle,search"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    for (const char* text : {"'matmul ffn1' of layer 1", "55.0 us", "compute    |B0", "all-reduce |...", "search, "})
        EXPECT_NE(result.out.find(text), std::string::npos) << text << "\n" << result.out;
}

TEST(OverlapCommand, BadInputHasItsExitCode) {
    const ScratchFolder scratch;
    const std::string damaged = scratch.write("costs.json", R"({"forward":[{"op":"f","time":"1"}]})").string();
    const auto code = [](std::vector<std::string> options) {
        options.insert(options.begin(), {"overlap", "--pp", "2", "--microbatches", "4", "--op-costs"});
        const auto result = runProgram(options);
        EXPECT_EQ(result.out, "");
        return result.exit_code;
    };
    EXPECT_EQ(code({scratch.file("missing.json")}), 3);
    EXPECT_EQ(code({damaged}), 3);
    const std::string good = example(kPaddle);
    EXPECT_EQ(code({good, "--explain", "serch"}), 2);
    EXPECT_EQ(code({good, "--chart", "none,serch"}), 2);
    EXPECT_EQ(code({good, "--layers", "0"}), 2);
    EXPECT_EQ(code({good, "--comm", "5"}), 2);
    EXPECT_EQ(runProgram({"overlap", "--pp", "2", "--microbatches", "4"}).exit_code, 2);
    EXPECT_EQ(runProgram({"overlap", "--op-costs", good, "--pp", "0", "--microbatches", "4"}).exit_code, 2);
    const auto both = runProgram(
        {"simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4", "--op-costs", good, "--forward", "1ms"});
    EXPECT_EQ(both.exit_code, 2);
    EXPECT_NE(both.err.find("--op-costs"), std::string::npos);
}

} // namespace
} // namespace bubblescope::test
