// Ranks with a device each, connected by a replacement for NCCL: real runs with real plans of links, but threads in
// place of processes.

#include "core/families/registry.h"
#include "core/graph/validate.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/nccl/connect_devices.h"
#include "runtime/backend/nccl/link_plan.h"
#include "runtime/backend/nccl/nccl_channel.h"
#include "runtime/model/parameters.h"
#include "runtime/run.h"
#include "tests/gpu/flavors.h"
#include "tests/gpu/test_device.h"
#include "tests/support/emulated_peers.h"
#include "tests/support/linked_team.h"
#include "tests/support/reference_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

using ::bubblescope::test::asTeam;

/// One device for all; its streams belong to the rank that created them.
struct Machine {
    explicit Machine(unsigned seed) : device(std::make_shared<EmulatedDevice>(seed)) {
        device->fed_by_others = true;
        peers = std::make_shared<EmulatedPeers>(*device);
    }

    [[nodiscard]] std::shared_ptr<Backend> backend(Storage storage) const {
        return std::make_shared<Backend>("emulated", device, storage, std::make_shared<MonotonicClock>(),
                                         connectDevices(peers));
    }

    std::shared_ptr<EmulatedDevice> device;
    std::shared_ptr<EmulatedPeers> peers;
};

RunConfig configOf(Schedule schedule, const Machine& machine, Storage storage) {
    RunConfig config;
    config.schedule = std::move(schedule);
    config.model = tinyModel();
    config.steps = 3;
    config.paced = false;
    config.backend = machine.backend(storage);
    return config;
}

/// The root's summary, or the first error; `errors` receives the error of each rank.
Result<RunSummary> trainLinked(const RunConfig& config, std::vector<std::string>* errors = nullptr) {
    const auto ranks = static_cast<std::size_t>(config.schedule.pp * config.replicas * config.tensor_ranks);
    ControlHub hub(ranks);
    std::mutex mutex;
    return asTeam(ranks, [&](ProcessTeam& threads) {
        LinkedTeam team(threads, hub);
        JobControl control;
        Result<RunSummary> summary = std::move(runOverProcesses(config, control, team).summary);
        if (errors != nullptr && !summary.ok()) {
            const std::lock_guard lock(mutex);
            errors->push_back(summary.error().text());
        }
        // Nobody leaves while others may still want to know what became of him.
        (void)team.gather("");
        return summary;
    });
}

/// A few ranks, each of which may be several processes.
Schedule scheduleOf(const char* family) {
    return makeSchedule({family, "", 2, 4, 1}).value();
}

void expectTheReferencesBits(const RunConfig& config) {
    const Result<RunSummary> reference = runReference(config);
    ASSERT_TRUE(reference.ok()) << reference.error().text();
    const Result<RunSummary> run = trainLinked(config);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().losses, reference.value().losses);
    EXPECT_EQ(run.value().weights_digest, reference.value().weights_digest);
}

class LinkedPipelines : public testing::TestWithParam<Flavor> {};

TEST_P(LinkedPipelines, TrainToTheBitsOfTheReference) {
    for (const int slices : {1, 2}) {
        const std::optional<Schedule> schedule = orderOf(GetParam(), slices);
        if (!schedule) continue;
        const Machine machine(11);
        expectTheReferencesBits(configOf(*schedule, machine, Storage::Bf16));
        EXPECT_EQ(machine.peers->comms(), 0);
        EXPECT_GT(machine.peers->joined(), 0);
    }
}

