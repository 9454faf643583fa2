// How long the desktop app's main thread is kept by a run that is watched: ranks write steps as fast as is asked for,
// the window follows, and every event that the main thread handles is measured by the processor's time that it takes,
// so that what else runs on the machine does not count. Events that paint are counted separately from all others,
// which delay the app's reactions.
//
//   bench_live_window [--pp N] [--microbatches N] [--slices-per-second N] [--seconds N] [--panel NAME]
//                     [--tell N]
//
// --panel brings another panel to the front than that of the watch. Prints a JSON document; with --tell, below it, the
// N kinds of events that took most. QT_QPA_PLATFORM=offscreen needs no display.

#include "app/gui/main_window.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "profiler/recorder/segment_writer.h"
#include "tests/support/scratch_folder.h"

#include <QApplication>
#include <QMetaEnum>
#include <QTimer>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace bubblescope;
using namespace bubblescope::live;
using namespace bubblescope::profiler;

double threadMilliseconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

/// Measures the time of each event from the event loop.
class TimedApplication : public QApplication {
public:
    using QApplication::QApplication;

    bool notify(QObject* receiver, QEvent* event) override {
        if (depth_ > 0 || !measuring) return QApplication::notify(receiver, event);
        ++depth_;
        // Both may have been deleted afterwards.
        const std::string what = receiver->metaObject()->className();
        const QEvent::Type type = event->type();
        const double began = threadMilliseconds();
        const bool taken = QApplication::notify(receiver, event);
        add(what, type, threadMilliseconds() - began);
        --depth_;
        return taken;
    }

    bool measuring = false;
    std::vector<double> painting; ///< milliseconds of each event
    std::vector<double> others;
    std::map<std::string, std::vector<double>> kinds; ///< all of them, by receiver and type

private:
    void add(const std::string& receiver, QEvent::Type type, double milliseconds) {
        constexpr double kSomething = 0.2; // an event that takes no time is not a frame
        if (milliseconds < kSomething) return;
        const bool paints = type == QEvent::UpdateRequest || type == QEvent::Paint || type == QEvent::Expose;
        (paints ? painting : others).push_back(milliseconds);
        const char* const name = QMetaEnum::fromType<QEvent::Type>().valueToKey(type);
        kinds[receiver + " " + (name != nullptr ? name : std::to_string(type))].push_back(milliseconds);
    }

    int depth_ = 0;
};

struct Load {
    int pp = 8;
    int microbatches = 32;
    long slices_per_second = 100'000;
    long seconds = 20;
    std::string panel;    ///< in front; empty = the default
    std::size_t tell = 0; ///< kinds of events
};

/// Writes the same step again and again until asked to stop: one behind the other, each at the time at which it would
/// have ended now, with ops as short as the wanted rate makes them.
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
    std::vector<TraceSegmentWriter> writers;
    for (int rank = 0; rank < load.pp; ++rank)
        writers.push_back(TraceSegmentWriter::create(dir, info, Rank{rank}, readClocks(), thisProcess()).value());
    std::size_t slices = 0;
    for (std::size_t rank = 0; rank < writers.size(); ++rank)
        slices += shape.ranks[rank].size() + shape.comm[rank].size();
    const double wall = 1e9 * static_cast<double>(slices) / static_cast<double>(load.slices_per_second);
    const double scale = wall / static_cast<double>(shape.wall().count());
    TimeNs free_from{0};
    std::int64_t written = 0;
    const TimeNs began = readClocks().monotonic;
    for (int step = 0; !stop; ++step) {
        const TimeNs begin = std::max(free_from, readClocks().monotonic - TimeNs{static_cast<std::int64_t>(wall)});
        free_from = begin + TimeNs{static_cast<std::int64_t>(wall)};
        const auto put = [&](TimeNs& time) {
            time = begin + TimeNs{static_cast<std::int64_t>(scale * static_cast<double>((time - shape.begin).count()))};
        };
        for (std::size_t rank = 0; rank < writers.size(); ++rank) {
            std::vector<SliceRecord> batch;
            for (TimelineOp op : shape.ranks[rank]) {
                put(op.start);
                put(op.end);
                batch.push_back(SliceRecord::of(op, shape.stageOf(Rank{rank}, op.op.chunk), step));
            }
            for (CommSpan span : shape.comm[rank]) {
                put(span.start);
                put(span.end);
                batch.push_back(SliceRecord::of(span, step));
            }
            written += static_cast<std::int64_t>(batch.size());
            if (!writers[rank].append(batch).ok()) std::abort();
        }
        const auto due = began + TimeNs{written * 1'000'000'000 / load.slices_per_second};
        std::this_thread::sleep_until(std::chrono::steady_clock::time_point(due));
    }
    for (TraceSegmentWriter& writer : writers) {
        if (!writer.appendEnd(0).ok()) std::abort();
    }
    return written;
}

double quantile(const std::vector<double>& sorted, double share) {
    return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

double sum(const std::vector<double>& times) {
    return std::accumulate(times.begin(), times.end(), 0.0);
}

std::string figures(std::vector<double> times) {
    std::ranges::sort(times);
    return fmt::format(R"({{"count":{},"p50_ms":{:.2f},"p95_ms":{:.2f},"worst_ms":{:.2f}}})", times.size(),
                       quantile(times, 0.5), quantile(times, 0.95), times.empty() ? 0 : times.back());
}

void reportKinds(const TimedApplication& application, std::size_t most) {
    std::vector<std::pair<double, std::string>> sums;
    for (const auto& [kind, times] : application.kinds)
        sums.emplace_back(sum(times), kind);
    std::ranges::sort(sums, std::greater());
    sums.resize(std::min(sums.size(), most));
    for (const auto& [all, kind] : sums)
        fmt::print("{:9.1f} ms  {}  {}\n", all, kind, figures(application.kinds.at(kind)));
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
    // Starts when the docks are shown and laid out. The reader never catches up with a writer that is faster.
    bool begun = false;
    QObject::connect(&window.state(), &gui::ViewState::sessionChanged, &application, [&] {
        if (begun || !window.state().session()) return;
        begun = true;
        if (!load.panel.empty() && !window.showPanel(QString::fromStdString(load.panel))) std::abort();
        QTimer::singleShot(1000, &application, [&] { application.measuring = true; });
        QTimer::singleShot(1000 + 1000 * static_cast<int>(load.seconds), &application, &QApplication::quit);
    });
    QApplication::exec();
    application.measuring = false;
    stop = true;
    writer.join();
    const live::LiveCounts counts = window.live().snapshot()->counts;
    std::vector<double> all = application.painting;
    all.insert(all.end(), application.others.begin(), application.others.end());
    fmt::print(
        R"({{"slices_per_second":{},"written":{},"heard":{},"steps":{},"incomplete":{},"sessions":{},"main_thread_share":{:.3f},)"
        R"("events":{},"painting":{},"others":{}}})"
        "\n",
        load.slices_per_second, written, counts.slices, counts.steps, counts.incomplete, sessions,
        sum(all) / (1e3 * static_cast<double>(load.seconds)), figures(all), figures(application.painting),
        figures(application.others));
    reportKinds(application, load.tell);
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
        if (name == "--panel") load.panel = argv[i + 1];
        if (name == "--tell") load.tell = static_cast<std::size_t>(std::max(0L, value));
        if (name == "--seconds") load.seconds = std::max(1L, value);
    }
    TimedApplication application(argc, argv);
    return measure(application, load);
}
