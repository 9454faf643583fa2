#include "core/families/registry.h"
#include "core/graph/validate.h"
#include "core/schedule/schedule_files.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TEST(ScheduleCsv, RoundTripsLoopVAndPairs) {
    const auto roundTrip = [](const Schedule& schedule) {
        const auto text = scheduleToCsv(schedule);
        ASSERT_TRUE(text.ok()) << text.error().text();
        const auto back = scheduleFromCsv(text.value(), "text");
        ASSERT_TRUE(back.ok()) << back.error().text();
        EXPECT_EQ(back.value().ranks, schedule.ranks);
        EXPECT_EQ(back.value().pp, schedule.pp);
        EXPECT_EQ(back.value().microbatches, schedule.microbatches);
        EXPECT_EQ(back.value().vpp, schedule.vpp);
        EXPECT_EQ(back.value().placement, schedule.placement);
    };
    roundTrip(makeSchedule({"1f1b", "", 4, 8, 1}).value());
    roundTrip(makeSchedule({"interleaved", "", 3, 6, 2}).value());
    const auto v_shaped = scheduleFromCsv("0F0,(0F1;3B0)OVERLAP_F_B,3F0\n1F0,2F0,1I0,1W0\n", "text");
    ASSERT_TRUE(v_shaped.ok()) << v_shaped.error().text();
    EXPECT_EQ(v_shaped.value().placement, Placement::V);
    EXPECT_TRUE(v_shaped.value().ranks[0][1].overlapped);
    EXPECT_EQ(v_shaped.value().ranks[0][2], (Op{OpKind::Backward, Microbatch{0}, Chunk{1}, 0, true}));
    roundTrip(v_shaped.value());
}

TEST(ScheduleCsv, PassesOverBubblesAndCommunication) {
    const auto schedule =
        scheduleFromCsv(" 0F0 ,,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD\r\n,1RECV_F0,1F0,1B0,1SEND_B0", "text");
    ASSERT_TRUE(schedule.ok()) << schedule.error().text();
    EXPECT_TRUE(validate(schedule.value()).empty());
    EXPECT_EQ(schedule.value().ranks[0].size(), 2U);
}

TEST(ScheduleCsv, ErrorsNameLineAndColumn) {
    const auto error = scheduleFromCsv("0F0,0B0\n1F0,1X0\n", "some.csv");
    ASSERT_FALSE(error.ok());
    EXPECT_EQ(error.error().kind, ErrorKind::Input);
    EXPECT_EQ(error.error().where, "some.csv, line 2, column 2");
    // The first ones PyTorch takes for something else.
    for (const char* const cell :
         {"0F0x", "0F-1", "0F", "0F0)", "0W", "-1F0", "0X0", "F0", "(0F0;0B0)", "(0F0)OVERLAP_F_B",
          "((0F1;1B0)OVERLAP_F_B;2F0)OVERLAP_F_B", "None", "0O0", "99999999999F0", "0F99999999999"}) {
        EXPECT_FALSE(scheduleFromCsv(cell, "some.csv").ok()) << cell;
    }
    EXPECT_FALSE(scheduleFromCsv("", "some.csv").ok());
    EXPECT_FALSE(scheduleFromCsv("\n\n", "some.csv").ok());
    EXPECT_FALSE(scheduleFromCsv("0F0\n0F1\n", "some.csv").ok()) << "one stage on two ranks";
}

TEST(ScheduleCsv, FilesAreToldApartByTheirContent) {
    const test::ScratchFolder folder;
    const Schedule schedule = makeSchedule({"1f1b", "", 2, 3, 1}).value();
    const auto csv = readScheduleFile(folder.write("a.txt", scheduleToCsv(schedule).value()));
    const auto json = readScheduleFile(folder.write("b.txt", scheduleToJson(schedule)));
    ASSERT_TRUE(csv.ok() && json.ok());
    EXPECT_EQ(csv.value().ranks, json.value().ranks);
}

TEST(ScheduleCsv, TransfersMustAgreeWithTheOrder) {
    const auto says = [](const char* text) {
        const auto schedule = scheduleFromCsv(text, "f.csv");
        return schedule.ok() ? std::string("accepted") : schedule.error().text();
    };
    const std::string good = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n";
    EXPECT_EQ(says(good.c_str()), "accepted");
    EXPECT_EQ(says("0F0,0B0\n1F0,1B0\n"), "accepted");
    EXPECT_NE(says("0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n")
                  .find("f.csv, line 1, column 1: 0F0 has no 0SEND_F0 after it, so 1RECV_F0 waits forever"),
              std::string::npos);
    EXPECT_NE(says("0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n")
                  .find("f.csv, line 2, column 1: 1F0 has no 1RECV_F0 before it"),
              std::string::npos);
    EXPECT_NE(says("0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n").find("0F0 has no 0SEND_F0 after it"),
              std::string::npos);
    EXPECT_NE(says("0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n").find("0SEND_F0 appears twice"),
              std::string::npos);
    EXPECT_NE(says("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1SEND_F0,1B0,1SEND_B0\n")
                  .find("line 2, column 3: 1SEND_F0 does not belong to any transfer"),
              std::string::npos);
    EXPECT_NE(says("0F0,0SEND_F\n").find("'0SEND_F' is not an op"), std::string::npos);
}

} // namespace
} // namespace bubblescope
