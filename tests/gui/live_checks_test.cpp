#include "app/gui/main_window.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/panels/aadiff_panel.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/live_run.h"

#include <QLabel>
#include <QTableWidget>
#include <QTest>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

Result<Run> openedRun(const std::vector<std::filesystem::path>& paths, JobControl& control) {
    return loadRun(paths, control);
}

SessionPtr openedSession(const LiveRun& run) {
    JobControl control;
    Result<SessionPtr> session = loadSession(openedRun, {run.dir()}, control);
    if (!session.ok()) qFatal("%s", session.error().text().c_str());
    return session.value();
}

int newestOf(MainWindow& window) {
    const SessionPtr& session = window.state().session();
    return session ? session->step(session->stepCount() - 1).index : -1;
}

struct ShownCheck {
    int line = 0;
    int step = 0;
    TimeNs start{0}; ///< within its step: a trace that was opened counts times from its own beginning
    TimeNs length{0};
    bool mismatch = false;

    friend bool operator==(const ShownCheck&, const ShownCheck&) = default;
};

/// The content of the check lanes.
std::vector<ShownCheck> shownChecks(const Session& session) {
    std::vector<ShownCheck> shown;
    for (int line = 0; line < LiveRun::kRanks; ++line) {
        for (const Span& span : session.lanes.lane(static_cast<std::size_t>(line), gui::LaneKind::Check).spans()) {
            const CheckRecord& check = session.run.checks.checks[static_cast<std::size_t>(span.index)];
            shown.push_back({line, session.step(span.step).index, span.start - session.window(span.step).begin,
                             span.end - span.start, check.outcome == CheckOutcome::Mismatch});
        }
    }
    return shown;
}

} // namespace

/// Checks in the bubbles of a watched run.
class LiveChecksTest : public GuiTest {
    Q_OBJECT

private slots:
    void areShownAsThoseOfAnOpenedTrace() {
        LiveRun run;
        MainWindow window(openedRun, false);
        window.show();
        window.live().start(run.target(), run.clock());
        for (int step = 0; step < 4; ++step) {
            run.writeCheck(1, step, CheckOutcome::Equal);
            run.writeCheck(2, step, step == 2 ? CheckOutcome::Mismatch : CheckOutcome::Equal);
            run.writeStep();
        }
        QTRY_COMPARE(newestOf(window), 3);
        const SessionPtr live = window.state().session();
        const SessionPtr opened = openedSession(run);
        QCOMPARE(shownChecks(*live).size(), 8U);
        QVERIFY(shownChecks(*live) == shownChecks(*opened));
        QCOMPARE(live->stepCount(), opened->stepCount());
        for (int step = 0; step < live->stepCount(); ++step) {
            for (std::size_t rank = 0; rank < 4; ++rank)
                QCOMPARE(live->analysis(step).ranks[rank].replay, opened->analysis(step).ranks[rank].replay);
        }
        QVERIFY(live->analysis(3).ranks[1].replay > TimeNs{0});
        QVERIFY(live->report.coverage && opened->report.coverage);
        QCOMPARE(live->report.coverage->all().equal, opened->report.coverage->all().equal);
        QCOMPARE(live->report.coverage->units.size(), opened->report.coverage->units.size());
        const auto told = [](const Session& session) {
            for (const Anomaly& anomaly : session.report.anomalies) {
                if (anomaly.kind == AnomalyKind::AadiffMismatch) return anomaly.message.text();
            }
            return std::string();
        };
        QVERIFY(!told(*live).empty());
        QCOMPARE(told(*live), told(*opened));

        // On the timeline, with the mouse.
        auto& timeline = *window.findChild<TimelineView*>();
        window.state().range().showAll();
        const std::size_t mismatch = static_cast<std::size_t>(
            std::ranges::find(live->run.checks.checks, CheckOutcome::Mismatch, &CheckRecord::outcome) -
            live->run.checks.checks.begin());
        const ItemRef item = checkItem(*live, mismatch);
        QVERIFY(item);
        window.state().zoomTo(item);
        QCOMPARE(timeline.itemAt(timeline.centreOf(item)), item);

        // And in the panel.
        QVERIFY(window.showPanel(QStringLiteral("aadiff")));
        auto& table = *window.findChild<QTableWidget*>(QStringLiteral("checkMismatches"));
        QCOMPARE(table.rowCount(), 1);
        const QString headline = window.findChild<QLabel*>(QStringLiteral("aadiffHeadline"))->text();
        QVERIFY2(headline.contains(QStringLiteral("8 checks, 1 with a difference")), qPrintable(headline));
    }

    void comeWhenTheirStepIsInView() {
        LiveRun run;
        MainWindow window(openedRun, false);
        window.show();
        window.live().start(run.target(), run.clock());
        run.writeSteps(4);
        QTRY_COMPARE(newestOf(window), 3);
        QVERIFY(!window.state().session()->report.coverage);
        QVERIFY(shownChecks(*window.state().session()).empty());
        run.writeCheck(3, 2, CheckOutcome::Mismatch); // its verdict came a step later
        QTRY_COMPARE(shownChecks(*window.state().session()).size(), 1U);
        const SessionPtr session = window.state().session();
        QCOMPARE(newestOf(window), 3);
        QVERIFY(shownChecks(*session) == shownChecks(*openedSession(run)));
        QVERIFY(session->analysis(2).ranks[3].replay > TimeNs{0});
        QCOMPARE(session->run.checks.checks.front().verdict, Verdict::Device);
    }

    void goWithTheirSteps() {
        LiveRun run;
        MainWindow window(openedRun, false);
        window.show();
        window.live().start(run.target(), run.clock());
        for (int step = 0; step < 60; ++step) {
            run.writeCheck(1, step, CheckOutcome::Equal);
            run.writeStep();
        }
        QTRY_COMPARE(newestOf(window), 59);
        const Session& session = *window.state().session();
        QCOMPARE(shownChecks(session).size(), static_cast<std::size_t>(session.stepCount()));
        QCOMPARE(session.run.checks.checks.size(), static_cast<std::size_t>(session.stepCount()));
        QCOMPARE(window.live().snapshot()->checks.equal, std::int64_t{60});
    }
};

BUBBLESCOPE_GUI_TEST(LiveChecksTest, live_checks_test);
#include "live_checks_test.moc"
