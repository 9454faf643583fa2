#include "core/recognise/rule_table.h"
#include "core/recognise/run.h"
#include "tests/unit/formats/trace_bytes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace bubblescope {
namespace {

using testing::HasSubstr;

NamePattern pattern(const std::string& text) {
    return NamePattern::parse(text, "here").value();
}

TEST(NamePatterns, TakeFieldsOffNames) {
    const auto parts = pattern("fwd mb{microbatch}[ chunk{chunk}]").match("fwd mb12 chunk3");
    ASSERT_TRUE(parts.has_value());
    EXPECT_EQ(parts->get(RuleField::MicrobatchId), 12);
    EXPECT_EQ(parts->get(RuleField::ChunkId), 3);
    const auto shorter = pattern("fwd mb{microbatch}[ chunk{chunk}]").match("fwd mb12");
    ASSERT_TRUE(shorter.has_value());
    EXPECT_FALSE(shorter->get(RuleField::ChunkId).has_value());
    EXPECT_FALSE(pattern("fwd mb{microbatch}").match("fwd mb12x").has_value()) << "names match as a whole";
    EXPECT_FALSE(pattern("fwd mb{microbatch}").match("fwd mb").has_value());
    EXPECT_TRUE(pattern("*step#{step}*").match("Optimizer.step#4.x").has_value());
    EXPECT_EQ(pattern("({stage}F{microbatch};{stage}B{microbatch})").match("(1F2;3B4)")->get(RuleField::StageId, 1), 3);
    EXPECT_EQ(pattern("{kind}_{microbatch}").match("bwd_7"), std::nullopt) << "a word takes the underscore with it";
    EXPECT_EQ(pattern("{kind} {microbatch}").match("bwd 7")->kind, "bwd");
    EXPECT_TRUE(pattern("\\[{rank}\\]").match("[5]").has_value());
}

TEST(NamePatterns, SayWhatIsWrongWithThem) {
    for (const auto& [text, what] : {std::pair<std::string, std::string>{"a{bogus}", "known fields: kind, microbatch"},
                                     {"a{rank", "missing }"},
                                     {"a[b", "not closed"},
                                     {"a]b", "] without ["},
                                     {"a\\", "nothing follows"},
                                     {std::string(2000, 'a'), "has 2000 characters"}}) {
        const auto parsed = NamePattern::parse(text, "rules.json");
        ASSERT_FALSE(parsed.ok()) << text;
        EXPECT_THAT(parsed.error().text(), HasSubstr(what));
        EXPECT_THAT(parsed.error().where, HasSubstr("rules.json"));
    }
}

TEST(NamePatterns, TakeNoWayTwice) {
    // Without memory of dead ends each of these would take longer than anybody waits.
    std::string many_parts;
    for (int i = 0; i < 150; ++i)
        many_parts += "[a]";
    const auto parts = NamePattern::parse(many_parts + "b", "rules.json");
    ASSERT_TRUE(parts.ok());
    EXPECT_FALSE(parts.value().match(std::string(150, 'a')).has_value());
    EXPECT_TRUE(parts.value().match(std::string(150, 'a') + "b").has_value());
    const auto stars = NamePattern::parse("*a*a*a*a*a*a*a*a*a*a*b", "rules.json");
    ASSERT_TRUE(stars.ok());
    EXPECT_FALSE(stars.value().match(std::string(500, 'a')).has_value());
    EXPECT_TRUE(stars.value().match(std::string(500, 'a') + "b").has_value());
}

class Rules : public testing::Test {
protected:
    Result<RulesFile> read(const std::string& rule) {
        return readRules(folder_.write("rules.json", R"({"rules": [)" + rule + "]}").string());
    }
    static std::string slice(const std::string& name, int start, int end, const std::string& args = "") {
        return fmt::format(R"({{"ph":"X","cat":"x","name":"{}","pid":1,"tid":1,"ts":{},"dur":{},"args":{{{}}}}},)",
                           name, start, end - start, args);
    }
    void writeRank(int rank, std::string events) {
        events.pop_back();
        folder_.write(fmt::format("traces/rank{}.json", rank), "[" + events + "]");
    }
    Result<bubblescope::Run> load(std::vector<RecognitionRule> rules) {
        JobControl control;
        LoadOptions options;
        options.rules = std::move(rules);
        return loadRun({folder_.path() / "traces"}, control, options);
    }

