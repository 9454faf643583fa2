#include "runtime/launch/launcher.h"
#include "runtime/launch/session.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace bubblescope {
namespace {

Environment environmentWith(const std::map<std::string, std::string>& variables) {
    return [variables](const char* name) -> const char* {
        const auto known = variables.find(name);
        return known == variables.end() ? nullptr : known->second.c_str();
    };
}

std::optional<Launched> launchedWith(const std::map<std::string, std::string>& variables) {
    return launchedAs(environmentWith(variables));
}

TEST(Launcher, KnowsThoseThatBringMpi) {
    const auto open_mpi = launchedWith({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}});
    ASSERT_TRUE(open_mpi);
    EXPECT_EQ(open_mpi->size, 4);
    EXPECT_EQ(open_mpi->rank, 3);
    const auto mpich = launchedWith({{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}});
    ASSERT_TRUE(mpich);
    EXPECT_EQ(mpich->size, 2);
    const auto slurm = launchedWith({{"PMIX_RANK", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}});
    ASSERT_TRUE(slurm);
    EXPECT_EQ(slurm->rank, 5);
    EXPECT_EQ(slurm->size, 8);
}

TEST(Launcher, TakesOthersForSingleProcesses) {
    EXPECT_FALSE(launchedWith({}));
    // A Slurm batch script, and srun without a PMI plugin.
    EXPECT_FALSE(launchedWith({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}}));
    EXPECT_FALSE(launchedWith({{"RANK", "1"}, {"WORLD_SIZE", "4"}})); // torchrun's
}

TEST(Launcher, TellsTheNumberOnTheHost) {
    EXPECT_EQ(rankOnHost(environmentWith({{"OMPI_COMM_WORLD_LOCAL_RANK", "3"}, {"SLURM_LOCALID", "0"}})), 3)
        << "mpirun within a Slurm job";
    EXPECT_EQ(rankOnHost(environmentWith({{"LOCAL_RANK", "2"}})), 2);
    EXPECT_EQ(rankOnHost(environmentWith({{"SLURM_LOCALID", "1"}})), 1);
    EXPECT_FALSE(rankOnHost(environmentWith({})));
}

TEST(Launcher, PassesOverNumbersThatAreNone) {
    const auto odd = launchedWith({{"PMI_SIZE", "many"}, {"PMI_RANK", "-1"}});
    ASSERT_TRUE(odd);
    EXPECT_FALSE(odd->size);
    EXPECT_FALSE(odd->rank);
}

TEST(Launcher, ASimpleCallStartsNoMpi) {
    if (launchedAs()) GTEST_SKIP() << "these tests themselves were started by a launcher";
    const auto session = LaunchSession::start();
    ASSERT_TRUE(session.ok());
    EXPECT_FALSE(session.value()->hasMpi());
    EXPECT_EQ(session.value()->team(), nullptr);
    EXPECT_EQ(session.value()->size(), 1);
    EXPECT_TRUE(session.value()->isRoot());
}

} // namespace
} // namespace bubblescope
