#include "app/gui/timeline/timeline_view.h"
#include "core/graph/simulate.h"
#include "core/timeline/step_timeline.h"
#include "core/trace/trace_builder.h"

#include <QApplication>
#include <QMouseEvent>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

// How long a frame of the timeline takes: its widget is moved as a user moves it and paints into memory, 64 ranks
// unfolded to a raw lane each. Prints a table of Markdown; times are of the processor, so that other work on the
// machine does not count, and of the clock.
//
//   bench_timeline [SLICES[@HEIGHT]...]      1920 by 1080, or as wide as HEIGHT asks for: 10000000@2160
namespace bubblescope::gui {
namespace {

constexpr std::size_t kRanks = 64;
constexpr int kFrames = 240;

/// Four steps of 1F1B on 64 ranks with `slices` nested slices in all, which begin with the ops.
Run makeRun(std::size_t slices) {
    ScheduleSpec spec;
    spec.name = "1f1b";
    spec.pp = kRanks;
    spec.microbatches = 128;
    Run run;
    run.files = {"made"};
    run.format = "bench";
    run.schedule = makeSchedule(spec).value();
    CostModel costs;
    costs.times = spec.times;
    const StepTimeline model = simulate(run.schedule, costs).value();
    for (int index = 0; index < 4; ++index) {
        StepTimeline step = model;
        step.index = index;
        moveTo(step, step.begin + (model.wall() + model.wall() / 50) * index);
        run.steps.push_back(std::move(step));
    }
    std::mt19937_64 random(1);
    TraceBuilder builder;
    builder.addFile({"made", "bench", std::nullopt, {}, {}});
    std::vector<StringId> names;
    for (int i = 0; i < 300; ++i)
        names.push_back(builder.intern("kernel " + std::to_string(i)));
    const StringId category = builder.intern("kernel");
    builder.expectSlices(slices);
    const std::size_t ops = 4 * 2 * static_cast<std::size_t>(spec.microbatches);
    const std::size_t of_op = std::max<std::size_t>(2, slices / (kRanks * ops));
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
        const TrackId track = builder.addTrack(static_cast<std::int64_t>(rank), 7);
        for (const StepTimeline& step : run.steps) {
            for (const TimelineOp& op : step.ranks[rank]) {
                const TimeNs part = 2 * op.duration() / static_cast<std::int64_t>(of_op);
                for (std::size_t i = 0; i + 1 < of_op; i += 2) { // in pairs: one slice in another
                    const TimeNs begin = op.start + part * static_cast<std::int64_t>(i / 2);
                    const TimeNs length = part * 9 / 10;
                    builder.addSlice({track, begin, length, names[random() % names.size()], category, 0});
                    builder.addSlice(
                        {track, begin + length / 10, length / 2, names[random() % names.size()], category, 0});
                }
            }
        }
    }
    DiagnosticLog log;
    run.trace = builder.finish(log);
    return run;
}

double cpuMs() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double wallMs() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The memory that the process uses now, from Linux's file; 0 where there is none.
std::size_t residentMiB() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) return static_cast<std::size_t>(std::atoll(line.c_str() + 6)) / 1024;
    }
    return 0;
}

std::string loadNow() {
    std::ifstream file("/proc/loadavg");
    std::string load;
    file >> load;
    return load;
}

