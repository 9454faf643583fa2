#include "profiler/capture/capture_writer.h"

#include "core/formats/read_trace.h"
#include "profiler/capture/capture_file.h"
#include "profiler/job/left_memory.h"
#include "profiler/nccl/abi.h"
#include "profiler/nccl/plugin.h"
#include "tests/support/recorded_memory.h"
#include "tests/support/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace bubblescope::profiler {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

TimeNs us(std::int64_t count) {
    return std::chrono::microseconds(count);
}

/// A process's trace, written by hand at times of our choice: a tick is a nanosecond of the monotonic clock, and the
/// wall clock is a second ahead.
class CaptureWriterTest : public testing::Test {
protected:
    static constexpr TimeNs kAhead{std::chrono::seconds(1)};
    static constexpr std::uint32_t kThread = 11;

    void open(const CaptureOptions& options = {}) {
        CaptureFileInfo info;
        info.dir = scratch_.path() / "traces";
        info.identity.rank = 2;
        info.process = {.host = "node", .clock = "boot", .pid = 77, .program = "train"};
        writer_ = std::make_unique<CaptureWriter>(options, info, names_, communicators_,
                                                  [](bool, std::uint32_t) { return std::string("cudaLaunchKernel"); });
        writer_->addReading({0, us(0), us(0) + kAhead});
        writer_->addReading({1'000'000'000, us(1'000'000), us(1'000'000) + kAhead});
    }

    void tell(HostRecord record, std::int64_t at_us, bool after_gap = false, std::uint32_t thread = kThread) {
        record.ticks = at_us * 1000;
        writer_->take(thread, record, after_gap);
    }
    void push(std::string_view name, std::uint16_t depth, std::int64_t at_us, bool after_gap = false) {
        HostRecord record;
        record.type = HostRecord::Type::Push;
        record.depth = depth;
        record.text = name;
        tell(record, at_us, after_gap);
    }
    void pop(std::uint16_t depth, std::int64_t at_us, bool after_gap = false) {
        HostRecord record;
        record.type = HostRecord::Type::Pop;
        record.depth = depth;
        tell(record, at_us, after_gap);
    }
    void flush(std::int64_t at_us) {
        const Status written = writer_->flush(us(at_us));
        ASSERT_TRUE(written.ok()) << written.error().text();
    }
    std::shared_ptr<const Trace> finished() {
        const Status written = writer_->finish(us(2'000'000));
        EXPECT_TRUE(written.ok()) << written.error().text();
        return read();
    }
    std::shared_ptr<const Trace> read() {
        JobControl control;
        auto read = readTraces({scratch_.path() / "traces"}, control);
        EXPECT_TRUE(read.ok()) << read.error().text();
        problems_ = std::move(read.value().problems);
        return std::move(read.value().trace);
    }
    /// "name start-end" in microseconds from the trace's first event.
    static std::vector<std::string> slices(const Trace& trace, std::string_view category) {
        std::multimap<TimeNs, std::string> sorted;
        for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
            if (trace.category(slice) != category) continue;
            // A trace of a recorded job is on the wall clock.
            const auto start = (trace.start(slice) + trace.origin() - kAhead).count() / 1000;
            const auto end = (trace.end(slice) + trace.origin() - kAhead).count() / 1000;
            sorted.emplace(trace.start(slice),
                           std::string(trace.name(slice)) + " " + std::to_string(start) + "-" + std::to_string(end));
        }
        std::vector<std::string> out;
        for (auto& [start, text] : sorted)
            out.push_back(text);
        return out;
    }
    static std::int64_t total(const Trace& trace, std::string_view name) {
        std::int64_t last = 0;
        for (const Instant& instant : trace.instants()) {
            if (trace.text(instant.name) == perfetto::kCaptureTotals)
                last = trace.intArg(instant.args, name).value_or(0);
        }
        return last;
    }

    test::ScratchFolder scratch_;
    nvtx::Names names_;
    nccl::Communicators communicators_;
    std::unique_ptr<CaptureWriter> writer_;
    std::vector<Diagnostic> problems_;
};

cupti::Activity activity(cupti::Activity::Kind kind, std::int64_t start_us, std::int64_t end_us,
                         std::uint32_t correlation) {
    cupti::Activity out;
    out.kind = kind;
    out.start = us(start_us);
    out.end = us(end_us);
    out.correlation = correlation;
    out.thread = 11;
    out.stream = 7;
    return out;
}

TEST_F(CaptureWriterTest, CreatesNothingBeforeThereIsSomething) {
    open();
    flush(10);
    EXPECT_FALSE(std::filesystem::exists(scratch_.path() / "traces"));
    push("F0", 0, 100);
    flush(200);
    EXPECT_TRUE(std::filesystem::exists(scratch_.path() / "traces" / "rank2.pid77.pftrace"));
}

TEST_F(CaptureWriterTest, WorkAtTimesThatCannotBeIsCountedAndMovesNothing) {
    open();
    std::vector<cupti::OwnedActivity> activities;
    for (const std::int64_t at : {100, 300}) // microseconds
        activities.push_back({activity(cupti::Activity::Kind::Kernel, at, at + 10, 1), "good", 0});
    for (const TimeNs start : {TimeNs::min(), TimeNs::max()}) {
        activities.push_back({activity(cupti::Activity::Kind::Kernel, 200, 210, 2), "damaged", 0});
        activities.back().activity.start = start;
        activities.push_back(activities.back());
        activities.back().activity.end = start;
    }
    writer_->take(activities);
    const auto trace = finished();
    EXPECT_THAT(slices(*trace, "kernel"), ElementsAre("good 100-110", "good 300-310"));
    EXPECT_EQ(total(*trace, "damaged"), 4);
    EXPECT_EQ(total(*trace, "gpu_work"), 2);
}

TEST_F(CaptureWriterTest, ARangeDoesNotEndBeforeItBeginsWhenAReadingCorrectsTheClock) {
    open();
    push("F0", 0, 1'000'100); // after the last reading
    writer_->addReading({1'000'200'000, us(1'000'100), us(1'000'100) + kAhead});
    pop(0, 1'000'110); // by this reading at 1,000,055
    push("F1", 0, 1'000'300);
    pop(0, 1'000'400);
    const auto trace = finished();
    EXPECT_THAT(slices(*trace, "nvtx"), ElementsAre("F0 1000100-1000100", "F1 1000150-1000200"));
    EXPECT_TRUE(problems_.empty());
}

TEST_F(CaptureWriterTest, WritesNestedRangesMarksAndWhatTheySay) {
    open();
    names_.nameThread(kThread, "main");
    push("step 0", 0, 100);
    push("F0", 1, 110);
    pop(1, 120);
    HostRecord mark;
    mark.type = HostRecord::Type::Mark;
    mark.text = "loss";
    mark.payload = HostRecord::Payload::Signed;
    mark.value = static_cast<std::uint64_t>(-3);
    tell(mark, 130);
    pop(0, 140);
    const auto trace = finished();
    EXPECT_THAT(slices(*trace, "nvtx"), ElementsAre("step 0 100-140", "F0 110-120"));
    EXPECT_EQ(trace->files().front().rank, 2);
    EXPECT_EQ(total(*trace, "ranges"), 2);
    EXPECT_EQ(total(*trace, "marks"), 1);
    bool found = false;
    for (const Instant& instant : trace->instants()) {
        if (trace->text(instant.name) != "loss") continue;
        found = true;
        EXPECT_EQ(trace->intArg(instant.args, "payload"), -3);
        EXPECT_EQ(trace->text(trace->tracks()[instant.track].thread_name), "main (thread 11)");
    }
    EXPECT_TRUE(found);
    EXPECT_TRUE(problems_.empty());
}

TEST_F(CaptureWriterTest, ProcessesOfAHostAgreeOnItsWallClock) {
    const auto dir = scratch_.path() / "agreed";
    EXPECT_EQ(agreedOffset(dir, "one", TimeNs{500}), TimeNs{500});
    EXPECT_EQ(agreedOffset(dir, "one", TimeNs{900}), TimeNs{500}) << "the wall clock was set meanwhile";
    EXPECT_EQ(agreedOffset(dir, "two", TimeNs{900}), TimeNs{900}) << "another host";
    EXPECT_EQ(agreedOffset(dir, "", TimeNs{7}), TimeNs{7});
    const auto file = scratch_.write("file", "");
    EXPECT_EQ(agreedOffset(file / "below", "one", TimeNs{7}), TimeNs{7}) << "no folder can be there";
}

TEST_F(CaptureWriterTest, AFileIsReadableWithoutItsEnd) {
    open();
    push("F0", 0, 100);
    pop(0, 110);
    push("F1", 0, 120);
    flush(130);
    const auto trace = read(); // as after a kill: F1 is open
    EXPECT_THAT(slices(*trace, "nvtx"), ElementsAre("F0 100-110", StartsWith("F1 120-")));
}

TEST_F(CaptureWriterTest, AGapMakesNoRangeLonger) {
    open();
    push("a", 0, 100);
    push("b", 1, 110);
    // Lost: the ends of both, and the begin of another.
    pop(0, 500, true);
    push("c", 0, 510);
    pop(0, 520);
    writer_->counts().lost_in_rings = 3;
    const auto trace = finished();
    EXPECT_THAT(slices(*trace, "nvtx"), ElementsAre("a 100-2000000", "b 110-2000000", "c 510-520"))
        << "open to the end, not to a later range's end";
    EXPECT_EQ(trace->openSlices().size(), 2U);
    EXPECT_EQ(total(*trace, "lost_in_rings"), 3);
    EXPECT_EQ(total(*trace, "unmatched"), 2)
        << "two begins given up; the begin of the end without one is counted as lost";
}

TEST_F(CaptureWriterTest, RangesThatStartAndEndMayOverlapAndCrossThreads) {
    open();
    const auto at = [&](HostRecord::Type type, std::uint64_t id, std::string_view name, std::int64_t time,
                        std::uint32_t thread) {
        HostRecord record;
        record.type = type;
        record.id = id;
        record.text = name;
        tell(record, time, false, thread);
    };
    at(HostRecord::Type::Start, 1, "x", 100, 11);
    at(HostRecord::Type::Start, 2, "y", 110, 11);
    at(HostRecord::Type::End, 1, {}, 130, 12);
    at(HostRecord::Type::End, 3, {}, 150, 12); // of a thread that is drained before the one that began it
    at(HostRecord::Type::Start, 3, "z", 140, 13);
    at(HostRecord::Type::End, 2, {}, 160, 12);
    const auto trace = finished();
    EXPECT_THAT(slices(*trace, "nvtx"), ElementsAre("x 100-130", "y 110-160", "z 140-150"));
}

TEST_F(CaptureWriterTest, RangesThatNeverEndAreCounted) {
    open();
    push("whole", 0, 100);
    push("ended", 1, 110);
    pop(1, 120);
    push("open", 1, 130);
    for (std::uint64_t id = 1; id <= 5; ++id) {
        HostRecord record;
        record.type = HostRecord::Type::Start;
        record.id = id;
        record.text = "started";
        tell(record, 140);
    }
    flush(150);
    EXPECT_EQ(writer_->counts().unmatched, 0) << "they may still end";
    const auto trace = finished();
    EXPECT_THAT(slices(*trace, "nvtx"), ElementsAre("whole 100-2000000", "ended 110-120", "open 130-2000000"));
    EXPECT_EQ(trace->openSlices().size(), 2U);
    EXPECT_EQ(total(*trace, "ranges"), 1);
    EXPECT_EQ(total(*trace, "unmatched"), 7);
}

TEST_F(CaptureWriterTest, KeepsToItsSizeAndLosesNoOpenRange) {
    CaptureOptions options;
    options.size = 40'000;
    open(options);
    push("all", 0, 50);
    std::int64_t time = 100;
    for (int i = 0; i < 4000; ++i, time += 10) {
        push("F" + std::to_string(i), 1, time);
        pop(1, time + 5);
        if (i % 100 == 99) flush(time + 6);
    }
    pop(0, time);
    const auto trace = finished();
    std::uintmax_t bytes = 0;
    std::size_t parts = 0;
    for (const auto& file : std::filesystem::directory_iterator(scratch_.path() / "traces")) {
        bytes += file.file_size();
        ++parts;
    }
    EXPECT_LE(parts, 5U);
    EXPECT_GE(parts, 3U);
    EXPECT_LE(bytes, 80'000U);
    EXPECT_GT(total(*trace, "parts_removed"), 0);
    EXPECT_EQ(total(*trace, "ranges"), 4001);
    const std::vector<std::string> kept = slices(*trace, "nvtx");
    EXPECT_EQ(kept.front(), "all 50-" + std::to_string(time)) << "begun again in the last part, with its own begin";
    EXPECT_EQ(kept.back(), "F3999 " + std::to_string(time - 10) + "-" + std::to_string(time - 5));
}

TEST_F(CaptureWriterTest, WritesTheDevicesWorkAsReadersKnowIt) {
    open();
    using Kind = cupti::Activity::Kind;
    push("F0", 0, 100);
    pop(0, 150);
    std::vector<cupti::OwnedActivity> work;
    cupti::Activity kernel = activity(Kind::Kernel, 140, 180, 5);
    kernel.grid = {4, 1, 1};
    work.push_back({kernel, "_Z4gemmPf", 9});
    work.push_back({activity(Kind::Runtime, 110, 112, 5), ""});
    cupti::Activity copy = activity(Kind::Copy, 190, 195, 6);
    copy.what = 1;
    copy.bytes = 4096;
    work.push_back({copy, ""});
    cupti::Activity lost = activity(Kind::Kernel, 0, 0, 8);
    lost.start = lost.end = TimeNs{0};
    work.push_back({lost, "lost"});
    writer_->take(work);
    const auto trace = finished();
    EXPECT_THAT(slices(*trace, "kernel"), ElementsAre("gemm(float*) 140-180"));
    EXPECT_THAT(slices(*trace, "cuda_runtime"), ElementsAre("cudaLaunchKernel 110-112"));
    EXPECT_THAT(slices(*trace, "gpu_memcpy"), ElementsAre("Memcpy HtoD 190-195"));
    EXPECT_EQ(total(*trace, "untimed"), 1);
    for (SliceId slice = 0; slice < trace->sliceCount(); ++slice) {
        if (trace->category(slice) != "kernel") continue;
        EXPECT_EQ(trace->intArg(trace->sliceArgs()[slice], "correlation"), 5);
        EXPECT_EQ(trace->intArg(trace->sliceArgs()[slice], "External id"), 9);
        EXPECT_EQ(trace->textArg(trace->sliceArgs()[slice], "grid"), "[4, 1, 1]");
    }
}

// The default streams of two contexts have the same number; their kernels may run at the same time.
TEST_F(CaptureWriterTest, StreamsOfTwoContextsHaveRowsOfTheirOwn) {
    open();
    std::vector<cupti::OwnedActivity> work;
    for (std::uint32_t i = 0; i < 6; ++i) {
        work.push_back({activity(cupti::Activity::Kind::Kernel, 100 + 10 * i, 115 + 10 * i, i + 1), "k"});
        work.back().activity.context = 1 + i % 2;
    }
    writer_->take(work);
    const auto trace = finished();
    std::map<std::string, SliceId> rows;
    for (const Track& track : trace->tracks()) {
        if (track.first_slice != track.end_slice)
            rows[std::string(trace->text(track.thread_name))] += track.end_slice - track.first_slice;
    }
    EXPECT_EQ(rows, (std::map<std::string, SliceId>{{"GPU 0, stream 7", 3}, {"GPU 0, stream 7 of context 2", 3}}));
}

TEST_F(CaptureWriterTest, PipelineModeKeepsAnOpsFirstAndLastKernel) {
    CaptureOptions options;
    options.mode = CaptureOptions::Mode::Pipeline;
    open(options);
    using Kind = cupti::Activity::Kind;
    push("step 0", 0, 90);
    push("F0", 1, 100);
    pop(1, 150);
    std::vector<cupti::OwnedActivity> work;
    for (std::uint32_t i = 0; i < 10; ++i) {
        const std::int64_t at = 101 + i;
        work.push_back({activity(Kind::Runtime, at, at, i + 1), ""});
        work.push_back({activity(Kind::Kernel, 200 + 10 * at, 205 + 10 * at, i + 1), "k" + std::to_string(i)});
    }
    work.push_back({activity(Kind::Runtime, 170, 171, 99), ""});
    work.push_back({activity(Kind::Kernel, 5000, 5001, 99), "outside"});
    work.push_back({activity(Kind::Kernel, 300, 301, 50), "ncclDevKernel_SendRecv"});
    writer_->take(work);
    pop(0, 180);
    const auto trace = finished();
    EXPECT_THAT(slices(*trace, "kernel"),
                ElementsAre("ncclDevKernel_SendRecv 300-301", "k0 1210-1215", "k9 1300-1305", "outside 5000-5001"));
    EXPECT_THAT(slices(*trace, "cuda_runtime"), testing::SizeIs(3));
    EXPECT_EQ(total(*trace, "thinned_out"), 8);
}

// A backward is a range of the main thread, but a thread of autograd, which has no ranges, launches its kernels.
TEST_F(CaptureWriterTest, PipelineModeThinsTheKernelsOfAutogradsThread) {
    CaptureOptions options;
    options.mode = CaptureOptions::Mode::Pipeline;
    open(options);
    using Kind = cupti::Activity::Kind;
    constexpr std::uint32_t kAutograd = 12;
    constexpr std::uint32_t kOther = 13; // runs ops of its own
    std::vector<cupti::OwnedActivity> work;
    const auto launch = [&](std::uint32_t number, std::int64_t at, std::uint32_t thread) {
        work.push_back({activity(Kind::Runtime, at, at, number), ""});
        work.back().activity.thread = thread;
        work.push_back({activity(Kind::Kernel, 1000 + at, 1001 + at, number), "k" + std::to_string(number)});
    };
    push("B0", 0, 100);
    for (std::uint32_t i = 1; i <= 5; ++i)
        launch(i, 100 + i, kAutograd);
    pop(0, 150);
    launch(6, 160, kAutograd); // after the op
    push("B1", 0, 200);
    HostRecord record;
    record.type = HostRecord::Type::Push;
    record.text = "B2";
    tell(record, 200, false, kOther);
    for (std::uint32_t i = 7; i <= 9; ++i)
        launch(i, 200 + i, kAutograd); // whose they are is unknown
    for (std::uint32_t i = 10; i <= 13; ++i)
        launch(i, 210 + i, kOther);
    pop(0, 250);
    record.type = HostRecord::Type::Pop;
    tell(record, 250, false, kOther);
    writer_->take(work);
    const auto trace = finished();
    EXPECT_THAT(slices(*trace, "kernel"),
                ElementsAre("k1 1101-1102", "k5 1105-1106", "k6 1160-1161", "k7 1207-1208", "k8 1208-1209",
                            "k9 1209-1210", "k10 1220-1221", "k13 1223-1224"));
    EXPECT_EQ(total(*trace, "thinned_out"), 5);
}

TEST_F(CaptureWriterTest, RecordsTheStepsThatWereAskedFor) {
    CaptureOptions options;
    options.first_step = 1;
    options.last_step = 1;
    open(options);
    for (int step = 0; step < 3; ++step) {
        push("step " + std::to_string(step), 0, 100 * step);
        push("F0", 1, 100 * step + 10);
        pop(1, 100 * step + 20);
        pop(0, 100 * step + 90);
    }
    const auto trace = finished();
    EXPECT_THAT(slices(*trace, "nvtx"), ElementsAre("step 1 100-190", "F0 110-120"));
    EXPECT_EQ(total(*trace, "outside_window"), 4);
    EXPECT_TRUE(writer_->isOver(us(200)));
}

/// Device memory, in units of 1000 bytes at an address with this number.
cupti::OwnedActivity memory(bool is_release, std::int64_t at_us, std::uint64_t address, std::int64_t units,
                            std::uint32_t memory_kind = 3, std::uint32_t device = 0) {
    cupti::Activity out;
    out.kind = is_release ? cupti::Activity::Kind::Release : cupti::Activity::Kind::Allocation;
    out.start = us(at_us);
    out.id = address;
    out.bytes = 1000 * units;
    out.what = memory_kind;
    out.device = device;
    return {out, ""};
}

/// "name time=units" in microseconds of the monotonic clock.
std::vector<std::string> countersOf(const Trace& trace, TimeNs ahead) {
    std::vector<std::string> points;
    for (const CounterSeries& series : trace.counters()) {
        for (std::size_t i = 0; i < series.times.size(); ++i) {
            points.push_back(std::string(trace.text(series.name)) + " " +
                             std::to_string((series.times[i] + trace.origin() - ahead).count() / 1000) + "=" +
                             std::to_string(static_cast<int>(series.values[i] / 1000)));
        }
    }
    return points;
}

TEST_F(CaptureWriterTest, CountsReservedMemoryInOrderOfTime) {
    for (const auto mode : {CaptureOptions::Mode::Full, CaptureOptions::Mode::Pipeline}) {
        CaptureOptions options;
        options.mode = mode;
        std::filesystem::remove_all(scratch_.path() / "traces");
        open(options);
        push("F0", 0, 90);
        pop(0, 600);
        constexpr std::uint32_t kPinned = 2;
        std::vector<cupti::OwnedActivity> late{memory(true, 300, 1, 4), memory(false, 400, 1, 7),
                                               memory(true, 350, 99, 5), memory(false, 360, 5, 50, kPinned),
                                               memory(false, 370, 6, 3, 3, 1)};
        writer_->take(late); // a buffer with later records may arrive first
        flush(700);
        std::vector<cupti::OwnedActivity> early{memory(false, 100, 1, 4), memory(false, 200, 2, 2),
                                                memory(true, 410, 5, 50, kPinned)};
        writer_->take(early);
        const auto trace = finished();
        EXPECT_THAT(countersOf(*trace, kAhead),
                    ElementsAre("reserved memory 100=4", "reserved memory 200=6", "reserved memory 300=2",
                                "reserved memory 400=9", "reserved memory (device 1) 370=3"));
        EXPECT_EQ(total(*trace, "unmatched"), 1) << "memory that was allocated before the recording";
    }
}

TEST_F(CaptureWriterTest, ReservedMemoryHoldsFromTheBeginningOfTheRecordedSteps) {
    CaptureOptions options;
    options.first_step = 1;
    options.last_step = 1;
    open(options);
    for (int step = 0; step < 3; ++step) {
        push("step " + std::to_string(step), 0, 100 * step + 5);
        pop(0, 100 * step + 90);
    }
    std::vector<cupti::OwnedActivity> changes{memory(false, 10, 1, 4), memory(false, 20, 2, 8), memory(true, 30, 2, 8),
                                              memory(false, 220, 3, 5)};
    changes.push_back(memory(false, 15, 7, 6, 3, 1));
    changes.push_back(memory(false, 150, 8, 1, 3, 1));
    writer_->take(changes);
    EXPECT_THAT(countersOf(*finished(), kAhead),
                testing::UnorderedElementsAre("reserved memory 105=4", "reserved memory (device 1) 105=6",
                                              "reserved memory (device 1) 150=7"));
}

TEST_F(CaptureWriterTest, EveryPartStatesTheReservedMemory) {
    CaptureOptions options;
    options.size = 40'000;
    open(options);
    std::vector<cupti::OwnedActivity> changes{memory(false, 60, 1, 4)};
    writer_->take(changes);
    std::int64_t time = 100;
    for (int i = 0; i < 4000; ++i, time += 10'000) { // parts are longer than the time that allocations may take
        push("F" + std::to_string(i), 0, time);
        pop(0, time + 5);
        if (i % 100 == 99) flush(time + 6);
    }
    const Status written = writer_->finish(us(time));
    ASSERT_TRUE(written.ok()) << written.error().text();
    const auto trace = read();
    ASSERT_GT(total(*trace, "parts_removed"), 0);
    std::set<std::uint32_t> files;
    for (const CounterSeries& series : trace->counters()) {
        files.insert(series.file);
        for (const double bytes : series.values)
            EXPECT_EQ(bytes, 4000);
    }
    EXPECT_EQ(files.size(), trace->files().size());
}

/// NCCL's part, as it calls a plugin, of each version.
template <class Head, class Body>
void* started(const auto& table, void* context, std::uint32_t type, void* parent, const Body& body) {
    nccl::abi::Descriptor<Head, Body> descriptor{};
    descriptor.head.type = static_cast<decltype(descriptor.head.type)>(type);
    descriptor.head.parent = parent;
    descriptor.head.rank = 1;
    descriptor.body = body;
    void* handle = nullptr;
    EXPECT_EQ(table.start_event(context, &handle, &descriptor), nccl::abi::kSuccess);
    EXPECT_NE(handle, nullptr);
    return handle;
}

/// A process that records ranges, writes `before` of them, and dies while it writes the others: `part` of that write
/// reaches the file. Returns how often each range is in the folder once the rest was saved.
std::map<std::string, int> savedAfterHalfAWrite(const std::filesystem::path& dir, int before, double part) {
    constexpr int kRanges = 100;
    test::RecordedMemory recorded;
    EventMemory& memory = recorded.memory();
    DescribedProcess described;
    described.process = {.host = "node", .clock = "boot", .pid = 77, .program = "train"};
    const std::string text = processText(described);
    std::ranges::copy(text, memory.header().identity.begin());
    memory.header().identity_bytes = text.size();
    const nvtx::Names names;
    const nccl::Communicators communicators;
    CaptureWriter writer({}, {.dir = dir, .identity = {}, .process = described.process}, names, communicators, {});
    EventReader reader(memory, EventReader::From::Begin);
    writer.keepCheckpoints(memory, reader);
    const auto now = [&] { return readAllClocks(recorded.recorder().clock()); };
    writer.addReading(now());
    const auto file = [&dir] {
        std::filesystem::path found;
        for (const auto& entry : std::filesystem::directory_iterator(dir))
            if (entry.path().extension() == ".pftrace") found = entry.path();
        return found;
    };
    const auto write = [&](int from, int to) {
        for (int i = from; i < to; ++i) {
            recorded.recorder().push("range " + std::to_string(i), 0);
            recorded.recorder().pop(0);
        }
        writer.addReading(now());
        reader.read(1 << 20, [&](std::uint32_t tid, std::span<const std::uint64_t> words, bool gap) {
            const std::size_t count = host_record::wordsOf(words[0]);
            writer.take(tid, *decodeHostRecord(words.first(count)), gap);
            return count;
        });
        EXPECT_TRUE(writer.flush(now().monotonic).ok());
        return std::filesystem::file_size(file());
    };
    const auto whole = before == 0 ? 0 : write(0, before);
    const auto both = write(before, kRanges);
    std::filesystem::resize_file(file(), whole + static_cast<std::uintmax_t>(part * static_cast<double>(both - whole)));
    event_memory::Header& header = memory.header();
    header.current = header.current ^ 1U; // as it was when the process died
    header.prepared = 1;
    const LeftByProcess left = writeWhatIsLeft(memory, dir, "SIGKILL");
    EXPECT_TRUE(left.written) << left.message;
    EXPECT_EQ(left.counts.ranges, kRanges);
    JobControl control;
    const auto read = readTraces({dir}, control);
    EXPECT_TRUE(read.ok()) << read.error().text();
    EXPECT_TRUE(read.value().problems.empty()) << read.value().problems.front().message.text();
    std::map<std::string, int> found;
    const Trace& trace = *read.value().trace;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice)
        ++found[std::string(trace.name(slice))];
    return found;
}

TEST(HalfAWrite, IsWrittenAgainAndNothingTwice) {
    for (const int before : {0, 40}) {
        for (const double part : {0., 0.3, 0.9, 1.}) {
            const test::ScratchFolder folder;
            const auto found = savedAfterHalfAWrite(folder.path() / "traces", before, part);
            EXPECT_EQ(found.size(), 100U) << before << ' ' << part;
            for (const auto& [name, count] : found)
                EXPECT_EQ(count, 1) << name << ' ' << before << ' ' << part;
        }
    }
}

TEST_F(CaptureWriterTest, TakesNcclsEventsOfEveryVersion) {
    namespace abi = nccl::abi;
    test::RecordedMemory memory;
    HostRecorder& recorder = memory.recorder();
    nccl::sendEventsTo(&recorder, communicators_, abi::kGroup | abi::kColl | abi::kP2p | abi::kProxyOp);
    int mask = 0;
    void* context = nullptr;

    ASSERT_EQ(nccl::kTableV5.init(&context, 0xabcd, &mask, "pp", 1, 4, 1, nullptr), abi::kSuccess);
    EXPECT_EQ(mask, 15);
    struct Empty {};
    void* group = started<abi::HeadV5>(nccl::kTableV5, context, abi::kGroup, nullptr, Empty{});
    abi::P2pV4 send{"Send", nullptr, "ncclFloat32", 256, 3, 2};
    void* event = started<abi::HeadV5>(nccl::kTableV5, context, abi::kP2p, group, send);
    abi::ProxyOp proxy{1, 0, 3, 4, 1024, 1};
    void* proxied = started<abi::HeadV5>(nccl::kTableV5, context, abi::kProxyOp, event, proxy);
    for (void* handle : {proxied, event, group})
        EXPECT_EQ(nccl::kTableV5.stop_event(handle), abi::kSuccess);
    EXPECT_EQ(nccl::kTableV5.finalize(context), abi::kSuccess);

    ASSERT_EQ(nccl::kTableV4.init(&context, &mask, "dp0", 0xef, 1, 2, 0, nullptr), abi::kSuccess);
    abi::CollV4 reduce{17, "AllReduce", nullptr, nullptr, 100, 0, "ncclBfloat16", 8, 4, "RING", "SIMPLE"};
    nccl::kTableV4.stop_event(started<abi::HeadV1>(nccl::kTableV4, context, abi::kColl, nullptr, reduce));

    ASSERT_EQ(nccl::kTableV1.init(&context, &mask), abi::kSuccess);
    abi::CollV3 of_v3{"c", 5, 1, "AllGather", nullptr, nullptr, 10, 0, "ncclInt8", 1, 1, "TREE", "LL"};
    nccl::kTableV3.stop_event(started<abi::HeadV1>(nccl::kTableV3, context, abi::kColl, nullptr, of_v3));
    abi::P2pV2 of_v2{"c", 5, "Recv", nullptr, "ncclFloat16", 10, 6};
    nccl::kTableV2.stop_event(started<abi::HeadV1>(nccl::kTableV2, context, abi::kP2p, nullptr, of_v2));
    abi::CollV1 of_v1{};
    of_v1.comm = 5;
    of_v1.function = 4;
    of_v1.count = 10;
    of_v1.datatype = 7;
    nccl::kTableV1.stop_event(started<abi::HeadV1>(nccl::kTableV1, context, abi::kColl, nullptr, of_v1));

    open();
    const TickClock& clock = recorder.clock();
    writer_ = nullptr;
    CaptureFileInfo info;
    info.dir = scratch_.path() / "traces";
    info.process = {.host = "node", .clock = "boot", .pid = 78, .program = "train"};
    writer_ = std::make_unique<CaptureWriter>(CaptureOptions{}, info, names_, communicators_, cupti::CallName{});
    writer_->addReading(readAllClocks(clock));
    memory.drain([&](std::uint32_t tid, const HostRecord& record, bool gap) { writer_->take(tid, record, gap); });
    ASSERT_TRUE(writer_->finish(readSystemClock(CLOCK_MONOTONIC)).ok());
    const auto trace = read();

    std::map<std::string, std::vector<SliceId>> by_name;
    for (SliceId slice = 0; slice < trace->sliceCount(); ++slice) {
        if (trace->category(slice) == "nccl") by_name[std::string(trace->name(slice))].push_back(slice);
    }
    const auto number = [&](const char* name, const char* arg, std::size_t which = 0) {
        return trace->intArg(trace->sliceArgs()[by_name.at(name).at(which)], arg);
    };
    const auto text = [&](const char* name, const char* arg) {
        return std::string(trace->textArg(trace->sliceArgs()[by_name.at(name).at(0)], arg).value_or(""));
    };
    EXPECT_EQ(number("Send", "peer"), 3);
    EXPECT_EQ(number("Send", "bytes"), 1024);
    EXPECT_EQ(number("Send", "parent"), number("group", "event"));
    EXPECT_EQ(number("proxy send", "parent"), number("Send", "event"));
    EXPECT_EQ(number("proxy send", "chunk_bytes"), 1024);
    EXPECT_EQ(text("Send", "comm_name"), "pp");
    ASSERT_EQ(by_name.at("AllReduce").size(), 2U);
    std::set<std::int64_t> bytes{*number("AllReduce", "bytes", 0), *number("AllReduce", "bytes", 1)};
    EXPECT_EQ(bytes, (std::set<std::int64_t>{40, 200})) << "version 1 tells types by number";
    EXPECT_EQ(text("AllGather", "algorithm"), "TREE");
    EXPECT_EQ(number("Recv", "peer"), 6);
    EXPECT_EQ(number("Recv", "bytes"), 20);
}

} // namespace
} // namespace bubblescope::profiler
