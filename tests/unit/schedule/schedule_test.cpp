#include "core/families/registry.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TEST(Op, NamesRoundTrip) {
    for (const OpKind kind : {OpKind::Forward, OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight}) {
        const Op op{kind, Microbatch{13}, Chunk{2}};
        EXPECT_EQ(parseOpName(opName(op)), op);
    }
    EXPECT_EQ(parseOpName("F3"), (Op{OpKind::Forward, Microbatch{3}, Chunk{0}}));
    EXPECT_EQ(parseOpName("O")->kind, OpKind::Optimizer);
    for (const char* const text : {"", "F", "F3.", "F3.1x", "F-1", "X3", "f3", "O1", "F3,1", "F99999999999"}) {
        EXPECT_FALSE(parseOpName(text).has_value()) << text;
    }
}

TEST(Placement, LocateInvertsStageOf) {
    for (const Placement placement : {Placement::Loop, Placement::V}) {
        for (int p = 1; p <= 5; ++p) {
            for (int stage = 0; stage < p * 4; ++stage) {
                const Location at = locate(placement, p, Stage{stage});
                EXPECT_EQ(stageOf(placement, p, at.rank, at.chunk), Stage{stage});
            }
        }
    }
    EXPECT_EQ(stageOf(Placement::V, 4, Rank{1}, Chunk{1}), Stage{6}) << "rank r holds r and 2p-1-r";
}

TEST(Registry, FindsByNameAndAlias) {
    EXPECT_EQ(findScheduleFamily("gpipe"), findScheduleFamily("fthenb"));
    EXPECT_EQ(findScheduleFamily("vpp"), findScheduleFamily("interleaved"));
    EXPECT_EQ(findScheduleFamily("nosuch"), nullptr);
    EXPECT_EQ(makeSchedule({"vpp", "", 2, 4, 2}).value().name, "interleaved");
    EXPECT_EQ(makeSchedule({"vpp", "", 2, 4, 2}).value().flavor, "megatron");
}

TEST(Registry, RefusalsSayWhichLimitIsBroken) {
    const auto message = [](const ScheduleSpec& spec) {
        const auto schedule = makeSchedule(spec);
        EXPECT_FALSE(schedule.ok());
        EXPECT_EQ(schedule.error().kind, ErrorKind::Usage);
        return schedule.error().text();
    };
    EXPECT_NE(message({"nosuch", "", 4, 8, 1}).find("1f1b"), std::string::npos) << "lists what is known";
    EXPECT_NE(message({"1f1b", "", 0, 8, 1}).find("specify pp=P"), std::string::npos);
    EXPECT_NE(message({"1f1b", "", 4, -1, 1}).find("microbatches=-1 is not"), std::string::npos);
    EXPECT_NE(message({"1f1b", "", 4, 8, 2}).find("omit vpp"), std::string::npos);
    EXPECT_NE(message({"1f1b", "torch", 4, 8, 1}).find("omit flavor"), std::string::npos);
    EXPECT_NE(message({"interleaved", "", 4, 9, 2}).find("12"), std::string::npos) << "names a number that works";
    EXPECT_NE(message({"interleaved", "", 4, 8, 1}).find("1f1b"), std::string::npos);
    EXPECT_NE(message({"1f1b", "", 100'000, 100'000, 1}).find("200 million"), std::string::npos);
}

} // namespace
} // namespace bubblescope