    test::ScratchFolder folder_;
};

TEST_F(Rules, OfAUserFindOpsAndTransfers) {
    writeRank(0, slice("fwd mb0 chunk0", 0, 10) + slice("snd mb0", 10, 11) + slice("bwd mb0 chunk0", 40, 60) +
                     slice("fwd mb0 chunk0", 100, 110) + slice("bwd mb0 chunk0", 140, 160));
    writeRank(1, slice("rcv mb0", 0, 12) + slice("fwd mb0 chunk0", 12, 20) + slice("bwd mb0 chunk0", 20, 40) +
                     slice("fwd mb0 chunk0", 112, 120) + slice("bwd mb0 chunk0", 120, 140));
    EXPECT_FALSE(load({}).ok()) << "no built-in rule knows these names";
    const auto rules = read(R"({"name": "ours", "ops": [{"name": "{kind} mb{microbatch} chunk{chunk}"}],
                               "kinds": {"fwd": "F", "bwd": "B"},
                               "transfers": [{"name": "snd mb{microbatch}", "is": "send", "payload": "activation"},
                                             {"name": "rcv mb{microbatch}", "is": "receive", "payload": "activation"}]})");
    ASSERT_TRUE(rules.ok()) << rules.error().text();
    const auto run = load(rules.value().ops);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().annotation, "ours");
    ASSERT_EQ(run.value().steps.size(), 2U) << "an op that comes again is of the next step";
    const StepTimeline& step = run.value().steps[0];
    EXPECT_EQ(step.pp, 2);
    ASSERT_EQ(step.comm[0].size(), 1U);
    EXPECT_EQ(step.comm[0][0].stage, Stage{1});
    ASSERT_EQ(step.comm[1].size(), 1U);
    EXPECT_EQ(step.comm[1][0].peer, Rank{0});
}

TEST_F(Rules, TakeFieldsFromArgs) {
    for (const int rank : {0, 1}) {
        std::string events;
        for (const int step : {3, 4}) {
            const std::string args = fmt::format(R"("what":"fw","mb":0,"it":{},"r":{})", step, rank);
            const std::string back = fmt::format(R"("what":"bw","mb":0,"it":{},"r":{})", step, rank);
            events += slice("op", step * 100 + rank * 10, step * 100 + 10 + rank * 10, args) +
                      slice("op", step * 100 + 60 - rank * 20, step * 100 + 80 - rank * 20, back) +
                      slice("op", step * 100 + 90, step * 100 + 91, R"("what":"log","mb":0,"it":3)");
        }
        writeRank(7 - rank, events);
    }
    const auto rules = read(R"({"name": "ours", "ops": [{"name": "op"}], "kinds": {"fw": "F", "bw": "B"},
                               "args": {"kind": "what", "microbatch": "mb", "step": "it", "rank": "r"}})");
    ASSERT_TRUE(rules.ok()) << rules.error().text();
    const auto run = load(rules.value().ops);
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_EQ(run.value().steps.size(), 2U);
    EXPECT_EQ(run.value().steps[1].index, 4);
    EXPECT_EQ(run.value().steps[1].ranks[1][0].start - run.value().steps[1].ranks[0][0].start, TimeNs{10'000});
}

TEST_F(Rules, ErrorsNameFilePlaceAndRemedy) {
    for (const auto& [rule, what] :
         {std::pair<std::string, std::string>{R"({"ops": []})", "rules[0], name is missing"},
          {R"({"name": "x"})", "rules[0], ops is missing"},
          {R"({"name": "x", "ops": [{"name": "a{microbatch}", "kind": "Q"}]})", "rules[0], ops[0], kind is 'Q'"},
          {R"({"name": "x", "ops": [{"name": "a", "kind": "F"}, {"name": "b{microbatch}", "kind": "B"}]})",
           "has no micro-batch"},
          {R"({"name": "x", "ops": [{"name": "a{microbatch}"}]})", "has no kind"},
          {R"({"name": "x", "ops": [{"name": "a{oops}", "kind": "F"}]})", "rules[0], ops[0], name"},
          {R"({"name": "x", "ops": [{"name": "a{microbatch}", "kind": "F"}], "colour": 1})",
           "colour is not a known field"},
          {R"({"name": "x", "ops": [{"name": "a{microbatch}", "kind": "F"}], "rank": "dice"})", "rank is not one of"},
          {R"({"name": "x", "ops": [{"name": "a{microbatch}", "kind": "F"}], "args": {"mb": "x"}})",
           "mb is not a field"},
          {R"({"name": "x")", "not valid JSON"}}) {
        const auto rules = read(rule);
        ASSERT_FALSE(rules.ok()) << rule;
        EXPECT_EQ(rules.error().kind, ErrorKind::Input);
        EXPECT_THAT(rules.error().text(), HasSubstr("rules.json"));
        EXPECT_THAT(rules.error().text(), HasSubstr(what));
        EXPECT_FALSE(rules.error().hint.empty());
    }
}

TEST_F(Rules, OnADeviceMirroredRangesAloneAreEnough) {
    const auto range = [](const char* name, int stream, int start, int end) {
        return fmt::format(R"({{"ph":"X","cat":"gpu_user_annotation","name":"{}","pid":0,"tid":{},"ts":{},"dur":{}}},)",
                           name, stream, start, end - start);
    };
    std::string events;
    for (const int at : {0, 100}) {
        events += range("PP:0F0", 7, at, at + 10) + range("PP:0F0", 20, at + 5, at + 14) +
                  range("PP:0B0", 7, at + 20, at + 50);
    }
    writeRank(0, events);
    const auto run = load({});
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_EQ(run.value().steps.size(), 2U);
    ASSERT_EQ(run.value().steps[1].ranks[0].size(), 2U);
    EXPECT_EQ(run.value().steps[1].ranks[0][0].duration(), TimeNs{14'000}) << "over both streams";
}

} // namespace
} // namespace bubblescope
