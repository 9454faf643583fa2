#include "app/gui/live/live_bar.h"
#include "app/gui/live/live_models.h"
#include "app/gui/live/live_panel.h"
#include "app/gui/main_window.h"
#include "app/gui/panels/bars.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/live_run.h"
#include "tests/gui/sample_run.h"

#include <QAbstractItemModelTester>
#include <QAction>
#include <QDockWidget>
#include <QLabel>
#include <QProcess>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTabBar>
#include <QTableView>
#include <QTest>
#include <QToolButton>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// A window that watches a run.
struct Watched {
    LiveRun run;
    MainWindow window{loadSample, false};

    explicit Watched(test::JitteredRun wanted = {}, std::optional<ProcessInfo> host = {})
        : run(std::move(wanted), std::move(host)) {
        window.show();
        window.live().start(run.target(), run.clock());
    }
    template <class T>
    T& child(const char* name) {
        T* found = window.findChild<T*>(QString::fromLatin1(name));
        if (found == nullptr) qFatal("there is no %s", name);
        return *found;
    }
    [[nodiscard]] int stepsSeen() {
        const LiveSnapshotPtr& snapshot = window.live().snapshot();
        return snapshot ? static_cast<int>(snapshot->steps.size()) : 0;
    }
    /// The number of the newest visible step; −1 without one.
    [[nodiscard]] int newest() {
        const SessionPtr& session = window.state().session();
        return session ? session->step(session->stepCount() - 1).index : -1;
    }
    /// Whether the newest visible step ends at the right edge.
    [[nodiscard]] bool atTheRight() {
        const SessionPtr& session = window.state().session();
        const TimeRange& range = window.state().range().range();
        const TimeNs end = session->window(session->stepCount() - 1).end;
        return range.end > end && range.end - end < range.length() / 10;
    }
};

/// A rank becomes slow at a step.
test::JitteredRun slowRank(int rank, int from) {
    test::JitteredRun wanted;
    wanted.op_factor = [rank, from](int step, Rank at, const Op&) {
        return at.value == rank && step >= from ? 1.5 : 1.0;
    };
    return wanted;
}

LiveSnapshotPtr alertsOf(int first, int count) {
    auto snapshot = std::make_shared<LiveSnapshot>();
    for (int i = first; i < first + count; ++i) {
        LiveAlert alert;
        alert.kind = LiveAlert::Kind::Mismatch;
        alert.number = i;
        alert.step = i;
        alert.text = "check " + std::to_string(i);
        alert.rank.rank = Rank{i};
        snapshot->alerts.push_back(std::move(alert));
    }
    return snapshot;
}

} // namespace

class LiveTest : public GuiTest {
    Q_OBJECT

private slots:
    void followsARun() {
        Watched watched;
        QSignalSpy loaded(&watched.window, &MainWindow::loaded);
        QCOMPARE(watched.child<QLabel>("liveStatus").text(), QStringLiteral("Waiting"));
        QVERIFY(watched.child<QLabel>("liveWaiting").isVisible());
        for (int steps = 3; steps <= 6; ++steps) {
            while (watched.run.written() < steps)
                watched.run.writeStep();
            QTRY_COMPARE(watched.newest(), steps - 1);
            QVERIFY(watched.atTheRight());
            QCOMPARE(watched.stepsSeen(), steps);
            QCOMPARE(watched.window.state().step(), watched.window.state().session()->stepCount() - 1);
        }
        QCOMPARE(loaded.count(), 1);
        QVERIFY(watched.window.findChild<QWidget*>(QStringLiteral("timeline"))->isVisible());
        QVERIFY(watched.child<QDockWidget>("liveDock").isVisible());
        const SessionPtr& session = watched.window.state().session();
        QCOMPARE(session->analysis(5).wall, watched.window.live().snapshot()->steps.back().wall);
        QCOMPARE(session->report.accounts.size(), session->run.steps.size());
        QVERIFY(watched.child<LiveBar>("liveBar").text().contains(QStringLiteral("Recording")));
        QVERIFY(watched.child<LiveBar>("liveBar").text().contains(QStringLiteral("none lost")));

        watched.run.end();
        QTRY_COMPARE(watched.child<QLabel>("liveStatus").text(), QStringLiteral("Run ended"));
    }

