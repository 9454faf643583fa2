#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

// The memory of a trace, in counted bytes.
namespace bubblescope {
namespace {

ArgColumn columnOf(const std::vector<ArgSetId>& sets) {
    return ArgColumn::of(sets, JobControl{}).value();
}

void expectHolds(const std::vector<ArgSetId>& sets, std::size_t bytes_each) {
    const ArgColumn column = columnOf(sets);
    for (std::size_t i = 0; i < sets.size(); ++i)
        ASSERT_EQ(column[i], sets[i]) << i;
    // Upper halves are added to that.
    EXPECT_LE(column.bytes(), sets.size() * bytes_each + (std::size_t{1} << 17) * sizeof(ArgSetId));
    EXPECT_GE(column.bytes(), sets.size() * bytes_each);
}

std::vector<ArgSetId> setsOf(std::size_t count, const std::function<ArgSetId(std::size_t, std::uint64_t)>& make) {
    std::mt19937_64 random(3);
    std::vector<ArgSetId> sets;
    for (std::size_t i = 0; i < count; ++i)
        sets.push_back(i % 11 == 5 ? 0 : make(i, random()));
    return sets;
}

TEST(ArgColumn, TakesAsFewBytesAsUpperHalvesDiffer) {
    constexpr std::size_t kCount = 400'000;
    EXPECT_EQ(columnOf(std::vector<ArgSetId>(kCount, 0)).bytes(), 0U) << "no args";
    EXPECT_EQ(columnOf(std::vector<ArgSetId>(kCount, 0))[kCount - 1], 0U);
    const auto source = [](std::uint64_t any, std::uint64_t count) { return static_cast<std::uint32_t>(any % count); };
    expectHolds(setsOf(kCount, [](std::size_t i, std::uint64_t) { return ArgStore::inSource(0, i * 300); }), 4);
    expectHolds(
        setsOf(kCount, [&](std::size_t i, std::uint64_t any) { return ArgStore::inSource(source(any, 64), i * 300); }),
        5);
    expectHolds(
        setsOf(kCount, [&](std::size_t i, std::uint64_t any) { return ArgStore::inSource(source(any, 9'000), i); }), 6);
    expectHolds(setsOf(kCount, [](std::size_t, std::uint64_t any) { return any; }), 8);
}

TEST(ArgColumn, HoldsEveryId) {
    for (const ArgSetId odd : {ArgSetId{UINT32_MAX}, ~ArgSetId{0}, ArgSetId{1} << 32, ArgSetId{1}}) {
        const std::vector<ArgSetId> sets{7, odd, 0, 7};
        const ArgColumn column = columnOf(sets);
        for (std::size_t i = 0; i < sets.size(); ++i)
            EXPECT_EQ(column[i], sets[i]) << odd;
    }
}

TEST(ArgColumn, CanBeStopped) {
    std::stop_source stopped;
    stopped.request_stop();
    JobControl control;
    control.stop = stopped.get_token();
    EXPECT_FALSE(ArgColumn::of({1, 2}, control));
}

struct Shape {
    bool args = false;
    bool arrows = false; ///< two ends for each three slices, as a profile of launches and kernels has them
    bool ordered = true;
};

double bytesASlice(const Shape& shape) {
    constexpr std::int64_t kSlices = 300'000; // not near a power of two, where columns have room to spare
    TraceBuilder builder;
    builder.addFile({"trace.json", "chrome", std::nullopt});
    const std::uint32_t source = builder.args().addSource({});
    std::vector<TrackId> tracks;
    for (int tid = 0; tid < 3; ++tid)
        tracks.push_back(builder.addTrack(0, tid));
    for (std::int64_t i = 0; i < kSlices; ++i) {
        const std::int64_t place = shape.ordered ? i : (i * 7'919) % kSlices;
        const TrackId track = tracks[static_cast<std::size_t>(shape.ordered ? i * 3 / kSlices : i % 3)];
        NewSlice slice{track, TimeNs{place * 10}, TimeNs{5}, builder.intern("op " + std::to_string(i % 300)), 0, 0};
        if (shape.args) slice.args = ArgStore::inSource(source, static_cast<std::uint64_t>(i) * 400);
        builder.addSlice(slice);
        if (shape.arrows && i % 3 != 0)
            builder.addFlow({static_cast<std::uint64_t>(i / 3), slice.start, track, kNoId, false});
    }
    DiagnosticLog log;
    const auto trace = builder.finish(log);
    EXPECT_EQ(trace->sliceCount(), static_cast<std::size_t>(kSlices));
    return static_cast<double>(trace->columnBytes()) / static_cast<double>(kSlices);
}

TEST(TraceMemory, ASliceTakesWhatItsColumnsTake) {
    for (const bool ordered : {true, false}) {
        EXPECT_LE(bytesASlice({false, false, ordered}), 24.1);
        EXPECT_LE(bytesASlice({true, false, ordered}), 28.1);
        EXPECT_LE(bytesASlice({true, true, ordered}), 44.1) << "with 16 for its share of arrows";
    }
}

} // namespace
} // namespace bubblescope
