// The engine on an emulated device, whose time is made up: ops and transfers are held for their nominal times, so what
// is recorded must be the simulation.

#include "runtime/backend/backend.h"
#include "tests/gpu/test_device.h"
#include "tests/support/emulated_device.h"
#include "tests/unit/runtime/engine_run.h"
#include "tests/unit/runtime/schedules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

/// The run on a device instead of the host.
std::shared_ptr<Backend> onDevice(EngineRun& run, const std::shared_ptr<EmulatedDevice>& device) {
    const std::shared_ptr<HostClock> clock(std::shared_ptr<void>(), &run.clock);
    auto backend = std::make_shared<Backend>("emulated", device, Storage::Float, clock);
    run.devices = {
        [backend] { return backend->openRank(); },
        [backend, &run](RankQueue& rank, const StageTask& task) { return backend->makeStage(rank, run.model, task); }};
    return backend;
}

// Not of V placements: transfers of one direction follow each other here, also those from two neighbours.
TEST(PacedOnADevice, EqualsTheSimulation) {
    for (const auto& [name, vpp] : {std::pair{"gpipe", 1}, {"1f1b", 1}, {"interleaved", 2}, {"zb-h1", 1}}) {
        for (const TimeNs comm : {TimeNs{0}, TimeNs{1'500'000}}) {
            SCOPED_TRACE(name);
            EngineRun run(scheduleOf(name, 4, 8, vpp), someTimes(comm));
            const auto device = std::make_shared<EmulatedDevice>(7);
            const auto backend = onDevice(run, device);
            const Result<EngineResult> result = run.run();
            ASSERT_TRUE(result.ok()) << result.error().text();
            expectEqualsSimulation(run);
        }
    }
}

/// Ops and the sums inside them, of every rank and step, with times counted from the step's begin.
std::vector<std::string> opsAndSums(const EngineRun& run) {
    std::vector<std::string> rows;
    for (std::size_t r = 0; r < run.records.size(); ++r) {
        for (const profiler::SliceRecord& record : run.records[r]) {
            using Category = profiler::SliceRecord::Category;
            if (record.category != Category::Op && record.category != Category::Collective) continue;
            if (record.kind == OpKind::Optimizer) continue; // it waits for the host, whose time is not made up
            const TimeNs origin = beginOf(run, record.step);
            rows.push_back(fmt::format("rank {} step {} {} {} to {}, waited {}", r, record.step,
                                       record.category == Category::Op ? opName(record.asOp().op) : "sum",
                                       (record.start - origin).count(), (record.end - origin).count(),
                                       record.exposedComm().count()));
        }
    }
    std::ranges::sort(rows);
    return rows;
}

TEST(PacedOnADevice, SumsLieWhereTheyDoOnTheHost) {
    for (const char* const name : {"1f1b", "zb-h1"}) {
        SCOPED_TRACE(name);
        const Schedule schedule = scheduleOf(name, 3, 4);
        EngineRun host(schedule, someTimes(TimeNs{1'000'000}));
        EngineRun run(schedule, someTimes(TimeNs{1'000'000}));
        for (EngineRun* const each : {&host, &run}) {
            each->model.heads = 2;
            each->model.layers_per_stage = 2;
            each->tensor_ranks = 2;
        }
        ASSERT_TRUE(host.run().ok());
        const auto device = std::make_shared<EmulatedDevice>(7);
        const auto backend = onDevice(run, device);
        const Result<EngineResult> result = run.run();
        ASSERT_TRUE(result.ok()) << result.error().text();
        const std::vector<std::string> rows = opsAndSums(run);
        const std::vector<std::string> expected = opsAndSums(host);
        for (std::size_t i = 0; i < std::max(rows.size(), expected.size()); ++i)
            ASSERT_EQ(i < rows.size() ? rows[i] : "none", i < expected.size() ? expected[i] : "none");
    }
}

TEST(PacedOnADevice, WaitsForTheDeviceOnlyAroundSteps) {
    const auto waitsOf = [](int microbatches) {
        EngineRun run(scheduleOf("1f1b", 2, microbatches), someTimes(TimeNs{0}));
        run.steps = 3;
        const auto device = std::make_shared<EmulatedDevice>(7);
        const auto backend = onDevice(run, device);
        EXPECT_TRUE(run.run().ok());
        return device->hostWaits();
    };
    EXPECT_EQ(waitsOf(2), waitsOf(9)) << "ops cost no waits";
}

// A stream that is held keeps later work of other streams in its hardware queue waiting. Four ranks have more than 8
// streams, CUDA's default number of queues, so that runs on a GPU ask for 32.
TEST(PacedOnADevice, NeedsAHardwareQueuePerStream) {
    const auto opsWith = [](std::size_t queues) {
        EngineRun run(scheduleOf("1f1b", 4, 8), someTimes(TimeNs{1'500'000}));
        const auto device = std::make_shared<EmulatedDevice>(7);
        device->queues = queues;
        const auto backend = onDevice(run, device);
        EXPECT_TRUE(run.run().ok());
        return opsAndSums(run);
    };
    const std::vector<std::string> simulated = opsWith(0);
    EXPECT_EQ(opsWith(32), simulated);
    EXPECT_NE(opsWith(3), simulated);
}

