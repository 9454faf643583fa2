#include "app/gui/models/item_text.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/panels/aadiff_panel.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QComboBox>
#include <QLabel>
#include <QSignalSpy>
#include <QTableWidget>
#include <QTest>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// A check of `rank`'s first forward in its first bubble of step `index`.
CheckRecord replay(const Run& run, int index, int rank, CheckOutcome outcome) {
    const StepTimeline& step = run.steps[static_cast<std::size_t>(index)];
    const auto& ops = step.ranks[static_cast<std::size_t>(rank)];
    std::size_t at = 1;
    while (ops[at].start - ops[at - 1].end < TimeNs(std::chrono::milliseconds(4)))
        ++at;
    CheckRecord check;
    check.outcome = outcome;
    check.step = index;
    check.rank = Rank(rank);
    check.op = ops.front().op;
    check.layer = rank;
    check.tensor = "activation";
    check.first = 7;
    check.second = outcome == CheckOutcome::Mismatch ? 8 : 7;
    check.start = ops[at - 1].end + std::chrono::microseconds(200);
    check.end = check.start + std::chrono::milliseconds(3);
    return check;
}

/// Ranks 0 and 1 checked one forward each, rank 1 found a difference; nothing of ranks 2 and 3 was checked.
SessionPtr checkedSession() {
    Run run = sampleRun();
    run.checks.checks.push_back(replay(run, 1, 0, CheckOutcome::Equal));
    run.checks.checks.push_back(replay(run, 1, 1, CheckOutcome::Mismatch));
    run.checks.checks.back().verdict = Verdict::Transient;
    run.checks.sort();
    return makeSession(std::move(run), JobControl()).value();
}

} // namespace

/// Checks in the bubbles of a run: on the timeline and in their panel.
class ChecksTest : public GuiTest {
    Q_OBJECT

private slots:
    void checksLieInTheirBubbles() {
        ThemeManager themes;
        ViewState state;
        TimelineView view(state, themes);
        view.resize(1000, 480);
        view.show();
        state.setSession(checkedSession());
        const ItemRef check = checkItem(*state.session(), 1);
        QVERIFY(check.kind == ItemKind::Check);
        QCOMPARE(view.itemAt(view.centreOf(check)), check);
        // Above it the bubble can still be hit.
        QPointF above = view.centreOf(check);
        while (view.itemAt(above) == check)
            above.ry() -= 1;
        QVERIFY(view.itemAt(above).kind == ItemKind::Bubble);
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.centreOf(check).toPoint());
        QCOMPARE(state.selection(), check);
        const ItemDescription text = describe(*state.session(), check);
        QVERIFY(text.title.contains(QStringLiteral("mismatch")));
        QVERIFY(!text.note.isEmpty());
    }

    void aMismatchIsMarkedHoweverSmallItIs() {
        ThemeManager themes;
        ViewState state;
        TimelineView view(state, themes);
        view.resize(1000, 480);
        view.show();
        state.setSession(checkedSession());
        state.range().showAll();
        const QImage picture = view.viewport()->grab().toImage();
        int red = 0;
        for (int y = 0; y < picture.height(); ++y) {
            for (int x = 0; x < picture.width(); ++x)
                red += picture.pixelColor(x, y) == themes.theme().bad;
        }
        QVERIFY2(red > 20, qPrintable(QString::number(red)));
    }

    void thePanelShowsWhatTheRunChecked() {
        ThemeManager themes;
        ViewState state;
        AadiffPanel panel(state, themes);
        panel.resize(900, 300);
        panel.show();
        state.setSession(checkedSession());
        const auto& results = *panel.findChild<CheckResults*>();
        QVERIFY(results.any() && results.isVisible());
        const auto& headline = child<QLabel>(panel, "aadiffHeadline");
        QVERIFY2(headline.text().contains(QStringLiteral("2 checks, 1 with a difference")),
                 qPrintable(headline.text()));
        QVERIFY(headline.text().contains(QStringLiteral("are unknown")));
        // At most one kind of op of each rank was planned; ranks 2 and 3 are unknown.
        const CoverageMap& map = results.map();
        QCOMPARE(map.rows.size(), 4U);
        QCOMPARE(map.cell(0, 0).covered, 1);
        QCOMPARE(map.cell(1, 0).counts.mismatched, 1);
        QCOMPARE(map.cell(2, 0).covered, 0);
        QVERIFY(map.cell(2, 0).never > 0);
        auto& table = child<QTableWidget>(panel, "checkMismatches");
        QCOMPARE(table.rowCount(), 1);
        emit table.cellClicked(0, 0);
        QCOMPARE(state.selection(), checkItem(*state.session(), 1));
        state.select({});
        auto& cells = child<HeatMap>(panel, "checkCoverage");
        QTest::mouseClick(&cells, Qt::LeftButton, {}, cells.cellRect(0, 0).center().toPoint());
        QCOMPARE(state.selection(), checkItem(*state.session(), 0));
    }

    void aRunWithoutChecksSaysSo() {
        ThemeManager themes;
        ViewState state;
        AadiffPanel panel(state, themes);
        panel.resize(900, 300);
        panel.show();
        QSignalSpy planned(&panel, &AadiffPanel::planned);
        state.setSession(sampleSession());
        QVERIFY(planned.wait());
        QVERIFY(!child<QComboBox>(panel, "aadiffView").isVisible());
        QVERIFY(
            child<QLabel>(panel, "aadiffHeadline").text().startsWith(QStringLiteral("No op of this run was checked")));
        // A run with checks can still show its plan.
        state.setSession(checkedSession());
        child<QComboBox>(panel, "aadiffView").setCurrentIndex(1);
        QVERIFY(planned.wait());
        QVERIFY(panel.plan().has_value());
    }
};

BUBBLESCOPE_GUI_TEST(ChecksTest, checks_test);
#include "checks_test.moc"
