// NCCL itself, between GPUs: to the same one, and between several where there are several.

#include "runtime/backend/cuda/cuda_backend.h"
#include "runtime/backend/cuda/cuda_device.h"
#include "runtime/backend/cuda/nccl_peers.h"
#include "runtime/run.h"
#include "tests/gpu/flavors.h"
#include "tests/gpu/test_device.h"
#include "tests/support/linked_team.h"
#include "tests/support/reference_run.h"

#include <chrono>
#include <thread>

namespace bubblescope::runtime::test {
namespace {

using ::bubblescope::test::asTeam;

void awaitReady(PeerComm& comm) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!comm.ready()) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "NCCL goes on for too long";
        std::this_thread::yield();
    }
}

TEST(Nccl, SendsToItself) {
    const auto queue = makeQueue(testDevice());
    OnDevice on(queue);
    const auto nccl = makeNcclPeers();
    const auto comm = nccl->join(nccl->makeId(), 0, 1, false);
    awaitReady(*comm);
    Numbers numbers(3);
    for (const Eigen::Index size : {1, 1000, 1'000'000}) {
        const Matrix<float> values = numbers.matrix(size, 1);
        const Buffer from = on.putRows<float>(values);
        const Buffer to = on.room<float>(size);
        nccl->beginGroup();
        comm->send(from.as<void>(), from.bytes(), 0, queue->stream());
        comm->receive(to.as<void>(), to.bytes(), 0, queue->stream());
        nccl->endGroup();
        awaitReady(*comm);
        EXPECT_EQ(on.getRows<float>(to, 1), values);
    }
}

/// Each thread is a rank with its own GPU, as processes are.
TEST(Nccl, TrainsOnSeveralGpusToTheBitsOfTheReference) {
    const int gpus = gpuCount();
    if (gpus < 2) GTEST_SKIP() << "there is only one GPU here";
    for (const char* const family : {"1f1b", "interleaved", "zb-h1"}) {
        ScheduleSpec spec{family, "", std::min(gpus, 4), 8, family == std::string("interleaved") ? 2 : 1};
        RunConfig config;
        config.schedule = makeSchedule(spec).value();
        config.model = tinyModel();
        config.paced = false;
        config.backend = openCudaBackend(0, Storage::Bf16, false).value();
        const Result<RunSummary> reference = runReference(config);
        ASSERT_TRUE(reference.ok()) << reference.error().text();
        const auto ranks = static_cast<std::size_t>(config.schedule.pp);
        ControlHub hub(ranks);
        const Result<RunSummary> run = asTeam(ranks, [&](ProcessTeam& threads) {
            LinkedTeam team(threads, hub);
            RunConfig own = config;
            own.backend = openCudaBackend(team.rank(), Storage::Bf16, false).value();
            JobControl control;
            Result<RunSummary> summary = std::move(runOverProcesses(own, control, team).summary);
            (void)team.gather("");
            return summary;
        });
        ASSERT_TRUE(run.ok()) << run.error().text();
        EXPECT_EQ(run.value().losses, reference.value().losses) << family;
        EXPECT_EQ(run.value().weights_digest, reference.value().weights_digest) << family;
    }
}

} // namespace
} // namespace bubblescope::runtime::test
