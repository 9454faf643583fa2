// A job of synthetic ranks that write their traces as a real one does, and a live view that follows it: how many ranks
// one collector carries, and whether memory stays flat and nothing is lost over a long time.
//
//   live_load [--pp N] [--dp N] [--microbatches N] [--steps-per-minute N] [--seconds N] [--steps N]
//             [--segment-bytes N] [--segments N] [--dir DIR]
//
// 0 steps a minute means as fast as the producer can; with --steps it stops after that number of steps, however long
// they take.
// Prints a JSON document a line; exit code 1 if anything was lost. `slices_per_cpu_s` is of all threads but the
// producer's.

#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/live/live_analyzer.h"
#include "core/live/segment_follower.h"
#include "profiler/recorder/segment_writer.h"
#include "tests/bench/load_tools.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace bubblescope;
using namespace bubblescope::bench;
using namespace bubblescope::live;
using namespace bubblescope::profiler;
using namespace std::chrono_literals;

TimeNs now() {
    return readClocks().monotonic;
}

struct Options {
    std::map<std::string, long> numbers{{"--pp", 8},
                                        {"--dp", 1},
                                        {"--microbatches", 32},
                                        {"--seconds", 10},
                                        {"--segments", 0},
                                        {"--steps-per-minute", 10},
                                        {"--segment-bytes", 0},
                                        {"--steps", 0}};
    std::string dir;

    [[nodiscard]] int operator[](const char* name) const { return static_cast<int>(numbers.at(name)); }
};

