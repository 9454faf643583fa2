#include "runtime/launch/tcp_job.h"

#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

namespace bubblescope {
namespace {

using Variables = std::map<std::string, std::string>;

Result<TcpJob> jobOf(const Variables& variables) {
    return tcpJobOf([&](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    });
}

const Variables kTorchrun{{"RANK", "3"},
                          {"LOCAL_RANK", "1"},
                          {"WORLD_SIZE", "4"},
                          {"MASTER_ADDR", "node7"},
                          {"MASTER_PORT", "29500"},
                          {"TORCHELASTIC_RUN_ID", "a job"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
const Variables kSlurm{{"SLURM_PROCID", "0"},    {"SLURM_NTASKS", "8"},  {"SLURM_LOCALID", "0"},
                       {"SLURM_JOB_ID", "1234"}, {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_NODELIST", "gpu[003-004,011]"}};

Variables with(Variables variables, const std::string& name, const std::string& value) {
    variables[name] = value;
    return variables;
}

TEST(TcpJob, FollowsTorchrun) {
    const Result<TcpJob> job = jobOf(kTorchrun);
    ASSERT_TRUE(job.ok()) << job.error().text();
    EXPECT_EQ(job.value().rank, 3);
    EXPECT_EQ(job.value().size, 4);
    EXPECT_EQ(job.value().host, "node7");
    EXPECT_EQ(job.value().port, 29501) << "torchrun itself listens on its port";
    EXPECT_NE(job.value().token.find("a job"), std::string::npos);
    EXPECT_EQ(jobOf(with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "False")).value().port, 29500);
}

TEST(TcpJob, FollowsSlurm) {
    const Result<TcpJob> job = jobOf(kSlurm);
    ASSERT_TRUE(job.ok()) << job.error().text();
    EXPECT_EQ(job.value().rank, 0);
    EXPECT_EQ(job.value().size, 8);
    EXPECT_EQ(job.value().host, "gpu003");
    EXPECT_GE(job.value().port, 20000);
    EXPECT_LT(job.value().port, 30000);
    const Result<TcpJob> next_step = jobOf(with(kSlurm, "SLURM_STEP_ID", "1"));
    EXPECT_NE(next_step.value().port, job.value().port);
    EXPECT_NE(next_step.value().token, job.value().token);
    const Result<TcpJob> told = jobOf(with(with(kSlurm, "MASTER_ADDR", "head"), "MASTER_PORT", "77"));
    EXPECT_EQ(told.value().host, "head");
    EXPECT_EQ(told.value().port, 77);
}

TEST(TcpJob, LeavesTheLastWordToTheUser) {
    const Result<TcpJob> job = jobOf(with(with(kTorchrun, "BUBBLESCOPE_PORT", "4000"), "BUBBLESCOPE_TOKEN", "mine"));
    EXPECT_EQ(job.value().port, 4000);
    EXPECT_EQ(job.value().token, "mine");
    EXPECT_FALSE(job.value().guessable);
    EXPECT_TRUE(jobOf(kTorchrun).value().guessable) << "the launcher's number of the job";

    const test::ScratchFolder folder;
    const auto secret = folder.write("secret", "of a file\n");
    std::filesystem::permissions(secret, std::filesystem::perms::owner_read);
    const auto named = with(with(kTorchrun, "BUBBLESCOPE_TOKEN_FILE", secret.c_str()), "BUBBLESCOPE_TOKEN", "mine");
    EXPECT_EQ(jobOf(named).value().token, "of a file");
    EXPECT_FALSE(jobOf(named).value().guessable);
    std::filesystem::permissions(secret, std::filesystem::perms::others_read, std::filesystem::perm_options::add);
    EXPECT_FALSE(jobOf(named).ok()) << "others can read it";
}

TEST(TcpJob, SaysWhichVariableIsWrong) {
    for (const auto& [name, value] :
         Variables{{"RANK", "4"}, {"WORLD_SIZE", "many"}, {"MASTER_PORT", "0"}, {"BUBBLESCOPE_PORT", "65536"}}) {
        const Result<TcpJob> job = jobOf(with(kTorchrun, name, value));
        ASSERT_FALSE(job.ok()) << name;
        EXPECT_EQ(job.error().kind, ErrorKind::Usage);
        EXPECT_NE(job.error().text().find(name), std::string::npos) << job.error().text();
    }
    Variables nowhere = kSlurm;
    nowhere.erase("SLURM_JOB_NODELIST");
    EXPECT_NE(jobOf(nowhere).error().text().find("NODELIST"), std::string::npos);
    const Result<TcpJob> alone = jobOf({});
    ASSERT_FALSE(alone.ok());
    EXPECT_NE(alone.error().text().find("torchrun"), std::string::npos);
}

TEST(TcpJob, ReadsSlurmsLists) {
    EXPECT_EQ(firstHostOf("node1"), "node1");
    EXPECT_EQ(firstHostOf("node1,node2"), "node1");
    EXPECT_EQ(firstHostOf("node[07-09,12],gpu1"), "node07");
    EXPECT_EQ(firstHostOf("node[3,5]"), "node3");
    EXPECT_EQ(firstHostOf("rack[1-2]-gpu[4-7],x"), "rack1-gpu4");
    EXPECT_EQ(firstHostOf(""), "");
    EXPECT_EQ(firstHostOf("node["), "node");
}

} // namespace
} // namespace bubblescope
