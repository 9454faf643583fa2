#include "profiler/recorder/recorder.h"

#include "core/formats/perfetto/fields.h"
#include "core/formats/perfetto/native_events.h"
#include "core/formats/read_trace.h"
#include "core/timeline/trace_names.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::profiler {
namespace {

using std::chrono::milliseconds;

RecorderConfig configFor(const std::filesystem::path& dir, int pp) {
    RecorderConfig config;
    config.dir = dir;
    config.info.source = "run";
    config.info.backend = "cpu";
    config.info.schedule = "1f1b";
    config.info.pp = pp;
    config.info.microbatches = 8;
    config.info.paced = true;
    config.info.pace_tolerance = TimeNs{10'000'000};
    config.flush_interval = milliseconds{0}; // tests decide when
    return config;
}

std::unique_ptr<Recorder> openRecorder(const RecorderConfig& config) {
    Result<std::unique_ptr<Recorder>> opened = Recorder::open(config);
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return std::move(opened).value();
}

SliceRecord opRecord(int microbatch, int start, int end) {
    return SliceRecord::of(TimelineOp{{OpKind::Forward, Microbatch{microbatch}, Chunk{0}}, TimeNs{start}, TimeNs{end}},
                           Stage{0}, 0);
}

SliceRecord commRecord(CommKind kind, int microbatch, int start, int end) {
    return SliceRecord::of(CommSpan{kind, Payload::Activation, Microbatch{microbatch}, Stage{1},
                                    kind == CommKind::Send ? Rank{1} : Rank{0}, TimeNs{start}, TimeNs{end}},
                           4);
}

ReadTraces read(const std::filesystem::path& path) {
    JobControl control;
    Result<ReadTraces> traces = readTraces({path}, control);
    EXPECT_TRUE(traces.ok()) << traces.error().text();
    return std::move(traces).value();
}

/// Bytes of the whole packets at the beginning of a file; equal to its size if nothing is torn.
std::size_t wholePackets(const std::filesystem::path& path, int& packets) {
    const std::string bytes = test::readAll(path);
    protozero::pbf_reader reader(bytes);
    packets = 0;
    while (reader.next(perfetto::fields::trace::kPacket)) {
        reader.get_view();
        ++packets;
    }
    return bytes.size() - reader.length();
}

TEST(Recorder, WritesSlicesAsTheNamesSay) {
    const test::ScratchFolder dir;
    RecorderConfig config = configFor(dir.path(), 2);
    config.info.vpp = 2;
    const auto recorder = openRecorder(config);
    SliceRecord late =
        SliceRecord::of(TimelineOp{{OpKind::Backward, Microbatch{3}, Chunk{1}}, TimeNs{100}, TimeNs{250}}, Stage{3}, 5,
                        {TimeNs{7}, {}, {}});
    recorder->ring(Rank{1}).push(late);
    recorder->ring(Rank{0}).push(commRecord(CommKind::Send, 2, 40, 60));
    recorder->ring(Rank{1}).push(commRecord(CommKind::Receive, 2, 40, 60));
    recorder->ring(Rank{1}).push(commRecord(CommKind::Wait, 2, 30, 60));
    ASSERT_TRUE(recorder->close().ok());

    const ReadTraces loaded = read(dir.path());
    ASSERT_EQ(loaded.problems.size(), 1U);
    EXPECT_EQ(loaded.problems[0].kind, "dangling-flow") << "nobody sends or gets the gradient of the backward";
    const Trace& trace = *loaded.trace;
    ASSERT_EQ(trace.sliceCount(), 4U);
    std::map<std::string, SliceId> by_name;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        const std::string category(trace.category(slice));
        by_name[category] = slice;
        const Track& track = trace.tracks()[trace.sliceTracks()[slice]];
        EXPECT_EQ(track.pid, category == "send" ? 1 : 2);
        EXPECT_EQ(trace.text(track.process_name), category == "send" ? "rank 0" : "rank 1");
    }
    const SliceId op = by_name.at("op");
    EXPECT_EQ(trace.name(op), "B3.1");
    EXPECT_EQ((trace.origin() + trace.start(op)).count(), 100);
    EXPECT_EQ(trace.end(op) - trace.start(op), TimeNs{150});
    const ArgSetId args = trace.sliceArgs()[op];
    EXPECT_EQ(trace.textArg(args, "kind"), "B");
    EXPECT_EQ(trace.intArg(args, "microbatch"), 3);
    EXPECT_EQ(trace.intArg(args, "chunk"), 1);
    EXPECT_EQ(trace.intArg(args, "stage"), 3);
    EXPECT_EQ(trace.intArg(args, "step"), 5);
    EXPECT_EQ(trace.intArg(args, "lateness_ns"), 7);
    const ArgSetId wait = trace.sliceArgs()[by_name.at("wait")];
    EXPECT_EQ(trace.textArg(wait, "payload"), "activation");
    EXPECT_EQ(trace.intArg(wait, "stage"), 1);
    EXPECT_EQ(trace.intArg(wait, "peer"), 0);

