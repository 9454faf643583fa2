#include "runtime/model/text_data.h"

#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope::runtime {
namespace {

TEST(TextData, TargetsAreTheNextTokens) {
    const TextData text("abcdefghij");
    const auto data = text.sequences(1, 0, 0, 3, 4);
    ASSERT_EQ(data.tokens.size(), 12U);
    ASSERT_EQ(data.targets.size(), 12U);
    for (std::size_t i = 0; i < 12; ++i) {
        EXPECT_EQ(data.targets[i], data.tokens[i] + 1);
        if (i % 4 != 3) {
            EXPECT_EQ(data.tokens[i + 1], data.targets[i]);
        }
    }
}

TEST(TextData, EveryPlaceIsReached) {
    const TextData text("abcdefghij");
    std::vector<int> begins;
    for (int step = 0; step < 200; ++step)
        begins.push_back(text.sequences(1, step, 0, 1, 4).tokens.front());
    EXPECT_EQ(std::ranges::min(begins), 'a');
    EXPECT_EQ(std::ranges::max(begins), 'f') << "the last with four tokens and one more to guess";
}

TEST(TextData, StepsMicrobatchesAndSequencesDiffer) {
    const auto& text = *TextData::demo();
    const auto of = [&](std::int64_t step, int microbatch) {
        return text.sequences(1, step, microbatch, 2, 32).tokens;
    };
    EXPECT_EQ(of(3, 4), of(3, 4));
    EXPECT_NE(of(3, 4), of(4, 4));
    EXPECT_NE(of(3, 4), of(3, 5));
    const auto both = of(0, 0);
    EXPECT_FALSE(std::equal(both.begin(), both.begin() + 32, both.begin() + 32));
}

TEST(TextData, AShortTextIsRepeated) {
    const auto data = TextData("xy").sequences(1, 0, 0, 1, 5);
    for (std::size_t i = 0; i < 5; ++i)
        EXPECT_NE(data.tokens[i], data.targets[i]);
}

TEST(TextData, ReadsAnyFileButAnEmptyOne) {
    const bubblescope::test::ScratchFolder folder;
    const auto file = folder.write("text", std::string("\xFF\x00zz", 4));
    const auto text = TextData::read(file);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(text.value()->sequences(1, 0, 0, 1, 3).tokens, (std::vector<int>{255, 0, 'z'}));
    EXPECT_EQ(TextData::read(folder.write("empty", "")).error().kind, ErrorKind::Input);
    EXPECT_EQ(TextData::read(folder.path() / "none").error().kind, ErrorKind::Input);
}

} // namespace
} // namespace bubblescope::runtime