    void keepsABoundedPastInView() {
        Watched watched;
        watched.run.writeSteps(60);
        QTRY_COMPARE(watched.newest(), 59);
        const Session& session = *watched.window.state().session();
        QVERIFY(session.stepCount() >= 20 && session.stepCount() < 40);
        QVERIFY(session.step(0).index > 8); // the first ones remain as the baseline
        QCOMPARE(watched.stepsSeen(), 60);
    }

    void scrollingFreezesAndAButtonFollowsAgain() {
        Watched watched;
        watched.run.writeSteps(5);
        QTRY_COMPARE(watched.newest(), 4);
        LiveController& live = watched.window.live();
        auto& follow = watched.child<QToolButton>("liveFollow");
        QVERIFY(follow.isChecked());

        // Zooming in at the newest end keeps it visible.
        watched.window.state().range().zoomAt(1.0, 0.5);
        QVERIFY(live.following());
        const TimeNs length = watched.window.state().range().range().length();
        watched.run.writeStep();
        QTRY_COMPARE(watched.newest(), 5);
        QVERIFY(watched.atTheRight());
        QCOMPARE(watched.window.state().range().range().length(), length);

        watched.window.state().range().panBy(-0.8);
        QVERIFY(!live.following());
        QVERIFY(!follow.isChecked());
        const TimeRange frozen = watched.window.state().range().range();
        const SessionPtr session = watched.window.state().session();
        watched.run.writeSteps(2);
        QTRY_COMPARE(watched.stepsSeen(), 8);
        QVERIFY(watched.window.state().session() == session);
        QVERIFY(watched.window.state().range().range() == frozen);
        QCOMPARE(follow.text(), QStringLiteral("Follow (2 new steps)"));

        follow.click();
        QVERIFY(live.following());
        QTRY_COMPARE(watched.newest(), 7);
        QVERIFY(watched.atTheRight());
        QVERIFY(watched.child<QAction>("follow").isChecked());
        watched.child<QAction>("follow").trigger();
        QVERIFY(!live.following());
    }

    void selectingFreezes() {
        Watched watched;
        watched.run.writeSteps(3);
        QTRY_COMPARE(watched.newest(), 2);
        const ItemRef op{ItemKind::Op, 1, 2, 3};
        watched.window.state().select(op);
        QVERIFY(!watched.window.live().following());
        // The selection is kept when steps get other indices.
        const TimeNs start = watched.window.state().session()->op(op).start;
        watched.run.writeSteps(40);
        QTRY_COMPARE(watched.stepsSeen(), 43);
        watched.window.live().setFollowing(true);
        QTRY_COMPARE(watched.newest(), 42);
        QVERIFY(!watched.window.state().selection()); // that step was dropped
        QVERIFY(watched.window.state().session()->step(0).begin > start);

        const int last = watched.window.state().session()->stepCount() - 1;
        watched.window.state().select({ItemKind::Op, last, 2, 3});
        const TimelineOp before = watched.window.state().session()->op(watched.window.state().selection());
        watched.run.writeSteps(2);
        QTRY_COMPARE(watched.stepsSeen(), 45);
        watched.window.live().setFollowing(true);
        QTRY_COMPARE(watched.newest(), 44);
        const ItemRef selected = watched.window.state().selection();
        QVERIFY(selected);
        QCOMPARE(watched.window.state().session()->op(selected).start, before.start);
    }

    void workingInAPanelFreezes() {
        Watched watched;
        watched.run.writeSteps(3);
        QTRY_COMPARE(watched.newest(), 2);
        QWidget& live = *watched.child<QDockWidget>("liveDock").widget();
        QTest::mouseClick(&live, Qt::LeftButton, {}, QPoint(2, 2));
        QVERIFY(watched.window.live().following());
        QVERIFY(watched.window.showPanel(QStringLiteral("whatif")));
        QWidget& panel = *watched.child<QDockWidget>("whatifDock").widget();
        QTest::keyClick(&panel, Qt::Key_Control);
        QVERIFY(watched.window.live().following());
        QTest::mouseClick(&panel, Qt::LeftButton, {}, QPoint(2, 2));
        QVERIFY(!watched.window.live().following());
    }

