// The answer at the top of every tab.

#include "app/gui/main_window.h"
#include "app/gui/panels/anomaly_panel.h"
#include "app/gui/panels/answer_bar.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QDockWidget>
#include <QLabel>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// Steps follow each other at once.
SampleSpec withoutGaps() {
    SampleSpec spec;
    spec.gap = TimeNs{0};
    return spec;
}

/// Stage 2 takes three times as long as the others.
Run runWithSlowStage() {
    Run run = sampleRun(withoutGaps());
    for (StepTimeline& step : run.steps) {
        for (TimelineOp& op : step.ranks[2])
            op.end = op.start + 3 * op.duration();
    }
    return run;
}

/// A window with a run; `make` returns another copy of it for each load.
struct AnswerWindow {
    MainWindow window;

    explicit AnswerWindow(Run (*make)())
        : window([make](const auto&, JobControl&) -> Result<Run> { return make(); }, false) {
        window.resize(1400, 900);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("run")});
        if (!loaded.wait()) qFatal("the run did not load");
    }
    /// The help of the run, not of the plain page.
    [[nodiscard]] AnswerBar& bar() const {
        for (AnswerBar* const each : window.findChildren<AnswerBar*>()) {
            if (each->isVisible()) return *each;
        }
        qFatal("no answer is shown");
    }
    [[nodiscard]] QDockWidget& dock(const char* name) const { return child<QDockWidget>(window, name); }
};

} // namespace

class AnswerBarTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() { settings_.use(); }

    void saysWhatCostsMostAndWhatIsWon() {
        AnswerWindow shown(runWithSlowStage);
        const QStringList lines = shown.bar().lines();
        QCOMPARE(lines.size(), 2);
        QVERIFY2(lines.front().contains(QLatin1String("Rank 2")), qPrintable(lines.front()));
        // What to do is not the end of a long line, which would be cut off.
        QVERIFY2(lines.back().startsWith(QLatin1String("Action: ")), qPrintable(lines.back()));
        const Statement& first = shown.window.state().session()->answer.first();
        QVERIFY(first.gain.has_value());
        bool is_shown = false;
        for (const QLabel* const label : shown.bar().findChildren<QLabel*>())
            is_shown = is_shown || label->text().startsWith(QLatin1String("saves "));
        QVERIFY(is_shown);
    }

    void aLineLeadsToItsFinding() {
        AnswerWindow shown(runWithSlowStage);
        shown.dock("bubblesDock").raise();
        QTest::mouseClick(&child<QLabel>(shown.bar(), "answer1"), Qt::LeftButton);
        QVERIFY(!shown.dock("anomaliesDock").visibleRegion().isEmpty());
        const auto* const panel = shown.window.findChild<AnomalyPanel*>();
        QVERIFY(panel != nullptr);
        QCOMPARE(child<QTableView>(*panel, "anomalyTable").currentIndex().row(), 0);
    }

    void doubtsComeFirstAndLeadToTheProblems() {
        AnswerWindow shown([] {
            Run run = runWithSlowStage();
            run.problems.push_back({"truncated", 1, say("rank0"), say("cut off")});
            return run;
        });
        const QStringList lines = shown.bar().lines();
        QCOMPARE(lines.size(), 3);
        QVERIFY2(lines.front().startsWith(QLatin1String("Data: ")), qPrintable(lines.front()));
        QTest::keyClick(&child<QLabel>(shown.bar(), "answer0"), Qt::Key_Return);
        QVERIFY(shown.dock("problemsDock").isVisible());
    }

    void aRunWithoutFaultsIsFine() {
        AnswerWindow shown([] { return sampleRun(withoutGaps()); });
        const QStringList lines = shown.bar().lines();
        QCOMPARE(lines.size(), 1);
        QVERIFY2(lines.front().contains(QLatin1String("Nothing needs fixing")), qPrintable(lines.front()));
    }

private:
    OwnSettings settings_;
};

BUBBLESCOPE_GUI_TEST(AnswerBarTest, answer_bar_test);
#include "answer_bar_test.moc"
