#include "runtime/comm/activity_board.h"

#include "tests/support/thread_team.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace bubblescope::runtime {
namespace {

/// An activity whose fields all follow from one number.
Activity activityOf(int number) {
    return {Activity::Kind::Computing,
            number,
            {OpKind::Forward, Microbatch{number}, Chunk{number}},
            Rank{number},
            TimeNs{number},
            TimeNs{number}};
}

bool isWhole(const Activity& activity) {
    return activity.op.microbatch.value == activity.step && activity.op.chunk.value == activity.step &&
           activity.peer.value == activity.step && activity.since.count() == activity.step &&
           activity.due.count() == activity.step;
}

std::vector<std::shared_ptr<ActivityBoard>> boards(std::size_t members) {
    std::vector<std::shared_ptr<ActivityBoard>> made(members);
    test::asTeam(members, [&](ProcessTeam& team) {
        auto opened = ActivityBoard::open(team);
        EXPECT_TRUE(opened.ok());
        made[static_cast<std::size_t>(team.rank())] = std::move(opened).value();
        return 0;
    });
    return made;
}

TEST(ActivityBoard, ShowsWhatEachRankWroteLast) {
    const auto of = boards(3);
    EXPECT_EQ(of[0]->ranks(), 3);
    EXPECT_GE(of[0]->cores(), 1);
    EXPECT_FALSE(of[0]->read(Rank{1})) << "it has written nothing";
    EXPECT_FALSE(of[0]->read(Rank{3})) << "there is no such rank";
    EXPECT_EQ(of[2]->othersBusy(), 0);
    of[1]->write(activityOf(7));
    of[1]->write(activityOf(8));
    of[2]->write({Activity::Kind::AtBarrier, 2, {}, {}, TimeNs{1}, TimeNs{1}});
    for (const auto& board : of) {
        ASSERT_TRUE(board->read(Rank{1}));
        EXPECT_EQ(board->read(Rank{1})->step, 8);
        EXPECT_TRUE(isWhole(*board->read(Rank{1})));
        EXPECT_EQ(board->othersBusy(), board == of[1] ? 0 : 1);
    }
}

TEST(ActivityBoard, ReadersNeverSeeHalfAnEntry) {
    const auto of = boards(2);
    of[1]->write(activityOf(0));
    std::jthread writer([&](const std::stop_token& stop) {
        for (int number = 1; !stop.stop_requested(); ++number)
            of[1]->write(activityOf(number % 1'000'000));
    });
    for (int i = 0; i < 100'000; ++i)
        ASSERT_TRUE(isWhole(*of[0]->read(Rank{1})));
}

/// The child is killed while it writes; what its parent reads then is whole, and later than what it saw before.
TEST(ActivityBoard, OutlivesAProcessThatIsKilled) {
    const auto of = boards(2);
    of[1]->write(activityOf(0));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        for (int number = 1;; ++number)
            of[1]->write(activityOf(number));
    }
    while (of[0]->read(Rank{1})->step < 1000) {
    }
    const int before = of[0]->read(Rank{1})->step;
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const std::optional<Activity> last = of[0]->read(Rank{1});
    ASSERT_TRUE(last);
    EXPECT_TRUE(isWhole(*last));
    EXPECT_GE(last->step, before);
}

} // namespace
} // namespace bubblescope::runtime