/// Runs `change` and a repaint of the view for each frame and prints a row.
void measure(const char* what, TimelineView& view, int frames, const std::function<void(int)>& change) {
    std::vector<double> cpu;
    std::vector<double> wall;
    for (int frame = 0; frame < frames; ++frame) {
        const double cpu_begin = cpuMs();
        const double wall_begin = wallMs();
        change(frame);
        view.viewport()->repaint();
        cpu.push_back(cpuMs() - cpu_begin);
        wall.push_back(wallMs() - wall_begin);
    }
    std::ranges::sort(cpu);
    std::ranges::sort(wall);
    const auto at = [](const std::vector<double>& sorted, double share) {
        return sorted[std::min(sorted.size() - 1,
                               static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
    };
    std::printf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", what, at(cpu, 0.5), at(cpu, 0.95), cpu.back(),
                at(wall, 0.95), wall.back());
    std::fflush(stdout);
}

/// Counts what is painted, so that no frame passes for fast that was none.
class PaintCount : public QObject {
public:
    int count = 0;

protected:
    bool eventFilter(QObject*, QEvent* event) override {
        count += event->type() == QEvent::Paint;
        return false;
    }
};

void moveMouse(TimelineView& view, const QPointF& to) {
    QMouseEvent move(QEvent::MouseMove, to, view.viewport()->mapToGlobal(to), Qt::NoButton, Qt::NoButton,
                     Qt::NoModifier);
    QApplication::sendEvent(view.viewport(), &move);
}

void bench(std::size_t slices, int height) {
    const double begin = wallMs();
    Run run = makeRun(slices);
    const double made = wallMs();
    ThemeManager themes;
    ViewState state;
    TimelineView view(state, themes);
    view.resize(height * 16 / 9, height);
    view.show();
    QApplication::processEvents(); // until then nothing is painted
    PaintCount paints;
    view.viewport()->installEventFilter(&paints);
    state.setSession(makeSession(std::move(run), JobControl()).value());
    const double opened = wallMs();
    std::printf(
        "\n%zu slices in %zu rows, %d lines: made in %.0f ms, opened in %.0f ms, %zu MiB resident, load %s.\n\n",
        state.session()->run.trace->sliceCount(), kRanks, height, made - begin, opened - made, residentMiB(),
        loadNow().c_str());
    std::printf(
        "| what | p50 CPU ms | p95 CPU ms | worst CPU ms | p95 wall ms | worst wall ms |\n|---|---|---|---|---|---|\n");
    view.run(Command::UnfoldAll);
    const TimeRange all = state.range().limits();
    for (const double share : {1.0, 0.3, 0.1, 0.03, 0.01, 0.001}) {
        const TimeNs length{static_cast<std::int64_t>(share * static_cast<double>(all.length().count()))};
        state.range().show({all.begin + (all.length() - length) / 2, all.begin + (all.length() + length) / 2});
        const std::string name = "pan, " + std::to_string(share * 100).substr(0, 5) + " % in view";
        measure(name.c_str(), view, kFrames, [&](int frame) {
            // The whole cannot be moved: it is zoomed a little to and fro instead.
            if (share < 1) return state.range().panBy(frame < kFrames / 2 ? 0.02 : -0.02);
            state.range().zoomAt(0.5, frame % 2 == 0 ? 0.98 : 1 / 0.98);
        });
    }
    state.range().showAll();
    measure("zoom in 40 frames from all to 0.1 % and back", view, 80,
            [&](int frame) { state.range().zoomAt(0.4, frame < 40 ? 0.84 : 1 / 0.84); });
    state.range().showAll();
    state.range().zoomAt(0.5, 0.1);
    measure("scroll over the ranks", view, kFrames,
            [&](int frame) { emit state.rankRequested(frame % static_cast<int>(kRanks)); });
    measure("hover", view, kFrames, [&](int frame) { moveMouse(view, {300 + 6.0 * frame, 100 + 3.0 * frame}); });
    measure("select", view, kFrames, [&](int frame) { state.select({ItemKind::Op, 1, frame % 8, frame}); });
    if (paints.count < 9 * kFrames)
        std::printf("\nOnly %d frames were painted: the times say nothing.\n", paints.count);
}

} // namespace
} // namespace bubblescope::gui

int main(int argc, char** argv) {
    setenv("QT_QPA_PLATFORM", "offscreen", 0);
    const QApplication app(argc, argv);
    constexpr int kHeight = 1080;
    if (argc < 2) {
        bubblescope::gui::bench(10'000'000, kHeight);
        bubblescope::gui::bench(50'000'000, kHeight);
    }
    for (int i = 1; i < argc; ++i) {
        const std::string what = argv[i];
        const std::size_t at = what.find('@');
        const int height = at == std::string::npos ? kHeight : std::atoi(what.c_str() + at + 1);
        bubblescope::gui::bench(static_cast<std::size_t>(std::atoll(argv[i])), height);
    }
    return 0;
}
