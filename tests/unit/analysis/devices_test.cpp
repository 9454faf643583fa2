#include "core/analysis/devices/device_summary.h"
#include "core/formats/read_trace.h"
#include "core/recognise/run.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

using testing::DoubleNear;
using testing::IsEmpty;
using testing::SizeIs;

/// Work on a device, as a profiler would write it; times in microseconds.
struct Event {
    std::string category = "kernel";
    std::string name = "gemm";
    int stream = 7;
    std::int64_t start = 0;
    std::int64_t duration = 0;
    int correlation = 0;
    std::string args = {};
};

std::string eventJson(const Event& event) {
    const bool host = event.category == "cuda_runtime" || event.category == "cpu_op";
    return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
                       R"("args":{{"correlation":{}{}}}}})",
                       event.category, event.name, host ? 100 : 0, host ? 1 : event.stream, event.start, event.duration,
                       event.correlation, event.args.empty() ? "" : "," + event.args);
}

std::vector<FileActivity> activityOf(const std::vector<Event>& events) {
    const test::ScratchFolder folder;
    std::string json = R"({"schemaVersion":1,"distributedInfo":{"rank":3},"traceEvents":[)";
    for (std::size_t i = 0; i < events.size(); ++i)
        json += (i == 0 ? "" : ",\n") + eventJson(events[i]);
    JobControl control;
    const auto read = readTraces({folder.write("trace.json", json + "]}")}, control);
    EXPECT_TRUE(read.ok());
    RawTrace whole(read.value().trace);
    return extractActivity(whole).value();
}

DeviceSummary deviceOf(const std::vector<Event>& events) {
    const std::vector<FileActivity> files = activityOf(events);
    EXPECT_THAT(files, SizeIs(1));
    EXPECT_THAT(files.front().devices, SizeIs(1));
    return files.front().devices.front();
}

constexpr TimeNs us(std::int64_t count) {
    return TimeNs{1000 * count};
}

TEST(Devices, TimesArePartsOfTheSpan) {
    const DeviceSummary device = deviceOf({{"kernel", "gemm", 7, 0, 100},
                                           {"kernel", "ncclDevKernel_AllReduce", 8, 50, 100},
                                           {"gpu_memcpy", "Memcpy HtoD", 9, 140, 30},
                                           {"gpu_memset", "Memset", 9, 200, 10},
                                           {"cuda_sync", "Stream Sync", 7, 150, 90}});
    EXPECT_EQ(device.rank, 3);
    EXPECT_EQ(device.times.span(), us(210));
    EXPECT_EQ(device.times.compute(), us(100));
    EXPECT_EQ(device.times.communication(), us(100));
    EXPECT_EQ(device.times.hiddenCommunication(), us(50));
    EXPECT_EQ(device.times.exposedCommunication(), us(50));
    EXPECT_EQ(device.times.memory(), us(40));
    EXPECT_EQ(device.times.exposedMemory(), us(30)) << "10 of the copy ran beside the all-reduce";
    EXPECT_EQ(device.times.idle(), us(30)) << "a synchronisation is no work";
    EXPECT_EQ(device.idle.total(), us(30));
}