    ASSERT_EQ(trace.flowPoints().size(), 1U) << "the last stage's backward hands on one gradient and takes none";
    EXPECT_EQ(trace.flowPoints()[0].slice, op);
}

TEST(Recorder, SaysInEveryFileWhatTheRunIs) {
    const test::ScratchFolder dir;
    ASSERT_TRUE(openRecorder(configFor(dir.path(), 2))->close().ok());
    const ReadTraces loaded = read(dir.path());
    ASSERT_EQ(loaded.trace->instants().size(), 4U);
    std::set<std::int64_t> ranks;
    for (const Instant& instant : loaded.trace->instants()) {
        EXPECT_EQ(loaded.trace->text(instant.category), trace_names::kRun);
        if (loaded.trace->text(instant.name) == trace_names::kEndEvent) continue;
        EXPECT_EQ(loaded.trace->text(instant.name), trace_names::kRunEvent);
        EXPECT_EQ(loaded.trace->textArg(instant.args, "schedule"), "1f1b");
        EXPECT_EQ(loaded.trace->intArg(instant.args, "pp"), 2);
        EXPECT_EQ(loaded.trace->intArg(instant.args, "pace_tolerance_ns"), 10'000'000);
        ranks.insert(loaded.trace->intArg(instant.args, "rank").value_or(-1));
    }
    EXPECT_EQ(ranks, (std::set<std::int64_t>{0, 1}));
}

/// The counts of records in each instant of this name, by file.
std::vector<std::pair<std::int64_t, std::int64_t>> recordsSaid(const Trace& trace, std::string_view name) {
    std::vector<std::pair<std::int64_t, std::int64_t>> said;
    for (const Instant& instant : trace.instants()) {
        if (trace.text(instant.name) != name) continue;
        said.emplace_back(trace.intArg(instant.args, "records").value_or(-1),
                          trace.intArg(instant.args, "dropped").value_or(-1));
    }
    return said;
}

TEST(Recorder, SaysAtTheEndWhatWasWrittenAndWhatWasLost) {
    const test::ScratchFolder dir;
    RecorderConfig config = configFor(dir.path(), 1);
    config.ring_capacity = 4;
    const auto recorder = openRecorder(config);
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 7; ++i)
            recorder->ring(Rank{0}).push(opRecord(i, 100 * round + 10 * i, 100 * round + 10 * i + 5));
        ASSERT_TRUE(recorder->flush().ok());
    }
    ASSERT_TRUE(recorder->close().ok());
    ASSERT_TRUE(recorder->close().ok()) << "again";
    using Said = std::vector<std::pair<std::int64_t, std::int64_t>>;
    const ReadTraces loaded = read(dir.path());
    EXPECT_EQ(recordsSaid(*loaded.trace, trace_names::kLostEvent), (Said{{3, -1}, {3, -1}}));
    EXPECT_EQ(recordsSaid(*loaded.trace, trace_names::kEndEvent), (Said{{8, 6}}));
}

TEST(Recorder, AFullFileGoesOnInTheNextAndTheOldestGo) {
    const test::ScratchFolder dir;
    RecorderConfig config = configFor(dir.path(), 1);
    config.limits = {4000, 3};
    std::ofstream(dir.path() / "rank0.7.pftrace") << "of an earlier run";
    const auto recorder = openRecorder(config);
    for (int i = 0; i < 400; ++i) {
        recorder->ring(Rank{0}).push(opRecord(i, 10 * i, 10 * i + 5));
        if (i % 20 == 19) {
            ASSERT_TRUE(recorder->flush().ok());
        }
    }
    ASSERT_TRUE(recorder->close().ok());
    std::size_t files = 0;
    std::size_t slices = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
        ++files;
        const ReadTraces loaded = read(entry.path());
        EXPECT_TRUE(loaded.problems.empty()) << entry.path();
        EXPECT_EQ(loaded.trace->text(loaded.trace->tracks().front().process_name), "rank 0");
        slices += loaded.trace->sliceCount();
    }
    EXPECT_EQ(files, 3U);
    EXPECT_GT(slices, 20U);
    EXPECT_LT(slices, 400U);
    EXPECT_EQ(recordsSaid(*read(dir.path()).trace, trace_names::kEndEvent).front().first, 400);
}

