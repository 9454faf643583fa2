#include "app/gui/main_window.h"
#include "app/gui/models/session_file.h"
#include "app/gui/panels/bars.h"
#include "app/gui/panels/compare_panel.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QDockWidget>
#include <QDropEvent>
#include <QFileDialog>
#include <QLabel>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTabBar>
#include <QTemporaryDir>
#include <QTest>
#include <QUrl>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// Each file is a run with as many ranks as its name states: "6.json".
Result<Run> loadByName(const std::vector<std::filesystem::path>& paths, JobControl&) {
    const int ranks = QString::fromStdString(paths.front().stem().string()).toInt();
    if (ranks == 0) return inputError(paths.front().string(), "is not a trace", "open another one");
    SampleSpec spec;
    spec.schedule = {"1f1b", "", ranks, 8, 1};
    return sampleRun(spec);
}

struct TabbedWindow {
    MainWindow window{loadByName, false};
    QSignalSpy loaded{&window, &MainWindow::loaded};
    QSignalSpy failed{&window, &MainWindow::failed};

    TabbedWindow() { window.show(); }
    void open(const QStringList& names) {
        loaded.clear();
        window.openEach(names);
        QTRY_VERIFY(loaded.count() > 0);
    }
    template <class T>
    T& child(const char* name) {
        T* found = window.findChild<T*>(QString::fromLatin1(name));
        if (found == nullptr) qFatal("no such child");
        return *found;
    }
    [[nodiscard]] std::size_t ranks() { return window.state().session()->lanes.rankCount(); }
    void trigger(const char* name) { child<QAction>(name).trigger(); }
};

} // namespace

class TabsTest : public GuiTest {
    Q_OBJECT

private slots:
    void eachTraceHasATabWithItsView() {
        TabbedWindow w;
        w.open({QStringLiteral("4.json")});
        auto& bar = w.child<QTabBar>("traceTabs");
        QVERIFY(!bar.isVisible()); // one trace needs none
        w.open({QStringLiteral("6.json"), QStringLiteral("8.json")});
        QCOMPARE(w.window.tabCount(), 3);
        QVERIFY(bar.isVisible());
        QCOMPARE(bar.tabText(0), QStringLiteral("4.json"));
        QCOMPARE(w.ranks(), 8U);
        QVERIFY(w.window.windowTitle().contains(QLatin1String("8.json")));

        ViewState& state = w.window.state();
        state.select({ItemKind::Op, 2, 5, 3});
        state.zoomTo({ItemKind::Op, 2, 5, 3});
        RowChoice rows;
        rows.setPinned(5, true);
        state.setRows(rows);
        state.showFlow(FlowOverlay::CriticalPath, true);
        const TimeRange range = state.range().range();
        QVERIFY(QTest::qWaitForWindowActive(&w.window)); // shortcuts belong to the active window
        QTest::keyClick(&w.window, Qt::Key_Tab, Qt::ControlModifier);
        QCOMPARE(w.window.currentTab(), 0); // wraps around
        QCOMPARE(w.ranks(), 4U);
        QVERIFY(!state.selection());
        QVERIFY(state.rows() == RowChoice());
        QVERIFY(!state.shows(FlowOverlay::CriticalPath));
        QTest::mouseClick(&bar, Qt::LeftButton, {}, bar.tabRect(1).center());
        QCOMPARE(w.ranks(), 6U);
        w.trigger("nextTab");
        QCOMPARE(w.ranks(), 8U);
        QCOMPARE(state.range().range(), range);
        QCOMPARE(state.selection(), (ItemRef{ItemKind::Op, 2, 5, 3}));
        QCOMPARE(state.step(), 2);
        QVERIFY(state.rows() == rows);
        QVERIFY(state.shows(FlowOverlay::CriticalPath));
        QCOMPARE(w.window.findChild<TimelineView*>()->rows().lineAt(0), 5);
        w.trigger("previousTab");
        QCOMPARE(w.ranks(), 6U);
    }