    void alertsComeAndLeadToTheStep() {
        Watched watched(slowRank(2, 10));
        watched.run.writeSteps(10);
        QTRY_COMPARE(watched.stepsSeen(), 10);
        auto& table = watched.child<QTableView>("liveAlerts");
        const auto stragglers = [&] {
            const auto& alerts = watched.window.live().snapshot()->alerts;
            return std::ranges::count_if(alerts, [](const LiveAlert& alert) {
                return alert.anomaly && alert.anomaly->kind == AnomalyKind::Straggler && alert.anomaly->rank == Rank{2};
            });
        };
        QCOMPARE(stragglers(), 0);
        watched.run.writeSteps(3);
        QTRY_COMPARE(watched.newest(), 12);
        QCOMPARE(stragglers(), 1); // within three steps
        QVERIFY(table.model()->rowCount() > 0);
        QVERIFY(watched.child<LiveBar>("liveBar").text().contains(QStringLiteral("ank 2")));
        auto& strip = *watched.window.findChild<LiveStepChart*>();
        QVERIFY(!strip.marks().empty());
        QVERIFY(strip.marks().front().step >= 10);

        // Whatever else is reported about the slow rank adds to its row, and to its mark.
        watched.run.writeSteps(20);
        QTRY_COMPARE(watched.newest(), 32);
        const auto& model = static_cast<const LiveCauseModel&>(*table.model());
        const auto& alerts = watched.window.live().snapshot()->alerts;
        QStringList rows;
        for (int row = 0; row < model.rowCount(); ++row)
            rows << model.index(row, LiveCauseModel::TextColumn).data().toString();
        QVERIFY2(rows.size() == 1, qPrintable(rows.join(QLatin1Char('|'))));
        QCOMPARE(model.index(0, LiveCauseModel::CountColumn).data().toInt(), static_cast<int>(alerts.size()));
        QVERIFY(alerts.size() > 1);
        QCOMPARE(model.index(0, LiveCauseModel::StepsColumn).data().toString(), QStringLiteral("since 10"));
        QCOMPARE(strip.marks().size(), 1U);
        for (int row = 0; row < model.rowCount(); ++row) {
            if (!model.at(row).main().anomaly || model.at(row).main().anomaly->rank != Rank{2}) continue;
            table.setFocus();
            table.setCurrentIndex(model.index(row, 0));
            QTest::keyClick(&table, Qt::Key_Return);
            QVERIFY(watched.window.state().selection());
            QCOMPARE(watched.window.state().selection().rank, 2);
            QVERIFY(!watched.window.live().following());
            return;
        }
        QFAIL("no alert of rank 2");
    }

