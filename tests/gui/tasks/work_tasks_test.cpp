#include "app/gui/explorer/comparison_table.h"
#include "app/gui/explorer/schedule_explorer.h"
#include "app/gui/language/text.h"
#include "app/gui/manual_window.h"
#include "app/gui/panels/bars.h"
#include "app/gui/panels/details_panel.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/panels/teach_panel.h"
#include "app/gui/panels/thresholds_table.h"
#include "tests/gui/tasks/desk.h"

#include <QClipboard>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDockWidget>
#include <QDropEvent>
#include <QFileDialog>
#include <QGuiApplication>
#include <QLineEdit>
#include <QListWidget>
#include <QMimeData>
#include <QPushButton>
#include <QSpinBox>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolBar>
#include <QToolButton>
#include <QUrl>

// Tasks of the trial with users that make and handle things; numbers are those of the trial. Others are tested
// elsewhere: 10 in trace_session_test, 11 in live_run_test. 19 and 20 are tested more widely in focus_order_test,
// real_input_test and fits_test.

using namespace bubblescope;
using namespace bubblescope::gui;

class WorkTasksTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() { settings_.use(); }

    /// 13. A figure for a paper: the command, its defaults, the name.
    void aFigureIsSaved() {
        Desk desk;
        desk.choose("exportTimeline");
        auto& dialog = child<QDialog>(desk.window, "figureDialog");
        desk.click(*dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Save));
        const QString file = folder_.filePath(QStringLiteral("figure.pdf"));
        answerFileDialog(desk, file);
        QVERIFY(QFileInfo(file).size() > 4000 && QFileInfo(file).size() < 200'000);
        AT_MOST(desk, 3);
    }

    /// 14. A table in a spreadsheet: numbers, with their unit in the heading.
    void aTableGoesToASpreadsheet() {
        Desk desk;
        auto& table = child<QTableView>(desk.window, "bubbleTable");
        QTRY_VERIFY(table.model()->rowCount() > 0);
        desk.click(*table.viewport(), {40, 30}, Qt::RightButton);
        ++desk.actions;
        child<QAction>(table, "copyTable").trigger();
        const QStringList lines = QGuiApplication::clipboard()->text().split(QLatin1Char('\n'));
        QVERIFY2(lines[0].contains(QLatin1String("As run (ms)")), qPrintable(lines[0]));
        const QString cell = lines[1].split(QLatin1Char('\t'))[2];
        bool number = false;
        (void)cell.toDouble(&number);
        QVERIFY2(number, qPrintable(cell));
        AT_MOST(desk, 2);
    }

    /// 15. Everything that is open, saved and opened again.
    void aSessionIsKept() {
        const QString file = folder_.filePath(QStringLiteral("all.bubblescope-session.json"));
        {
            Desk desk;
            desk.choose("saveSession");
            answerFileDialog(desk, file);
            AT_MOST(desk, 3);
        }
        Desk desk(QStringList{});
        QSignalSpy loaded(&desk.window, &MainWindow::loaded);
        desk.window.openSession(file);
        QVERIFY(loaded.wait(30000));
        QVERIFY(desk.state.pipeline());
    }

    /// 16. ZB-H1 against 1F1B for stages that differ.
    void unevenStagesAreCompared() {
        Desk desk;
        desk.choose("scheduleLab");
        auto& lab = desk.window.openExplorer();
        QTRY_VERIFY(lab.isVisible() && lab.result().has_value());
        auto& forward = child<QLineEdit>(lab, "explorerForward");
        forward.selectAll();
        desk.type(forward, QStringLiteral("5,5,5,8"));
        QTRY_VERIFY(lab.result() && lab.result()->input.stages.size() == 4 &&
                    lab.result()->input.stages[3].forward == TimeNs{8'000'000});
        desk.click(child<QPushButton>(lab, "explorerKeep"));
        ++desk.actions; // opens the list of schedules, and takes one
        child<QComboBox>(lab, "explorerFamily").setCurrentText(QStringLiteral("zb-h1"));
        QTRY_VERIFY(lab.result() && lab.result()->input.spec.name == "zb-h1");
        const auto& table = child<ComparisonTable>(lab, "explorerTable");
        QCOMPARE(table.rowCount(), 2);
        QVERIFY(!table.differs(1)); // at the same times
        QVERIFY(lab.result()->session->window(0).length() > TimeNs{0});
        AT_MOST(desk, 5);
    }

    /// 17. The best order for these times.
    void theBestOrderIsSearched() {
        Desk desk;
        auto& lab = desk.window.openExplorer();
        QTRY_VERIFY(lab.result().has_value());
        const TimeNs before = lab.result()->session->window(0).length();
        QSignalSpy ended(&lab, &ScheduleExplorer::searchEnded);
        auto& search = child<QPushButton>(lab, "explorerSearch");
        desk.click(search);
        QTRY_VERIFY_WITH_TIMEOUT(lab.result() && lab.result()->session->window(0).length() < before, 30000);
        AT_MOST(desk, 1);
        if (lab.searching()) search.click();
        QTRY_VERIFY_WITH_TIMEOUT(ended.count() > 0, 60000);
    }

    /// 18 and 28. Language and theme, in one dialog.
    void languageAndThemeAreChosen() {
        Desk desk;
        desk.choose("preferences");
        auto& dialog = child<QDialog>(desk.window, "preferencesDialog");
        auto& theme = child<QComboBox>(dialog, "preferTheme");
        ++desk.actions;
        theme.setCurrentIndex(theme.findData(static_cast<int>(ThemeChoice::Dark)));
        QVERIFY(desk.window.themes().theme().dark);
        auto& language = child<QComboBox>(dialog, "preferLanguage");
        ++desk.actions;
        language.setCurrentIndex(language.findData(static_cast<int>(Language::Chinese)));
        QTRY_COMPARE(child<QDockWidget>(desk.window, "stepsDock").windowTitle(), QStringLiteral("各步"));
        AT_MOST(desk, 3);
        desk.window.languages().choose(Language::English);
        desk.window.themes().choose(ThemeChoice::Light);
        QCoreApplication::processEvents();
    }

    /// 28. Units, digits and thresholds, in the same dialog.
    void unitsAndThresholdsAreChosen() {
        Desk desk;
        const auto summary = [&] { return child<SummaryBar>(desk.window, "summaryBar").text(); };
        QVERIFY(summary().contains(QLatin1String(" ms")));
        desk.choose("preferences");
        auto& dialog = child<QDialog>(desk.window, "preferencesDialog");
        auto& unit = child<QComboBox>(dialog, "preferUnit");
        ++desk.actions;
        unit.setCurrentIndex(unit.findData(1'000'000'000));
        auto& digits = child<QSpinBox>(dialog, "preferDigits");
        ++desk.actions;
        digits.setValue(4);
        QTRY_VERIFY(!summary().contains(QLatin1String(" ms")) && !summary().contains(QLatin1String(" µs")));
        setTimeStyle({});
        // An expensive finding is required: a run whose findings are all cheap then has none.
        auto& table = child<ThresholdsTable>(dialog, "thresholdsTable");
        for (int row = 0; row < table.rowCount(); ++row) {
            if (table.item(row, ThresholdsTable::NameColumn)->text() != QLatin1String("cost.least")) continue;
            table.item(row, ThresholdsTable::ValueColumn)->setText(QStringLiteral("5")); // out of range: not taken
            QCOMPARE(findingThresholds().least_cost, Thresholds{}.least_cost);
            table.item(row, ThresholdsTable::ValueColumn)->setText(QStringLiteral("0.99"));
            ++desk.actions;
        }
        QCOMPARE(findingThresholds().least_cost, 0.99);
        const auto session = desk.state.session();
        QVERIFY(!session->report.anomalies.empty());
        JobControl control;
        Run again = session->run;
        const auto strict = makeSession(std::move(again), control);
        setFindingThresholds({});
        QVERIFY(strict.ok());
        QVERIFY(strict.value()->report.anomalies.size() < session->report.anomalies.size());
        AT_MOST(desk, 4);
    }

    /// 19. Without a mouse: to another step, to an op and its details, to an op by its name.
    void theKeyboardSuffices() {
        Desk desk;
        desk.timeline().setFocus();
        const int step = desk.state.step();
        desk.press(desk.timeline(), Qt::Key_PageDown);
        QCOMPARE(desk.state.step(), step + 1);
        desk.press(desk.timeline(), Qt::Key_F, Qt::ControlModifier);
        auto& bar = child<SearchBar>(desk.window, "searchBar");
        QTRY_VERIFY(bar.isVisible());
        desk.type(bar.line(), QStringLiteral("B3 rank=2 step=4"));
        QTRY_VERIFY(bar.list().count() > 0);
        desk.press(bar.line(), Qt::Key_Return);
        QTRY_COMPARE(desk.state.selection().kind, ItemKind::Op);
        QCOMPARE(desk.state.selection().rank, 2);
        QTRY_VERIFY(child<DetailsPanel>(desk.window, "detailsPanel").title().startsWith(QLatin1String("B3")));
        desk.press(bar.line(), Qt::Key_Escape);
        QTRY_VERIFY(!bar.isVisible() && desk.timeline().hasFocus());
        desk.press(desk.timeline(), Qt::Key_Up);
        QCOMPARE(desk.state.selection().rank, 1);
        AT_MOST(desk, 6);
    }

    /// 20. A small window, a laptop's and a large one: the timeline and the answer stay.
    void windowsOfAllSizes() {
        Desk desk;
        for (const QSize& size : {QSize(1280, 720), QSize(1000, 700), QSize(3840, 2160)}) {
            ++desk.actions;
            desk.window.resize(size);
            QCoreApplication::processEvents();
            QCOMPARE(desk.window.size(), size);
            QVERIFY(desk.timeline().height() > size.height() / 5);
            QVERIFY(child<QWidget>(desk.window, "answerBar").isVisible());
            QVERIFY(desk.timeline().rows().stickyHeight() == 0 && desk.timeline().rows().rowCount() == 4);
        }
        AT_MOST(desk, 3);
    }

    /// 21. A file is dropped on the window.
    void aFileIsDropped() {
        Desk desk(QStringList{});
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(dataFile("traces/kineto_amd.json"))});
        QDragEnterEvent enter({20, 20}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&desk.window, &enter);
        QDropEvent drop(QPointF(20, 20), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        ++desk.actions;
        QApplication::sendEvent(&desk.window, &drop);
        QTRY_VERIFY_WITH_TIMEOUT(desk.state.session(), 30000);
        AT_MOST(desk, 1);
    }

    /// 22. A file that cannot be opened shows the reason.
    void aMissingFileSaysWhy() {
        Desk desk(QStringList{});
        QSignalSpy failed(&desk.window, &MainWindow::failed);
        desk.window.open({QStringLiteral("/runs/gone.json")});
        QVERIFY(failed.wait(30000));
        auto& message = child<MessageBar>(desk.window, "messageBar");
        QVERIFY(message.isVisible() && message.text().contains(QLatin1String("gone.json")));
    }

    /// 23. Back from a wrong zoom.
    void aWrongZoomIsUndone() {
        Desk desk;
        const TimeRange before = desk.state.range().range();
        desk.state.zoomTo({ItemKind::Op, desk.state.step(), 2, 3});
        QTRY_VERIFY(desk.state.canUndo());
        desk.press(desk.timeline(), Qt::Key_Z, Qt::ControlModifier);
        QTRY_COMPARE(desk.state.range().range(), before);
        AT_MOST(desk, 1);
    }

    /// 24. The last tab is closed, and comes back.
    void theLastTabComesBack() {
        Desk desk;
        desk.choose("closeTab");
        QVERIFY(child<QWidget>(desk.window, "welcomePanel").isVisible());
        desk.choose("reopenTab");
        QTRY_VERIFY_WITH_TIMEOUT(desk.state.session(), 30000);
        AT_MOST(desk, 2);
    }

    /// 25. Seven traces at once.
    void sevenTabs() {
        Desk desk;
        QSignalSpy loaded(&desk.window, &MainWindow::loaded);
        QStringList names;
        for (int run = 1; run < 7; ++run)
            names << QStringLiteral("/runs/%1/run.pftrace").arg(run);
        desk.window.openEach(names);
        QTRY_COMPARE_WITH_TIMEOUT(desk.window.tabCount(), 7, 60000);
        QTRY_VERIFY(!desk.window.loading());
        auto& bar = child<QTabBar>(desk.window, "traceTabs");
        desk.click(bar, bar.tabRect(0).center());
        QCOMPARE(desk.window.currentTab(), 0);
        AT_MOST(desk, 1);
    }

    /// 10, with other traces open: teaching is open where it was opened.
    void teachingStaysWithItsTrace() {
        Desk desk({dataFile("traces/kineto_amd.json")});
        auto& teach = *desk.window.findChild<TeachPanel*>();
        desk.click(child<QToolButton>(desk.window, "teachNames"));
        QVERIFY(teach.isVisible());
        QSignalSpy loaded(&desk.window, &MainWindow::loaded);
        desk.window.openBeside({dataFile("traces/chrome_flows.json")});
        QVERIFY(loaded.wait(60000));
        QCOMPARE(desk.window.tabCount(), 2);
        QVERIFY(!teach.isVisible());
        desk.window.showTab(0);
        QTRY_VERIFY(teach.isVisible());
        desk.window.showTab(1);
        QTRY_VERIFY(!teach.isVisible());
    }

    /// Buttons have words, and what was found says what it costs, before it is cut off.
    void buttonsAndFindingsAreReadable() {
        Desk desk;
        int buttons = 0;
        for (const QToolButton* button : child<QToolBar>(desk.window, "toolBar").findChildren<QToolButton*>()) {
            if (button->defaultAction() == nullptr) continue;
            ++buttons;
            QCOMPARE(button->toolButtonStyle(), Qt::ToolButtonTextBesideIcon);
            QVERIFY(!button->text().isEmpty() && !button->text().contains(QLatin1Char('&')));
        }
        QVERIFY(buttons >= 10);
        const TimeNs cost = desk.state.session()->report.anomalies.front().cost;
        QVERIFY(cost > TimeNs{0});
        const QString summary = child<SummaryBar>(desk.window, "summaryBar").text();
        QVERIFY2(summary.contains(QStringLiteral("Finding %1: ").arg(shortTime(cost))), qPrintable(summary));
    }

    /// 26. The usual arrangement of the panels.
    void panelsComeBack() {
        Desk desk;
        child<QDockWidget>(desk.window, "detailsDock").close();
        desk.choose("resetLayout");
        QTRY_VERIFY(child<QDockWidget>(desk.window, "detailsDock").isVisible());
        AT_MOST(desk, 1);
    }

    /// 27. Help.
    void helpIsOneKeyAway() {
        Desk desk;
        desk.choose("openManual");
        QTRY_VERIFY(desk.window.findChild<ManualWindow*>()->isVisible());
        AT_MOST(desk, 1);
        desk.window.findChild<ManualWindow*>()->close();
    }

    /// 29. 64 ranks with 256 micro-batches: 32,768 ops.
    void aLargeRunOpens() {
        const auto load = [](const RunLoader::Paths&, JobControl&) -> Result<Run> {
            SampleSpec spec;
            spec.schedule = {"1f1b", "", 64, 256, 1};
            spec.steps = 1;
            return sampleRun(spec);
        };
        MainWindow window(load, false);
        window.resize(1400, 860);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("large.pftrace")});
        QVERIFY(loaded.wait(60000));
        QCOMPARE(window.state().session()->lanes.rankCount(), std::size_t{64});
        QVERIFY(!child<TimelineView>(window, "timeline").grab().isNull());
    }

private:
    /// Types a name into the system's dialog, and Enter.
    static void answerFileDialog(Desk& desk, const QString& file) {
        ++desk.actions;
        auto* const dialog = desk.window.findChild<QFileDialog*>();
        QVERIFY(dialog != nullptr);
        emit dialog->fileSelected(file);
        dialog->close();
    }

    QTemporaryDir folder_;
    OwnSettings settings_;
};

BUBBLESCOPE_GUI_TEST(WorkTasksTest, work_tasks_test);
#include "work_tasks_test.moc"