// Every microsecond by itself, against the sweep over sorted ends.
TEST(Devices, TimesAreThoseOfCountingEveryMicrosecond) {
    std::mt19937 random(7);
    const auto upTo = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
    for (int round = 0; round < 30; ++round) {
        std::vector<Event> events;
        const std::array<std::pair<const char*, const char*>, 3> kinds{
            {{"kernel", "gemm"}, {"kernel", "ncclDevKernel_SendRecv"}, {"gpu_memcpy", "Memcpy DtoH"}}};
        for (int stream = 0; stream < 3; ++stream) {
            int time = upTo(5);
            for (int i = 0; i < 12; ++i) {
                const auto& [category, name] = kinds[static_cast<std::size_t>(upTo(2))];
                const int duration = upTo(9);
                events.push_back({category, name, stream + 7, time, duration});
                time += duration + upTo(6);
            }
        }
        std::int64_t first = events.front().start;
        std::int64_t last = 0;
        for (const Event& event : events) {
            first = std::min(first, event.start);
            last = std::max(last, event.start + event.duration);
        }
        DeviceTimes counted;
        for (std::int64_t at = first; at < last; ++at) {
            std::size_t mix = 0;
            for (const Event& event : events) {
                if (event.start > at || event.start + event.duration <= at) continue;
                mix |= event.category != "kernel" ? DeviceTimes::kMemory
                       : event.name == "gemm"     ? DeviceTimes::kCompute
                                                  : DeviceTimes::kCommunication;
            }
            counted.by_mix[mix] += us(1);
        }
        const DeviceSummary device = deviceOf(events);
        EXPECT_EQ(device.times.by_mix, counted.by_mix) << "round " << round;
        EXPECT_EQ(device.idle.total(), device.times.idle());
        TimeNs exposed{0};
        for (const CollectiveTotals& each : device.collectives)
            exposed += each.exposed;
        EXPECT_GE(exposed, device.times.exposedCommunication()) << "transfers may run side by side";
    }
}

TEST(Devices, IdleTimeWaitsForTheHostOrForSomethingElse) {
    const std::vector<Event> events{
        {"cuda_runtime", "cudaLaunchKernel", 0, 0, 4, 1},   {"kernel", "gemm", 7, 10, 10, 1},
        {"cuda_runtime", "cudaLaunchKernel", 0, 5, 4, 2},   {"kernel", "gemm", 7, 25, 10, 2}, // 5 after the last
        {"cuda_runtime", "cudaLaunchKernel", 0, 80, 4, 3},  {"kernel", "gemm", 7, 90, 2, 3},  // launched 45 late
        {"cuda_runtime", "cudaLaunchKernel", 0, 85, 10, 4}, {"kernel", "gemm", 7, 192, 4, 4}, // there in time
    };
    const DeviceSummary device = deviceOf(events);
    EXPECT_EQ(device.idle.gaps, us(5));
    EXPECT_EQ(device.idle.host, us(55));
    EXPECT_EQ(device.idle.other, us(100));
    ASSERT_THAT(device.streams, SizeIs(1));
    EXPECT_EQ(device.streams.front().idle.host, us(55));
    EXPECT_EQ(device.streams.front().most_queued, 2);
    EXPECT_EQ(device.launches.count, 4);
    EXPECT_EQ(device.launches.delay_longest, us(97));
    EXPECT_EQ(device.launches.shorter_than_call, 2) << "2 of 4 us, and 4 of 10";
}

TEST(Devices, KernelsAddUpAsOneSample) {
    std::vector<Event> events;
    std::mt19937 random(3);
    std::int64_t time = 0;
    double sum = 0;
    double squares = 0;
    constexpr int kCount = 50;
    for (int i = 0; i < kCount; ++i) {
        const auto duration = static_cast<std::int64_t>(1 + random() % 100);
        events.push_back({"kernel", "gemm", 7, time, duration});
        time += duration + 3;
        sum += 1e3 * static_cast<double>(duration);
        squares += 1e6 * static_cast<double>(duration * duration);
    }
    const std::vector<DeviceSummary> twice(2, deviceOf(events));
    const KernelTotals& one = twice.front().kernels.at(0);
    EXPECT_EQ(one.count, kCount);
    EXPECT_THAT(one.deviationNs(), DoubleNear(std::sqrt((squares - sum * sum / kCount) / (kCount - 1)), 1e-3));
    const std::vector<KernelTotals> joined = joinedKernels(twice);
    ASSERT_THAT(joined, SizeIs(1));
    EXPECT_EQ(joined.front().total, 2 * one.total);
    EXPECT_THAT(joined.front().deviationNs(),
                DoubleNear(std::sqrt(2 * (squares - sum * sum / kCount) / (2 * kCount - 1)), 1e-3));
}

