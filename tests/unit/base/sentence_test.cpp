#include "core/base/sentence.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace bubblescope {
namespace {

TEST(Sentence, SaysInEnglishWhatFmtWould) {
    const double share = 12.345;
    const std::uint64_t digest = 0xfffffffffffffff0U;
    EXPECT_EQ(say("rank {} takes {:.2f} times {} ({:.1f} %), {:016x}", 3, share, "2.000 ms", share, digest).text(),
              fmt::format("rank {} takes {:.2f} times {} ({:.1f} %), {:016x}", 3, share, "2.000 ms", share, digest));
    EXPECT_EQ(say("{} {} {}", std::numeric_limits<std::int64_t>::min(), -1, std::uint8_t{200}).text(),
              "-9223372036854775808 -1 200");
    EXPECT_EQ(say("{{{}}}", std::string("x")).text(), "{x}");
    EXPECT_EQ(say("nothing to fill").text(), "nothing to fill");
    EXPECT_EQ(say("{}", share).text(), fmt::format("{}", share));
}

TEST(Sentence, KeepsItsPatternAndWhatFillsIt) {
    const Sentence said = say("{} of {}", say("rank {}", 2), "node7");
    EXPECT_EQ(said.text(), "rank 2 of node7");
    EXPECT_EQ(said.pattern(), "{} of {}");
    ASSERT_EQ(said.arguments().size(), 2U);
    EXPECT_EQ(said.arguments()[0].pattern(), "rank {}");
    EXPECT_EQ(said.arguments()[0].arguments()[0].text(), "2");
    EXPECT_EQ(said.arguments()[1].pattern(), "") << "a text from outside is nothing to translate";
}

TEST(Sentence, FormatsEachArgumentByItself) {
    const Sentence said = say("{:.1f} % of {:x}", 12.34, 255);
    ASSERT_EQ(said.arguments().size(), 2U);
    EXPECT_EQ(said.arguments()[0].text(), "12.3");
    EXPECT_EQ(said.arguments()[1].text(), "ff");
}

TEST(Sentence, TextsFromOutsideArePlain) {
    const Sentence name = std::string("{not a pattern}");
    EXPECT_EQ(name.text(), "{not a pattern}");
    EXPECT_TRUE(name.pattern().empty());
    EXPECT_EQ(say("{}!", name).text(), "{not a pattern}!");
    EXPECT_TRUE(Sentence().empty());
}

TEST(Sentence, GoesOnWithOthers) {
    Sentence said = say("step {}", 7);
    said += Sentence();
    EXPECT_EQ(said.pattern(), "step {}") << "nothing was added";
    said += say(", rank {}", 2);
    said += say(" of replica {}", 1);
    EXPECT_EQ(said.text(), "step 7, rank 2 of replica 1");
    EXPECT_TRUE(said.pattern().empty());
    ASSERT_EQ(said.arguments().size(), 3U) << "one after the other, not nested";
    EXPECT_EQ(said.arguments()[2].pattern(), " of replica {}");
    Sentence empty;
    empty += say("rank {}", 1);
    EXPECT_EQ(empty.pattern(), "rank {}");
}

TEST(Sentence, CountsByTheFormForManyInTheTable) {
    const Sentence one = sayCounted("{} step", "{} steps", 1);
    const Sentence many = sayCounted("{} step", "{} steps", 12);
    EXPECT_EQ(one.text(), "1 step");
    EXPECT_EQ(many.text(), "12 steps");
    EXPECT_EQ(sayCounted("{} step", "{} steps", 0).text(), "0 steps");
    EXPECT_EQ(one.pattern(), "{} steps");
    EXPECT_EQ(many.pattern(), "{} steps");
    EXPECT_EQ(one.arguments()[0].text(), "1");
}

TEST(Sentence, ListsWithCommas) {
    const std::vector<Sentence> parts{say("rank {}", 1), say("rank {}", 2), Sentence::term("all")};
    EXPECT_EQ(sayListed(parts).text(), "rank 1, rank 2, all");
    EXPECT_EQ(sayListed(std::span(parts).first(1)).pattern(), "rank {}");
    EXPECT_EQ(sayListed(parts).pattern(), "{}, {}");
    EXPECT_TRUE(sayListed({}).empty());
}

TEST(Sentence, TermsAreTranslatedAsTheyStand) {
    const Sentence term = Sentence::term("exposed communication");
    EXPECT_EQ(term.text(), "exposed communication");
    EXPECT_EQ(term.pattern(), term.text());
    EXPECT_TRUE(term.arguments().empty());
}

} // namespace
} // namespace bubblescope
