#include "core/families/registry.h"
#include "core/schedule/schedule_files.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TEST(ScheduleJson, RoundTrips) {
    const Schedule schedule = makeSchedule({"interleaved", "", 2, 4, 3}).value();
    const auto back = scheduleFromJson(scheduleToJson(schedule), "text");
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(back.value().name, "interleaved");
    EXPECT_EQ(back.value().flavor, "megatron");
    EXPECT_EQ(back.value().pp, 2);
    EXPECT_EQ(back.value().microbatches, 4);
    EXPECT_EQ(back.value().vpp, 3);
    EXPECT_EQ(back.value().ranks, schedule.ranks);
}

TEST(ScheduleJson, SizesFollowFromTheOpsWhereLeftOut) {
    const auto schedule = scheduleFromJson(R"({"ranks":[[["F",2,1],["O"]],[["I",0]]]})", "text");
    ASSERT_TRUE(schedule.ok()) << schedule.error().text();
    EXPECT_EQ(schedule.value().name, "custom");
    EXPECT_EQ(schedule.value().pp, 2);
    EXPECT_EQ(schedule.value().microbatches, 3);
    EXPECT_EQ(schedule.value().vpp, 2);
}

TEST(ScheduleJson, ErrorsNameThePlace) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "byte"},
        {"[]", "object"},
        {"{}", "ranks"},
        {R"({"ranks":[]})", "is empty"},
        {R"({"ranks":[3]})", "ranks[0]"},
        {R"({"ranks":[[],["F"]]})", "ranks[1][0]"},
        {R"({"ranks":[[["X",0,0]]]})", "ranks[0][0]"},
        {R"({"ranks":[[["F"]]]})", "ranks[0][0]"},
        {R"({"ranks":[[["F",-1,0]]]})", "ranks[0][0][1]"},
        {R"({"ranks":[[["F",0,1.5]]]})", "ranks[0][0][2]"},
        {R"({"ranks":[[["F",99999999999,0]]]})", "ranks[0][0][1]"},
        {R"({"ranks":[[["F",2000000000,0]]]})", "100 million"},
        {R"({"ranks":[[["F",0,0,"x"]]]})", "ranks[0][0][3]"},
        {R"({"ranks":[[["F",0,0]]],"microbatches":900000,"vpp":900000})", "require"},
        {R"({"ranks":[[["F",0,0]]],"pp":"x"})", "pp"},
        {R"({"ranks":[[["F",0,0]]],"microbatches":2000000000})", "microbatches"},
        {R"({"ranks":[[["F",0,0]]],"placement":"ring"})", "ring"},
        {R"({"ranks":[[["F",0,0]]],"schedule":3})", "schedule"},
    };
    for (const auto& [text, place] : cases) {
        const auto schedule = scheduleFromJson(text, "some.json");
        ASSERT_FALSE(schedule.ok()) << text;
        EXPECT_EQ(schedule.error().kind, ErrorKind::Input);
        EXPECT_NE(schedule.error().text().find("some.json"), std::string::npos);
        EXPECT_NE(schedule.error().text().find(place), std::string::npos) << schedule.error().text();
    }
}

TEST(ScheduleJson, EveryTruncationIsAnError) {
    const std::string whole = scheduleToJson(makeSchedule({"1f1b", "", 2, 2, 1}).value());
    for (std::size_t length = 0; length < whole.size(); ++length) {
        EXPECT_FALSE(scheduleFromJson(whole.substr(0, length), "cut").ok()) << length;
    }
    EXPECT_FALSE(readScheduleFile("/nonexistent/schedule.json").ok());
    EXPECT_FALSE(readScheduleFile("/").ok()) << "a directory is not a schedule";
}

} // namespace
} // namespace bubblescope
