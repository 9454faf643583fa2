#include "app/gui/explorer/schedule_explorer.h"
#include "app/gui/key_sheet.h"
#include "app/gui/main_menus.h"
#include "app/gui/main_window.h"
#include "app/gui/panels/anomaly_panel.h"
#include "app/gui/panels/bubble_panel.h"
#include "app/gui/panels/details_panel.h"
#include "app/gui/panels/range_panel.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/panels/whatif_panel.h"
#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"
#include "tests/gui/user_input.h"
#include "tests/support/jittered_run.h"
#include "tests/support/shared_data.h"

#include <QAction>
#include <QClipboard>
#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QTabBar>
#include <QTableView>
#include <QTest>
#include <QToolBar>

// Common tasks of the app's users, performed as they do it: with the pointer and keys of an X server. Each task may
// take
// five clicks at most. Skipped without Xvfb or xdotool.

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

constexpr int kMostClicks = 5;

/// Rank 2 takes half as long again as the others; "other" is the same run without that.
Result<Run> loadTask(const std::vector<std::filesystem::path>& paths, JobControl& control) {
    if (std::filesystem::exists(paths.front())) return loadRun(paths, control);
    const bool slow = paths.front().string().find("other") == std::string::npos;
    test::JitteredRun wanted;
    wanted.spec = {"1f1b", "", 4, 8, 1};
    wanted.steps = 8;
    wanted.op_factor = [slow](int, Rank rank, const Op&) { return slow && rank.value == 2 ? 1.5 : 1.0; };
    Run run = test::makeJitteredRun(wanted, 5);
    for (const auto& path : paths)
        run.files.push_back(path.string());
    return run;
}

struct TaskDesk {
    MainWindow window{loadTask, false};
    ViewState& state = window.state();

    explicit TaskDesk(const QString& trace = QStringLiteral("run.pftrace")) {
        openOnScreen(window, trace);
        QTest::qWait(50);
        UserInput::clicks() = 0;
    }
    ~TaskDesk() {
        const int clicks = UserInput::clicks();
        std::printf("clicks in %s: %d\n", QTest::currentTestFunction(), clicks);
        if (clicks > kMostClicks) qFatal("too many clicks");
    }
    TimelineView& timeline() { return child<TimelineView>(window, "timeline"); }
    QWidget& canvas() { return *timeline().viewport(); }
    QPoint placeOf(const ItemRef& item) { return timeline().centreOf(item).toPoint(); }
    void clickTool(const QString& action) {
        auto& bar = child<QToolBar>(window, "toolBar");
        const QRect place = bar.actionGeometry(window.findChild<QAction*>(action));
        UserInput::click(bar, place.center());
    }
    /// Once the widget has its place: a panel that has just been filled is laid out again.
    static void click(const QWidget& widget) {
        QPoint before;
        for (QPoint place = widget.mapToGlobal(widget.rect().center()); place != before;
             place = widget.mapToGlobal(widget.rect().center())) {
            before = place;
            QTest::qWait(100);
        }
        UserInput::click(widget, widget.rect().center());
    }
    void clickFinding() {
        auto& figure = child<QWidget>(window, "findingFigure");
        UserInput::click(figure, {30, figure.height() / 2});
    }
    /// Opens an item's menu and chooses an entry.
    void choose(const ItemRef& item, const char* entry) {
        UserInput::click(canvas(), placeOf(item), 3);
        QMenu* menu = nullptr;
        QTRY_VERIFY((menu = qobject_cast<QMenu*>(QApplication::activePopupWidget())) != nullptr);
        auto* action = menu->findChild<QAction*>(QString::fromLatin1(entry));
        QVERIFY(action != nullptr);
        UserInput::click(*menu, menu->actionGeometry(action).center());
        QTRY_VERIFY(QApplication::activePopupWidget() == nullptr);
    }
    [[nodiscard]] ItemRef op(int rank, int index) const { return {ItemKind::Op, state.step(), rank, index}; }
};

} // namespace

class TwelveTasksTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() {
        settings_.use();
        // Notes of an earlier run of this test.
        QDir(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation)).removeRecursively();
    }

    /// 1. What is wrong with this run?
    void theCauseIsOneClickAway() {
        TaskDesk desk;
        desk.clickFinding();
        auto& table = child<QTableView>(desk.window, "anomalyTable");
        QTRY_VERIFY(table.isVisible() && table.model()->rowCount() > 0);
        QTRY_VERIFY(
            child<QLabel>(desk.window, "anomalyMessage").text().contains(QLatin1String("rank 2"), Qt::CaseInsensitive));
    }

    /// 2. What would repairing it gain?
    void whatMendingItWouldHelp() {
        TaskDesk desk;
        desk.clickFinding();
        auto& ask = child<QPushButton>(desk.window, "anomalyAsk");
        QTRY_VERIFY(ask.isVisible() && ask.isEnabled());
        TaskDesk::click(ask);
        auto& headline = child<QLabel>(desk.window, "whatIfHeadline");
        QTRY_VERIFY_WITH_TIMEOUT(headline.isVisible() && headline.text().contains(QLatin1Char('%')), 30000);
    }

    /// 3. How far is this step from the ideal one?
    void theIdealStepLiesBelow() {
        TaskDesk desk;
        desk.clickTool(QStringLiteral("ideal"));
        QTRY_VERIFY(desk.state.reference() != nullptr);
    }

    /// 4. Which backwards of rank 2 take longest?
    void theLongestOpsOfARank() {
        TaskDesk desk;
        UserInput::press("ctrl+f");
        auto& bar = child<SearchBar>(desk.window, "searchBar");
        QTRY_VERIFY(bar.isVisible() && bar.line().hasFocus());
        UserInput::type("B rank=2 dur>1ms");
        QTRY_VERIFY(bar.list().count() > 0 && bar.line().text().endsWith(QLatin1String("1ms")));
        QTRY_VERIFY(desk.state.highlights().size() == 64);
        UserInput::press("F3");
        QTRY_COMPARE(bar.counter(), QStringLiteral("1 of 64"));
        QCOMPARE(desk.state.selection().rank, 2);
        UserInput::press("F3");
        QTRY_COMPARE(bar.counter(), QStringLiteral("2 of 64"));
    }

    /// 5. What happened in this stretch of time?
    void theContentOfATimeRange() {
        TaskDesk desk;
        const int y = kRulerHeight - 4;
        UserInput::drag(desk.canvas(), {kHeaderWidth + 200, y}, {kHeaderWidth + 600, y});
        auto& panel = child<RangePanel>(desk.window, "rangePanel");
        QTRY_VERIFY(panel.isVisible() && panel.model().rowCount() > 1);
    }

    /// 6. Where does this op's input come from?
    void theOpThatMadeTheInput() {
        TaskDesk desk;
        desk.choose(desk.op(2, 2), "itemProducer");
        QTRY_VERIFY(desk.state.selection().kind == ItemKind::Op && desk.state.selection().rank != 2);
    }

    /// 7. Keep this rank in sight.
    void aRankIsPinned() {
        TaskDesk desk;
        desk.choose(desk.op(3, 2), "itemPin");
        QTRY_VERIFY(desk.state.rows().pins(3));
    }

    /// 8. Why does this rank wait here?
    void theCauseOfABubble() {
        TaskDesk desk;
        // The longest bubble of rank 1 in the step.
        const auto& bubbles = desk.state.session()->analysis(desk.state.step()).bubbles[1];
        const auto longest = std::ranges::max_element(bubbles, {}, &Bubble::duration) - bubbles.begin();
        const ItemRef bubble{ItemKind::Bubble, desk.state.step(), 1, static_cast<std::int32_t>(longest)};
        UserInput::click(desk.canvas(), desk.placeOf(bubble));
        QTRY_COMPARE(desk.state.selection(), bubble);
        auto& details = child<QWidget>(desk.window, "detailsPanel");
        QTRY_VERIFY(details.isVisible());
    }

    /// 9. Note this op.
    void aNoteIsMade() {
        TaskDesk desk;
        desk.choose(desk.op(1, 3), "itemNote");
        QTRY_COMPARE(desk.window.noteStore().notes().size(), 1U);
        QTRY_VERIFY(qobject_cast<QLineEdit*>(QApplication::focusWidget()) != nullptr);
        UserInput::type("slow");
        UserInput::press("Return");
        QTRY_COMPARE(desk.window.noteStore().notes().front().text, std::string("slow"));
    }

    /// 10. Show it to others.
    void aPictureIsCopied() {
        TaskDesk desk;
        UserInput::press("ctrl+alt+c");
        QTRY_VERIFY(!QGuiApplication::clipboard()->image().isNull());
        QVERIFY(QGuiApplication::clipboard()->image().width() > 1000);
        desk.choose(desk.op(1, 3), "itemCopyCommand");
        QTRY_VERIFY(QGuiApplication::clipboard()->text().startsWith(QLatin1String("bubblescope-gui")));
    }

    /// 11. What changed against the other run?
    void twoRunsAreCompared() {
        TaskDesk desk;
        desk.window.compareWith({QStringLiteral("other.pftrace")}); // chosen in the system's dialog
        auto& table = child<QTableView>(desk.window, "compareTable");
        QTRY_VERIFY_WITH_TIMEOUT(table.isVisible() && table.model()->rowCount() > 0, 30000);
    }

    /// 12. Which order is the best one for these times?
    void theBestOrderIsSearched() {
        TaskDesk desk;
        UserInput::press("ctrl+l");
        QTRY_VERIFY(desk.window.findChild<ScheduleExplorer*>() != nullptr);
        auto& lab = desk.window.openExplorer();
        QTRY_VERIFY_WITH_TIMEOUT(lab.isVisible() && lab.result().has_value(), 30000);
        const TimeNs before = lab.result()->session->window(0).length();
        QSignalSpy ended(&lab, &ScheduleExplorer::searchEnded);
        auto& search = child<QPushButton>(lab, "explorerSearch");
        TaskDesk::click(search);
        QTRY_VERIFY(lab.searching() || ended.count() > 0);
        QTRY_VERIFY_WITH_TIMEOUT(lab.result() && lab.result()->session->window(0).length() < before, 30000);
        if (lab.searching()) TaskDesk::click(search);
        QTRY_VERIFY_WITH_TIMEOUT(ended.count() > 0, 60000);
        lab.close();
    }

    void theCauseInTheMegatronTrace() {
        const auto file = test::sharedDir() / "traces/megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated.json";
        if (!std::filesystem::exists(file)) QSKIP("needs traces/megatronapp-pp4, which is not part of the source");
        TaskDesk desk(QString::fromStdString(file.string()));
        desk.clickFinding();
        QTRY_VERIFY(child<QTableView>(desk.window, "anomalyTable").isVisible());
        QTRY_VERIFY(
            child<QLabel>(desk.window, "anomalyMessage").text().contains(QLatin1String("rank 3"), Qt::CaseInsensitive));
    }

private:
    OwnSettings settings_;
};

static const GuiTestEntry entry_of_twelve_tasks_test{"twelve_tasks_test", runOnOwnDisplay<TwelveTasksTest>};

#include "twelve_tasks_test.moc"
