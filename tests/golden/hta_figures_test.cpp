#include "core/analysis/devices/device_summary.h"
#include "core/formats/read_trace.h"
#include "tests/support/shared_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

// The figures that HolisticTraceAnalysis 0.5.0 (with whole traces, include_last_profiler_step, and without its rounding
// of times to
// microseconds, HTA_DISABLE_NS_ROUNDING=1) finds in real traces, against what we do. Its events of synchronisation, and
// operators that have an argument named stream, count as compute there; files where that matters are left out of the
// rows concerned, which say so. Where a launch and a begin fall into one microsecond, as on stream 28 below, it may
// count the launch first and a queue of one more.
namespace bubblescope {
namespace {

/// In microseconds, as it prints them.
struct Figures {
    std::string file;
    double span = 0;
    double compute = 0;
    double idle = 0;
    std::optional<double> overlap; ///< percent of communication during compute
    double launch_delay = -1;      ///< the longest; negative: it knows no launches
    struct Stream {
        std::string name;
        double host_wait = 0;
        double kernel_wait = 0;
        double other = 0;
        std::int64_t most_queued = 0;
    };
    std::vector<Stream> streams;
    bool synchronises = false; ///< its times hold synchronisation; streams are comparable
};

void PrintTo(const Figures& figures, std::ostream* out) {
    *out << figures.file;
}

class HolisticTraceAnalysis : public testing::TestWithParam<Figures> {};

TEST_P(HolisticTraceAnalysis, FindsTheSame) {
    const Figures& expected = GetParam();
    BUBBLESCOPE_NEED_TRACES(expected.file.substr(0, expected.file.find('/')));
    JobControl control;
    const auto read = readTraces({test::sharedDir() / "traces" / expected.file}, control);
    ASSERT_TRUE(read.ok()) << read.error().text();
    RawTrace whole(read.value().trace);
    const std::vector<FileActivity> files = extractActivity(whole).value();
    ASSERT_EQ(files.size(), 1U);
    ASSERT_EQ(files.front().devices.size(), 1U);
    const DeviceSummary& device = files.front().devices.front();
    const double part = expected.span / 1000; // 0.1 %
    const auto in_us = [](TimeNs time) { return static_cast<double>(time.count()) * 1e-3; };
    if (!expected.synchronises) {
        EXPECT_NEAR(in_us(device.times.span()), expected.span, part);
        // There, kernels are communication whose names hold "nccl"; PyTorch's symmetric memory is compute.
        const auto ours_alone = [](const CollectiveTotals& each) {
            return each.name.find("nccl") == std::string::npos;
        };
        TimeNs other{0};
        for (const CollectiveTotals& each : device.collectives)
            other += ours_alone(each) && each.group.empty() ? each.exposed : TimeNs{0};
        EXPECT_NEAR(in_us(device.times.compute() + other), expected.compute, part);
        EXPECT_NEAR(in_us(device.times.idle()), expected.idle, part);
    }
    if (expected.overlap) {
        EXPECT_NEAR(100 * in_us(device.times.hiddenCommunication()) / in_us(device.times.communication()),
                    *expected.overlap, 0.01);
    }
    if (expected.launch_delay >= 0) {
        EXPECT_NEAR(in_us(device.launches.delay_longest), expected.launch_delay, 0.01);
    }
    for (const Figures::Stream& stream : expected.streams) {
        const auto found = std::ranges::find(device.streams, stream.name, &StreamSummary::name);
        ASSERT_NE(found, device.streams.end()) << stream.name;
        EXPECT_NEAR(in_us(found->idle.host), stream.host_wait, part) << stream.name;
        EXPECT_NEAR(in_us(found->idle.gaps), stream.kernel_wait, part) << stream.name;
        EXPECT_NEAR(in_us(found->idle.other), stream.other, part) << stream.name;
        EXPECT_EQ(found->most_queued, stream.most_queued) << stream.name;
    }
}

INSTANTIATE_TEST_SUITE_P(
    OutsideTraces, HolisticTraceAnalysis,
    testing::Values(
        Figures{"hta/nccl_data.json.gz",
                660551.006,
                115655.847,
                503050.991,
                15.61,
                964.931,
                {{"stream 7", 540091.32, 2150.34, 0, 10}, {"stream 40", 583924.26, 0, 0, 1}}},
        Figures{"hta/sampled_rank-0.json.gz",
                1222847,
                210320,
                675191,
                14.95,
                111018,
                {{"stream 23", 1214793, 160, 34, 4},
                 {"stream 84", 794901, 6, 3142, 2},
                 {"stream 25", 560120, 35, 100413, 8},
                 {"stream 7", 397917, 3765, 598335, 80},
                 {"stream 203", 558073, 0, 0, 1}}},
        Figures{"hta/sampled_rank-1.json.gz",
                1231186,
                271973,
                651136,
                19.93,
                120824,
                {{"stream 23", 1222526, 134, 30, 2},
                 {"stream 25", 556447, 17, 91823, 8},
                 {"stream 7", 407794, 3475, 524657, 91},
                 {"stream 84", 715850, 0, 62586, 1},
                 {"stream 203", 559033, 0, 0, 1}}},
        Figures{"hta/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
                8911.887,
                110.881,
                8762.845,
                std::nullopt,
                -1,
                {{"stream 0", 8762.84, 0, 0, 1}}},
        Figures{"hta/alexnet_cuda_sync.json.gz",
                12996011,
                10637,
                12929684,
                std::nullopt,
                1533,
                {{"stream 7", 12855007, 104, 0, 18}, {"stream 20", 12011718, 3, 0, 2}},
                true},
        Figures{"hta/event_sync_trace.json.gz", 263, 49, 207, std::nullopt, 2, {{"stream 7", 212, 0, 0, 1}}, true},
        Figures{"hta/event_sync_multi_stream_trace.json.gz",
                19506,
                371,
                19132,
                std::nullopt,
                6,
                {{"stream 20", 32, 0, 0, 1}, {"stream 24", 0, 15, 0, 1}, {"stream 28", 0, 15, 0, 1}},
                true},
        Figures{"kineto/resnet50_num_workers_0.pt.trace.json.gz",
                876066,
                591209,
                273921,
                std::nullopt,
                32981,
                {{"stream 7", 263800, 10121, 0, 558}}},
        Figures{"tracelens/h100_qwen1.5-0.5b.json.gz",
                49652.832,
                45432.698,
                4005.532,
                std::nullopt,
                3121.709,
                {{"stream 7", 1509.72, 2495.81, 0, 111}}},
        Figures{"tracelens/mi210_gpu_only.json.gz",
                5979.503,
                5343.422,
                636.081,
                std::nullopt,
                -1,
                {{"stream 0", 595.86, 40.22, 0, 100}}},
        // One operator of the host has an argument named stream: 73 us more compute there.
        Figures{"tracelens/b200_eager_rank0of8.json.gz", 84487.178, 10844.384, 72817.996, 0.0, 192.551, {}}));

} // namespace
} // namespace bubblescope
