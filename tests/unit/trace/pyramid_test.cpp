#include "core/trace/pyramid.h"
#include "core/trace/trace_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

namespace bubblescope {
namespace {

struct RandomTraceSize {
    int slices = 1000;
    int tracks = 3;
    int span = 5000;   ///< ns
    int longest = 200; ///< ns, but one in a hundred may take the whole span
    int names = 5;
};

/// Slices that nest, overlap, begin together and last no time at all; the same for the same seed.
inline std::shared_ptr<const Trace> randomTrace(const RandomTraceSize& size, unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&random](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    TraceBuilder builder;
    builder.addFile({"random", "test", std::nullopt});
    for (int track = 0; track < size.tracks; ++track)
        builder.addTrack(1, track);
    for (int i = 0; i < size.slices; ++i) {
        const int start = below(size.span);
        const int duration = below(100) == 0 ? below(size.span - start) : below(size.longest);
        const auto track = static_cast<TrackId>(below(size.tracks));
        builder.addSlice({track, TimeNs{start}, TimeNs{std::min(duration, size.span - start)},
                          builder.intern("name " + std::to_string(below(size.names))), 0, 0});
    }
    DiagnosticLog log;
    JobControl control;
    return builder.finish(log, control).value();
}

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

Pyramid pyramidOf(const std::shared_ptr<const Trace>& trace) {
    JobControl control;
    auto built = Pyramid::build(trace, control);
    EXPECT_TRUE(built.ok());
    return std::move(built).value();
}

/// For every nanosecond the innermost slice, by painting slice over slice.
std::vector<SliceId> painted(const Trace& trace, const Track& track, std::size_t span) {
    std::vector<SliceId> out(span, kNoId);
    for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
        for (auto at = trace.start(slice).count(); at < trace.end(slice).count(); ++at)
            out[static_cast<std::size_t>(at)] = slice;
    }
    return out;
}

/// The time of each name within [from, to).
std::map<StringId, std::int64_t> timesOf(const Trace& trace, const std::vector<SliceId>& moments, TimeNs from,
                                         TimeNs to) {
    std::map<StringId, std::int64_t> times;
    for (std::int64_t at = std::max<std::int64_t>(0, from.count());
         at < std::min<std::int64_t>(to.count(), static_cast<std::int64_t>(moments.size())); ++at) {
        const SliceId slice = moments[static_cast<std::size_t>(at)];
        if (slice != kNoId) ++times[trace.sliceNames()[slice]];
    }
    return times;
}

void expectColumn(const Trace& trace, const Track& track, const std::vector<SliceId>& moments, TimeNs from, TimeNs to,
                  const Pyramid::Column& column) {
    std::int64_t busy = 0;
    const auto times = timesOf(trace, moments, from, to);
    for (const auto& [name, time] : times)
        busy += time;
    EXPECT_EQ(column.busy.count(), busy);
    std::uint32_t starts = 0;
    for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice)
        starts += trace.start(slice) >= from && trace.start(slice) < to ? 1 : 0;
    EXPECT_EQ(column.slices, starts);
    for (const auto& [name, time] : times) {
        if (2 * time > busy) {
            EXPECT_EQ(column.key, name) << "takes " << time << " of " << busy;
        }
    }
    if (busy > 0) {
        EXPECT_TRUE(times.contains(column.key)) << "a key that is not there";
    }
}

/// Long and short pixels, some shorter than the clock's unit, before and after time 0.
TEST(PixelGrid, HasPixelsOfEqualLength) {
    for (const auto& [length, count] : {std::pair(1000, 7U), {7, 1000U}, {1'000'003, 1920U}, {5, 5U}, {1, 3U}}) {
        const PixelGrid grid(TimeNs{length}, count);
        EXPECT_EQ(grid.border(0).count(), 0);
        EXPECT_EQ(grid.border(count).count(), length);
        PixelGrid::Walk walk(grid, -2500);
        for (std::int64_t pixel = -2499; pixel < 2500; ++pixel) {
            const std::int64_t border = grid.border(pixel).count();
            EXPECT_EQ(walk.next(), border);
            const double exact = static_cast<double>(pixel) * length / count;
            EXPECT_EQ(border, static_cast<std::int64_t>(std::floor(exact + 1e-9)));
            EXPECT_LE(std::abs(exact - static_cast<double>(grid.nearest(TimeNs{border})) * length / count),
                      1 + static_cast<double>(length) / count / 2);
        }
    }
    // Nothing overflows at the times of clocks that count from 1970.
    const PixelGrid grid(TimeNs{3'600'000'000'000}, 3840);
    const TimeNs now{1'790'000'000'000'000'000};
    EXPECT_LE(std::abs((grid.border(grid.nearest(now)) - now).count()), 3'600'000'000'000 / 3840);
}

