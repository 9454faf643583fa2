#include "app/gui/charts/bar_chart.h"
#include "app/gui/charts/heat_map.h"
#include "app/gui/language/text.h"
#include "app/gui/main_window.h"
#include "app/gui/models/bubble_table_model.h"
#include "app/gui/models/rows.h"
#include "app/gui/panels/accounting_panel.h"
#include "app/gui/panels/replica_panel.h"
#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"
#include "core/analysis/whatif/run_model.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAccessible>
#include <QAction>
#include <QContextMenuEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// Two replicas of the sample's pipeline that run at the same time, the second one slower by a third.
Run replicatedRun(int ranks = 4) {
    SampleSpec spec;
    spec.schedule = {"1f1b", "", ranks, 8, 1};
    Run run = sampleRun(spec);
    std::vector<StepTimeline> steps;
    for (const StepTimeline& step : run.steps) {
        steps.push_back(step);
        StepTimeline other = step;
        other.replica = 1;
        for (auto& rank : other.ranks) {
            for (TimelineOp& op : rank)
                op.end = op.start + op.duration() * 2 / 3;
        }
        other.fitWindow();
        steps.push_back(std::move(other));
    }
    run.steps = std::move(steps);
    return run;
}

SessionPtr replicated() {
    auto made = makeSession(replicatedRun(), {});
    if (!made.ok()) qFatal("no session");
    return std::move(made).value();
}

/// Facts of lines on a mesh of `dp` times `pp`; a line's bubble increases with its number.
std::vector<RowFacts> meshFacts(int dp, int pp) {
    std::vector<RowFacts> facts;
    for (int line = 0; line < dp * pp; ++line) {
        RowFacts fact{line, line % pp, {}, 0.01 * line};
        fact.place.at(MeshAxis::Pipeline) = line % pp;
        fact.place.at(MeshAxis::Data) = line / pp;
        facts.push_back(fact);
    }
    return facts;
}

/// Lines from top to bottom; headers as −1 − coordinate.
std::vector<int> linesOf(const std::vector<PlannedRow>& rows) {
    std::vector<int> out;
    for (const PlannedRow& row : rows)
        out.push_back(row.header() ? -1 - row.group : row.line);
    return out;
}

std::vector<int> planned(const std::vector<RowFacts>& facts, const RowChoice& choice) {
    return linesOf(planRows(facts, choice));
}

/// A visible timeline.
struct RowBench {
    ThemeManager themes;
    ViewState state;
    TimelineView view{state, themes};

    explicit RowBench(const SessionPtr& session, int height = 400) {
        view.resize(1000, height);
        view.show();
        state.setSession(session);
        view.setFocus();
    }
    void key(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) { QTest::keyClick(&view, key, modifiers); }
    [[nodiscard]] std::vector<int> lines() { return linesOf(view.rows().plan()); }
};

using Lines = std::vector<int>;

} // namespace

class RowsTest : public GuiTest {
    Q_OBJECT

private slots:
    void filtersAreRead() {
        const auto accepts = [](const char* text, int rank, int dp) {
            const Result<RowFilter> filter = parseRowFilter(text);
            if (!filter.ok()) qFatal("no filter");
            MeshNumbers place;
            place.at(MeshAxis::Pipeline) = rank;
            place.at(MeshAxis::Data) = dp;
            return filter.value().accepts(rank, place);
        };
        for (const char* text : {"", "   ", "0-7, 12", "0-7,12", "0-7 12", "dp=0-1", "pp=3 dp=1", "pp=1,3"})
            QVERIFY2(accepts(text, 3, 1), text);
        for (const char* text : {"0-2, 12", "4", "dp=0", "pp=3 dp=0", "3 dp=0", "pp=0,2"})
            QVERIFY2(!accepts(text, 3, 1), text);
        QVERIFY(accepts("0-7, 12", 12, 0) && !accepts("0-7, 12", 8, 0));
        for (const char* text : {"x", "3-1", "-1", "pp=", "qq=1", "1-", "99999999999", "dp=a", "pp=1=2"}) {
            const Result<RowFilter> wrong = parseRowFilter(text);
            QVERIFY2(!wrong.ok(), text);
            QVERIFY2(wrong.error().message.find(text) != std::string::npos, text);
            QVERIFY(!wrong.error().hint.empty());
        }
    }

