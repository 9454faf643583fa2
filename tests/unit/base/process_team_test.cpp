#include "tests/mpi/team_checks.h"
#include "tests/support/thread_team.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

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

TEST(Coordinator, AsksEachMemberSomethingElse) {
    const auto answers = test::asTeam(4, [](ProcessTeam& team) -> Result<std::string> {
        if (!team.isRoot()) {
            const Status served = Coordinator::serve(team, [&](std::string_view request) -> Result<std::string> {
                if (request == "fail") return runError("it could not");
                return fmt::format("{} of {}", request, team.rank());
            });
            return served.ok() ? std::string{} : served.error().text();
        }
        Coordinator lead(team);
        const auto own = []() -> Result<std::string> { return std::string("own"); };
        std::string said;
        for (const std::vector<std::string>& requests :
             {std::vector<std::string>{"", "b", "", "dd"}, std::vector<std::string>{"", "b", "fail", "d"},
              std::vector<std::string>{"", "b", "c", "d"}}) {
            const auto told = lead.askEach(requests, own);
            said += told.ok() ? fmt::format("{}\n", fmt::join(told.value(), ", ")) : told.error().message + "\n";
            const auto all = lead.ask("all", [](std::string_view request) { return std::string(request); });
            said += all.ok() ? fmt::format("{}\n", fmt::join(all.value(), ", ")) : all.error().message + "\n";
        }
        return said;
    });
    ASSERT_TRUE(answers.ok());
    EXPECT_EQ(answers.value(), "own, b of 1,  of 2, dd of 3\nall, all of 1, all of 2, all of 3\n"
                               "it could not\nall, all of 1, all of 2, all of 3\n"
                               "own, b of 1, c of 2, d of 3\nall, all of 1, all of 2, all of 3\n");
}

} // namespace
} // namespace bubblescope
