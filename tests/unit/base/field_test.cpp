#include "core/base/field.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TEST(Field, IsPlainWithoutASurface) {
    EXPECT_EQ(fmt::format("omit {}, or use {}", Field("vpp"), Field("memory_limit").is(8)),
              "omit vpp, or use memory_limit=8");
}

TEST(Field, IsWrittenInTheWordsOfTheSurface) {
    setFieldWords({[](Field field) -> std::string_view { return field == Field("vpp") ? "“Chunks”" : "?"; }, " "});
    EXPECT_EQ(Field("vpp").is(2), "“Chunks” 2");
    const Sentence said = say("{} is not known", Field("vpp").term());
    EXPECT_EQ(said.text(), "“Chunks” is not known");
    EXPECT_EQ(said.arguments()[0].pattern(), "“Chunks”") << "translatable";
    EXPECT_EQ(optionOf(Field("vpp")), "--vpp") << "a shell wants options on every surface";
    setFieldWords({[](Field field) { return field.name(); }, "="});
}

TEST(Field, OptionsHaveHyphens) {
    EXPECT_EQ(optionOf(Field("schedule_file")), "--schedule-file");
    EXPECT_EQ(optionOf(Field("if"), "comm=0"), "--if comm=0");
}

} // namespace
} // namespace bubblescope