    void rowsAreChosen() {
        const std::vector<RowFacts> facts = meshFacts(2, 3);
        QCOMPARE(planned(facts, {}), (Lines{0, 1, 2, 3, 4, 5}));
        RowChoice choice;
        choice.filter = "1-2 dp=1";
        QCOMPARE(planned(facts, choice), (Lines{4, 5}));
        choice.setPinned(0, true); // regardless of the filter
        choice.setPinned(5, true);
        QCOMPARE(planned(facts, choice), (Lines{0, 5, 4}));
        choice.setPinned(0, false);
        QCOMPARE(planned(facts, choice), (Lines{5, 4}));
        choice = {};
        choice.filter = "nonsense"; // hides nothing
        QCOMPARE(planned(facts, choice).size(), 6U);
        choice = {};
        choice.pinned = {77, 1}; // of another run
        QCOMPARE(planned(facts, choice), (Lines{1, 0, 2, 3, 4, 5}));
    }

    void rowsAreOrderedAndGrouped() {
        const std::vector<RowFacts> facts = meshFacts(2, 3);
        RowChoice choice;
        choice.order = RowOrder::Mesh;
        QCOMPARE(planned(facts, choice), (Lines{0, 3, 1, 4, 2, 5}));
        choice.order = RowOrder::Bubble;
        QCOMPARE(planned(facts, choice), (Lines{5, 4, 3, 2, 1, 0}));
        choice.order = RowOrder::Hand;
        choice.by_hand = {4, 1};
        QCOMPARE(planned(facts, choice), (Lines{4, 1, 0, 2, 3, 5}));
        choice = {};
        choice.group = MeshAxis::Data;
        QCOMPARE(planned(facts, choice), (Lines{-1, 0, 1, 2, -2, 3, 4, 5}));
        choice.setFolded(0, true);
        QCOMPARE(planned(facts, choice), (Lines{-1, -2, 3, 4, 5}));
        QCOMPARE(planRows(facts, choice).front().lines, 3);
        QVERIFY(planRows(facts, choice).front().folded);
        choice.group = MeshAxis::Pipeline;
        choice.folded.clear();
        QCOMPARE(planned(facts, choice), (Lines{-1, 0, 3, -2, 1, 4, -3, 2, 5}));
    }

    void rowsAreMovedByHand() {
        const std::vector<RowFacts> facts = meshFacts(2, 3);
        RowChoice choice = movedRow(facts, {}, 2, -1);
        QVERIFY(choice.order == RowOrder::Hand);
        QCOMPARE(planned(facts, choice), (Lines{0, 2, 1, 3, 4, 5}));
        choice = movedRow(facts, choice, 2, 1);
        QCOMPARE(planned(facts, choice), (Lines{0, 1, 2, 3, 4, 5}));
        QCOMPARE(movedRow(facts, {}, 0, -1), RowChoice()); // nothing above it
        RowChoice grouped;
        grouped.group = MeshAxis::Data;
        QCOMPARE(movedRow(facts, grouped, 2, 1), grouped); // a group's last row stays in its group
        QCOMPARE(planned(facts, movedRow(facts, grouped, 4, -1)), (Lines{-1, 0, 1, 2, -2, 4, 3, 5}));
        RowChoice pinned;
        pinned.pinned = {4, 2};
        QCOMPARE(movedRow(facts, pinned, 2, -1).pinned, (Lines{2, 4}));
        // Filtered rows keep their places.
        RowChoice filtered;
        filtered.filter = "dp=1";
        RowChoice moved = movedRow(facts, filtered, 5, -1);
        moved.filter.clear();
        QCOMPARE(planned(facts, moved), (Lines{0, 1, 2, 3, 5, 4}));
    }