TEST(Recorder, ReadsTheClocksAgainAndAgain) {
    const test::ScratchFolder dir;
    RecorderConfig config = configFor(dir.path(), 1);
    config.flush_interval = milliseconds{1};
    config.clock_interval = milliseconds{1};
    const auto recorder = openRecorder(config);
    const std::filesystem::path file = dir.path() / "rank0.pftrace";
    const auto before = std::filesystem::file_size(file);
    while (std::filesystem::file_size(file) == before)
        std::this_thread::yield();
    ASSERT_TRUE(recorder->close().ok());
    EXPECT_TRUE(read(file).problems.empty());
}

TEST(Recorder, LeavesWholePacketsAfterEveryFlush) {
    const test::ScratchFolder dir;
    const auto recorder = openRecorder(configFor(dir.path(), 1));
    const std::filesystem::path file = dir.path() / "rank0.pftrace";
    int before = 0;
    EXPECT_EQ(wholePackets(file, before), std::filesystem::file_size(file));
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 500; ++i)
            recorder->ring(Rank{0}).push(opRecord(i, 1000 * round + 2 * i, 1000 * round + 2 * i + 1));
        ASSERT_TRUE(recorder->flush().ok());
        // The files that a process killed now leaves behind.
        const std::filesystem::path copy = dir.path() / ("copy" + std::to_string(round) + ".pftrace");
        std::filesystem::copy_file(file, copy);
        int packets = 0;
        EXPECT_EQ(wholePackets(copy, packets), std::filesystem::file_size(copy));
        EXPECT_EQ(packets - before, 1000 * (round + 1));
        const ReadTraces loaded = read(copy);
        EXPECT_EQ(loaded.trace->sliceCount(), 500U * static_cast<std::size_t>(round + 1));
        EXPECT_TRUE(loaded.problems.empty());
    }
}

TEST(Recorder, PutsOverlappingSlicesOnASecondLane) {
    const test::ScratchFolder dir;
    const auto recorder = openRecorder(configFor(dir.path(), 1));
    // Used in another order than they arrived; the first two overlap, the third follows on the first.
    for (const auto& [start, end] : {std::pair{30, 50}, std::pair{20, 40}, std::pair{10, 30}})
        recorder->ring(Rank{0}).push(commRecord(CommKind::Receive, start, start, end));
    ASSERT_TRUE(recorder->close().ok());
    const ReadTraces loaded = read(dir.path());
    EXPECT_TRUE(loaded.problems.empty());
    std::map<int, std::string> lanes;
    for (SliceId slice = 0; slice < loaded.trace->sliceCount(); ++slice) {
        const Track& track = loaded.trace->tracks()[loaded.trace->sliceTracks()[slice]];
        EXPECT_EQ(track.spilled_from, kNoId);
        const auto start = (loaded.trace->origin() + loaded.trace->start(slice)).count();
        lanes[static_cast<int>(start)] = loaded.trace->text(track.thread_name);
    }
    EXPECT_EQ(lanes, (std::map<int, std::string>{
                         {10, "receive activation"}, {20, "receive activation (2)"}, {30, "receive activation"}}));
}

TEST(Recorder, CountsWhatItsRingsDropped) {
    const test::ScratchFolder dir;
    RecorderConfig config = configFor(dir.path(), 2);
    config.ring_capacity = 8;
    const auto recorder = openRecorder(config);
    for (int i = 0; i < 20; ++i)
        recorder->ring(Rank{1}).push(opRecord(i, 2 * i, 2 * i + 1));
    EXPECT_EQ(recorder->dropped(), 12);
    ASSERT_TRUE(recorder->close().ok());
    EXPECT_EQ(read(dir.path()).trace->sliceCount(), 8U);
}

/// Pushes an op, as at the end of a step.
void endStep(Recorder& recorder, int step) {
    recorder.ring(Rank{0}).push(opRecord(step, 2 * step, 2 * step + 1));
    recorder.requestFlush();
}

/// As above, and waits until the file of rank 0 grows.
void endStepAndWait(Recorder& recorder, int step) {
    const std::filesystem::path file = recorder.files().at(0);
    const auto before = std::filesystem::file_size(file);
    endStep(recorder, step);
    while (std::filesystem::file_size(file) == before)
        std::this_thread::yield();
}

TEST(Recorder, WritesByItselfWhenAskedAtTheEndOfAStep) {
    const test::ScratchFolder dir;
    RecorderConfig config = configFor(dir.path(), 1);
    config.flush_interval = milliseconds{3'600'000};
    const auto recorder = openRecorder(config);
    const std::filesystem::path file = recorder->files().at(0);
    endStepAndWait(*recorder, 0);
    ASSERT_TRUE(recorder->close().ok());
    EXPECT_EQ(read(file).trace->sliceCount(), 1U);
}