    void alertsAreGroupedByCause() {
        LiveSnapshot snapshot;
        const auto add = [&snapshot](LiveAlert::Kind kind, int step) -> LiveAlert& {
            LiveAlert& alert = snapshot.alerts.emplace_back();
            alert.kind = kind;
            alert.number = std::ssize(snapshot.alerts);
            alert.step = step;
            return alert;
        };
        const auto addAnomaly = [&add](AnomalyKind kind, int step, int cost_ms) -> LiveAlert& {
            LiveAlert& alert = add(LiveAlert::Kind::Anomaly, step);
            alert.anomaly.emplace().kind = kind;
            alert.anomaly->severity = Severity::Warning;
            alert.anomaly->cost = std::chrono::milliseconds(cost_ms);
            return alert;
        };
        const auto addChange = [&addAnomaly](int step, double after_ns) {
            LiveAlert& alert = addAnomaly(AnomalyKind::StepTimeChange, step + 1, 0);
            alert.anomaly->step = step;
            alert.anomaly->severity = Severity::Serious;
            alert.anomaly->evidence = {{"before_ns", 100e6}, {"after_ns", after_ns}};
        };
        snapshot.alerts.reserve(16);
        add(LiveAlert::Kind::RankLate, 3).rank.rank = Rank{3};
        snapshot.alerts.back().resolved_at = 4;
        addAnomaly(AnomalyKind::BubbleAboveForm, 9, 2);
        LiveAlert& op = addAnomaly(AnomalyKind::SlowOp, 12, 3);
        op.anomaly->rank = Rank{2};
        op.resolved_at = 20;
        LiveAlert& straggler = addAnomaly(AnomalyKind::Straggler, 13, 10);
        straggler.anomaly->rank = Rank{2};
        straggler.anomaly->seen.first = 10;
        straggler.anomaly->seen.steps = 3;
        addChange(11, 112e6);
        addChange(30, 150e6); // more, and elsewhere
        LiveAlert& link = addAnomaly(AnomalyKind::SlowLink, 31, 5);
        link.anomaly->rank = Rank{2};
        link.anomaly->peer = Rank{3};
        add(LiveAlert::Kind::Mismatch, 40).rank.rank = Rank{1};
        add(LiveAlert::Kind::Mismatch, 41).rank.rank = Rank{1};
        LiveAlert& wrong = addAnomaly(AnomalyKind::AadiffMismatch, 42, 0);
        wrong.anomaly->rank = Rank{1};
        wrong.anomaly->severity = Severity::Serious;
        LiveAlert& gone = add(LiveAlert::Kind::RankGone, 43);
        gone.rank.rank = Rank{3};
        gone.rank.state = live::RankState::Gone;

        const std::vector<LiveCause> causes = causesOf(snapshot);
        QStringList shown;
        for (const LiveCause& cause : causes)
            shown << QStringLiteral("%1 from %2: %3")
                         .arg(shortAlertText(cause.main(), snapshot))
                         .arg(cause.first)
                         .arg(cause.alerts.size());
        const QStringList wanted{
            QStringLiteral("aadiff mismatch, rank 1 from 42: 3"), QStringLiteral("slow link, rank 2 from 31: 1"),
            QStringLiteral("step time change from 30: 1"), QStringLiteral("straggler, rank 2 from 10: 4"),
            QStringLiteral("rank 3 is gone from 43: 2")};
        QCOMPARE(shown, wanted);
        QVERIFY(!causes[3].last);
        QCOMPARE(worstOpen(snapshot)->number, wrong.number);
        QVERIFY(isNews(straggler, snapshot) && !isNews(op, snapshot));
        straggler.resolved_at = 50;
        QCOMPARE(causesOf(snapshot)[3].last, 50);
    }

    void theStripLeadsToSteps() {
        Watched watched;
        watched.run.writeSteps(50);
        QTRY_COMPARE(watched.newest(), 49);
        auto& strip = *watched.window.findChild<LiveStepChart*>();
        QSignalSpy gone(&strip, &LiveStepChart::stepGone);
        QTRY_VERIFY(strip.width() > 200);
        QTest::mouseClick(&strip, Qt::LeftButton, {}, strip.pointOf(48, 0).toPoint());
        QCOMPARE(watched.window.state().session()->step(watched.window.state().step()).index, 48);
        QVERIFY(!watched.window.live().following());
        QTest::mouseClick(&strip, Qt::LeftButton, {}, strip.pointOf(4, 0).toPoint());
        QCOMPARE(gone.count(), 1);
        QCOMPARE(gone.front().front().toInt(), 4);
    }

    void ranksThatAreLateOrGoneAreShownAsSuch() {
        QProcess child; // in place of the process of rank 3
        child.start(QStringLiteral("sleep"), {QStringLiteral("600")});
        QVERIFY(child.waitForStarted());
        ProcessInfo host = thisProcess();
        host.pid = child.processId();
        Watched watched({}, host);
        watched.run.writeSteps(3);
        QTRY_COMPARE(watched.newest(), 2);
        auto& table = watched.child<QTableView>("liveRanks");
        const auto state = [&] { return table.model()->index(3, LiveRankModel::StateColumn).data().toString(); };
        QCOMPARE(state(), QStringLiteral("running"));
        watched.run.writeStep(1);
        QTRY_COMPARE(watched.window.live().snapshot()->ranks.front().step, 3); // seen, and expected from now on
        watched.run.wait(std::chrono::seconds(6));
        QTRY_COMPARE(state(), QStringLiteral("late"));
        QVERIFY(watched.child<LiveBar>("liveBar").text().contains(QStringLiteral("Rank 3 has been late")));
        QCOMPARE(watched.stepsSeen(), 3);

        child.kill();
        QVERIFY(child.waitForFinished());
        QTRY_COMPARE(state(), QStringLiteral("gone"));
        QTRY_COMPARE(watched.stepsSeen(), 4);
        const live::LiveStep& last = watched.window.live().snapshot()->steps.back();
        QVERIFY(!last.complete); // unknown, and not a bubble
        QCOMPARE(watched.newest(), 2);
        QVERIFY(watched.window.findChild<LiveStepChart*>()->grab().toImage().width() > 0);
    }