    void waitingForReplicasIsARowOfItsOwn() {
        const SessionPtr session = replicated();
        // The second replica of a step ends earlier.
        const int early = session->step(0).end < session->step(1).end ? 0 : 1;
        const TimeRange wait = session->range({ItemKind::ReplicaWait, early, 0, 0});
        QVERIFY(wait.length() > TimeNs{0});
        BubbleTableModel bubbles;
        bubbles.show(session, early);
        int found = 0;
        for (int row = 0; row < bubbles.rowCount(); ++row) {
            const auto text = [&](int column) { return bubbles.index(row, column).data().toString(); };
            if (text(BubbleTableModel::PositionColumn) != QStringLiteral("waiting for replicas")) continue;
            ++found;
            QVERIFY(!bubbles.data(bubbles.index(row, 0), BubbleTableModel::kTotalRole).toBool());
            if (bubbles.rankOf(row) != 0) continue;
            QCOMPARE(text(BubbleTableModel::AsRun), shortTime(wait.length()));
            QCOMPARE(bubbles.extent(row), wait);
            QCOMPARE(bubbles.rowOf(bubbles.longestBubble(row)), row);
        }
        QCOMPARE(found, 4);
        bubbles.show(session, 1 - early);
        for (int row = 0; row < bubbles.rowCount(); ++row)
            QVERIFY(bubbles.longestBubble(row).kind != ItemKind::ReplicaWait);

        ThemeManager themes;
        ViewState state;
        AccountingPanel panel(state, themes);
        state.setSession(session);
        state.showStep(early);
        for (std::size_t rank = 0; rank < 4; ++rank) {
            const Bar& bar = panel.chart().bars()[rank];
            const TimeNs waits = session->range({ItemKind::ReplicaWait, early, static_cast<int>(rank), 0}).length();
            QCOMPARE(bar.above() + bar.below(), session->analysis(early).wall + waits);
        }
        state.showStep(1 - early);
        QCOMPARE(panel.chart().bars()[0].above() + panel.chart().bars()[0].below(), session->analysis(1 - early).wall);
    }

    void replicasHaveLinesOfTheirOwn() {
        const SessionPtr session = replicated();
        const gui::Lanes& lanes = session->lanes;
        QCOMPARE(lanes.lineCount(), std::size_t{8});
        QCOMPARE(lanes.rankCount(), std::size_t{4});
        for (int line = 0; line < 8; ++line) {
            QCOMPARE(lanes.rankOf(line), line % 4);
            QCOMPARE(lanes.replicaOf(line), line / 4);
            for (const Span& span : lanes.lane(static_cast<std::size_t>(line), gui::LaneKind::Compute).spans())
                QCOMPARE(session->step(span.step).replica, line / 4);
            QCOMPARE(session->step(session->stepOn(line, 2)).replica, line / 4);
            QCOMPARE(session->step(session->stepOn(line, 2)).index, session->step(2).index);
        }
        QCOMPARE(lineName(*session, 6), QStringLiteral("Rank 2 dp 1"));
        QCOMPARE(lineName(*sampleSession(), 2), QStringLiteral("Rank 2"));
        const std::vector<RowFacts> facts = rowFacts(*session, 2);
        QCOMPARE(rowSpread(facts).at(MeshAxis::Data), 2);
        QCOMPARE(facts[6].place.at(MeshAxis::Data), 1);
        const int sibling = session->stepOn(6, 2);
        const StepAnalysis& analysis = session->analysis(sibling);
        QCOMPARE(facts[6].bubble,
                 static_cast<double>(analysis.ranks[2].bubble.count()) / static_cast<double>(analysis.wall.count()));

        RowBench bench(session, 900);
        QCOMPARE(bench.state.step(), 2); // the second one, of the first replica
        for (const ItemRef item : {ItemRef{ItemKind::Op, 2, 2, 1}, ItemRef{ItemKind::Op, 3, 2, 1}}) {
            const QPointF at = bench.view.centreOf(item);
            QCOMPARE(bench.view.itemAt(at), item);
        }
        // To the next step, not to the next replica of the same one.
        bench.key(Qt::Key_PageDown);
        QCOMPARE(bench.state.step(), 4);
        bench.key(Qt::Key_PageUp);
        QCOMPARE(bench.state.step(), 2);
    }