TEST(Pyramid, HasTheColumnsOfAGrid) {
    const auto trace = randomTrace({4000, 3, 5000, 300, 4}, 9);
    const Pyramid pyramid = pyramidOf(trace);
    for (const auto& [length, first] : {std::pair(5000, -20), {700, 33}, {90, 400}}) {
        const PixelGrid grid(TimeNs{length}, 77);
        std::vector<Pyramid::Column> all(100);
        pyramid.columns(0, grid, first, all);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::int64_t pixel = first + static_cast<std::int64_t>(i);
            std::vector<Pyramid::Column> one(1);
            pyramid.columns(0, grid.border(pixel), grid.border(pixel + 1), one);
            EXPECT_EQ(all[i].busy, one[0].busy) << pixel;
            EXPECT_EQ(all[i].slices, one[0].slices) << pixel;
        }
    }
}

// Any range on any number of pixels, from less than a nanosecond each to the whole trace on one.
TEST(Pyramid, EqualsBruteForceAtEveryZoom) {
    for (unsigned seed = 0; seed < 12; ++seed) {
        const RandomTraceSize size{seed % 3 == 0 ? 40 : 4000, 3, 5000, seed % 2 == 0 ? 8 : 300, 4};
        const auto trace = randomTrace(size, seed);
        const Pyramid pyramid = pyramidOf(trace);
        std::mt19937 random(seed);
        for (TrackId track = 0; track < std::min<std::size_t>(trace->tracks().size(), 6); ++track) {
            const auto moments = painted(*trace, trace->tracks()[track], 5000);
            for (const std::size_t pixels : {1U, 7U, 100U}) {
                const TimeNs from{static_cast<std::int64_t>(random() % 5200) - 100};
                const TimeNs to = from + TimeNs{static_cast<std::int64_t>(1 + random() % 5200)};
                std::vector<Pyramid::Column> columns(pixels);
                pyramid.columns(track, from, to, columns);
                for (std::size_t i = 0; i < pixels; ++i) {
                    SCOPED_TRACE(testing::Message()
                                 << "seed " << seed << ", track " << track << ", column " << i << " of " << pixels);
                    expectColumn(*trace, trace->tracks()[track], moments, Pyramid::border(from, to, i, pixels),
                                 Pyramid::border(from, to, i + 1, pixels), columns[i]);
                }
            }
        }
    }
}