/// Writes the same step again and again, at the times at which it would have ended now.
class Job {
public:
    Job(const Options& options, const std::filesystem::path& dir) {
        info_.source = "run";
        info_.backend = "cpu";
        info_.schedule = "1f1b";
        info_.pp = options["--pp"];
        info_.dp = options["--dp"];
        info_.microbatches = options["--microbatches"];
        ScheduleSpec spec;
        spec.name = info_.schedule;
        spec.pp = info_.pp;
        spec.microbatches = info_.microbatches;
        CostModel costs;
        costs.times = {TimeNs{1'000'000}, TimeNs{2'000'000}, TimeNs{1'000'000}, TimeNs{1'000'000}, TimeNs{0}};
        costs.comm = TimeNs{50'000};
        shape_ = simulate(makeSchedule(spec).value(), costs).value();
        const perfetto::SegmentLimits limits{options.numbers.at("--segment-bytes"), options["--segments"]};
        for (int rank = 0; rank < info_.pp * info_.dp; ++rank) {
            writers_.push_back(
                TraceSegmentWriter::create(dir, info_, Rank{rank}, readClocks(), thisProcess(), limits).value());
        }
    }

    void writeStep(int index) {
        const TimeNs shift = now() - shape_.end;
        for (std::size_t rank = 0; rank < writers_.size(); ++rank) {
            const Rank in_pipeline{rank / static_cast<std::size_t>(info_.dp)};
            std::vector<SliceRecord> batch = recordsOf(shape_, in_pipeline, shift, index);
            written_ += static_cast<std::int64_t>(batch.size());
            if (!writers_[rank].append(batch).ok()) std::abort();
        }
    }
    void end() {
        for (TraceSegmentWriter& writer : writers_) {
            if (!writer.appendEnd(0).ok()) std::abort();
        }
    }
    [[nodiscard]] std::int64_t written() const { return written_; }

private:
    RunInfo info_;
    StepTimeline shape_;
    std::vector<TraceSegmentWriter> writers_;
    std::atomic<std::int64_t> written_{0};
};

/// Without news from the reader, the producer is at most this far ahead: a disk holds a limited number of segments.
constexpr int kFullRateAhead = 50;

int run(const Options& options, const std::filesystem::path& dir) {
    Job job(options, dir);
    const double began = processSeconds();
    std::atomic<int> steps_written{0};
    std::atomic<std::int64_t> steps_closed{0};
    std::atomic<double> producer_seconds{0};
    std::thread producer([&] {
        const auto begin = now();
        const auto end = begin + std::chrono::seconds(options["--seconds"]);
        const int rate = options["--steps-per-minute"];
        const int most = options["--steps"];
        for (int step = 0; most > 0 ? step < most : now() < end; ++step) {
            job.writeStep(step);
            steps_written = step + 1;
            if (rate > 0) {
                std::this_thread::sleep_until(std::chrono::steady_clock::time_point(begin + (step + 1) * 60s / rate));
            } else {
                while (step - steps_closed > kFullRateAhead)
                    std::this_thread::sleep_for(1ms);
            }
        }
        job.end();
        producer_seconds = threadSeconds();
    });

    LiveOptions live;
    live.own_clock = thisProcess().clock;
    LiveAnalyzer analyzer(live);
    SegmentFollower follower = SegmentFollower::open({dir}).value();
    TimeNs report_at = now() + 10s;
    long first_resident = 0;
    std::int64_t anomalies = 0;
    while (!analyzer.runEnded()) {
        const bool more = follower.read(analyzer, now());
        for (const LiveEvent& event : analyzer.advance(now()))
            anomalies += event.kind == LiveEvent::Kind::AnomalyFound ? 1 : 0;
        steps_closed = analyzer.counts().steps;
        if (now() >= report_at) {
            report_at += 10s;
            if (first_resident == 0) first_resident = residentKilobytes();
            fmt::print(
                "{{\"steps\":{},\"closed\":{},\"slices\":{},\"resident_kb\":{},\"files\":{},\"cpu_s\":{:.2f}}}\n",
                steps_written.load(), analyzer.counts().steps, analyzer.counts().slices, residentKilobytes(),
                follower.files(), threadSeconds());
            std::fflush(stdout);
        }
        pollfd wait{follower.descriptor(), POLLIN, 0};
        if (!more) std::this_thread::sleep_for(10ms);
        if (!more) ::poll(&wait, 1, 100);
    }
    producer.join();
    const double watched = processSeconds() - began - producer_seconds;
    const LiveCounts counts = analyzer.counts();
    const bool lost = counts.slices != job.written() || counts.undelivered != 0 || counts.incomplete != 0 ||
                      counts.late != 0 || counts.damaged != 0 || counts.steps != steps_written;
    fmt::print(
        "{{\"ranks\":{},\"steps\":{},\"complete\":{},\"written\":{},\"heard\":{},\"unheard\":{},\"late\":{},"
        "\"anomalies\":{},\"collector_cpu_s\":{:.2f},\"collector_cpu_s_per_step\":{:.4f},\"producer_cpu_s\":{:.2f},"
        "\"latency_p99_ms\":{:.1f},\"resident_kb_after_10_s\":{},\"resident_kb\":{},\"slices_per_cpu_s\":{:.0f},"
        "\"lost\":{}}}\n",
        analyzer.ranks().size(), counts.steps, counts.steps - counts.incomplete, job.written(), counts.slices,
        counts.undelivered, counts.late, anomalies, threadSeconds(),
        threadSeconds() / static_cast<double>(std::max<std::int64_t>(counts.steps, 1)), producer_seconds.load(),
        static_cast<double>(analyzer.latency().quantile(0.99).count()) * 1e-6, first_resident, residentKilobytes(),
        static_cast<double>(counts.slices) / watched, lost);
    return lost ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--dir") {
            options.dir = argv[i + 1];
        } else if (options.numbers.contains(name)) {
            options.numbers[name] = std::strtol(argv[i + 1], nullptr, 10);
        } else {
            fmt::print(stderr, "unknown option {}\n", name);
            return 2;
        }
    }
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const test::ScratchFolder scratch;
    return run(options, options.dir.empty() ? scratch.path() : std::filesystem::path(options.dir));
}