    /// The study's figure above the map; a cell leads to the rank of its replica, in the step that is shown.
    void theHeatMapOfReplicasLeadsToTheirRows() {
        RowBench bench(replicated(), 700);
        ReplicaPanel panel(bench.state, bench.themes);
        panel.resize(700, 300);
        QSignalSpy studied(&panel, &ReplicaPanel::studied);
        panel.show();
        QVERIFY(studied.wait());
        QVERIFY2(panel.headline().contains(QLatin1String("(S = ")), qPrintable(panel.headline()));
        // One baseline: the step that the header shows.
        QVERIFY2(panel.headline().contains(shortTime(runModel(bench.state.session()->run).value().step_time)),
                 qPrintable(panel.headline()));
        QSignalSpy asked(&bench.state, &ViewState::rankRequested);
        QTest::mouseClick(&panel.map(), Qt::LeftButton, {}, panel.map().cellRect(2, 1).center().toPoint());
        QCOMPARE(bench.state.selection(), (ItemRef{ItemKind::Op, 3, 2, 0}));
        QCOMPARE(bench.state.session()->step(3).replica, 1);
        QCOMPARE(asked.size(), 1);
        QCOMPARE(asked.front().front().toInt(), 2);
    }

    void pinnedRowsStayInSight() {
        SampleSpec spec;
        spec.schedule = {"1f1b", "", 16, 16, 1};
        RowBench s(sampleSession(spec));
        s.view.setRowHeight(54);
        s.state.select({ItemKind::Op, 1, 9, 2});
        s.key(Qt::Key_I);
        QCOMPARE(s.lines().front(), 9);
        QVERIFY(s.view.rows().stickyHeight() > 0);
        QScrollBar* bar = s.view.verticalScrollBar();
        bar->setValue(bar->maximum());
        QVERIFY(bar->value() > 200);
        const ItemRef op{ItemKind::Op, 1, 9, 2};
        QVERIFY(s.view.rect().contains(s.view.centreOf(op).toPoint()));
        QCOMPARE(s.view.itemAt(s.view.centreOf(op)), op);
        QCOMPARE(s.view.rowsInSight().front(), 0);
        QCOMPARE(s.view.rows().lineAt(s.view.rowsInSight().back()), 15);
        // Its colour is visible above rows that were scrolled away.
        const QImage image = s.view.viewport()->grab().toImage();
        const Theme& theme = s.themes.theme();
        const QRect row = s.view.rowRect(0);
        int painted = 0;
        for (int x = kHeaderWidth; x < image.width(); ++x)
            painted += image.pixelColor(x, row.top() + 16) == theme.fill(Role::Forward) ? 1 : 0;
        QVERIFY(painted > 20);
        // A row that is scrolled to is not hidden below it.
        emit s.state.rankRequested(3);
        QVERIFY(s.view.rowRect(s.view.rows().rowOf(3)).top() >= s.view.rowRect(0).bottom());
        QAccessibleInterface& access = *QAccessible::queryAccessibleInterface(&s.view);
        QCOMPARE(access.child(0)->text(QAccessible::Name), QStringLiteral("Rank 9, pinned"));
        s.key(Qt::Key_I);
        QCOMPARE(s.lines().front(), 0);
        QCOMPARE(s.view.rows().stickyHeight(), 0);
    }