// nccl-tests, doc/PERFORMANCE.md: the factors from algorithm to bus bandwidth.
TEST(Devices, BusBytesHaveTheFactorsOfNcclTests) {
    EXPECT_DOUBLE_EQ(busBytes("allreduce", 8, 1000), 1750);
    EXPECT_DOUBLE_EQ(busBytes("all_reduce", 8, 1000), 1750);
    EXPECT_DOUBLE_EQ(busBytes("_allgather_base", 4, 1000), 750);
    EXPECT_DOUBLE_EQ(busBytes("reduce_scatter_tensor_coalesced", 4, 1000), 750);
    EXPECT_DOUBLE_EQ(busBytes("all_to_allv", 2, 1000), 500);
    EXPECT_DOUBLE_EQ(busBytes("broadcast", 8, 1000), 1000);
    EXPECT_DOUBLE_EQ(busBytes("send", 2, 1000), 1000);
    EXPECT_DOUBLE_EQ(busBytes("allreduce", 0, 1000), 1000) << "group unknown";
}

TEST(Devices, TransfersHaveTheirSizes) {
    const std::string args = R"("Collective name":"allreduce","In msg nelems":1000000,"Out msg nelems":1000000,)"
                             R"("Group size":2,"dtype":"BFloat16","Process Group Description":"dp")";
    const DeviceSummary device = deviceOf({{"kernel", "ncclDevKernel_AllReduce", 8, 0, 100, 0, args},
                                           {"kernel", "ncclDevKernel_AllReduce", 8, 200, 50, 0, args},
                                           {"kernel", "gemm", 7, 210, 20}});
    ASSERT_THAT(device.collectives, SizeIs(1));
    const CollectiveTotals& all_reduce = device.collectives.front();
    EXPECT_EQ(all_reduce.name, "allreduce");
    EXPECT_EQ(all_reduce.group, "dp");
    EXPECT_EQ(all_reduce.bytes, 4'000'000);
    EXPECT_EQ(all_reduce.exposed, us(130));
    EXPECT_DOUBLE_EQ(all_reduce.best_bandwidth, 2e6 / 50e-6);
}

TEST(Devices, HostsCountOperatorsWithoutThoseInside) {
    const std::vector<FileActivity> files =
        activityOf({{"cpu_op", "outer", 0, 0, 100}, {"cpu_op", "inner", 0, 10, 30}, {"cpu_op", "inner", 0, 50, 20}});
    ASSERT_THAT(files, SizeIs(1));
    EXPECT_THAT(files.front().devices, IsEmpty());
    ASSERT_THAT(files.front().threads, SizeIs(1));
    const HostSummary& thread = files.front().threads.front();
    EXPECT_EQ(thread.busy, us(100));
    ASSERT_THAT(thread.operators, SizeIs(2));
    for (const KernelTotals& each : thread.operators)
        EXPECT_EQ(each.total, us(50)) << each.name;
}

TEST(Devices, ATraceWithoutPipelineIsLoadedAndSaysWhy) {
    const test::ScratchFolder folder;
    const auto file = folder.write("trace.json", R"({"traceEvents":[)" + eventJson({"kernel", "gemm", 7, 0, 5}) + "]}");
    JobControl control;
    const auto loaded = loadTrace({file}, control);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    ASSERT_TRUE(loaded.value().no_pipeline.has_value());
    EXPECT_EQ(loaded.value().run.slices, 1);
    EXPECT_EQ(loaded.value().no_pipeline->text(), loadRun({file}, control).error().text());
    LoadOptions stated;
    stated.family = ScheduleSpec{"1f1b", "", 2, 4, 1};
    EXPECT_FALSE(loadTrace({file}, control, stated).ok()) << "who states a schedule wants that one";
}

} // namespace
} // namespace bubblescope
