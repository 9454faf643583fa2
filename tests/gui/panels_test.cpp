#include "app/gui/charts/bar_chart.h"
#include "app/gui/charts/step_chart.h"
#include "app/gui/models/anomaly_model.h"
#include "app/gui/panels/accounting_panel.h"
#include "app/gui/panels/anomaly_panel.h"
#include "app/gui/panels/steps_panel.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/held_workers.h"
#include "tests/gui/sample_run.h"
#include "tests/support/jittered_run.h"

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// Rank 2 of four is slow, and from step 12 on all ops take a quarter longer.
SessionPtr troubledSession() {
    test::JitteredRun wanted;
    wanted.spec = {"1f1b", "", 4, 8, 1};
    wanted.steps = 24;
    wanted.op_factor = [](int step, Rank rank, const Op&) {
        return (rank.value == 2 ? 1.5 : 1.0) * (step < 12 ? 1.0 : 1.25);
    };
    return makeSession(test::makeJitteredRun(wanted, 3), JobControl()).value();
}

const Anomaly* find(const Session& session, AnomalyKind kind) {
    for (const Anomaly& anomaly : session.report.anomalies) {
        if (anomaly.kind == kind) return &anomaly;
    }
    return nullptr;
}

int rowOf(const Session& session, AnomalyKind kind) {
    return static_cast<int>(find(session, kind) - session.report.anomalies.data());
}

struct PanelsSetup {
    ThemeManager themes;
    ViewState state;
};

} // namespace

class PanelsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        session_ = troubledSession();
        QVERIFY(find(*session_, AnomalyKind::StepTimeChange) != nullptr);
        QVERIFY(find(*session_, AnomalyKind::SlowStage) != nullptr ||
                find(*session_, AnomalyKind::Straggler) != nullptr);
    }

    void anomalyModelHoldsTheReport() {
        AnomalyModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.show(session_);
        QCOMPARE(model.rowCount(), static_cast<int>(session_->report.anomalies.size()));
        const QModelIndex message = model.index(0, AnomalyModel::Message);
        QVERIFY(message.data().toString().front().isUpper());
        model.show(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }

    void evidenceReadsAsTimesAndNumbers() {
        QCOMPARE(evidenceText({"before_ns", 1'500'000.0}).value, QStringLiteral("1.50 ms"));
        QCOMPARE(evidenceText({"before_ns", 1'500'000.0}).name, QStringLiteral("before"));
        QCOMPARE(evidenceText({"steps_seen", 12.0}).value, QStringLiteral("12"));
        QCOMPARE(evidenceText({"ratio", 1.25}).value, QStringLiteral("1.25"));
    }

    void anomalyPanelTellsTheChosenOneAndGoesThere() {
        PanelsSetup stage;
        AnomalyPanel panel(stage.state, stage.themes);
        panel.resize(900, 250);
        panel.show();
        stage.state.setSession(session_);
        const auto label = [&](const char* name) { return panel.findChild<QLabel*>(QLatin1String(name)); };
        QCOMPARE(panel.table().currentIndex().row(), 0); // the worst is selected
        QVERIFY(!label("anomalyMessage")->text().isEmpty());

        const int row = rowOf(*session_, AnomalyKind::StepTimeChange);
        panel.table().setCurrentIndex(panel.table().model()->index(row, 0));
        QVERIFY(label("anomalyEvidence")->text().contains(QStringLiteral("ratio")));
        QVERIFY(label("anomalySuggestion")->text().contains(QStringLiteral("rank, link or op")));
        QTest::mouseClick(panel.findChild<QPushButton*>(QStringLiteral("anomalyGo")), Qt::LeftButton);
        QCOMPARE(session_->step(stage.state.step()).index, 12);
    }

    void sortingKeepsTheRightOneChosen() {
        PanelsSetup stage;
        AnomalyPanel panel(stage.state, stage.themes);
        stage.state.setSession(session_);
        panel.table().sortByColumn(AnomalyModel::SeverityColumn, Qt::AscendingOrder);
        const QModelIndex first = panel.table().model()->index(0, 0);
        panel.table().setCurrentIndex(first);
        const QString shown = panel.findChild<QLabel*>(QStringLiteral("anomalyMessage"))->text();
        QCOMPARE(shown, first.siblingAtColumn(AnomalyModel::Message).data().toString());
    }

    void aRunWithoutAnomaliesSaysSo() {
        PanelsSetup stage;
        AnomalyPanel panel(stage.state, stage.themes);
        panel.show();
        SampleSpec spec;
        spec.gap = TimeNs{0}; // time between steps would be one
        stage.state.setSession(sampleSession(spec));
        QVERIFY(stage.state.session()->report.anomalies.empty());
        QVERIFY(!panel.findChild<QPushButton*>(QStringLiteral("anomalyGo"))->isVisible());
        QVERIFY(panel.findChild<QLabel*>(QStringLiteral("anomalyMessage"))
                    ->text()
                    .startsWith(QStringLiteral("No anomaly")));
    }

    void targetsAreOpsLinksAndSteps() {
        Anomaly op;
        op.rank = Rank(1);
        op.op = Op{OpKind::Forward, Microbatch(3), Chunk(0)};
        op.step = 5;
        const AnomalyTarget at_op = targetOf(*session_, op, 0);
        QCOMPARE(at_op.step, 5);
        QCOMPARE(session_->op(at_op.item).op.microbatch.value, 3);
        Anomaly link;
        link.rank = Rank(0);
        link.peer = Rank(1);
        const AnomalyTarget at_link = targetOf(*session_, link, 7);
        QCOMPARE(at_link.step, 7);
        QVERIFY(at_link.item.kind == ItemKind::Comm);
        QCOMPARE(session_->comm(at_link.item).peer.value, 1);
        Anomaly stage;
        stage.rank = Rank(2);
        stage.chunk = Chunk(0);
        QCOMPARE(targetOf(*session_, stage, 3).highlights.size(), 16U); // 8 forwards, 8 backwards
        Anomaly foreign;
        foreign.rank = Rank(99);
        QVERIFY(!targetOf(*session_, foreign, 0).item);
    }

    void stepsPanelShowsChangesAndSteps() {
        PanelsSetup stage;
        StepsPanel panel(stage.state, stage.themes);
        panel.resize(700, 220);
        panel.show();
        stage.state.setSession(session_);
        QCOMPARE(panel.marks().size(), 1U);
        QCOMPARE(panel.marks()[0].step, 12);
        QVERIFY(panel.marks()[0].bad);
        QTest::mouseClick(&panel, Qt::LeftButton, {}, panel.pointOf(17, 0).toPoint());
        QCOMPARE(stage.state.step(), 17);
        QTest::mousePress(&panel, Qt::LeftButton, {}, panel.pointOf(4, 0).toPoint());
        QTest::mouseMove(&panel, panel.pointOf(6, 0).toPoint());
        QTest::mouseRelease(&panel, Qt::LeftButton, {}, panel.pointOf(6, 0).toPoint());
        const TimeRange shown = stage.state.range().range();
        QVERIFY(shown.begin <= session_->window(4).begin && shown.end >= session_->window(6).end);
        QVERIFY(shown.begin > session_->window(3).begin && shown.end < session_->window(7).end);
    }

    void stepsPanelMarksStepsSetAside() {
        test::JitteredRun wanted;
        wanted.spec = {"1f1b", "", 4, 8, 1};
        wanted.steps = 16;
        wanted.op_factor = [](int step, Rank, const Op&) { return step == 0 ? 3.0 : step == 9 ? 2.0 : 1.0; };
        PanelsSetup stage;
        StepsPanel panel(stage.state, stage.themes);
        stage.state.setSession(makeSession(test::makeJitteredRun(wanted, 3), JobControl()).value());
        panel.show();
        QCOMPARE(panel.aside().size(), 2U);
        QVERIFY(panel.aside().at(0).contains(QStringLiteral("warm-up")));
        QVERIFY(panel.aside().at(9).contains(QStringLiteral("outlier")));
    }

    void accountingSumsToTheWall() {
        PanelsSetup stage;
        AccountingPanel panel(stage.state, stage.themes);
        stage.state.setSession(session_);
        QCOMPARE(panel.chart().bars().size(), 4U);
        for (const Bar& bar : panel.chart().bars())
            QCOMPARE(bar.above() + bar.below(), session_->analysis(stage.state.step()).wall);
        auto* view = panel.findChild<QComboBox*>(QStringLiteral("accountingView"));
        view->setCurrentIndex(1);
        QCOMPARE(panel.chart().bars().size(), 24U);
        QCOMPARE(panel.chart().bars()[3].above() + panel.chart().bars()[3].below(), 4 * session_->analysis(3).wall);
        view->setCurrentIndex(2 + 1); // rank 1
        QCOMPARE(panel.chart().bars()[3].above() + panel.chart().bars()[3].below(), session_->analysis(3).wall);
    }

    void aPieceIsMarkedOnTheTimeline() {
        PanelsSetup stage;
        AccountingPanel panel(stage.state, stage.themes);
        TimelineView timeline(stage.state, stage.themes);
        timeline.resize(900, 400);
        timeline.show();
        panel.resize(800, 220);
        panel.show();
        stage.state.setSession(session_);
        const QImage before = timeline.viewport()->grab().toImage();
        QTest::mouseClick(panel.chart().viewport(), Qt::LeftButton, {},
                          panel.chart().partRect(1, 0).center().toPoint());
        QTRY_COMPARE(stage.state.highlights().size(), 8U); // the forwards of rank 1
        for (const Highlight& highlight : stage.state.highlights())
            QCOMPARE(highlight.rank, 1);
        QVERIFY(timeline.viewport()->grab().toImage() != before);
        timeline.run(Command::Clear);
        QVERIFY(stage.state.highlights().empty());
        QCOMPARE(timeline.viewport()->grab().toImage(), before);
    }

    void aPieceOfAStepGoesToThatStep() {
        PanelsSetup stage;
        AccountingPanel panel(stage.state, stage.themes);
        panel.resize(800, 700);
        panel.show();
        stage.state.setSession(session_);
        panel.findChild<QComboBox*>(QStringLiteral("accountingView"))->setCurrentIndex(2 + 2);
        QTest::mouseClick(panel.chart().viewport(), Qt::LeftButton, {},
                          panel.chart().partRect(15, 1).center().toPoint());
        QCOMPARE(stage.state.step(), 15);
        QTRY_COMPARE(stage.state.highlights().size(), 8U); // once the step is diagnosed
        QVERIFY(session_->window(15).contains(stage.state.highlights().front().range.begin));
        stage.state.setSession(nullptr);
        QVERIFY(panel.chart().bars().empty());
        QVERIFY(stage.state.highlights().empty());
    }

    /// The diagnosis that a piece waits for is made in the background. The user may continue before that; the answer is
    /// about the selection at that time.
    void aPieceThatWasLeftIsNotMarked() {
        PanelsSetup stage;
        AccountingPanel panel(stage.state, stage.themes);
        panel.resize(800, 700);
        panel.show();
        const SessionPtr session = troubledSession(); // about which no question was asked yet
        stage.state.setSession(session);
        panel.findChild<QComboBox*>(QStringLiteral("accountingView"))->setCurrentIndex(2 + 2);
        std::vector<int> others;
        for (int step = 0; step < session->stepCount(); ++step) {
            if (session->lacksDiagnosis(step)) others.push_back(step);
        }
        QSignalSpy made(&stage.state, &ViewState::diagnosisMade);
        const auto waits = [&] {
            const auto* note = panel.findChild<QLabel*>(QStringLiteral("accountingNote"));
            return note->text().contains(QStringLiteral("Locating"));
        };
        const auto click = [&](int step) {
            QTest::mouseClick(panel.chart().viewport(), Qt::LeftButton, {},
                              panel.chart().partRect(step, 1).center().toPoint());
            QCOMPARE(stage.state.step(), step);
            QVERIFY(stage.state.highlights().empty());
            QVERIFY(waits());
            QVERIFY(panel.chart().hasMarked());
        };
        {
            const HeldWorkers held;
            click(others[0]);
            stage.state.select({ItemKind::Op, others[0], 1, 2});
            QVERIFY(!waits());
            QVERIFY(!panel.chart().hasMarked());
        }
        QTRY_COMPARE(made.count(), 1);
        QVERIFY(stage.state.highlights().empty());
        QVERIFY(!panel.chart().hasMarked());
        {
            const HeldWorkers held;
            click(others[1]);
        }
        QTRY_COMPARE(made.count(), 2);
        QCOMPARE(stage.state.highlights().size(), 8U);
        QVERIFY(!waits());
        QVERIFY(panel.chart().hasMarked());
        QVERIFY(session->window(others[1]).contains(stage.state.highlights().front().range.begin));
    }

private:
    SessionPtr session_;
};

BUBBLESCOPE_GUI_TEST(PanelsTest, panels_test);
#include "panels_test.moc"