    void manyPinnedRowsScroll() {
        SampleSpec spec;
        spec.schedule = {"1f1b", "", 16, 16, 1};
        RowBench s(sampleSession(spec));
        RowChoice rows;
        for (int line = 0; line < 12; ++line)
            rows.setPinned(line, true);
        rows.height = 54;
        s.state.setRows(rows);
        QCOMPARE(s.view.rows().stickyHeight(), 0);
        s.view.verticalScrollBar()->setValue(s.view.verticalScrollBar()->maximum());
        const ItemRef last{ItemKind::Op, 1, 15, 0};
        QCOMPARE(s.view.itemAt(s.view.centreOf(last)), last);
    }

    void keysMoveAndBackspaceUndoes() {
        RowBench s(sampleSession());
        s.state.select({ItemKind::Op, 1, 1, 2});
        s.key(Qt::Key_Down, Qt::ControlModifier);
        QCOMPARE(s.lines(), (Lines{0, 2, 1, 3}));
        const TimeRange range = s.state.range().range();
        s.key(Qt::Key_W);
        s.key(Qt::Key_I);
        QCOMPARE(s.lines(), (Lines{1, 0, 2, 3}));
        QVERIFY(s.state.range().range() != range);
        s.key(Qt::Key_Backspace); // the last change first
        QCOMPARE(s.lines(), (Lines{0, 2, 1, 3}));
        QVERIFY(s.state.range().range() != range);
        s.key(Qt::Key_Backspace);
        QCOMPARE(s.state.range().range(), range);
        s.key(Qt::Key_Backspace);
        QCOMPARE(s.lines(), (Lines{0, 1, 2, 3}));
        // Up and down move by rows, not by numbers.
        s.key(Qt::Key_Up, Qt::ControlModifier);
        QCOMPARE(s.lines(), (Lines{1, 0, 2, 3}));
        s.key(Qt::Key_Down);
        QCOMPARE(s.state.selection().rank, 0);
        s.key(Qt::Key_U);
        QCOMPARE(s.lines(), (Lines{0, 1, 2, 3}));
    }

    void groupsFoldByClickAndKey() {
        RowBench s(replicated(), 700);
        RowChoice rows;
        rows.group = MeshAxis::Data;
        s.state.setRows(rows);
        QCOMPARE(s.lines(), (Lines{-1, 0, 1, 2, 3, -2, 4, 5, 6, 7}));
        const QRect header = s.view.rowRect(5);
        QCOMPARE(header.height(), RowLayout::kGroupHeight);
        QTest::mouseClick(s.view.viewport(), Qt::LeftButton, {}, header.center());
        QCOMPARE(s.lines(), (Lines{-1, 0, 1, 2, 3, -2}));
        QAccessibleInterface& access = *QAccessible::queryAccessibleInterface(&s.view);
        QAccessibleInterface* name = access.tableInterface()->cellAt(5, 0);
        QCOMPARE(name->text(QAccessible::Name), QStringLiteral("dp 1 (rows: 4)"));
        QVERIFY(name->state().collapsed);
        s.state.select({ItemKind::Op, 2, 1, 0});
        s.key(Qt::Key_X);
        QCOMPARE(s.lines(), (Lines{-1, -2}));
        s.key(Qt::Key_X); // the topmost
        QCOMPARE(s.lines(), (Lines{-1, 0, 1, 2, 3, -2}));
        // The selection skips headers.
        QTest::mouseClick(s.view.viewport(), Qt::LeftButton, {}, s.view.rowRect(5).center());
        s.state.select({ItemKind::Op, 2, 3, 0});
        s.key(Qt::Key_Down);
        QCOMPARE(s.state.session()->lanes.lineOf(s.state.selection()), 4);
    }

