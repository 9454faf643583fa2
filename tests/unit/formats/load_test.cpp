#include "core/formats/perfetto/encoder.h"
#include "core/trace/load_preview.h"
#include "core/trace/summary.h"
#include "tests/bench/kineto_like.h"
#include "tests/bench/nsys_like.h"
#include "tests/bench/perfetto_like.h"
#include "tests/support/sanitized.h"
#include "tests/unit/formats/packed.h"
#include "tests/unit/formats/trace_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <numeric>
#include <stop_token>

// Events during a load: stopping it at any time, and its preview.
namespace bubblescope {
namespace {

using Load = std::function<std::optional<Error>(JobControl&)>; ///< its error, if it failed

Load loadOf(const std::filesystem::path& path) {
    return [path](JobControl& control) -> std::optional<Error> {
        auto read = readTraces({path}, control);
        if (read.ok()) return std::nullopt;
        return std::move(read).error();
    };
}

int checksOf(const Load& load) {
    JobControl control;
    std::atomic<int> seen{0};
    control.at_check = [&seen] { ++seen; };
    const auto error = load(control);
    EXPECT_FALSE(error) << error->text();
    return seen;
}

/// Stops the load at its first check, its second, and so on (some, where there are many). Whenever it was asked to
/// stop it returns Cancelled, and it checks only a few more times until then: one for each thread and file that ends.
void expectStopsAnywhere(const Load& load, int at_least) {
    const int checks = checksOf(load);
    EXPECT_GE(checks, at_least) << "long stretches in which nobody looks";
    const int step = std::max(1, checks / (test::kSanitized ? 4 : 12));
    for (int stop_at = 1; stop_at <= checks; stop_at += stop_at + 4 < checks ? step : 1) {
        std::stop_source source;
        JobControl control;
        control.stop = source.get_token();
        std::atomic<int> seen{0};
        control.at_check = [&] {
            if (++seen == stop_at) source.request_stop();
        };
        const auto error = load(control);
        ASSERT_TRUE(error) << "stopped at check " << stop_at << " of " << checks << ", but it gave a result";
        EXPECT_EQ(error->kind, ErrorKind::Cancelled) << error->text();
        EXPECT_LE(seen, stop_at + 20) << "goes on after check " << stop_at << " of " << checks;
    }
}

TEST(StopLoad, AnywhereInJson) {
    const test::ScratchFolder folder;
    const std::string text = bench::kinetoLike(6 << 20);
    expectStopsAnywhere(loadOf(folder.write("trace.json", text)), 12);
    expectStopsAnywhere(loadOf(folder.write("trace.json.gz", test::gzipped(text))), 12);
    expectStopsAnywhere(loadOf(folder.write("trace.json.zst", test::zstdPacked(text))), 12);
}

TEST(StopLoad, AnywhereInSeveralFiles) {
    const test::ScratchFolder folder;
    for (int rank = 0; rank < 5; ++rank)
        folder.write("ranks/rank" + std::to_string(rank) + ".json", bench::kinetoLike(3 << 20));
    expectStopsAnywhere(loadOf(folder.path() / "ranks"), 40);
}

TEST(StopLoad, AnywhereInPerfettoFiles) {
    const test::ScratchFolder folder;
    expectStopsAnywhere(loadOf(folder.write("trace.pftrace", bench::perfettoLike(150'000))), 15);
}

TEST(StopLoad, AnywhereInSqlite) {
    const test::ScratchFolder folder;
    bench::writeNsysLike(folder.path() / "nsys.sqlite", 100'000);
    expectStopsAnywhere(loadOf(folder.path() / "nsys.sqlite"), 10);
}

// All out of order, so that everything must be sorted, in one track, with overlaps and arrows to bind.
TEST(StopLoad, AnywhereInWhatIsOutOfOrder) {
    const test::ScratchFolder folder;
    std::string text = "[";
    for (int i = 0; i < 40'000; ++i) {
        const int time = i * 7919 % 600'011;
        text += fmt::format(R"({{"ph":"X","name":"a","pid":1,"tid":1,"ts":{},"dur":9}},)", time);
        text += fmt::format(R"({{"ph":"{}","id":{},"name":"f","pid":1,"tid":1,"ts":{}}},)", i % 2 == 0 ? 's' : 'f',
                            i * 31 % 5003, time);
        text += fmt::format(
            R"({{"ph":"B","name":"b","pid":1,"tid":2,"ts":{0}}},{{"ph":"E","pid":1,"tid":2,"ts":{0}}},)", time);
    }
    text.back() = ']';
    expectStopsAnywhere(loadOf(folder.write("trace.json", text)), 40);
}

// A large value next to the events, which is read in pieces.
TEST(StopLoad, WithinALargeValue) {
    const test::ScratchFolder folder;
    std::string text = R"({"other": [)";
    while (text.size() < (std::size_t{30} << 20))
        text += "[1,2,3],[4,5,6],";
    text += R"(0], "traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1}]})";
    expectStopsAnywhere(loadOf(folder.write("trace.json", text)), 7);
}

#ifdef __GLIBC__
/// Bytes that the program has allocated.
std::size_t heapInUse() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// Packed text takes 464 bytes per slice; only its packed args may stay in memory.
TEST(KeptMemory, OfPackedFilesIsThatOfTheirSlices) {
    if (test::kSanitized) GTEST_SKIP() << "a sanitizer's heap does not count";
    const test::ScratchFolder folder;
    const std::string text = bench::kinetoLike(std::size_t{24} << 20);
    for (const std::string& packed : {test::gzipped(text), test::zstdPacked(text)}) {
        const auto file = folder.write("trace", packed);
        JobControl control;
        // A load may be the first in which a thread of the pool takes part, and its buffers stay: the least of some.
        double least = std::numeric_limits<double>::max();
        for (int i = 0; i < 8; ++i) {
            const std::size_t before = heapInUse();
            const auto read = readTraces({file}, control);
            const std::size_t after = heapInUse();
            ASSERT_TRUE(read.ok()) << read.error().text();
            const Trace& trace = *read.value().trace;
            least = std::min(least, static_cast<double>(after - before) / static_cast<double>(trace.sliceCount()));
            EXPECT_TRUE(trace.intArg(trace.sliceArgs()[trace.sliceCount() / 2], "External id").has_value());
        }
        EXPECT_LE(least, 54);
    }
}
#endif

struct Seen {
    LoadPreview::Picture first; ///< the first that showed something, before the load had returned
    LoadPreview::Picture last;
    std::shared_ptr<const Trace> trace;
};

Seen watch(const std::filesystem::path& path) {
    Seen seen;
    LoadPreview preview;
    JobControl control;
    control.preview = &preview;
    std::mutex mutex; // files are read side by side
    control.at_check = [&] {
        const std::scoped_lock lock(mutex);
        if (seen.first.empty()) seen.first = preview.picture(100);
    };
    auto read = readTraces({path}, control);
    EXPECT_TRUE(read.ok());
    if (read.ok()) seen.trace = read.value().trace;
    seen.last = preview.picture(100);
    return seen;
}

/// Its rows are the trace's tracks, with their slices and busy times.
void expectEquals(const LoadPreview::Picture& picture, const Trace& trace) {
    std::vector<std::pair<std::int64_t, std::int64_t>> expected;
    std::vector<std::pair<std::int64_t, std::int64_t>> shown;
    const std::vector<FileSummary> files = summarize(trace);
    for (const FileSummary& file : files) {
        for (const TrackSummary& track : file.tracks)
            expected.emplace_back(track.slices, track.busy.count());
    }
    for (const LoadPreview::Row& row : picture.rows)
        shown.emplace_back(row.slices, row.busy.count());
    EXPECT_THAT(shown, testing::UnorderedElementsAreArray(expected));
    EXPECT_EQ(picture.slices, static_cast<std::int64_t>(trace.sliceCount()));
    EXPECT_EQ(picture.files.size(), files.size());
    EXPECT_LE(picture.begin, trace.origin());
    EXPECT_GE(picture.end, trace.origin() + TimeNs{1});
    // Spread over columns, no time is lost.
    const double column = static_cast<double>((picture.end - picture.begin).count()) / 100;
    for (const LoadPreview::Row& row : picture.rows) {
        const double sum = std::accumulate(row.shares.begin(), row.shares.end(), 0.0);
        const auto busy = static_cast<double>(row.busy.count());
        EXPECT_NEAR(sum * column, busy, busy * 0.001 + 1);
    }
}

TEST(PreviewedLoad, ShowsAJsonFileBeforeItIsRead) {
    const test::ScratchFolder folder;
    const Seen seen = watch(folder.write("trace.json", bench::kinetoLike(8 << 20)));
    ASSERT_TRUE(seen.trace);
    EXPECT_FALSE(seen.first.empty());
    EXPECT_GT(seen.first.slices, 0);
    EXPECT_LT(seen.first.slices, static_cast<std::int64_t>(seen.trace->sliceCount()) / 2);
    expectEquals(seen.last, *seen.trace);
}

TEST(PreviewedLoad, ShowsAPerfettoFileBeforeItIsRead) {
    const test::ScratchFolder folder;
    const Seen seen = watch(folder.write("trace.pftrace", bench::perfettoLike(200'000)));
    ASSERT_TRUE(seen.trace);
    EXPECT_FALSE(seen.first.empty());
    EXPECT_LT(seen.first.slices, static_cast<std::int64_t>(seen.trace->sliceCount()) / 2);
    expectEquals(seen.last, *seen.trace);
}

TEST(PreviewedLoad, ShowsTheRanksOfAFolder) {
    const test::ScratchFolder folder;
    for (int rank = 0; rank < 3; ++rank)
        folder.write("ranks/rank" + std::to_string(rank) + ".json", bench::kinetoLike(2 << 20));
    const Seen seen = watch(folder.path() / "ranks");
    ASSERT_TRUE(seen.trace);
    EXPECT_FALSE(seen.first.empty());
    expectEquals(seen.last, *seen.trace);
    EXPECT_THAT(seen.last.files, testing::ElementsAre("rank0.json", "rank1.json", "rank2.json"));
}

TEST(LoadPreview, HasAnotherVersionOnceThereIsMoreToShow) {
    LoadPreview preview;
    LoadPreview::Part& part = preview.addPart("file", 0);
    const std::uint64_t empty = preview.version();
    part.add(0, TimeNs{1000}, TimeNs{1000});
    EXPECT_EQ(preview.version(), empty) << "not published yet";
    part.publish();
    const std::uint64_t first = preview.version();
    EXPECT_NE(first, empty);
    static_cast<void>(preview.picture(10));
    EXPECT_EQ(preview.version(), first);
    static_cast<void>(preview.addPart("second", 1));
    EXPECT_NE(preview.version(), first);
}

TEST(LoadPreview, KeepsTimesOfAnyOrderAndSize) {
    LoadPreview preview;
    LoadPreview::Part& part = preview.addPart("file", 0);
    EXPECT_TRUE(preview.picture(10).empty());
    part.add(0, TimeNs{1'000'000}, TimeNs{1000});
    part.add(0, TimeNs{-5'000'000'000}, TimeNs{1000});
    part.add(0, TimeNs{4'000'000'000'000}, TimeNs{2'000'000'000'000});
    part.add(7, TimeNs::min(), TimeNs::max());
    part.add(7, TimeNs::max(), TimeNs::max());
    part.setOffset(TimeNs::max());
    part.publish();
    const LoadPreview::Picture picture = preview.picture(10);
    ASSERT_EQ(picture.rows.size(), 2U);
    EXPECT_EQ(picture.rows[0].slices, 3);
    EXPECT_EQ(picture.rows[0].busy, TimeNs{2'000'000'001'000}) << "the second came behind the first";
    EXPECT_EQ(picture.rows[1].slices, 2);
    EXPECT_EQ(picture.slices, 5);
    for (const LoadPreview::Row& row : picture.rows) {
        for (const float share : row.shares)
            EXPECT_TRUE(share >= 0.0F && share <= 1.0F) << share;
    }
}

TEST(LoadPreview, BoundsItsRows) {
    LoadPreview preview;
    LoadPreview::Part& part = preview.addPart("file", 0);
    for (TrackId track = 0; track < 10'000; ++track)
        part.add(track, TimeNs{track}, TimeNs{1});
    part.publish();
    EXPECT_EQ(preview.picture(4).rows.size(), LoadPreview::kMaxRows);
    EXPECT_EQ(preview.picture(4).slices, 10'000);
}

} // namespace
} // namespace bubblescope
