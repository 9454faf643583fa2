#include "core/formats/source/slice_pairing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace bubblescope {
namespace {

struct Given {
    SliceMark mark;
    bool complete = false; ///< a slice that the reader adds itself, of 3 ns
    std::uint64_t flow = 0;
};

/// Marks of some tracks; `disorder` in a hundred come earlier than the one before.
std::vector<Given> randomMarks(std::mt19937& random, int disorder) {
    const auto pick = [&](int below) { return std::uniform_int_distribution(0, below - 1)(random); };
    std::vector<Given> given;
    std::int64_t time = 1000;
    const int tracks = 1 + pick(3);
    for (int count = pick(60); count > 0; --count) {
        time += pick(100) < disorder ? -pick(20) : pick(4);
        Given& next = given.emplace_back();
        next.complete = pick(10) == 0;
        next.mark.track = static_cast<TrackId>(pick(tracks));
        next.mark.is_end = !next.complete && pick(2) == 0;
        next.mark.time = TimeNs{time};
        next.mark.name = static_cast<StringId>(1 + pick(5));
        next.mark.args = static_cast<ArgSetId>(pick(4)); // sets that the builder has
        next.flow = !next.complete && !next.mark.is_end && pick(3) == 0 ? static_cast<std::uint64_t>(1 + pick(5)) : 0;
    }
    return given;
}

using Slice = std::tuple<TrackId, std::int64_t, std::int64_t, StringId, std::string>;

struct Expected {
    std::vector<Slice> slices;
    std::vector<std::tuple<TrackId, std::int64_t, StringId>> open;
    std::int64_t lost_ends = 0;
    std::size_t flows = 0;
};

std::string argsOf(ArgSetId begin, ArgSetId end) {
    return begin == 0 && end == 0 ? "" : fmt::format("{}", end == 0 ? begin : end);
}

/// A simple implementation of the class's documented behaviour.
Expected pairedPlainly(const std::vector<Given>& given) {
    Expected expected;
    std::map<TrackId, std::vector<Given>> tracks;
    for (const Given& next : given) {
        if (next.complete)
            expected.slices.emplace_back(next.mark.track, next.mark.time.count(), 3, next.mark.name,
                                         argsOf(next.mark.args, 0));
        else
            tracks[next.mark.track].push_back(next);
    }
    for (auto& [track, marks] : tracks) {
        std::stable_sort(marks.begin(), marks.end(),
                         [](const Given& a, const Given& b) { return a.mark.time < b.mark.time; });
        std::vector<Given> open;
        for (const Given& next : marks) {
            if (!next.mark.is_end) {
                open.push_back(next);
            } else if (open.empty()) {
                ++expected.lost_ends;
            } else {
                const SliceMark& begin = open.back().mark;
                expected.slices.emplace_back(track, begin.time.count(), (next.mark.time - begin.time).count(),
                                             begin.name, argsOf(begin.args, next.mark.args));
                expected.flows += open.back().flow != 0 ? 1 : 0;
                open.pop_back();
            }
        }
        for (const Given& begin : open) {
            expected.open.emplace_back(track, begin.mark.time.count(), begin.mark.name);
            expected.flows += begin.flow != 0 ? 1 : 0;
        }
    }
    std::ranges::sort(expected.slices);
    std::ranges::sort(expected.open);
    return expected;
}

class SlicePairingTest : public testing::TestWithParam<int> {};

// In order, nearly in order, and in none: with ties, ends that never began, slices of the reader's own on the same
// rows, and args on both marks.
TEST_P(SlicePairingTest, PairsAsMarksInOrderOfTimeDo) {
    std::mt19937 random(static_cast<std::uint32_t>(GetParam()) + 1);
    for (int round = 0; round < 400; ++round) {
        const std::vector<Given> given = randomMarks(random, GetParam());
        const Expected expected = pairedPlainly(given);
        TraceBuilder builder;
        builder.addFile({"file", "test", std::nullopt});
        for (int i = 0; i < 3; ++i)
            builder.addTrack(1, i);
        for (int i = 1; i < 6; ++i)
            ASSERT_EQ(builder.intern(fmt::format("name {}", i)), static_cast<StringId>(i));
        const StringId value = builder.intern("value");
        for (int i = 1; i < 4; ++i) {
            StoredArg arg;
            arg.name = value;
            arg.setInt(i);
            ASSERT_EQ(builder.args().add({&arg, 1}), static_cast<ArgSetId>(i));
        }
        SlicePairing pairing(builder);
        for (const Given& next : given) {
            if (next.complete) {
                (void)builder.addSlice({next.mark.track, next.mark.time, TimeNs{3}, next.mark.name, 0, next.mark.args});
                continue;
            }
            pairing.add(next.mark);
            if (next.flow != 0) pairing.addFlowToLast(next.flow);
        }
        DiagnosticLog log;
        JobControl control;
        const LoadProgress progress(control, 1);
        ASSERT_TRUE(pairing.finish(log, "file", progress));
        std::vector<Slice> found;
        const std::size_t count = builder.sliceCount();
        const auto trace = builder.finish(log);
        ASSERT_EQ(trace->sliceCount(), count);
        std::size_t open_begins = 0;
        std::int64_t lost_ends = 0;
        decltype(expected.open) open;
        for (const Diagnostic& problem : log.take()) {
            open_begins += static_cast<std::size_t>(problem.kind == "unmatched-begin" ? problem.count : 0);
            lost_ends += problem.kind == "unmatched-end" ? problem.count : 0;
        }
        for (SliceId slice = 0; slice < trace->sliceCount(); ++slice) {
            TrackId track = trace->sliceTracks()[slice];
            while (trace->tracks()[track].spilled_from != kNoId)
                track = trace->tracks()[track].spilled_from;
            if (trace->isOpen(slice)) {
                EXPECT_EQ(trace->end(slice), trace->span());
                open.emplace_back(track, (trace->start(slice) + trace->origin()).count(), trace->sliceNames()[slice]);
                continue;
            }
            const auto held = trace->intArg(trace->sliceArgs()[slice], "value");
            found.emplace_back(track, (trace->start(slice) + trace->origin()).count(), trace->sliceDurations()[slice],
                               trace->sliceNames()[slice], held ? fmt::format("{}", *held) : "");
        }
        std::ranges::sort(found);
        EXPECT_EQ(found, expected.slices) << "round " << round;
        std::ranges::sort(open);
        EXPECT_EQ(open, expected.open) << "round " << round;
        EXPECT_EQ(open_begins, expected.open.size());
        EXPECT_EQ(lost_ends, expected.lost_ends);
        EXPECT_EQ(trace->flowPoints().size(), expected.flows);
        for (const FlowPoint& point : trace->flowPoints())
            EXPECT_EQ(trace->start(point.slice), point.time);
    }
}

INSTANTIATE_TEST_SUITE_P(Disorder, SlicePairingTest, testing::Values(0, 3, 40));

} // namespace
} // namespace bubblescope