    void lanesAreHiddenByKind() {
        SampleSpec spec;
        spec.trace = true;
        spec.comm = TimeNs{1'000'000};
        RowBench s(sampleSession(spec), 900);
        s.view.setUnfolded(1, true);
        const auto hide = [&](LaneGroup group, bool on) {
            RowChoice rows = s.state.rows();
            rows.hidden[static_cast<std::size_t>(group)] = on;
            s.state.setRows(rows);
        };
        const auto bands = s.view.rows().bands().size();
        QVERIFY(bands > 1);
        hide(LaneGroup::Transfers, true);
        QCOMPARE(s.view.rows().bands().size(), std::size_t{1});
        QCOMPARE(s.view.rows().rawCount(1), 2);
        hide(LaneGroup::Kernels, true);
        QCOMPARE(s.view.rows().rawCount(1), 1);
        const auto& lanes = s.state.session()->raw.of(1);
        QVERIFY(!lanes[static_cast<std::size_t>(s.view.rows().rawLane(1, 0))].device);
        const Trace& trace = *s.state.session()->run.trace;
        const ItemRef slice = s.state.session()->sliceItem(1, trace.tracks()[lanes[1].track].first_slice);
        s.state.zoomTo(slice);
        QCOMPARE(s.view.itemAt(s.view.centreOf(slice)).rank, 1);
        QVERIFY(s.view.itemAt(s.view.centreOf(slice)).kind == ItemKind::Slice);
        hide(LaneGroup::Threads, true);
        QCOMPARE(s.view.rows().rawCount(1), 0);
        hide(LaneGroup::Kernels, false);
        QCOMPARE(s.view.rows().rawCount(1), 1);
        QVERIFY(lanes[static_cast<std::size_t>(s.view.rows().rawLane(1, 0))].device);
        hide(LaneGroup::Transfers, false);
        QCOMPARE(s.view.rows().bands().size(), bands);
    }