    void lostRecordsAreCounted() {
        Watched watched;
        watched.run.writeSteps(3);
        watched.run.lose(1, 77);
        QTRY_VERIFY(watched.child<LiveBar>("liveBar").text().contains(QStringLiteral("77 lost")));
        auto& ranks = watched.child<QTableView>("liveRanks");
        QCOMPARE(ranks.model()->index(1, LiveRankModel::LostColumn).data().toString(), QStringLiteral("77"));
    }

    void anotherTraceEndsTheWatch() {
        Watched watched;
        watched.run.writeSteps(3);
        QTRY_COMPARE(watched.newest(), 2);
        QSignalSpy loaded(&watched.window, &MainWindow::loaded);
        watched.window.open({QStringLiteral("sample.pftrace")});
        QVERIFY(loaded.wait());
        QVERIFY(!watched.window.live().active());
        QVERIFY(watched.child<QWidget>("liveBar").isHidden());
        QVERIFY(watched.child<QDockWidget>("liveDock").isHidden());
        QCOMPARE(watched.window.state().session()->run.files.front().string(), std::string("sample.pftrace"));
    }

    void aRunGoesOnBehindAnotherTab() {
        Watched watched;
        watched.window.watch(watched.run.target());
        watched.window.live().start(watched.run.target(), watched.run.clock());
        watched.run.writeSteps(3);
        QTRY_COMPARE(watched.newest(), 2);
        watched.window.openBeside({QStringLiteral("sample.pftrace")});
        QTRY_COMPARE(watched.window.tabCount(), 2);
        const SessionPtr other = watched.window.state().session();
        QCOMPARE(other->run.files.front().string(), std::string("sample.pftrace"));

        watched.run.writeSteps(2);
        QTRY_COMPARE(watched.stepsSeen(), 5);
        QVERIFY(watched.window.live().active());
        QVERIFY(watched.window.state().session() == other);
        watched.child<QTabBar>("traceTabs").setCurrentIndex(0);
        QTRY_COMPARE(watched.newest(), 4);
        QVERIFY(watched.atTheRight());
    }