/// Every rank receives exactly the messages that the others send to it, each on one link.
TEST_P(LinkedPipelines, HaveALinkForEveryMessage) {
    for (const int replicas : {1, 2}) {
        for (const int slices : {1, 2}) {
            const std::optional<Schedule> schedule = orderOf(GetParam(), slices);
            if (!schedule) continue;
            const DataPlan plan(*schedule, replicas);
            const RunMesh mesh{schedule->pp, replicas};
            std::vector<LinkMessage> planned;
            for (const PeerLink& link : planLinks(*schedule, plan, mesh)) {
                std::set<Rank> used;
                for (const LinkMessage& message : link.messages) {
                    used.insert({message.from, message.to});
                    if (!link.one_way) continue;
                    EXPECT_EQ(message.from, link.members.at(0));
                    EXPECT_EQ(message.to, link.members.at(1));
                    EXPECT_EQ(message.key.content, link.messages.front().key.content);
                }
                EXPECT_EQ(std::vector<Rank>(used.begin(), used.end()), [&] {
                    std::vector<Rank> members = link.members;
                    std::ranges::sort(members);
                    return members;
                }());
                planned.insert(planned.end(), link.messages.begin(), link.messages.end());
            }
            std::vector<LinkMessage> expected;
            for (int r = 0; r < mesh.ranks(); ++r) {
                const CommTopology topology(*schedule, plan, mesh, Rank{r});
                for (const Expected& message : topology.expectedInStep())
                    expected.push_back({message.from, Rank{r}, message.key});
            }
            std::ranges::sort(planned);
            std::ranges::sort(expected);
            EXPECT_EQ(planned, expected);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Registry, LinkedPipelines, testing::ValuesIn(allFlavors()), nameOfFlavor);

TEST(LinkedRuns, TrainReplicasToTheBitsOfTheReference) {
    for (const char* const family : {"1f1b", "dualpipe"}) {
        const Machine machine(5);
        RunConfig config = configOf(*orderOf({family, ""}, 1), machine, Storage::Float);
        config.replicas = 2;
        expectTheReferencesBits(config);
    }
}

TEST(LinkedRuns, TrainSharedStagesToTheBitsOfTheReference) {
    for (const char* const family : {"1f1b", "zb-h1"}) {
        for (const int replicas : {1, 2}) {
            const Machine machine(5);
            RunConfig config = configOf(scheduleOf(family), machine, Storage::Bf16);
            config.replicas = replicas;
            config.tensor_ranks = 2;
            SCOPED_TRACE(family);
            expectTheReferencesBits(config);
        }
    }
}

TEST(LinkedRuns, SharedStagesNeedEqualSlices) {
    const Machine machine(5);
    const std::optional<Schedule> schedule = orderOf({"seq1f1b", ""}, 2);
    ASSERT_TRUE(schedule.has_value());
    RunConfig config = configOf(*schedule, machine, Storage::Float);
    config.tensor_ranks = 2;
    config.model.sequence = 9;
    const Result<RunSummary> run = trainLinked(config);
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(run.error().kind, ErrorKind::Usage);
    EXPECT_NE(run.error().text().find("9 tokens cannot be split into 2 equal slices"), std::string::npos)
        << run.error().text();
}

TEST(LinkedRuns, DoNotDependOnWhatTheDeviceDoesFirst) {
    for (const unsigned seed : {1U, 2U, 3U, 4U}) {
        const Machine machine(seed);
        expectTheReferencesBits(configOf(*orderOf({"interleaved", "megatron"}, 1), machine, Storage::Float));
    }
}

TEST(LinkedRuns, LeaveNothingBehind) {
    const Machine machine(3);
    ASSERT_TRUE(trainLinked(configOf(*orderOf({"zb-v", "greedy"}, 1), machine, Storage::Float)).ok());
    EXPECT_EQ(machine.peers->comms(), 0);
    EXPECT_EQ(machine.device->streams(), 0);
    EXPECT_EQ(machine.device->events(), 0);
    EXPECT_EQ(machine.device->allocated(), 0);
}

/// A receive that waits for its peer on the device keeps code from being loaded there.
TEST(LinkedRuns, LoadAllCodeBeforeTheFirstReceive) {
    for (const char* const family : {"1f1b", "fthenb", "zb-h1"}) {
        for (const int tensor_ranks : {1, 2}) {
            const Machine machine(7);
            machine.device->loads_lazily = true;
            RunConfig config = configOf(scheduleOf(family), machine, Storage::Float);
            config.tensor_ranks = tensor_ranks;
            expectTheReferencesBits(config);
            EXPECT_EQ(machine.device->broken(), "");
        }
    }
}

TEST(LinkedRuns, TransfersAreUrgentAndProductsLeaveThemRoom) {
    const Machine machine(7);
    const auto backend = machine.backend(Storage::Float);
    ASSERT_TRUE(trainLinked(configOf(scheduleOf("1f1b"), machine, Storage::Float)).ok());
    // Each of two ranks in a pipeline has a link for activations and one for gradients.
    EXPECT_EQ(machine.device->room(), 2 * machine.peers->blocksOfTransfer());
    const int usual = machine.device->streams(Accelerator::Priority::Usual);
    const int urgent = machine.device->streams(Accelerator::Priority::Urgent);
    const auto rank = backend->openRank();
    EXPECT_EQ(machine.device->streams(Accelerator::Priority::Usual), usual + 1) << "the rank's own";
    EXPECT_EQ(machine.device->streams(Accelerator::Priority::Urgent), urgent + 3) << "two directions and parts of sums";
}

/// Work of a rank's links is found under the rank, by stream.
TEST(LinkedRuns, EachLinkNamesItsStreamByPeerAndContent) {
    const auto device = std::make_shared<EmulatedDevice>(3);
    const auto queue = makeQueue(device);
    const auto purposes = [&queue] {
        std::vector<std::string> all;
        for (const RankQueue::NamedStream& stream : queue->streams())
            all.push_back(stream.purpose);
        return all;
    };
    const std::vector<std::string> own = purposes();
    const Schedule schedule = scheduleOf("1f1b");
    const RunMesh mesh{schedule.pp, 2, 2};
    for (int r = 0; r < mesh.ranks(); ++r) {
        const Rank self{r};
        std::set<std::string> named;
        for (const PeerLink& link : planLinks(schedule, DataPlan(schedule, 2), mesh)) {
            if (!std::ranges::count(link.members, self)) continue;
            EXPECT_TRUE(named.insert(purposeOf(link, self)).second) << purposeOf(link, self);
        }
        if (r == 0) {
            const std::set<std::string> expected{"link to rank 4: activations", "link from rank 4: gradients",
                                                 "link with rank 1: even sums", "link with rank 1: odd sums",
                                                 "link with rank 2: sums of gradients"};
            EXPECT_EQ(named, expected);
        }
    }
    {
        const std::vector<PeerLink> links = planLinks(schedule, DataPlan(schedule, 1), {schedule.pp, 1});
        const SendChannel link({nullptr, queue, nullptr, false}, links.front(), links.front().members.front(), nullptr);
        std::vector<std::string> with = own;
        with.push_back(purposeOf(links.front(), links.front().members.front()));
        EXPECT_EQ(purposes(), with);
    }
    EXPECT_EQ(purposes(), own);
}

/// The thread that advances messages must not touch a stream whose work the rank's thread gathers into a batch.
TEST(LinkedRuns, MemoryThatWasSentIsFreedByTheRanksThread) {
    for (const bool later : {true, false}) {
        const auto device = std::make_shared<EmulatedDevice>(3);
        const auto queue = makeQueue(device);
        const Accelerator::Stream link = device->makeStream();
        MemoryPool memory(*device, link);
        Buffer received = memory.take(64);
        received.usedOn(queue->stream()); // an op computed in the memory that its input came in
        Tensor sent = queue->give(std::move(received), 4, 4, Storage::Float);
        queue->beginStep();
        queue->beginOp(1, std::nullopt, 0);
        std::thread([&] {
            if (later) {
                queue->freeLater(std::move(sent));
            } else {
                sent = Tensor();
            }
        }).join();
        EXPECT_EQ(device->broken().empty(), later);
        if (!later) continue;
        queue->endOp();
        EXPECT_GT(memory.inUse(), 0);
        queue->waitForRoom();
        EXPECT_EQ(memory.inUse(), 0);
        EXPECT_EQ(queue->finishOps().size(), 1U);
    }
}

TEST(LinkedRuns, AreRefusedWhereTheModelCannotFit) {
    const Machine machine(7);
    RunConfig config = configOf(scheduleOf("1f1b"), machine, Storage::Bf16);
    // Weights, gradients and moments of both stages, with their rounded copy: 18 bytes for each number.
    std::int64_t parameters = 0;
    const DataPlan plan(config.schedule);
    for (int stage = 0; stage < 2; ++stage)
        parameters += flatLayout(config.model, plan.taskOf(Stage{stage}), 1).size;
    const auto fits = [&](std::int64_t bytes) {
        machine.device->capacity = bytes;
        JobControl control;
        const Result<RunSummary> run = runPipeline(config, control);
        if (run.ok()) return true;
        EXPECT_EQ(run.error().kind, ErrorKind::Usage) << run.error().text();
        EXPECT_NE(run.error().text().find("the model does not fit"), std::string::npos) << run.error().text();
        return false;
    };
    EXPECT_FALSE(fits(18 * parameters));
    EXPECT_TRUE(fits(std::int64_t{1} << 30));
    EXPECT_GT(machine.device->allocations(), 0);
    // The error comes before anything is allocated.
    const std::int64_t before = machine.device->allocations();
    EXPECT_FALSE(fits(18 * parameters));
    EXPECT_EQ(machine.device->allocations(), before);
}

TEST(LinkedRuns, ABrokenLinkEndsAll) {
    const Machine machine(3);
    machine.peers->breakAfter(40, "remote process exited");
    const RunConfig config = configOf(*orderOf({"1f1b", ""}, 1), machine, Storage::Float);
    std::vector<std::string> errors;
    EXPECT_FALSE(trainLinked(config, &errors).ok());
    ASSERT_EQ(errors.size(), static_cast<std::size_t>(config.schedule.pp));
    for (const std::string& error : errors) {
        EXPECT_NE(error.find("the link from rank"), std::string::npos) << error;
        EXPECT_NE(error.find("failed: remote process exited"), std::string::npos) << error;
    }
    EXPECT_EQ(machine.peers->comms(), 0);
}

TEST(LinkedRuns, ARankThatHangsIsNamedByAll) {
    const Machine machine(3);
    RunConfig config = configOf(*orderOf({"1f1b", ""}, 1), machine, Storage::Float);
    config.faults = {parseFault("hang:rank=2,step=1,op=B0").value()};
    config.timeout = TimeNs{1'000'000'000};
    std::vector<std::string> errors;
    EXPECT_FALSE(trainLinked(config, &errors).ok());
    ASSERT_EQ(errors.size(), static_cast<std::size_t>(config.schedule.pp));
    for (const std::string& error : errors)
        EXPECT_NE(error.find("rank 2 hangs: it has been in B0.0 of step 1"), std::string::npos) << error;
    EXPECT_EQ(machine.peers->comms(), 0);
}

TEST(LinkedRuns, NeedALibraryThatJoinsDevices) {
    Machine machine(3);
    machine.peers = nullptr;
    const Result<RunSummary> run = trainLinked(configOf(*orderOf({"1f1b", ""}, 1), machine, Storage::Float));
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(run.error().kind, ErrorKind::Usage);
    EXPECT_NE(run.error().text().find("NCCL"), std::string::npos) << run.error().text();
}

TEST(LinkedRuns, AreRefusedWhereRanksShareAGpu) {
    const Machine machine(3);
    machine.peers->putOnOneGpu();
    std::vector<std::string> errors;
    RunConfig config = configOf(*orderOf({"1f1b", ""}, 1), machine, Storage::Float);
    config.timeout = TimeNs{1'000'000'000}; // of the ranks whose neighbours have failed
    EXPECT_FALSE(trainLinked(config, &errors).ok());
    ASSERT_EQ(errors.size(), static_cast<std::size_t>(config.schedule.pp));
    for (const std::string& error : errors) {
        EXPECT_NE(error.find("Duplicate GPU detected"), std::string::npos) << error;
        EXPECT_NE(error.find("start one process per GPU, or one process for all ranks"), std::string::npos) << error;
    }
    EXPECT_EQ(machine.peers->comms(), 0);
}

TEST(LinkedRuns, SayWhatTheLibrarySays) {
    const Machine machine(3);
    machine.peers->breakAfter(0, "remote process exited");
    std::vector<std::string> errors;
    EXPECT_FALSE(trainLinked(configOf(*orderOf({"1f1b", ""}, 1), machine, Storage::Float), &errors).ok());
    for (const std::string& error : errors)
        EXPECT_NE(error.find("the link from rank 0 to rank 1 could not connect: remote process exited"),
                  std::string::npos)
            << error;
}

} // namespace
} // namespace bubblescope::runtime::test