    void tabsAreClosed() {
        TabbedWindow w;
        w.open({QStringLiteral("4.json"), QStringLiteral("6.json"), QStringLiteral("8.json")});
        w.window.closeTab(0); // behind the tab in front
        QCOMPARE(w.window.tabCount(), 2);
        QCOMPARE(w.ranks(), 8U);
        w.trigger("closeTab");
        QCOMPARE(w.window.tabCount(), 1);
        QCOMPARE(w.ranks(), 6U);
        QVERIFY(!w.child<QTabBar>("traceTabs").isVisible());
        w.trigger("closeTab");
        QVERIFY(!w.window.state().session());
        QVERIFY(w.child<QWidget>("welcomePanel").isVisible());
        w.open({QStringLiteral("3.json")});
        QCOMPARE(w.window.tabCount(), 1);
        QCOMPARE(w.ranks(), 3U);
    }

    void aTraceThatFailsLeavesTheOthers() {
        TabbedWindow w;
        w.open({QStringLiteral("4.json"), QStringLiteral("bad.json"), QStringLiteral("6.json")});
        QCOMPARE(w.failed.count(), 1);
        QCOMPARE(w.window.tabCount(), 2);
        QCOMPARE(w.ranks(), 6U);
    }

    void severalFilesAreDropped() {
        TabbedWindow w;
        QMimeData data;
        data.setUrls(
            {QUrl::fromLocalFile(QStringLiteral("/t/4.json")), QUrl::fromLocalFile(QStringLiteral("/t/6.json"))});
        const auto drop = [&](int entry) {
            QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
            QApplication::sendEvent(&w.window, &enter);
            QDropEvent event({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
            QApplication::sendEvent(&w.window, &event);
            auto* menu = w.window.findChild<QMenu*>(QStringLiteral("dropMenu"));
            if (menu == nullptr) qFatal("no menu");
            w.loaded.clear();
            menu->actions().at(entry)->trigger();
            delete menu;
        };
        drop(0); // one run of both
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.window.tabCount(), 1);
        drop(1); // a tab for each
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.window.tabCount(), 3);
        QCOMPARE(w.ranks(), 6U);
    }

    void comparisonsStayWithTheirTabAndLanguage() {
        TabbedWindow w;
        w.open({QStringLiteral("4.json")});
        const auto panel = [&]() -> ComparePanel& { return w.child<ComparePanel>("comparePanel"); };
        QSignalSpy compared(&panel(), &ComparePanel::compared);
        w.window.compareWith({QStringLiteral("6.json")});
        QVERIFY(compared.wait());
        const ComparisonPtr comparison = panel().comparison();
        QVERIFY(w.window.state().reference());
        w.open({QStringLiteral("8.json")});
        QVERIFY(!panel().comparison());
        QVERIFY(!w.window.state().reference());
        w.trigger("nextTab");
        QCOMPARE(panel().comparison(), comparison);
        QVERIFY(w.window.state().reference());
        QVERIFY(w.child<QCheckBox>("compareBelow").isChecked());
        // A change of language rebuilds all panels.
        QPointer<ComparePanel> before = &panel();
        w.trigger("language-zh_CN");
        QTRY_VERIFY(before.isNull());
        QCOMPARE(panel().comparison(), comparison);
        QVERIFY(w.window.state().reference());
        QCOMPARE(w.window.tabCount(), 2);
        QTRY_VERIFY(w.child<QTabBar>("traceTabs").isVisible());
        w.trigger("language-en");
        QTRY_COMPARE(w.child<QDockWidget>("stepsDock").windowTitle(), QStringLiteral("Steps"));
        QCOMPARE(panel().comparison(), comparison);
    }

