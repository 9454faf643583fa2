#include "tests/mpi/team_checks.h"
#include "tests/support/thread_team.h"

#include <gtest/gtest.h>

#include <string>

namespace bubblescope {
namespace {

TEST(ProcessTeam, ThreadsPassWhatProcessesPass) {
    for (std::size_t members = 1; members <= 5; ++members) {
        EXPECT_EQ(test::asTeam(members, [](ProcessTeam& team) { return test::checkTeam(team); }), "") << members;
    }
}

TEST(ProcessTeam, AMemberThatLeavesEndsTheOthersWait) {
    const auto result = test::asTeam(3, [](ProcessTeam& team) -> Result<std::string> {
        if (team.rank() == 2) return runError("gone");
        return team.broadcast("text");
    });
    EXPECT_FALSE(result.ok());
}

} // namespace
} // namespace bubblescope
