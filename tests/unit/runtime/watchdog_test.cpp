#include "runtime/comm/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr TimeNs kTimeout = 10s;
const Op kForward{OpKind::Forward, Microbatch{3}, Chunk{1}};

Activity computing(TimeNs since, TimeNs due) {
    return {Activity::Kind::Computing, 2, kForward, Rank{}, since, due};
}
Activity receiving(Rank from, TimeNs since) {
    return {Activity::Kind::Receiving, 2, kForward, from, since, since};
}
Activity meeting(TimeNs since) {
    return {Activity::Kind::AtBarrier, 2, {}, {}, since, since};
}

std::string verdict(const Watchdog& dog, TimeNs now) {
    const std::optional<Error> error = dog.verdict(now);
    if (!error) return {};
    EXPECT_EQ(error->kind, ErrorKind::Run);
    EXPECT_FALSE(error->hint.empty());
    return error->message;
}

TEST(Watchdog, NamesTheRankThatHangsInAnOpNotThoseWhoWaitForIt) {
    Watchdog dog(3, kTimeout);
    dog.report(Rank{0}, receiving(Rank{1}, 1s));
    dog.report(Rank{1}, computing(2s, 2s));
    dog.report(Rank{2}, receiving(Rank{1}, 0s));
    EXPECT_EQ(verdict(dog, 12s), "") << "exactly the timeout";
    EXPECT_THAT(verdict(dog, 12s + 1ns), HasSubstr("rank 1 hangs: it has been in F3.1 of step 2 for 10"));
}

TEST(Watchdog, AnOpMayTakeItsNominalTime) {
    Watchdog dog(2, kTimeout);
    dog.report(Rank{0}, computing(0s, 100s));
    dog.report(Rank{1}, receiving(Rank{0}, 0s));
    EXPECT_EQ(verdict(dog, 110s), "");
    EXPECT_THAT(verdict(dog, 111s), HasSubstr("rank 0 hangs"));
}

TEST(Watchdog, NamesARankThatIsSilent) {
    Watchdog dog(3, kTimeout);
    dog.report(Rank{0}, receiving(Rank{1}, 0s));
    dog.report(Rank{1}, computing(1s, 2s));
    dog.report(Rank{2}, meeting(1s));
    for (const int rank : {0, 1, 2})
        dog.heardFrom(Rank{rank}, 1s);
    dog.heardFrom(Rank{0}, 9s);
    dog.heardFrom(Rank{2}, 9s);
    EXPECT_EQ(verdict(dog, 11s), "");
    EXPECT_THAT(verdict(dog, 11500ms),
                HasSubstr("no message from rank 1 for 10.5 s; at its last message it was in F3.1 of step 2"));
    dog.report(Rank{1}, receiving(Rank{2}, 2s), Watchdog::Known::Now);
    EXPECT_THAT(verdict(dog, 11500ms), HasSubstr("no message from rank 1 for 10.5 s; it was waiting for rank 2"));
    dog.heardFrom(Rank{1}, 11600ms);
    EXPECT_EQ(verdict(dog, 12s), "") << "it was only slow";
}

TEST(Watchdog, ARankThatDiesInAnOpIsSilentAndDoesNotHang) {
    Watchdog dog(2, kTimeout);
    dog.report(Rank{0}, receiving(Rank{1}, 9s));
    dog.report(Rank{1}, computing(1s, 1s));
    dog.heardFrom(Rank{0}, 9s);
    dog.heardFrom(Rank{1}, 2s);
    EXPECT_EQ(verdict(dog, 11500ms), "") << "its op is overdue, but it was last heard of long before it was";
    EXPECT_THAT(verdict(dog, 12500ms),
                HasSubstr("no message from rank 1 for 10.5 s; at its last message it was in F3.1"));
    dog.heardFrom(Rank{1}, 12s);
    EXPECT_THAT(verdict(dog, 12500ms), HasSubstr("rank 1 hangs: it has been in F3.1 of step 2 for 11.0 s"));
}

TEST(Watchdog, ARankThatIsThroughMayBeSilent) {
    Watchdog dog(1, kTimeout);
    dog.heardFrom(Rank{0}, 0s);
    dog.report(Rank{0}, {.kind = Activity::Kind::Done, .op = {}, .peer = {}});
    EXPECT_EQ(verdict(dog, 1000s), "");
}

TEST(Watchdog, TellsALostMessageWhenNobodyComputes) {
    Watchdog dog(3, kTimeout);
    dog.report(Rank{0}, receiving(Rank{1}, 5s));
    dog.report(Rank{1}, receiving(Rank{2}, 4s));
    dog.report(Rank{2}, meeting(3s));
    EXPECT_EQ(verdict(dog, 14s), "") << "rank 0 has just begun to wait";
    EXPECT_THAT(verdict(dog, 16s), HasSubstr("rank 1 has been waiting for rank 2 before F3.1 of step 2 for 12"));
    dog.report(Rank{2}, computing(15s, 15s));
    EXPECT_EQ(verdict(dog, 16s), "") << "what they wait for is being computed";
}

TEST(Watchdog, AMeetingAloneIsNoFault) {
    Watchdog dog(2, kTimeout);
    dog.report(Rank{0}, meeting(0s));
    dog.report(Rank{1}, meeting(0s));
    EXPECT_EQ(verdict(dog, 100s), "");
}

TEST(Watchdog, FindsARankThatNeverBegins) {
    Watchdog dog(2, kTimeout);
    dog.report(Rank{0}, meeting(1s));
    EXPECT_THAT(verdict(dog, 11s), HasSubstr("rank 1 hangs: it has been building its stages"));
}

} // namespace
} // namespace bubblescope::runtime
