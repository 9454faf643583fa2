#include "core/trace/args.h"
#include "core/trace/json_mender.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

TEST(JsonMender, ReadsWhatWasProbablyMeant) {
    for (const auto& [damaged, mended] : std::vector<std::pair<std::string, std::string>>{
             {R"({"a":"5" disk","b":[1,2]})", R"({"a":"5\" disk","b":[1,2]})"},
             {R"x({"a":"vec<"float">(int)", "b":1})x", R"x({"a":"vec<\"float\">(int)","b":1})x"},
             {R"({"a":"no end, "b":1})", R"({"a":"no end","b":1})"},
             {R"({"a":"C:\dir\", "b":1})", R"({"a":"C:\\dir\\","b":1})"},
             {R"({"a":inf,"b":-nan,"c":1e400,"d":007,"e":.5})",
              R"({"a":"inf","b":"-nan","c":"1e400","d":"007","e":".5"})"},
             {"{\"a\":\"x\ty\nz\"}", R"({"a":"x\u0009y\u000az"})"},
             {"{\"a\":\"\xff\"}", "{\"a\":\"\xEF\xBF\xBD\"}"},
             {R"({a:1, "b" :2, c": 3})", R"({"a":1,"b":2,"c":3})"},
             {R"({'a':'it is "x"','b':None,'c':True})", R"({"a":"it is \"x\"","b":null,"c":true})"},
             {R"({"a":1,,"b":[1,2,],})", R"({"a":1,"b":[1,2]})"},
             {R"({"a":1 "b":"x" "c":2})", R"({"a":1,"b":"x","c":2})"},
             {"{ /* one */ \"a\":1 // two\n}", R"({"a":1})"}}) {
        const auto result = mendJson(damaged);
        ASSERT_TRUE(result.has_value()) << damaged;
        EXPECT_EQ(result->text, mended) << damaged;
        EXPECT_EQ(result->end, damaged.size()) << damaged;
        EXPECT_FALSE(result->unclosed) << damaged;
    }
}

TEST(JsonMender, GivesUpWhereAValueMayBeAnother) {
    for (const char* const text :
         {"", "{\"a\" 1}", "{\"a\":1,\"b\":12", "{\"a\":\"x", "[1,}]", "{\"a\":1]", "}", "{\"a\"b\":1}"})
        EXPECT_FALSE(mendJson(text).has_value()) << text;
    const auto unclosed = mendJson(R"({"a":{"b":"x"},)");
    ASSERT_TRUE(unclosed.has_value());
    EXPECT_TRUE(unclosed->unclosed);
    EXPECT_EQ(unclosed->text, R"({"a":{"b":"x"}})");
}

TEST(JsonMender, UnescapesTextsOfWhichNothingWasEscaped) {
    EXPECT_EQ(unescapeLeniently(R"(a\n\u00e9\ud83d\ude00\\)"), "a\n\xc3\xa9\xf0\x9f\x98\x80\\");
    EXPECT_EQ(unescapeLeniently(R"(C:\new\table)"), R"(C:\new\table)");
    EXPECT_EQ(unescapeLeniently(R"(a\qb\n)"), R"(a\qb\n)");
    EXPECT_EQ(unescapeLeniently(R"(C:\\new \n)"), "C:\\new \n");
    EXPECT_EQ(unescapeLeniently(R"(\ud800x)"), "\xEF\xBF\xBDx");
    EXPECT_FALSE(holdsWindowsPath(R"(abc:\n)"));
    EXPECT_TRUE(holdsWindowsPath(R"(File "C:\n.py")"));
}

// Every result is JSON, and valid JSON keeps its value.
TEST(JsonMender, WritesJsonOfAnything) {
    const std::string plain =
        R"({"name":"a \"b\" c","list":[1,-2.5e3,[],{}],"deep":{"x":null,"y":[true,false]},"t":"\u00e9\\"})";
    std::mt19937 random(11);
    const auto below = [&random](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    int mended = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text = plain;
        for (int change = round % 4; change > 0; --change) {
            constexpr std::string_view kLetters = "{}[],:\"'\\/*xn0-\n\xff";
            const std::size_t at = below(text.size());
            if (below(2) == 0)
                text.erase(at, 1 + below(5));
            else
                text.insert(at, 1, kLetters[below(kLetters.size())]);
        }
        const std::string strict = strictJson(text);
        if (const auto result = mendJson(text)) {
            ++mended;
            EXPECT_TRUE(nlohmann::json::accept(result->text)) << text << "\n" << result->text;
            EXPECT_LE(result->end, text.size());
        }
        EXPECT_TRUE(strict.empty() || nlohmann::json::accept(strict)) << text << "\n" << strict;
        if (nlohmann::json::accept(text)) {
            EXPECT_EQ(nlohmann::json::parse(strict), nlohmann::json::parse(text)) << text;
        }
    }
    EXPECT_GT(mended, 10'000);
    for (const std::string& deep : {std::string(100'000, '['), std::string(100'000, '[') + std::string(100'000, ']')})
        EXPECT_TRUE(!mendJson(deep) || nlohmann::json::accept(mendJson(deep)->text));
}

} // namespace
} // namespace bubblescope
