#include "app/gui/main_window.h"
#include "app/gui/options.h"
#include "app/gui/panels/compare_panel.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"
#include "core/formats/perfetto/writer.h"
#include "core/trace/trace_builder.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/live_run.h"
#include "tests/gui/sample_run.h"

#include <QAction>
#include <QContextMenuEvent>
#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMouseEvent>
#include <QPointer>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTabBar>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QToolButton>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <new>
#include <thread>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

/// As our own files have it: with what they state about themselves.
Run runOf(int steps, int ranks = 4) {
    SampleSpec spec;
    spec.steps = steps;
    spec.trace = true;
    spec.schedule.pp = ranks;
    Run run = sampleRun(spec);
    run.info = RunInfo::of("run", run.schedule);
    return run;
}

constexpr TimeNs kLater = 10ms; ///< than the whole it begins

/// For a trace without statements about itself: the beginning of one of its threads.
Run slicesOf(const Run& whole) {
    TraceBuilder builder;
    builder.addFile({"sample.json", "chrome", std::nullopt, {}, {}});
    const TrackId thread = builder.addTrack(0, 1);
    for (int i = 0; i < 10; ++i)
        builder.addSlice({thread, kLater + i * 1ms, 1ms, builder.intern("kernel"), builder.intern("kernel"), 0});
    DiagnosticLog log;
    Run begun;
    begun.files = whole.files;
    begun.trace = builder.finish(log);
    return begun;
}

/// A window whose loads have the beginning at once, which is two steps, and all seven when the test lets them.
class SlowWindow {
public:
    enum class Beginning { Steps, ForeignSteps, ForeignSlices };
    enum class Outcome { Whole, Plain, Error, Throws };

    explicit SlowWindow(int ranks = 4) : ranks_(ranks) { window.show(); }
    ~SlowWindow() {
        go_on = true;
        QThreadPool::globalInstance()->waitForDone(); // loads refer to this
    }
    SlowWindow(const SlowWindow&) = delete;
    SlowWindow& operator=(const SlowWindow&) = delete;

    void open(const QString& file) {
        window.open({file});
        QTRY_COMPARE(steps(), 2);
    }
    /// Also if a trace does not state its sizes.
    void openForeign(const QString& file, Beginning with = Beginning::ForeignSlices) {
        beginning = with;
        window.open({file});
        QTRY_VERIFY(window.state().session() != nullptr);
        QCOMPARE(steps(), 0);
        QVERIFY(view().isVisible());
    }
    [[nodiscard]] TimelineView& view() { return child<TimelineView>("timeline"); }
    [[nodiscard]] VisibleRange& range() { return window.state().range(); }
    /// Opens it.
    [[nodiscard]] QMenu* menuOfTheFirstSlice() {
        window.state().select(window.state().session()->sliceItem(0));
        QContextMenuEvent event(QContextMenuEvent::Keyboard, {}, {});
        QCoreApplication::sendEvent(view().viewport(), &event);
        return &child<QMenu>("itemMenu");
    }
    [[nodiscard]] int steps() { return window.state().session() ? window.state().session()->stepCount() : 0; }
    template <class T>
    T& child(const char* name) {
        return gui::child<T>(window, name);
    }