    void sessionsAreSavedAndOpened() {
        const QString file = dir_.filePath(QStringLiteral("mine.bubblescope-session.json"));
        RowChoice rows;
        rows.filter = "1-3";
        TimeRange range;
        {
            TabbedWindow w;
            w.open({QStringLiteral("/t/4.json"), QStringLiteral("/t/6.json")});
            w.window.state().setRows(rows);
            w.window.state().select({ItemKind::Op, 1, 2, 3});
            w.window.state().zoomTo({ItemKind::Op, 1, 2, 3});
            range = w.window.state().range().range();
            w.child<QDockWidget>("detailsDock").close();
            w.window.saveSession(file);
            QVERIFY(!w.child<MessageBar>("messageBar").isVisible());
        }
        TabbedWindow w;
        w.open({QStringLiteral("8.json")});
        w.loaded.clear();
        w.window.open({file}); // as the command line does
        child<QPushButton>(w.window, "sessionInstead").click();
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.window.tabCount(), 2); // the previous tabs are closed
        QCOMPARE(w.window.currentTab(), 1);
        QCOMPARE(w.ranks(), 6U);
        QCOMPARE(w.window.state().range().range(), range);
        QCOMPARE(w.window.state().selection(), (ItemRef{ItemKind::Op, 1, 2, 3}));
        QVERIFY(w.window.state().rows() == rows);
        QVERIFY(!w.child<QDockWidget>("detailsDock").isVisible());
        w.trigger("nextTab");
        QCOMPARE(w.ranks(), 4U);
    }

    /// A missing trace keeps its tab and its view until it is located.
    void aMissingTraceKeepsItsTab() {
        const QString file = dir_.filePath(QStringLiteral("moved.bubblescope-session.json"));
        RowChoice rows;
        rows.filter = "1-3";
        {
            TabbedWindow w;
            w.open({QStringLiteral("/t/4.json"), QStringLiteral("/t/6.json")});
            w.window.state().setRows(rows);
            w.window.saveSession(file);
        }
        // Its name changes: the loader of this test cannot open "gone.json".
        QFile session(file);
        QVERIFY(session.open(QIODevice::ReadWrite));
        QByteArray text = session.readAll();
        text.replace("6.json", "gone.json");
        session.resize(0);
        session.seek(0);
        session.write(text);
        session.close();

        TabbedWindow w;
        w.window.openSession(file);
        QTRY_COMPARE(w.window.tabCount(), 2);
        QTRY_VERIFY(w.child<QWidget>("unopenedPanel").isVisible());
        QCOMPARE(w.child<QTabBar>("traceTabs").tabText(1), QStringLiteral("gone.json – not opened"));
        QVERIFY(w.child<QLabel>("unopenedReason").text().contains(QLatin1String("not a trace")));
        QVERIFY(w.child<MessageBar>("messageBar").text().contains(QLatin1String("1 trace of this session")));
        w.trigger("nextTab");
        QCOMPARE(w.ranks(), 4U);
        w.trigger("nextTab");
        QVERIFY(w.child<QWidget>("unopenedPanel").isVisible());

        // Saving it again loses nothing.
        const QString again = dir_.filePath(QStringLiteral("again.bubblescope-session.json"));
        w.window.saveSession(again);
        const SavedSession saved = readSession(again.toStdString()).value();
        QCOMPARE(saved.traces.size(), std::size_t{2});
        QCOMPARE(saved.traces[1].view.rows->filter, std::string("1-3"));

        w.loaded.clear();
        w.child<QPushButton>("locateFiles").click();
        auto* const dialog = w.window.findChild<QFileDialog*>();
        QVERIFY(dialog != nullptr);
        emit dialog->filesSelected({QStringLiteral("/elsewhere/6.json")});
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.window.tabCount(), 2);
        QCOMPARE(w.ranks(), 6U);
        QVERIFY(w.window.state().rows() == rows);
    }

    void aSessionOpensBesideTheTabs() {
        const QString file = dir_.filePath(QStringLiteral("beside.bubblescope-session.json"));
        {
            TabbedWindow w;
            w.open({QStringLiteral("/t/4.json"), QStringLiteral("/t/6.json")});
            w.window.saveSession(file);
        }
        TabbedWindow w;
        w.open({QStringLiteral("8.json")});
        w.window.openSession(file);
        QCOMPARE(w.ranks(), 8U); // nothing is closed before the answer
        w.loaded.clear();
        child<QPushButton>(w.window, "sessionBeside").click();
        QTRY_COMPARE(w.loaded.count(), 1);
        QCOMPARE(w.window.tabCount(), 3);
        QCOMPARE(w.window.currentTab(), 2);
        QCOMPARE(w.ranks(), 6U);
        w.window.showTab(0);
        QCOMPARE(w.ranks(), 8U);
    }

    void aClosedTabIsReopenedAsItWas() {
        TabbedWindow w;
        w.open({QStringLiteral("4.json"), QStringLiteral("6.json")});
        w.window.state().zoomTo({ItemKind::Op, 1, 2, 3});
        const TimeRange range = w.window.state().range().range();
        w.window.closeTab(1);
        w.window.closeTab(0);
        QVERIFY(!w.window.state().session());
        QVERIFY(QTest::qWaitForWindowActive(&w.window));
        QTest::keyClick(&w.window, Qt::Key_T, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_VERIFY(w.window.state().session() && w.ranks() == 4U);
        w.trigger("reopenTab");
        QTRY_COMPARE(w.window.tabCount(), 2);
        QTRY_COMPARE(w.ranks(), 6U);
        QCOMPARE(w.window.state().range().range(), range);
        w.trigger("reopenTab"); // nothing is left
        QCOMPARE(w.window.tabCount(), 2);
    }

    void aDropIsACopy() {
        TabbedWindow w;
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(QStringLiteral("/t/4.json"))});
        QDragEnterEvent enter({20, 20}, Qt::MoveAction | Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&w.window, &enter);
        QCOMPARE(enter.dropAction(), Qt::CopyAction);
        QDropEvent drop(QPointF(20, 20), Qt::MoveAction | Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        drop.setDropAction(Qt::MoveAction); // as a source proposes that offers moves
        QApplication::sendEvent(&w.window, &drop);
        QVERIFY(drop.isAccepted());
        QCOMPARE(drop.dropAction(), Qt::CopyAction);
        QTRY_VERIFY(w.window.state().session());
    }

    void ctrlZUndoesAZoom() {
        TabbedWindow w;
        w.open({QStringLiteral("4.json")});
        ViewState& state = w.window.state();
        const TimeRange before = state.range().range();
        state.zoomTo({ItemKind::Op, 1, 2, 3});
        QTRY_VERIFY(state.canUndo());
        QVERIFY(QTest::qWaitForWindowActive(&w.window));
        QTest::keyClick(w.window.findChild<TimelineView*>(), Qt::Key_Z, Qt::ControlModifier);
        QTRY_COMPARE(state.range().range(), before);
        QTest::keyClick(w.window.findChild<TimelineView*>(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_VERIFY(state.range().range() != before);
    }

    void aDamagedSessionKeepsWhatIsOpen() {
        const QString file = dir_.filePath(QStringLiteral("bad.bubblescope-session.json"));
        QFile out(file);
        QVERIFY(out.open(QIODevice::WriteOnly));
        out.write("{\"format\":\"bubblescope-session\",\"version\":1,\"traces\":3}");
        out.close();
        TabbedWindow w;
        w.open({QStringLiteral("4.json")});
        w.window.open({file});
        child<QPushButton>(w.window, "sessionInstead").click();
        QTRY_COMPARE(w.failed.count(), 1);
        QCOMPARE(w.ranks(), 4U);
        QVERIFY(w.child<MessageBar>("messageBar").text().contains(QLatin1String("Its traces is not a list")));
        MainWindow empty(loadByName, false);
        empty.show();
        empty.saveSession(dir_.filePath(QStringLiteral("none.bubblescope-session.json")));
        QVERIFY(!QFile::exists(dir_.filePath(QStringLiteral("none.bubblescope-session.json"))));
        QVERIFY(empty.findChild<MessageBar*>()->isVisible());
    }

private:
    QTemporaryDir dir_;
};

BUBBLESCOPE_GUI_TEST(TabsTest, tabs_test);
#include "tabs_test.moc"
