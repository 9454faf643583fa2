#include "app/gui/models/bubble_table_model.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/panels/answer_bar.h"
#include "app/gui/panels/compare_panel.h"
#include "app/gui/panels/details_panel.h"
#include "app/gui/panels/range_panel.h"
#include "app/gui/panels/search_bar.h"
#include "tests/gui/tasks/desk.h"

#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QTableView>

#include <algorithm>

// Tasks of the trial with users that ask what is wrong: numbers are those of the trial. Each takes at most the actions
// that it took there.

using namespace bubblescope;
using namespace bubblescope::gui;

class DiagnosisTasksTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() { settings_.use(); }

    /// 1 and 2. Why is the step slow, and which rank is it?
    void whyTheStepIsSlow() {
        Desk desk;
        desk.clickFinding();
        QTRY_VERIFY(child<QTableView>(desk.window, "anomalyTable").isVisible());
        QTRY_VERIFY(
            child<QLabel>(desk.window, "anomalyMessage").text().contains(QLatin1String("rank 2"), Qt::CaseInsensitive));
        AT_MOST(desk, 1);
    }

    /// 3. What would repairing it save?
    void whatMendingItSaves() {
        Desk desk;
        desk.clickFinding();
        auto& ask = child<QPushButton>(desk.window, "anomalyAsk");
        QTRY_VERIFY(ask.isVisible() && ask.isEnabled());
        desk.click(ask);
        auto& headline = child<QLabel>(desk.window, "whatIfHeadline");
        QTRY_VERIFY_WITH_TIMEOUT(headline.isVisible() && headline.text().contains(QLatin1Char('%')), 30000);
        AT_MOST(desk, 3);
    }

    /// 4. What changed against the other run, which is open in another tab?
    void whatChangedBetweenTwoRuns() {
        Desk desk({QStringLiteral("/runs/even/run.pftrace")});
        QSignalSpy loaded(&desk.window, &MainWindow::loaded);
        desk.window.openBeside({QStringLiteral("/runs/slow/run.pftrace")});
        QVERIFY(loaded.wait(30000));
        desk.window.showTab(0);
        desk.choose("compareWith");
        auto* const menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        QVERIFY(menu != nullptr);
        const QList<QAction*> entries = menu->actions();
        const auto other =
            std::ranges::find(entries, QStringLiteral("slow"), &QAction::text); // what differs in the paths
        QVERIFY(other != entries.end());
        desk.click(*menu, **other);
        auto& headline = child<QLabel>(desk.window, "compareHeadline");
        QTRY_VERIFY_WITH_TIMEOUT(headline.text().startsWith(QStringLiteral("Rank 2 became 1.5 × slower in every op")),
                                 30000);
        AT_MOST(desk, 6);
    }

    /// 5. The longest bubble of rank 2 in a step.
    void theLongestBubbleOfARank() {
        Desk desk;
        desk.press(desk.timeline(), Qt::Key_F, Qt::ControlModifier);
        auto& bar = child<SearchBar>(desk.window, "searchBar");
        QTRY_VERIFY(bar.isVisible());
        desk.type(bar.line(), QStringLiteral("bubble rank=2 step=4"));
        QTRY_VERIFY(bar.list().count() > 0);
        desk.press(bar.line(), Qt::Key_Return);
        QTRY_COMPARE(desk.state.selection().kind, ItemKind::Bubble);
        const ItemRef found = desk.state.selection();
        QCOMPARE(found.rank, 2);
        QCOMPARE(desk.state.session()->step(found.step).index, 4);
        TimeNs longest{0};
        for (const Bubble& bubble : desk.state.session()->analysis(found.step).bubbles[2])
            longest = std::max(longest, bubble.duration());
        QCOMPARE(desk.state.session()->bubble(found).duration(), longest);
        AT_MOST(desk, 3);
    }

    /// 6. What happened in a range of time?
    void aTimeRangeIsMeasured() {
        Desk desk;
        desk.choose("measure");
        const int y = desk.canvas().height() / 2;
        desk.drag(desk.canvas(), {500, y}, {900, y});
        auto& panel = child<RangePanel>(desk.window, "rangePanel");
        QTRY_VERIFY(panel.isVisible() && panel.model().rowCount() > 1);
        AT_MOST(desk, 2);
    }

    /// 7. All kernels of one name, in a trace without a pipeline: a list, and their sum.
    void allKernelsOfAName() {
        Desk desk({dataFile("traces/kineto_amd.json")});
        QVERIFY(!desk.state.pipeline());
        desk.press(desk.timeline(), Qt::Key_F, Qt::ControlModifier);
        auto& bar = child<SearchBar>(desk.window, "searchBar");
        QTRY_VERIFY(bar.isVisible());
        desk.type(bar.line(), QStringLiteral("nccl"));
        QTRY_VERIFY(bar.list().count() > 0);
        AT_MOST(desk, 2);
    }

    /// 8. Why does this rank wait here?
    void theCauseOfABubble() {
        Desk desk;
        const ItemRef bubble = longestBubble(desk, 1);
        desk.clickOn(bubble);
        QCOMPARE(desk.state.selection(), bubble);
        auto& details = child<DetailsPanel>(desk.window, "detailsPanel");
        QTRY_VERIFY(details.isVisible() && !details.title().isEmpty());
        QTRY_VERIFY(!desk.state.session()->lacksDiagnosis(bubble.step)); // its arrow is drawn
        AT_MOST(desk, 1);
    }

    /// 9. Compute, communication and idle time of devices, without a pipeline: there when the trace is open.
    void theVerdictWithoutAPipeline() {
        Desk desk({dataFile("traces/kineto_amd.json")});
        QVERIFY(!desk.state.pipeline());
        const auto& answer = *desk.window.findChild<AnswerBar*>();
        QVERIFY(answer.isVisible());
        QVERIFY2(answer.lines().join(QLatin1Char(' ')).contains(QLatin1String("Verdict:")),
                 qPrintable(answer.lines().join(QLatin1Char('\n'))));
        QVERIFY(child<QWidget>(desk.window, "devicesPanel").isVisible());
        AT_MOST(desk, 0);
    }

    /// 12. The closed form of one bubble.
    void theClosedFormOfABubble() {
        Desk desk({QStringLiteral("/runs/even/run.pftrace")});
        const ItemRef bubble = longestBubble(desk, 3); // its warm-up: p − 1 forwards
        desk.clickOn(bubble);
        QCOMPARE(desk.state.selection(), bubble);
        const auto& table = child<QTableView>(desk.window, "bubbleTable");
        QTRY_VERIFY(table.isVisible() && table.currentIndex().isValid());
        const QString form =
            table.model()->index(table.currentIndex().row(), BubbleTableModel::Expression).data().toString();
        QVERIFY2(form.contains(QLatin1String("t_")), qPrintable(form));
        AT_MOST(desk, 1);
    }

private:
    static ItemRef longestBubble(Desk& desk, int rank) {
        const int step = desk.state.step();
        const auto& bubbles = desk.state.session()->analysis(step).bubbles[static_cast<std::size_t>(rank)];
        const auto longest = std::ranges::max_element(bubbles, {}, &Bubble::duration) - bubbles.begin();
        return {ItemKind::Bubble, step, rank, static_cast<std::int32_t>(longest)};
    }

    OwnSettings settings_;
};

BUBBLESCOPE_GUI_TEST(DiagnosisTasksTest, diagnosis_tasks_test);
#include "diagnosis_tasks_test.moc"
