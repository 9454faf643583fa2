#pragma once

#include "app/gui/main_window.h"
#include "app/gui/timeline/timeline_view.h"
#include "core/recognise/run.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"
#include "tests/support/jittered_run.h"
#include "tests/support/shared_data.h"

#include <QAction>
#include <QApplication>
#include <QDir>
#include <QMenu>
#include <QSignalSpy>
#include <QTest>
#include <QThreadPool>

namespace bubblescope::gui {

/// Ten steps of 1F1B, in which rank 2 takes 50 % longer unless the file is named "even". Existing files are loaded
/// unchanged.
[[nodiscard]] inline Result<LoadedTrace> loadForTask(const RunLoader::Paths& paths, JobControl& control,
                                                     const LoadOptions& options) {
    if (std::filesystem::exists(paths.front())) return loadTrace(paths, control, options);
    if (paths.front().string().find("gone") != std::string::npos)
        return inputError(paths.front().string(), "there is no such file", "check its name");
    const bool slow = paths.front().string().find("even") == std::string::npos;
    test::JitteredRun wanted;
    wanted.spec = {"1f1b", "", 4, 8, 1};
    wanted.steps = 10;
    wanted.op_factor = [slow](int, Rank rank, const Op&) { return slow && rank.value == 2 ? 1.5 : 1.0; };
    Run run = test::makeJitteredRun(wanted, 5);
    run.files = paths;
    return LoadedTrace{std::move(run), {}};
}

/// Simulates a user of the app's window with an open trace, and counts the user's actions. Tasks are performed as a
/// user would: with clicks, drags, keys and menu entries.
class Desk {
public:
    MainWindow window{loadForTask, false};
    ViewState& state = window.state();

    explicit Desk(const QStringList& traces = {QStringLiteral("/runs/slow/run.pftrace")}) {
        window.resize(1400, 860);
        window.show();
        if (!QTest::qWaitForWindowExposed(&window)) qFatal("the window is not exposed");
        if (!traces.isEmpty()) open(traces);
    }
    ~Desk() { std::printf("actions in %s: %d\n", QTest::currentTestFunction(), actions); }

    /// Opens traces with the system's dialog, which counts as three actions: the command, the file, and Enter.
    void open(const QStringList& traces) {
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open(traces);
        if (!loaded.wait(60000)) qFatal("the trace did not load");
    }

    void click(QWidget& widget, QPoint at = QPoint(-1, -1), Qt::MouseButton button = Qt::LeftButton) {
        ++actions;
        QTest::mouseClick(&widget, button, {}, at.x() < 0 ? widget.rect().center() : at);
    }
    /// Qt 6.8 attributes a click in a menu to the click that opened the menu if the pointer has not moved since.
    void click(QMenu& menu, QAction& entry) {
        constexpr int kSteps = 8;
        const QPoint at = menu.actionGeometry(&entry).center();
        for (int before = kSteps; before >= 0; --before)
            QTest::mouseMove(&menu, at - QPoint(0, before));
        click(menu, at);
    }
    void press(QWidget& widget, int key, Qt::KeyboardModifiers modifiers = {}) {
        ++actions;
        QTest::keyClick(&widget, static_cast<Qt::Key>(key), modifiers);
    }
    void type(QWidget& widget, const QString& text) {
        ++actions;
        QTest::keyClicks(&widget, text);
    }
    void drag(QWidget& widget, const QPoint& from, const QPoint& to) {
        ++actions;
        QTest::mousePress(&widget, Qt::LeftButton, {}, from);
        QTest::mouseMove(&widget, (from + to) / 2);
        QTest::mouseMove(&widget, to);
        QTest::mouseRelease(&widget, Qt::LeftButton, {}, to);
    }
    /// Chooses a menu entry, or presses its key.
    void choose(const char* action) {
        ++actions;
        auto& entry = child<QAction>(window, action);
        if (!entry.isEnabled()) qFatal("%s is disabled", action);
        entry.trigger();
    }

    TimelineView& timeline() { return child<TimelineView>(window, "timeline"); }
    QWidget& canvas() { return *timeline().viewport(); }
    void clickOn(const ItemRef& item) { click(canvas(), timeline().centreOf(item).toPoint()); }
    void clickFinding() { click(child<QWidget>(window, "findingFigure"), {30, 8}); }

    int actions = 0;
};

/// Path of one of our traces in the source tree.
[[nodiscard]] inline QString dataFile(const char* name) {
    return QString::fromStdString((test::dataDir() / name).string());
}

/// Fails if the user needed more actions than in the trial.
#define AT_MOST(desk, most) QVERIFY2((desk).actions <= (most), qPrintable(QString::number((desk).actions)))

} // namespace bubblescope::gui