TEST(Recorder, StepsThatEndSoonAfterAnotherAreWrittenAsWell) {
    const test::ScratchFolder dir;
    RecorderConfig config = configFor(dir.path(), 1);
    config.flush_interval = milliseconds{3'600'000};
    const auto recorder = openRecorder(config);
    const std::filesystem::path file = recorder->files().at(0);
    for (int step = 0; step < 5; ++step)
        endStepAndWait(*recorder, step);
    // Several at once; the last must not wait for the interval either.
    for (int step = 5; step < 20; ++step)
        endStep(*recorder, step);
    while (read(file).trace->sliceCount() < 20)
        std::this_thread::yield();
    ASSERT_TRUE(recorder->close().ok());
    EXPECT_EQ(read(file).trace->sliceCount(), 20U);
}

/// Kernels that follow one another without a gap, some of which take no time: their borders must not be mixed up,
/// however late some of them are reported.
TEST(Recorder, DeviceSlicesKeepTheirTimesInAnyOrder) {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        std::vector<DeviceSlice> slices(40);
        std::vector<std::string> names;
        for (std::size_t i = 0; i < slices.size(); ++i)
            names.push_back("kernel " + std::to_string(i));
        std::map<std::string, std::pair<std::int64_t, std::int64_t>> expected;
        TimeNs now{1000};
        for (std::size_t i = 0; i < slices.size(); ++i) {
            DeviceSlice& slice = slices[i];
            slice.start = now;
            slice.end = now += TimeNs{i % 5 == 2 ? 0 : 10};
            slice.category = "kernel";
            slice.name = names[i];
            slice.row = "stream: compute";
            expected[names[i]] = {slice.start.count(), (slice.end - slice.start).count()};
        }
        if (round > 0) std::ranges::shuffle(slices, random);
        const test::ScratchFolder dir;
        const auto recorder = openRecorder(configFor(dir.path(), 1));
        recorder->addSlices(Rank{0}, std::span(slices).first(20));
        recorder->addSlices(Rank{0}, std::span(slices).last(20));
        ASSERT_TRUE(recorder->close().ok());
        const ReadTraces traces = read(dir.path() / "rank0.pftrace");
        const Trace& trace = *traces.trace;
        EXPECT_TRUE(traces.problems.empty());
        std::map<std::string, std::pair<std::int64_t, std::int64_t>> found;
        std::set<std::string> rows;
        for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
            found[std::string(trace.name(slice))] = {trace.sliceStarts()[slice], trace.sliceDurations()[slice]};
            rows.emplace(trace.text(trace.tracks()[trace.sliceTracks()[slice]].thread_name));
        }
        const std::int64_t shift = found.at(names[0]).first - expected.at(names[0]).first;
        for (auto& [name, at] : expected)
            at.first += shift;
        EXPECT_EQ(found, expected) << "round " << round;
        EXPECT_TRUE(round > 0 || rows.size() == 1);
    }
}

TEST(Recorder, ReplacesTheFilesOfAnEarlierRunAndNothingElse) {
    const test::ScratchFolder dir;
    for (const char* const name : {"rank0.pftrace", "rank2.pftrace", "rank13.pftrace", "rank02.pftrace", "notes.txt"})
        std::ofstream(dir.path() / name) << "old";
    ASSERT_TRUE(openRecorder(configFor(dir.path(), 2))->close().ok());
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
        names.insert(entry.path().filename().string());
    EXPECT_EQ(names, (std::set<std::string>{"rank0.pftrace", "rank1.pftrace", "rank02.pftrace", "notes.txt"}));
    EXPECT_TRUE(read(dir.path() / "rank0.pftrace").problems.empty());
}

TEST(Recorder, NamesTheFolderThatCannotBeMade) {
    const test::ScratchFolder dir;
    std::ofstream(dir.path() / "file") << "in the way";
    const auto opened = Recorder::open(configFor(dir.path() / "file" / "out", 1));
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().kind, ErrorKind::Run);
    EXPECT_EQ(opened.error().where, (dir.path() / "file" / "out").string());
}

TEST(Recorder, NamesTheFileThatCannotBeWritten) {
    const test::ScratchFolder dir;
    std::filesystem::create_symlink("/dev/full", dir.path() / "rank1.pftrace");
    const auto opened = Recorder::open(configFor(dir.path(), 2));
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().kind, ErrorKind::Run);
    EXPECT_EQ(opened.error().where, (dir.path() / "rank1.pftrace").string());
}

} // namespace
} // namespace bubblescope::profiler