    std::atomic<bool> go_on{false};
    std::atomic<int> of_beginning{0}; ///< loads
    std::atomic<Beginning> beginning{Beginning::Steps};
    std::atomic<Outcome> outcome{Outcome::Whole};

private:
    Result<LoadedTrace> load(const std::vector<std::filesystem::path>& paths, JobControl& control,
                             const LoadOptions& options) {
        if (options.first_bytes > 0) {
            ++of_beginning;
            LoadedTrace begun{runOf(2, ranks_), {}};
            if (beginning == Beginning::Steps) return begun;
            begun.run.info.reset();
            if (beginning == Beginning::ForeignSteps) return begun;
            return LoadedTrace{slicesOf(begun.run), inputError(paths.front().string(), "no pipeline ops found")};
        }
        while (!go_on) {
            if (control.stopRequested()) return cancelledError();
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        const Error none = inputError(paths.front().string(), "is cut off");
        switch (outcome) {
        case Outcome::Whole: break;
        case Outcome::Plain: return LoadedTrace{runOf(7, ranks_), none};
        case Outcome::Error: return none;
        case Outcome::Throws: throw std::bad_alloc();
        }
        return LoadedTrace{runOf(7, ranks_), {}};
    }

    int ranks_;

public:
    MainWindow window{[this](const auto& paths, JobControl& control, const LoadOptions& options) {
                          return load(paths, control, options);
                      },
                      false};
    QSignalSpy loaded{&window, &MainWindow::loaded};
    QSignalSpy failed{&window, &MainWindow::failed};
};

} // namespace

class FirstStepsTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() {
        settings_.use();
        large_ = fileOf("large.json", qint64{1} << 30);
        small_ = fileOf("small.json", 1000);
    }

    void areShownWhileALargeTraceLoads() {
        SlowWindow w;
        w.open(large_);
        QVERIFY(w.window.findChild<TimelineView*>()->isVisible());
        QVERIFY(w.window.windowTitle().contains(QLatin1String("first steps")));
        QCOMPARE(w.loaded.count(), 0);

        // They can be used meanwhile, and the view stays when the rest has been loaded.
        ViewState& state = w.window.state();
        state.showStep(1);
        state.select({ItemKind::Op, 1, 2, 3});
        state.zoomTo({ItemKind::Op, 1, 2, 3});
        const TimeRange range = state.range().range();
        w.go_on = true;
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.steps(), 7);
        QCOMPARE(state.step(), 1);
        QCOMPARE(state.selection(), (ItemRef{ItemKind::Op, 1, 2, 3}));
        QCOMPARE(state.range().range(), range);
        QVERIFY(state.range().canGoBack());
        QVERIFY(!w.window.windowTitle().contains(QLatin1String("first steps")));
        QCOMPARE(w.window.tabCount(), 1);
    }

    void stayInAnotherLanguageBesideTheLoad() {
        SlowWindow w;
        w.open(large_);
        QVERIFY(w.child<QToolButton>("cancelLoad").isVisible());
        w.window.languages().choose(Language::Chinese);
        QTRY_VERIFY(w.window.windowTitle().contains(QStringLiteral("前几步")));
        QCOMPARE(w.steps(), 2);
        QTRY_VERIFY(w.child<QToolButton>("cancelLoad").isVisible());
        w.go_on = true;
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.steps(), 7);
        QVERIFY(!w.child<QToolButton>("cancelLoad").isVisible());
    }

    /// Else a picture would depend on how fast the machine is.
    void giveWayToTheUsualViewWhereNobodyHasMoved() {
        SlowWindow w;
        w.open(large_);
        w.go_on = true;
        QTRY_COMPARE(w.loaded.count(), 1);
        SlowWindow other;
        other.go_on = true;
        other.window.open({small_});
        QTRY_COMPARE(other.loaded.count(), 1);
        QCOMPARE(w.window.state().step(), other.window.state().step());
        QCOMPARE(w.window.state().range().range(), other.window.state().range().range());
    }

    void keepTheRowsInSightAndTheComparison() {
        SlowWindow w(256);
        w.open(large_);
        const QScrollBar* const bar = w.window.findChild<TimelineView*>()->verticalScrollBar();
        QTRY_VERIFY(bar->maximum() > 10);
        w.window.findChild<TimelineView*>()->verticalScrollBar()->setValue(10);
        w.go_on = true; // also for the other run
        w.window.findChild<ComparePanel*>()->compareWith({small_});
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.steps(), 7);
        QCOMPARE(bar->value(), 10);
        QCOMPARE(w.window.findChild<ComparePanel*>()->state().paths, QStringList{small_});
    }

    /// A part of its pipeline would look like a smaller one.
    void areSlicesAsTheyWereRecordedWhereATraceDoesNotStateItsSizes() {
        for (const auto with : {SlowWindow::Beginning::ForeignSteps, SlowWindow::Beginning::ForeignSlices}) {
            SlowWindow w;
            w.openForeign(large_, with);
            QVERIFY(w.window.windowTitle().contains(QLatin1String("beginning")));
            QVERIFY(w.child<QLabel>("traceReason").text().contains(QLatin1String("The rest is loading")));
            QVERIFY(!w.child<QToolButton>("teachNames").isVisible());
            QVERIFY(w.window.showPanel(QStringLiteral("range")));
            QTRY_VERIFY(w.child<QLabel>("rangeTitle").text().contains(QLatin1String("Beginning, ")));
            QVERIFY(w.window.state().session()->run.trace->sliceCount() > 0);
            QVERIFY(w.child<QToolButton>("cancelLoad").isVisible());
            w.go_on = true;
            QTRY_COMPARE(w.loaded.count(), 1);
            QCOMPARE(w.steps(), 7);
            QVERIFY(w.window.findChild<TimelineView*>()->isVisible());
            QVERIFY(!w.window.windowTitle().contains(QLatin1String("beginning")));
            QCOMPARE(w.window.tabCount(), 1);
            // Nobody has moved.
            SlowWindow other;
            other.go_on = true;
            other.window.open({small_});
            QTRY_COMPARE(other.loaded.count(), 1);
            QCOMPARE(w.window.state().range().range(), other.window.state().range().range());
        }
    }

    /// The beginning of the sample begins later than the whole.
    void slicesLeaveTheirPlaceInSightToTheSteps() {
        SlowWindow w;
        w.openForeign(large_);
        w.range().show({2ms, 5ms});
        w.go_on = true;
        QTRY_COMPARE(w.steps(), 7);
        QCOMPARE(w.window.state().range().range(), (TimeRange{kLater + 2ms, kLater + 5ms}));
        QCOMPARE(w.window.state().step(), 0);
    }

    void slicesLeaveTheirPlaceInSightToATraceWithoutAPipeline() {
        SlowWindow w;
        w.openForeign(large_);
        w.range().show({2ms, 5ms});
        w.outcome = SlowWindow::Outcome::Plain;
        w.go_on = true;
        QTRY_COMPARE(w.loaded.count(), 1);
        QVERIFY(w.view().isVisible());
        QCOMPARE(w.range().range(), (TimeRange{kLater + 2ms, kLater + 5ms}));
        QVERIFY(w.child<QLabel>("traceReason").text().startsWith(QLatin1String("No pipeline: ")));
        QVERIFY(w.child<QToolButton>("teachNames").isVisible());
    }

    /// Not before all of the trace is known.
    void slicesAreNoExamplesToTeachBy() {
        SlowWindow w;
        w.openForeign(large_);
        {
            const std::unique_ptr<QMenu> begun(w.menuOfTheFirstSlice());
            QVERIFY(begun->findChild<QAction*>(QStringLiteral("itemCopyText")) != nullptr);
            QVERIFY(begun->findChild<QAction*>(QStringLiteral("itemExample")) == nullptr);
        }
        w.outcome = SlowWindow::Outcome::Plain;
        w.go_on = true;
        QTRY_COMPARE(w.loaded.count(), 1);
        const std::unique_ptr<QMenu> whole(w.menuOfTheFirstSlice());
        QVERIFY(whole->findChild<QAction*>(QStringLiteral("itemExample")) != nullptr);
    }

    void slicesGoAwayWhenTheLoadFailsOrIsCancelled() {
        SlowWindow failing;
        failing.openForeign(large_);
        failing.outcome = SlowWindow::Outcome::Error;
        failing.go_on = true;
        QTRY_COMPARE(failing.failed.count(), 1);
        QVERIFY(failing.child<QWidget>("welcomePanel").isVisible());
        SlowWindow cancelled;
        cancelled.openForeign(large_);
        cancelled.child<QToolButton>("cancelLoad").click();
        QTRY_VERIFY(cancelled.child<QWidget>("welcomePanel").isVisible());
        QVERIFY(!cancelled.view().isVisible());
    }

    void slicesAreReplacedBehindAWatchedRun() {
        SlowWindow w;
        w.openForeign(large_);
        LiveRun run;
        w.window.watch(run.target());
        QCOMPARE(w.window.currentTab(), 1);
        w.go_on = true;
        QTRY_COMPARE(w.loaded.count(), 1);
        w.child<QTabBar>("traceTabs").setCurrentIndex(0);
        QCOMPARE(w.steps(), 7);
        QVERIFY(w.window.findChild<TimelineView*>()->isVisible());
        QCOMPARE(w.window.state().step(), 1); // as ever
        QVERIFY(w.window.state().range().range().length() > 20ms);
    }

    void slicesBehindAWatchedRunLeaveTheirPlaceInSight() {
        SlowWindow w;
        w.openForeign(large_);
        w.range().show({2ms, 5ms});
        LiveRun run;
        w.window.watch(run.target());
        w.go_on = true;
        QTRY_COMPARE(w.loaded.count(), 1);
        w.child<QTabBar>("traceTabs").setCurrentIndex(0);
        QCOMPARE(w.window.state().range().range(), (TimeRange{kLater + 2ms, kLater + 5ms}));
        QCOMPARE(w.window.state().step(), 0);
    }

    void slicesStayInAnotherLanguage() {
        SlowWindow w;
        w.openForeign(large_);
        w.range().show({2ms, 5ms});
        w.window.languages().choose(Language::Chinese);
        QTRY_VERIFY(w.child<QLabel>("traceReason").text().contains(QStringLiteral("其余部分正在加载")));
        QCOMPARE(w.range().range(), (TimeRange{2ms, 5ms}));
        w.go_on = true;
        QTRY_COMPARE(w.steps(), 7);
        QCOMPARE(w.window.state().range().range(), (TimeRange{kLater + 2ms, kLater + 5ms}));
    }

    /// A session that is saved meanwhile shows the steps as ever.
    void slicesLeaveNoViewInASession() {
        SlowWindow w;
        w.openForeign(large_);
        const QString file = dir_.filePath(QStringLiteral("slices.bubblescope-session.json"));
        w.window.saveSession(file);
        QVERIFY(QFile::exists(file));
        w.go_on = true;
        SlowWindow other;
        other.go_on = true;
        other.window.open({file});
        QTRY_COMPARE(other.steps(), 7);
        QCOMPARE(other.window.state().step(), 1);
        QVERIFY(other.window.state().range().range().length() > 20ms);
    }

    /// The item of an open menu or a pressed button disappears with the slices.
    void slicesMayGoAwayUnderAMenuAndADrag() {
        for (const auto outcome : {SlowWindow::Outcome::Whole, SlowWindow::Outcome::Plain}) {
            SlowWindow w;
            w.openForeign(large_);
            TimelineView& view = w.view();
            const QPoint ruler(kHeaderWidth + 100, kRulerHeight - 6);
            QTest::mousePress(view.viewport(), Qt::LeftButton, {}, ruler);
            const QPointer<QMenu> menu = w.menuOfTheFirstSlice();
            QVERIFY(menu->isVisible());
            w.outcome = outcome;
            w.go_on = true;
            QTRY_COMPARE(w.loaded.count(), 1);
            QTRY_VERIFY(menu == nullptr);
            QMouseEvent move(QEvent::MouseMove, ruler + QPoint(60, 0), view.viewport()->mapToGlobal(ruler),
                             Qt::LeftButton, Qt::LeftButton, {});
            QCoreApplication::sendEvent(view.viewport(), &move);
            QVERIFY(w.window.state().measured().length() == TimeNs{0});
        }
    }

    void aSearchAmongSlicesGoesOnAmongSteps() {
        SlowWindow w;
        w.openForeign(large_);
        w.window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&w.window));
        auto* const search = w.window.findChild<SearchBar*>();
        search->open();
        QTest::keyClicks(&search->line(), QStringLiteral("F3"));
        w.go_on = true;
        QTRY_COMPARE(w.steps(), 7);
        QTRY_VERIFY(search->line().hasFocus());
        QTest::keyClicks(QApplication::focusWidget(), QStringLiteral(".0"));
        QCOMPARE(search->line().text(), QStringLiteral("F3.0"));
        QTRY_VERIFY(search->list().count() > 0);
    }

    /// Kineto states at the end from when its times count.
    void aPartOfATraceHasTheWholesOwnClock() {
        QFile file(dir_.filePath(QStringLiteral("kineto.json")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(R"({"schemaVersion": 1, "traceEvents": [)");
        for (int i = 0; i < 1000; ++i)
            file.write(
                QStringLiteral(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": %1, "dur": 5},)")
                    .arg(100 + 10 * i)
                    .toUtf8());
        file.write(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 5}],)"
                   R"("baseTimeNanoseconds": 1700000000000000000})");
        file.close();
        const RunLoader loader = loaderOf(Options{});
        JobControl control;
        LoadOptions part;
        part.first_bytes = 20'000;
        const auto begun = loader.trace({file.fileName().toStdString()}, control, part);
        const auto whole = loader.trace({file.fileName().toStdString()}, control);
        QVERIFY(begun.ok() && whole.ok());
        const Trace& first = *begun.value().run.trace;
        const Trace& all = *whole.value().run.trace;
        QVERIFY(first.sliceCount() > 10 && first.sliceCount() < all.sliceCount());
        QCOMPARE(first.originInFile(), TimeNs{100us});
        QCOMPARE(all.originInFile(), TimeNs{1us});
        const TimeRange seen{first.originInFile() + 10us, first.originInFile() + 20us};
        QCOMPARE(rangeInWhole(seen, all).value(), (TimeRange{109us, 119us}));
        QVERIFY(!rangeInWhole({TimeNs{1s}, TimeNs{2s}}, all));
    }

    void areNotLoadedOfASmallTrace() {
        SlowWindow w;
        w.window.open({small_});
        QTest::qWait(100);
        QCOMPARE(w.of_beginning.load(), 0);
        w.go_on = true;
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.steps(), 7);
    }

    void leaveAnOpenTraceAlone() {
        SlowWindow w;
        w.go_on = true;
        w.window.open({small_});
        QTRY_COMPARE(w.loaded.count(), 1);
        w.go_on = false;
        w.window.open({large_});
        QTest::qWait(100);
        QCOMPARE(w.of_beginning.load(), 0);
        QCOMPARE(w.steps(), 7);
    }

    void goAwayWhenTheLoadFails() {
        SlowWindow w;
        w.open(large_);
        w.outcome = SlowWindow::Outcome::Error;
        w.go_on = true;
        QTRY_COMPARE(w.failed.count(), 1);
        QCOMPARE(w.steps(), 0);
        QVERIFY(w.child<QWidget>("welcomePanel").isVisible());
    }

    void goAwayWhenMemoryEnds() {
        SlowWindow w;
        w.open(large_);
        w.outcome = SlowWindow::Outcome::Throws;
        w.go_on = true;
        QTRY_COMPARE(w.steps(), 0);
        QVERIFY(!w.window.loading());
    }

    void giveWayToATraceWithoutAPipeline() {
        SlowWindow w;
        w.open(large_);
        w.outcome = SlowWindow::Outcome::Plain;
        w.go_on = true;
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.steps(), 0);
        QVERIFY(w.window.state().session() && !w.window.state().session()->isBeginning());
    }

    void mayGoAwayWhileAPictureIsExported() {
        SlowWindow w;
        w.open(large_);
        for (QAction* action : w.window.findChildren<QAction*>()) {
            if (action->shortcut() == QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E)) action->trigger();
        }
        auto* figure = w.window.findChild<QDialog*>(QStringLiteral("figureDialog"));
        QVERIFY(figure != nullptr);
        figure->accept();
        auto* dialog = w.window.findChild<QFileDialog*>();
        QVERIFY(dialog != nullptr);
        w.outcome = SlowWindow::Outcome::Error;
        w.go_on = true;
        QTRY_COMPARE(w.failed.count(), 1);
        emit dialog->fileSelected(dir_.filePath(QStringLiteral("none.png")));
        QVERIFY(!QFile::exists(dir_.filePath(QStringLiteral("none.png"))));
    }

    void goAwayWithTheirTab() {
        SlowWindow w;
        w.open(large_);
        w.window.openEach({small_}); // waits
        w.window.closeTab(0);
        QCOMPARE(w.steps(), 0);
        expectTheSmallTraceAlone(w);
    }

    void makeRoomForAnotherTrace() {
        SlowWindow w;
        w.open(large_);
        w.window.open({small_});
        QCOMPARE(w.steps(), 0);
        expectTheSmallTraceAlone(w);
    }

    /// A watched run stays in front; the whole trace is where the first steps were.
    void areReplacedBehindAWatchedRun() {
        SlowWindow w;
        w.open(large_);
        w.window.state().showStep(1);
        LiveRun run;
        w.window.watch(run.target());
        QCOMPARE(w.window.tabCount(), 2);
        QCOMPARE(w.window.currentTab(), 1);
        w.go_on = true;
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.window.currentTab(), 1);
        w.child<QTabBar>("traceTabs").setCurrentIndex(0);
        QCOMPARE(w.steps(), 7);
        QCOMPARE(w.window.state().step(), 1);
        QVERIFY(!w.window.windowTitle().contains(QLatin1String("first steps")));
    }

    void leaveNoTabBehindAWatchedRun() {
        SlowWindow w;
        w.open(large_);
        LiveRun run;
        w.window.watch(run.target());
        QCOMPARE(w.window.tabCount(), 2);
        w.outcome = SlowWindow::Outcome::Error;
        w.go_on = true;
        QTRY_COMPARE(w.failed.count(), 1);
        QCOMPARE(w.window.tabCount(), 1);
    }

    /// The app's own loader: what the command line states, and what is asked for besides.
    void areWhatTheLoaderIsAskedFor() {
        const Run whole = runOf(200);
        const auto file = dir_.filePath(QStringLiteral("run.pftrace")).toStdString();
        QVERIFY(perfetto::writeTimeline(file, *whole.info, whole.steps).ok());
        const RunLoader loader = loaderOf(Options{});
        LoadOptions options;
        options.first_bytes = std::filesystem::file_size(file) / 4;
        JobControl control;
        const auto begun = loader.trace({file}, control, options);
        QVERIFY(begun.ok() && !begun.value().no_pipeline);
        QVERIFY(!begun.value().run.steps.empty() && begun.value().run.steps.size() < 100);
        QCOMPARE(loader.trace({file}, control).value().run.steps.size(), 200U);
    }

private:
    /// Once its load continues.
    static void expectTheSmallTraceAlone(SlowWindow& w) {
        w.go_on = true;
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.steps(), 7);
        QCOMPARE(w.window.tabCount(), 1);
        QVERIFY(w.window.windowTitle().contains(QLatin1String("small.json")));
    }
    /// A file of that size, without content.
    QString fileOf(const char* name, qint64 bytes) {
        QFile file(dir_.filePath(QString::fromLatin1(name)));
        if (!file.open(QIODevice::WriteOnly) || !file.resize(bytes)) qFatal("no file");
        return file.fileName();
    }

    OwnSettings settings_;
    QTemporaryDir dir_;
    QString large_;
    QString small_;
};

BUBBLESCOPE_GUI_TEST(FirstStepsTest, first_steps_test);
#include "first_steps_test.moc"
