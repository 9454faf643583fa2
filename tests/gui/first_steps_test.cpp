#include "app/gui/main_window.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAction>
#include <QFile>
#include <QSemaphore>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QThreadPool>

#include <atomic>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

Run runOf(int steps) {
    SampleSpec spec;
    spec.steps = steps;
    return sampleRun(spec);
}

/// A window whose loads have two steps of the beginning at once, and all seven when the test lets them.
struct SlowWindow {
    QSemaphore go_on;
    std::atomic<int> begun{0}; ///< loads of the beginning
    bool fails = false;        ///< the whole load
    MainWindow window{
        [this](const auto& paths, JobControl& control, const LoadOptions& options) -> Result<LoadedTrace> {
            if (options.first_bytes > 0) {
                ++begun;
                return LoadedTrace{runOf(2), {}};
            }
            while (!go_on.tryAcquire(1, 5)) {
                if (control.stopRequested()) return cancelledError();
            }
            if (fails) return inputError(paths.front().string(), "is cut off");
            return LoadedTrace{runOf(7), {}};
        },
        false};
    QSignalSpy loaded{&window, &MainWindow::loaded};
    QSignalSpy failed{&window, &MainWindow::failed};

    SlowWindow() { window.show(); }
    [[nodiscard]] int steps() { return window.state().session() ? window.state().session()->stepCount() : 0; }
    [[nodiscard]] bool timelineIsVisible() { return window.findChild<TimelineView*>()->isVisible(); }
};

} // namespace

class FirstStepsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        settings_.use();
        large_ = fileOf("large.json", qint64{1} << 30);
    }
    void cleanup() { QVERIFY(QThreadPool::globalInstance()->waitForDone(20000)); }

    void areShownWhileALargeTraceLoads() {
        SlowWindow w;
        w.window.open({large_});
        QTRY_COMPARE(w.steps(), 2);
        QVERIFY(w.timelineIsVisible());
        QVERIFY(w.window.windowTitle().contains(QLatin1String("first steps")));
        QCOMPARE(w.loaded.count(), 0);

        // One works with them meanwhile, and the view stays when the rest is there.
        ViewState& state = w.window.state();
        state.showStep(1);
        state.select({ItemKind::Op, 1, 2, 3});
        state.zoomTo({ItemKind::Op, 1, 2, 3});
        const TimeRange range = state.range().range();
        w.go_on.release();
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.steps(), 7);
        QCOMPARE(state.step(), 1);
        QCOMPARE(state.selection(), (ItemRef{ItemKind::Op, 1, 2, 3}));
        QCOMPARE(state.range().range(), range);
        QVERIFY(!w.window.windowTitle().contains(QLatin1String("first steps")));
        QCOMPARE(w.window.tabCount(), 1);
    }

    void areNotLoadedOfASmallTrace() {
        SlowWindow w;
        w.window.open({fileOf("small.json", 1000)});
        w.go_on.release();
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.begun.load(), 0);
        QCOMPARE(w.steps(), 7);
    }

    void leaveAnOpenTraceAlone() {
        SlowWindow w;
        w.go_on.release();
        w.window.open({fileOf("small.json", 1000)});
        QTRY_COMPARE(w.loaded.count(), 1);
        w.window.open({large_});
        QTest::qWait(50);
        QCOMPARE(w.begun.load(), 0);
        QCOMPARE(w.steps(), 7);
        w.go_on.release();
        QTRY_COMPARE(w.loaded.count(), 2);
    }

    void goAwayWhenTheLoadFails() {
        SlowWindow w;
        w.fails = true;
        w.window.open({large_});
        QTRY_COMPARE(w.steps(), 2);
        w.go_on.release();
        QTRY_COMPARE(w.failed.count(), 1);
        QCOMPARE(w.steps(), 0);
        QVERIFY(w.window.findChild<QWidget*>(QStringLiteral("welcomePanel"))->isVisible());
    }

    void goAwayWhenTheLoadIsCancelled() {
        SlowWindow w;
        w.window.open({large_});
        QTRY_COMPARE(w.steps(), 2);
        w.window.closeTab(0);
        QCOMPARE(w.steps(), 0);
        QVERIFY(!w.window.loading());
    }

    void makeRoomForAnotherTrace() {
        SlowWindow w;
        w.window.open({large_});
        QTRY_COMPARE(w.steps(), 2);
        w.window.open({fileOf("small.json", 1000)});
        QCOMPARE(w.steps(), 0);
        w.go_on.release();
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.steps(), 7);
        QCOMPARE(w.window.tabCount(), 1);
        QVERIFY(w.window.windowTitle().contains(QLatin1String("small.json")));
    }

    /// The trace comes to the front when it is complete, as any that was loaded does.
    void areReplacedInTheirOwnTab() {
        SlowWindow w;
        w.window.open({large_});
        QTRY_COMPARE(w.steps(), 2);
        w.window.openEach({fileOf("small.json", 1000)}); // in a tab of its own, afterwards
        w.go_on.release(2);
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.window.tabCount(), 2);
        w.window.findChild<QAction*>(QStringLiteral("previousTab"))->trigger();
        QCOMPARE(w.steps(), 7);
    }

private:
    /// A file of that size, without content.
    QString fileOf(const char* name, qint64 bytes) {
        QFile file(dir_.filePath(QString::fromLatin1(name)));
        if (!file.open(QIODevice::WriteOnly) || !file.resize(bytes)) qFatal("no file");
        return file.fileName();
    }

    OwnSettings settings_;
    QTemporaryDir dir_;
    QString large_;
};

BUBBLESCOPE_GUI_TEST(FirstStepsTest, first_steps_test);
#include "first_steps_test.moc"
