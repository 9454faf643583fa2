// The cost of recording: a push into a rank's ring, and the whole way to the disk.

#include "profiler/recorder/recorder.h"
#include "tests/support/scratch_folder.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace bubblescope;
using namespace bubblescope::profiler;

SliceRecord recordAt(std::int64_t number) {
    constexpr std::int64_t kOp = 1000;
    constexpr int kMicrobatches = 64;
    const TimelineOp op{{OpKind::Forward, Microbatch{static_cast<std::int32_t>(number % kMicrobatches)}, Chunk{0}},
                        TimeNs{number * kOp},
                        TimeNs{number * kOp + kOp / 2}};
    return SliceRecord::of(op, Stage{0}, static_cast<int>(number / kMicrobatches));
}

/// The hot path: one record made and pushed. The ring is emptied outside of the measured time.
void push(benchmark::State& state) {
    constexpr std::int64_t kBatch = 4096;
    RecordRing ring(kBatch);
    std::vector<SliceRecord> out;
    std::int64_t number = 0;
    for ([[maybe_unused]] auto round : state) {
        for (std::int64_t i = 0; i < kBatch; ++i)
            ring.push(recordAt(number++));
        state.PauseTiming();
        out.clear();
        ring.drain(out);
        state.ResumeTiming();
    }
    state.counters["per_record"] =
        benchmark::Counter(static_cast<double>(number), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    state.counters["dropped"] = static_cast<double>(ring.dropped());
}
BENCHMARK(push);

/// One rank's file, in batches as a busy ring returns them: only processor time, so that it is comparable on any
/// machine.
void encode(benchmark::State& state) {
    constexpr std::int64_t kBatch = 16'384;
    const test::ScratchFolder scratch;
    RunInfo info;
    info.microbatches = 64;
    info.schedule = "1f1b";
    TraceSegmentWriter writer =
        TraceSegmentWriter::create(scratch.path(), info, Rank{0}, readClocks(), thisProcess(), {64 << 20, 2}).value();
    std::vector<SliceRecord> batch;
    std::int64_t number = 0;
    for ([[maybe_unused]] auto round : state) {
        state.PauseTiming();
        batch.clear();
        for (std::int64_t i = 0; i < kBatch; ++i)
            batch.push_back(recordAt(number++));
        state.ResumeTiming();
        if (!writer.append(batch).ok()) state.SkipWithError("the disk does not take it");
    }
    state.counters["slices_per_s"] = benchmark::Counter(static_cast<double>(number), benchmark::Counter::kIsRate);
    state.counters["per_slice"] =
        benchmark::Counter(static_cast<double>(number), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(encode)->Unit(benchmark::kMillisecond);

/// The recorder's thread: from the ring into the file, as fast as it goes. Slices a second of wall-clock time.
void toDisk(benchmark::State& state) {
    const test::ScratchFolder scratch;
    std::int64_t number = 0;
    std::int64_t dropped = 0;
    for ([[maybe_unused]] auto round : state) {
        constexpr std::int64_t kSlices = 1'000'000;
        RecorderConfig config;
        config.dir = scratch.path();
        config.info.pp = 1;
        config.info.microbatches = 64;
        config.info.schedule = "1f1b";
        config.ring_capacity = 1U << 18U;
        config.flush_interval = std::chrono::milliseconds(1);
        config.limits = {64 << 20, 2};
        const std::unique_ptr<Recorder> recorder = Recorder::open(config).value();
        RecordRing& ring = recorder->ring(Rank{0});
        for (std::int64_t i = 0; i < kSlices; ++i) {
            // A producer of a run would go on; here each slice is to arrive. It sleeps, since on a busy machine turns
            // that it spends on looking are lost to the recorder's thread.
            while (ring.waiting() >= ring.capacity() / 2)
                std::this_thread::sleep_for(std::chrono::microseconds(500));
            ring.push(recordAt(number + i));
        }
        dropped += recorder->dropped();
        number += kSlices;
        if (!recorder->close().ok()) state.SkipWithError("the disk does not take it");
    }
    state.counters["dropped"] = static_cast<double>(dropped);
    state.counters["slices_per_s"] = benchmark::Counter(static_cast<double>(number), benchmark::Counter::kIsRate);
}
BENCHMARK(toDisk)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();

} // namespace