    void aWatchOpensATabOfItsOwn() {
        LiveRun run(slowRank(2, 5));
        MainWindow window{loadSample, false};
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("sample.pftrace")});
        QVERIFY(loaded.wait());
        ViewState& state = window.state();
        const SessionPtr open = state.session();
        state.select({ItemKind::Op, 1, 2, 3});
        const TimeRange range = state.range().range();

        window.watch(run.target());
        window.live().start(run.target(), run.clock());
        QCOMPARE(window.tabCount(), 2);
        QCOMPARE(window.currentTab(), 1);
        run.writeSteps(12);
        QTRY_VERIFY(state.session() && worstOpen(*window.live().snapshot()) != nullptr);
        QVERIFY(child<QWidget>(window, "liveBar").isVisible());
        QVERIFY(!child<QDockWidget>(window, "liveDock").isHidden());

        // The first tab is as it was, and shows nothing of the run.
        window.showTab(0);
        QVERIFY(state.session() == open);
        QCOMPARE(state.selection(), (ItemRef{ItemKind::Op, 1, 2, 3}));
        QCOMPARE(state.range().range(), range);
        QVERIFY(child<QWidget>(window, "liveBar").isHidden());
        QVERIFY(child<QDockWidget>(window, "liveDock").isHidden());
        window.showPanel(QStringLiteral("live")); // if someone opens it all the same
        QTRY_COMPARE(child<QTableView>(window, "liveAlerts").model()->rowCount(), 0);
        child<QDockWidget>(window, "liveDock").hide();
        QVERIFY(!child<QAction>(window, "follow").isEnabled());
        auto* status = child<LiveBar>(window, "liveBar").window()->findChild<QStatusBar*>();
        status->clearMessage();
        QTRY_COMPARE(window.live().snapshot()->steps.size(), 12U);
        QVERIFY(status->currentMessage().isEmpty());
        // Its tab alone is marked.
        auto& bar = child<QTabBar>(window, "traceTabs");
        QVERIFY(bar.tabText(1).contains(QChar(0x26a0)));
        QVERIFY(!bar.tabText(0).contains(QChar(0x26a0)));
        QVERIFY(!bar.tabToolTip(1).isEmpty());

        // Opening its recording takes a tab as well.
        window.showTab(1);
        QVERIFY(child<QWidget>(window, "liveBar").isVisible());
        QVERIFY(!child<QDockWidget>(window, "liveDock").isHidden());
        QTRY_VERIFY(child<QTableView>(window, "liveAlerts").model()->rowCount() > 0);
        window.open({QStringLiteral("another.pftrace")});
        QTRY_COMPARE(window.tabCount(), 3);
        QVERIFY(window.live().active());
        QVERIFY(child<QWidget>(window, "liveBar").isHidden());

        // A watch that is closed is over, wherever its tab is.
        window.closeTab(1);
        QVERIFY(!window.live().active());
        QVERIFY(!window.live().snapshot());
        QCOMPARE(window.tabCount(), 2);
        QVERIFY2(window.windowTitle().contains(QLatin1String("another")), qPrintable(window.windowTitle()));
        QVERIFY(state.session());
    }

    void aSecondWatchLeavesTheTabOfTheFirst() {
        Watched watched;
        watched.window.watch(watched.run.target());
        watched.window.live().start(watched.run.target(), watched.run.clock());
        watched.run.writeSteps(3);
        QTRY_COMPARE(watched.newest(), 2);
        const SessionPtr seen = watched.window.state().session();
        LiveRun other;
        watched.window.watch(other.target());
        QCOMPARE(watched.window.tabCount(), 2);
        QVERIFY(!watched.window.state().session());
        watched.window.showTab(0);
        QVERIFY(watched.window.state().session() == seen);
        QVERIFY(watched.window.live().active());
        QVERIFY(watched.window.live().target() == other.target());
    }

    void anEmptyTabIsUsed() {
        Watched watched;
        QCOMPARE(watched.window.tabCount(), 1);
        watched.window.watch(watched.run.target());
        QCOMPARE(watched.window.tabCount(), 1);
        watched.window.watch(watched.run.target()); // nothing was seen of the first
        QCOMPARE(watched.window.tabCount(), 1);
    }

    void whatWasSeenStaysWhenWatchingStops() {
        Watched watched;
        watched.run.writeSteps(3);
        QTRY_COMPARE(watched.newest(), 2);
        watched.child<QToolButton>("liveStop").click();
        QVERIFY(!watched.window.live().active());
        QCOMPARE(watched.newest(), 2);
        QCOMPARE(watched.child<QLabel>("liveStatus").text(), QStringLiteral("Not watched"));
        QVERIFY(watched.child<QWidget>("liveBar").isVisible());
        QVERIFY(watched.child<QToolButton>("liveFollow").isHidden());
        QVERIFY(!watched.child<QAction>("stopWatching").isEnabled());

        // Another watch starts over, in a folder that appears later.
        LiveRun other;
        watched.window.live().start(other.target(), other.clock());
        QVERIFY(watched.window.state().session() == nullptr);
        other.writeSteps(2);
        QTRY_COMPARE(watched.newest(), 1);
    }

    void theLanguageMayChangeMeanwhile() {
        Watched watched(slowRank(1, 0));
        watched.run.writeSteps(4);
        QTRY_COMPARE(watched.newest(), 3);
        watched.child<QAction>("language-zh_CN").trigger();
        QTRY_COMPARE(watched.child<QLabel>("liveStatus").text(), QStringLiteral("记录中"));
        QVERIFY(watched.window.live().active());
        watched.run.writeStep();
        QTRY_COMPARE(watched.newest(), 4);
        QVERIFY(watched.atTheRight());
        watched.child<QAction>("language-en").trigger();
        QTRY_COMPARE(watched.child<QLabel>("liveStatus").text(), QStringLiteral("Recording"));
    }

    void saysWhatCannotBeWatched() {
        MainWindow window(loadSample, false);
        window.show();
        QSignalSpy failed(&window, &MainWindow::failed);
        LiveTarget target;
        target.folders << QStringLiteral("/nowhere/at/all");
        window.watch(target);
        QVERIFY(failed.wait());
        QVERIFY(window.findChild<MessageBar*>()->text().contains(QStringLiteral("/nowhere/at/all")));
        QVERIFY(!window.live().active());
        QVERIFY(window.findChild<QWidget*>(QStringLiteral("welcomePanel"))->isVisible());
        target = {};
        target.listen = QStringLiteral("no port");
        target.token = QStringLiteral("t");
        window.watch(target);
        QVERIFY(failed.wait());
        QVERIFY(!window.live().active());
    }

    void modelsKeepTheRules() {
        LiveCauseModel alerts;
        LiveRankModel ranks;
        const QAbstractItemModelTester alert_tester(&alerts, QAbstractItemModelTester::FailureReportingMode::QtTest);
        const QAbstractItemModelTester rank_tester(&ranks, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QSignalSpy reset(&alerts, &QAbstractItemModel::modelReset);
        alerts.show(nullptr);
        alerts.show(alertsOf(0, 3));
        QCOMPARE(alerts.rowCount(), 3);
        alerts.show(alertsOf(0, 5)); // two more
        alerts.show(alertsOf(3, 6)); // three dropped, four new
        QCOMPARE(alerts.rowCount(), 6);
        QCOMPARE(alerts.at(0).first, 8);
        QCOMPARE(alerts.at(5).first, 3);
        QCOMPARE(alerts.index(0, LiveCauseModel::TextColumn).data().toString(), QStringLiteral("Check 8"));
        auto over = std::make_shared<LiveSnapshot>(*alertsOf(3, 6));
        QCOMPARE(worstOpen(*over), &over->alerts.back());
        over->alerts.back().resolved_at = 20;
        QCOMPARE(worstOpen(*over), &over->alerts[4]);
        QSignalSpy changed(&alerts, &QAbstractItemModel::dataChanged);
        alerts.show(over);
        QCOMPARE(changed.count(), 1);
        QCOMPARE(reset.count(), 0); // so that the selection stays
        QVERIFY(alerts.index(0, LiveCauseModel::TextColumn).data().toString().contains(QStringLiteral("step 20")));
        QVERIFY(!alerts.index(0, LiveCauseModel::SeverityColumn).data(LiveCauseModel::kSeverityRole).isValid());
        QVERIFY(alerts.index(1, LiveCauseModel::SeverityColumn).data(LiveCauseModel::kSeverityRole).isValid());
        alerts.show(alertsOf(100, 2)); // all others dropped
        QCOMPARE(alerts.rowCount(), 2);
        alerts.show(alertsOf(0, 1)); // another run
        QCOMPARE(alerts.at(0).first, 0);
        alerts.show(nullptr);
        QCOMPARE(alerts.rowCount(), 0);

        auto snapshot = std::make_shared<LiveSnapshot>();
        snapshot->ranks.resize(3);
        ranks.show(snapshot);
        auto later = std::make_shared<LiveSnapshot>(*snapshot);
        later->ranks[1].state = live::RankState::Gone;
        ranks.show(later);
        QCOMPARE(ranks.index(1, LiveRankModel::StateColumn).data().toString(), QStringLiteral("gone"));
        QCOMPARE(ranksText(*later), QStringLiteral("2 awaited, 1 gone"));
        ranks.show(nullptr);
        QCOMPARE(ranks.rowCount(), 0);
    }
};

BUBBLESCOPE_GUI_TEST(LiveTest, live_test);
#include "live_test.moc"