TEST(Pyramid, LosesNothingBetweenColumns) {
    const auto trace = randomTrace({20'000, 1, 100'000'000, 5000, 9}, 3);
    const Pyramid pyramid = pyramidOf(trace);
    std::vector<Pyramid::Column> one(1);
    pyramid.columns(0, TimeNs{0}, trace->span() + TimeNs{1}, one);
    for (const std::size_t pixels : {2U, 3U, 1920U, 9999U}) {
        std::vector<Pyramid::Column> columns(pixels);
        pyramid.columns(0, TimeNs{0}, trace->span() + TimeNs{1}, columns);
        TimeNs busy{0};
        std::uint32_t slices = 0;
        for (const Pyramid::Column& column : columns) {
            busy += column.busy;
            slices += column.slices;
        }
        EXPECT_EQ(busy, one[0].busy) << pixels;
        EXPECT_EQ(slices, one[0].slices) << pixels;
    }
}

TEST(Pyramid, GivesTheSlicesThatRunOrStartInARange) {
    for (unsigned seed = 0; seed < 6; ++seed) {
        const auto trace = randomTrace({2000, 2, 5000, seed % 2 == 0 ? 10 : 400, 4}, 100 + seed);
        const Pyramid pyramid = pyramidOf(trace);
        std::mt19937 random(seed);
        for (int round = 0; round < 50; ++round) {
            const auto track = static_cast<TrackId>(random() % trace->tracks().size());
            const TimeNs from{static_cast<std::int64_t>(random() % 5000)};
            const TimeNs to = from + TimeNs{static_cast<std::int64_t>(1 + random() % 300)};
            std::vector<SliceId> expected;
            const Track& row = trace->tracks()[track];
            for (SliceId slice = row.first_slice; slice < row.end_slice; ++slice) {
                const bool starts = trace->start(slice) >= from && trace->start(slice) < to;
                const bool runs = trace->start(slice) < from && trace->end(slice) > from;
                if (starts || runs) expected.push_back(slice);
            }
            EXPECT_EQ(pyramid.slices(track, from, to), expected) << "seed " << seed << ", round " << round;
        }
    }
}

TEST(Pyramid, TellsWhereSlicesAreWideEnoughToBeDrawn) {
    const auto trace = randomTrace({5000, 1, 100'000, 10, 4}, 7);
    const Pyramid pyramid = pyramidOf(trace);
    EXPECT_FALSE(pyramid.few(0, TimeNs{0}, TimeNs{100'000}, 1000));
    EXPECT_TRUE(pyramid.few(0, TimeNs{0}, TimeNs{100'000}, 100'000));
    EXPECT_TRUE(pyramid.few(0, TimeNs{500}, TimeNs{1000}, 1000));
    EXPECT_THAT(pyramid.slices(0, TimeNs{500}, TimeNs{1000}), Not(IsEmpty()));
    EXPECT_TRUE(pyramid.few(0, TimeNs{500}, TimeNs{500}, 1000));
}

TEST(Pyramid, TakesAnyKeyAndEmptyTracks) {
    TraceBuilder builder;
    builder.addFile({"file", "test", std::nullopt});
    builder.addTrack(1, 1);
    const TrackId used = builder.addTrack(1, 2);
    builder.addSlice({used, TimeNs{10}, TimeNs{30}, builder.intern("a"), builder.intern("kernel"), 0});
    DiagnosticLog log;
    JobControl control;
    const auto trace = builder.finish(log, control).value();
    auto built = Pyramid::build(trace, {trace->sliceCategories().begin(), trace->sliceCategories().end()}, control);
    ASSERT_TRUE(built.ok());
    std::vector<Pyramid::Column> columns(2);
    built.value().columns(used, TimeNs{0}, TimeNs{40}, columns);
    const StringId kernel = trace->strings().find("kernel");
    EXPECT_THAT(columns, ElementsAre(Pyramid::Column{TimeNs{20}, 1, kernel}, Pyramid::Column{TimeNs{10}, 0, kernel}));
    built.value().columns(0, TimeNs{0}, TimeNs{40}, columns);
    EXPECT_THAT(columns, ElementsAre(Pyramid::Column{}, Pyramid::Column{}));
    EXPECT_THAT(built.value().slices(0, TimeNs{0}, TimeNs{40}), IsEmpty());
}

TEST(Pyramid, TakesLittleRoomAtAnyDepth) {
    const auto flat = randomTrace({100'000, 1, 1'000'000'000, 5, 4}, 1);
    EXPECT_LT(pyramidOf(flat).bytes(), 24 * flat->sliceCount() / 10);

    TraceBuilder builder; // every slice lies within the one before
    builder.addFile({"file", "test", std::nullopt});
    builder.addTrack(1, 1);
    constexpr int kDepth = 50'000;
    for (int i = 0; i < kDepth; ++i)
        builder.addSlice({0, TimeNs{i}, TimeNs{2 * (kDepth - i)}, 0, 0, 0});
    DiagnosticLog log;
    JobControl control;
    const auto deep = builder.finish(log, control).value();
    const Pyramid pyramid = pyramidOf(deep);
    EXPECT_LT(pyramid.bytes(), std::size_t{20} * kDepth);
    EXPECT_EQ(pyramid.slices(0, TimeNs{kDepth - 1}, TimeNs{kDepth}).size(), std::size_t{kDepth});
}

TEST(Pyramid, StopsWhenAsked) {
    const auto trace = randomTrace({140'000, 2, 500'000'000, 5, 4}, 1);
    int checks = 0;
    {
        JobControl control;
        std::atomic<int> seen{0};
        control.at_check = [&seen] { ++seen; };
        ASSERT_TRUE(Pyramid::build(trace, control).ok());
        checks = seen;
    }
    EXPECT_GE(checks, 4);
    for (int stop_at = 1; stop_at <= checks; stop_at += 1 + checks / 12) {
        std::stop_source source;
        JobControl control;
        std::atomic<int> seen{0};
        control.stop = source.get_token();
        control.at_check = [&] {
            if (++seen == stop_at) source.request_stop();
        };
        const auto built = Pyramid::build(trace, control);
        ASSERT_FALSE(built.ok()) << "stopped at check " << stop_at << " of " << checks;
        EXPECT_EQ(built.error().kind, ErrorKind::Cancelled);
    }
}

} // namespace
} // namespace bubblescope