    void theWheelOverTheNamesChangesTheHeight() {
        RowBench s(sampleSession());
        const int before = s.view.rows().rowHeight();
        const QPointF at(40, 200);
        QWheelEvent down(at, s.view.viewport()->mapToGlobal(at), {}, {0, -120}, Qt::NoButton, Qt::ControlModifier,
                         Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(s.view.viewport(), &down);
        QVERIFY(s.view.rows().rowHeight() < before);
        s.key(Qt::Key_Backspace);
        QCOMPARE(s.view.rows().rowHeight(), before);
    }

    void captionsLieBelowTheLastRow() {
        RowBench s(sampleSession(), 300);
        s.view.setRowHeight(110);
        s.state.showFlow(FlowOverlay::CriticalPath, true);
        QScrollBar* bar = s.view.verticalScrollBar();
        bar->setValue(bar->maximum());
        QVERIFY(s.view.rowRect(3).bottom() < s.view.viewport()->height() - QFontMetrics(s.view.font()).height());
    }

    void captionsCoverNoRow() {
        RowBench s(sampleSession(), 300);
        // For a measured range: below the rows, which make room.
        const TimeRange window = s.state.session()->window(s.state.step());
        s.state.measure({window.begin, window.begin + window.length() / 2});
        QScrollBar* bar = s.view.verticalScrollBar();
        bar->setValue(bar->maximum());
        QVERIFY(s.view.rowRect(3).bottom() < s.view.viewport()->height() - QFontMetrics(s.view.font()).height());
        s.state.measure({});
        // For the selection: in the line of the time labels. Steps and the margin above the ops stay as they are.
        bar->setValue(0);
        const QRect margin(kHeaderWidth + 6, kRulerHeight + 1, 120, 4);
        const QImage before = s.view.viewport()->grab(margin).toImage();
        const QRect steps(kHeaderWidth, 0, s.view.viewport()->width() - kHeaderWidth, kStepBandHeight);
        const QRect ticks = steps.translated(0, kStepBandHeight);
        const QImage steps_before = s.view.viewport()->grab(steps).toImage();
        const QImage ticks_before = s.view.viewport()->grab(ticks).toImage();
        s.state.select({ItemKind::Bubble, s.state.step(), 3, 0});
        QCOMPARE(s.view.viewport()->grab(margin).toImage(), before);
        QCOMPARE(s.view.viewport()->grab(steps).toImage(), steps_before);
        QVERIFY(s.view.viewport()->grab(ticks).toImage() != ticks_before);
    }

    void theWindowFiltersAndGroups() {
        MainWindow window([](const auto&, JobControl&) -> Result<Run> { return replicatedRun(); }, false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("a")});
        QVERIFY(loaded.wait());
        auto* view = window.findChild<TimelineView*>();
        auto* bar = window.findChild<QWidget*>(QStringLiteral("rowsBar"));
        auto* line = window.findChild<QLineEdit*>(QStringLiteral("rowsLine"));
        auto* result = window.findChild<QLabel*>(QStringLiteral("rowsResult"));
        QVERIFY(bar->isVisible()); // with the list of replicas
        QTest::keyClick(view, Qt::Key_R);
        QVERIFY(bar->isVisible());
        QTest::keyClicks(line, QStringLiteral("dp=x"));
        QVERIFY2(result->text().contains(QLatin1String("dp=x")), qPrintable(result->text()));
        QTest::keyClick(line, Qt::Key_Return); // stays to be corrected
        QCOMPARE(view->rows().rowCount(), 8);
        QVERIFY(bar->isVisible());
        line->clear();
        QTest::keyClicks(line, QStringLiteral("dp=1 pp=0-1"));
        QVERIFY2(result->text().startsWith(QLatin1String("2 of 8")), qPrintable(result->text()));
        QTest::keyClick(line, Qt::Key_Return);
        QCOMPARE(linesOf(view->rows().plan()), (Lines{4, 5}));
        QVERIFY(bar->isVisible()); // while ranks are hidden
        QTest::keyClick(view, Qt::Key_U);
        QCOMPARE(view->rows().rowCount(), 8);
        QVERIFY(bar->isVisible() && line->text().isEmpty());

        const auto action = [&](const char* name) { return window.findChild<QAction*>(QString::fromLatin1(name)); };
        QVERIFY(action("group-dp")->isEnabled());
        QVERIFY(!action("group-tp")->isEnabled());
        action("group-dp")->trigger();
        QCOMPARE(view->rows().rowCount(), 10);
        QVERIFY(action("group-dp")->isChecked() && !action("group-none")->isChecked());
        action("order-2")->trigger(); // the largest bubble first
        const auto facts = rowFacts(*window.state().session(), window.state().step());
        const Lines lines = linesOf(view->rows().plan());
        QVERIFY(facts[static_cast<std::size_t>(lines[1])].bubble >= facts[static_cast<std::size_t>(lines[2])].bubble);
        action("lanes-0")->trigger();
        QVERIFY(window.state().rows().hides(LaneGroup::Transfers));
        QVERIFY(!action("lanes-0")->isChecked());
    }

    void theNamesHaveAMenu() {
        RowBench s(sampleSession());
        const QPoint at = s.view.rowRect(2).topLeft() + QPoint(20, 20);
        QContextMenuEvent event(QContextMenuEvent::Mouse, at, s.view.viewport()->mapToGlobal(at));
        QCoreApplication::sendEvent(s.view.viewport(), &event);
        auto* menu = s.view.findChild<QMenu*>(QStringLiteral("rowMenu"));
        QVERIFY(menu != nullptr);
        menu->actions().front()->trigger();
        QCOMPARE(s.lines(), (Lines{2, 0, 1, 3}));
    }
};

BUBBLESCOPE_GUI_TEST(RowsTest, rows_test);
#include "rows_test.moc"
