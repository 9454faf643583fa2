// How long the desktop app's main thread is kept by a run that is watched: ranks write steps as fast as is asked for,
// the window follows, and every event that the main thread handles is measured by the processor's time that it takes,
// so that what else runs on the machine does not count.
//
//   bench_live_window [--pp N] [--microbatches N] [--slices-per-second N] [--seconds N]
//
// Prints a JSON document. QT_QPA_PLATFORM=offscreen needs no display.

#include "app/gui/main_window.h"
#include "core/schedule/registry.h"
#include "core/simulate/simulate.h"
#include "profiler/spool/rank_spool.h"
#include "tests/support/scratch_folder.h"

#include <QApplication>
#include <QTimer>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace bubblescope;
using namespace bubblescope::profiler;

double threadMilliseconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

/// Measures what each event takes that comes from the event loop.
class TimedApplication : public QApplication {
public:
    using QApplication::QApplication;

    bool notify(QObject* receiver, QEvent* event) override {
        if (depth_ > 0 || !measuring) return QApplication::notify(receiver, event);
        ++depth_;
        const double began = threadMilliseconds();
        const bool taken = QApplication::notify(receiver, event);
        took.push_back(threadMilliseconds() - began);
        --depth_;
        return taken;
    }

    bool measuring = false;
    std::vector<double> took;

private:
    int depth_ = 0;
};

struct Load {
    int pp = 8;
    int microbatches = 32;
    long slices_per_second = 100'000;
    long seconds = 20;
};

/// Writes the same step again and again, at the times at which it would have ended now, until told to stop.
std::int64_t writeSteps(const Load& load, const std::filesystem::path& dir, const std::atomic<bool>& stop) {
    ScheduleSpec spec;
    spec.name = "1f1b";
    spec.pp = load.pp;
    spec.microbatches = load.microbatches;
    const Schedule schedule = makeSchedule(spec).value();
    CostModel costs;
    costs.times = spec.times;
    costs.comm = TimeNs{50'000};
    const StepTimeline shape = simulate(schedule, costs).value();
    const RunInfo info = RunInfo::of("run", schedule);
    std::vector<RankSpool> spools;
    for (int rank = 0; rank < load.pp; ++rank)
        spools.push_back(RankSpool::create(dir, info, Rank{rank}, readClocks(), thisHost()).value());
    std::int64_t written = 0;
    const TimeNs began = readClocks().monotonic;
    for (int step = 0; !stop; ++step) {
        const TimeNs shift = readClocks().monotonic - shape.end;
        for (std::size_t rank = 0; rank < spools.size(); ++rank) {
            std::vector<SliceRecord> batch;
            for (TimelineOp op : shape.ranks[rank]) {
                op.start += shift;
                op.end += shift;
                batch.push_back(SliceRecord::of(op, shape.stageOf(Rank{rank}, op.op.chunk), step));
            }
            for (CommSpan span : shape.comm[rank]) {
                span.start += shift;
                span.end += shift;
                batch.push_back(SliceRecord::of(span, step));
            }
            written += static_cast<std::int64_t>(batch.size());
            if (!spools[rank].append(batch).ok()) std::abort();
        }
        const auto due = began + TimeNs{written * 1'000'000'000 / load.slices_per_second};
        std::this_thread::sleep_until(std::chrono::steady_clock::time_point(due));
    }
    for (RankSpool& spool : spools) {
        if (!spool.appendEnd(0).ok()) std::abort();
    }
    return written;
}

double quantile(std::vector<double>& sorted, double share) {
    return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

int measure(TimedApplication& application, const Load& load) {
    const test::ScratchFolder scratch;
    gui::MainWindow window([](const auto&, JobControl&) -> Result<Run> { return inputError("", "nothing"); }, false);
    window.resize(1920, 1080);
    window.show();
    std::atomic<bool> stop{false};
    std::int64_t written = 0;
    std::thread writer([&] { written = writeSteps(load, scratch.path(), stop); });
    int sessions = 0;
    QObject::connect(&window.state(), &gui::ViewState::sessionChanged, [&] { sessions += application.measuring; });
    gui::LiveTarget target;
    target.folders << QString::fromStdString(scratch.path().string());
    window.watch(target);
    // Once the docks have come and laid themselves out. Whoever writes faster than is read is never caught up with.
    bool begun = false;
    QObject::connect(&window.state(), &gui::ViewState::sessionChanged, &application, [&] {
        if (begun || !window.state().session()) return;
        begun = true;
        QTimer::singleShot(1000, &application, [&] { application.measuring = true; });
        QTimer::singleShot(1000 + 1000 * static_cast<int>(load.seconds), &application, &QApplication::quit);
    });
    QApplication::exec();
    application.measuring = false;
    stop = true;
    writer.join();
    const auto heard = window.live().picture()->counts.slices;
    std::vector<double>& took = application.took;
    // What takes no time at all is no frame.
    constexpr double kSomething = 0.2;
    std::erase_if(took, [](double ms) { return ms < kSomething; });
    std::ranges::sort(took);
    double all = 0;
    for (const double ms : took)
        all += ms;
    std::printf("{\"slices_per_second\":%ld,\"written\":%lld,\"heard\":%lld,\"sessions\":%d,\"events\":%zu,"
                "\"main_thread_share\":%.3f,\"event_p50_ms\":%.2f,\"event_p95_ms\":%.2f,\"event_worst_ms\":%.2f}\n",
                load.slices_per_second, static_cast<long long>(written), static_cast<long long>(heard), sessions,
                took.size(), all / (1e3 * static_cast<double>(load.seconds)), quantile(took, 0.5), quantile(took, 0.95),
                took.empty() ? 0 : took.back());
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    Load load;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const long value = std::strtol(argv[i + 1], nullptr, 10);
        if (name == "--pp") load.pp = static_cast<int>(value);
        if (name == "--microbatches") load.microbatches = static_cast<int>(value);
        if (name == "--slices-per-second") load.slices_per_second = std::max(1L, value);
        if (name == "--seconds") load.seconds = std::max(1L, value);
    }
    TimedApplication application(argc, argv);
    return measure(application, load);
}