// As CUDA: an event without timing has no time, and neither has one that was not reached.
TEST(EmulatedEvents, HaveATimeOnlyIfTheyAreTimedAndReached) {
    EmulatedDevice device(7);
    Accelerator::Stream stream = device.makeStream();
    Accelerator::Event first = device.makeEvent(true);
    Accelerator::Event second = device.makeEvent(true);
    Accelerator::Event untimed = device.makeEvent(false);
    device.record(first, stream);
    device.record(untimed, stream);
    device.finish(stream);
    EXPECT_EQ(device.elapsed(first, first), TimeNs{0});
    EXPECT_THROW((void)device.elapsed(first, untimed), std::logic_error);
    EXPECT_THROW((void)device.elapsed(first, second), std::logic_error) << "never recorded";
    device.record(second, stream);
    EXPECT_THROW((void)device.elapsed(first, second), std::logic_error) << "still queued";
    device.finish(stream);
    EXPECT_EQ(device.elapsed(first, second), TimeNs{0});
}

// An event without timing that is used again would have no time when a check asks whether its tensor has arrived.
TEST(EmulatedEvents, OfHandOversHaveATimeInRunsWithChecks) {
    const auto device = std::make_shared<EmulatedDevice>(7U);
    const auto queue = makeQueue(device);
    queue->beginStep();
    const auto handedOver = [&] {
        Buffer values = queue->pool().take(64);
        device->zero(values.as<void>(), values.bytes(), queue->stream());
        return queue->handOver(queue->give(std::move(values), 4, 4, Storage::Float));
    };
    Tensor before = handedOver();
    queue->finish();
    before = Tensor(); // returns its event
    queue->prepareChecks();
    const Tensor after = handedOver();
    queue->finish();
    EXPECT_TRUE(queue->arrived(after, TimeNs{1}, TimeNs::max()));
}

// The ops that become a CUDA graph: an op that is a new graph every time would cost more than its kernels one by one.
TEST(BatchesOnADevice, AreTheOpsAndComeAgainWithTheSameCalls) {
    for (const auto& [name, vpp] : {std::pair{"1f1b", 1}, {"interleaved", 2}, {"zb-h1", 1}, {"dualpipe", 2}}) {
        SCOPED_TRACE(name);
        EngineRun run(scheduleOf(name, 4, 8, vpp), someTimes(TimeNs{0}));
        run.steps = 3;
        const auto device = std::make_shared<EmulatedDevice>(7);
        const auto backend = onDevice(run, device);
        const Result<EngineResult> result = run.run();
        ASSERT_TRUE(result.ok()) << result.error().text();
        std::int64_t together = 0; // a pair is one
        for (const auto& ops : run.schedule.ranks)
            together += std::ranges::count(ops, true, &Op::overlapped) / 2;
        EXPECT_EQ(device->batches(), result.value().ops - run.steps * together);
        const std::vector<std::size_t> shapes = device->batchShapes();
        ASSERT_FALSE(shapes.empty());
        EXPECT_LE(std::ranges::max(shapes), 2U);
    }
}

// A GPU launches the graph of an op again as it is where it finds the op's memory at the same addresses. If there are
// several ranks, a rank frees received tensors at a time that depends on its thread, so addresses depend on the
// threads, too.
TEST(BatchesOnADevice, FindTheirMemoryWhereTheyHadIt) {
    const auto capturedIn = [](int steps) {
        EngineRun run(scheduleOf("1f1b", 1, 4), someTimes(TimeNs{0}));
        run.steps = steps;
        const auto device = std::make_shared<EmulatedDevice>(7);
        const auto backend = onDevice(run, device);
        EXPECT_TRUE(run.run().ok());
        return device->capturedBatches();
    };
    EXPECT_EQ(capturedIn(3), capturedIn(9));
}

TEST(PacedOnADevice, LeavesNothingBehind) {
    const auto device = std::make_shared<EmulatedDevice>(7);
    {
        EngineRun run(scheduleOf("1f1b", 3, 4), someTimes(TimeNs{0}));
        const auto backend = onDevice(run, device);
        ASSERT_TRUE(run.run().ok());
        run.devices.reset();
    }
    EXPECT_EQ(device->streams(), 0);
    EXPECT_EQ(device->events(), 0);
    EXPECT_EQ(device->allocated(), 0);
}

TEST(PacedOnADevice, MemoryThatIsShortEndsTheRunWithAnError) {
    EngineRun run(scheduleOf("1f1b", 2, 4), someTimes(TimeNs{0}));
    const auto device = std::make_shared<EmulatedDevice>(7);
    device->capacity = 30'000;
    const auto backend = onDevice(run, device);
    const Result<EngineResult> result = run.run();
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().text().find("out of memory"), std::string::npos) << result.error().text();
    EXPECT_NE(result.error().text().find("rank"), std::string::npos);
}

} // namespace
} // namespace bubblescope::runtime::test
