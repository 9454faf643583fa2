#include "app/gui/models/flow_overlay.h"
#include "app/gui/models/item_copy.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/panels/details_panel.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/held_workers.h"
#include "tests/gui/sample_run.h"
#include "tests/support/jittered_run.h"

#include <QPainter>
#include <QSignalSpy>
#include <QTest>
#include <QThreadPool>

#include <algorithm>
#include <set>
#include <vector>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

SampleSpec withTransfers() {
    SampleSpec spec;
    spec.comm = std::chrono::milliseconds(2);
    return spec;
}

/// Rank 2 of four takes half as long again as the others in one op of a step.
SessionPtr slowOp() {
    test::JitteredRun wanted;
    wanted.spec = {"1f1b", "", 4, 8, 1};
    wanted.steps = 6;
    wanted.op_factor = [](int step, Rank rank, const Op& op) {
        const bool slow = step == 3 && rank.value == 2 && op.kind == OpKind::Forward && op.microbatch.value == 4;
        return slow ? 4.0 : 1.0;
    };
    return makeSession(test::makeJitteredRun(wanted, 5), JobControl()).value();
}

struct FlowView {
    ThemeManager themes;
    ViewState state;
    TimelineView view{state, themes};

    explicit FlowView(SessionPtr session) {
        view.resize(1000, 480);
        view.show();
        state.setSession(std::move(session));
        view.setFocus();
    }
    [[nodiscard]] QImage picture() { return view.viewport()->grab().toImage(); }
};

/// Also with the details panel, and the diagnoses made since.
struct DiagnosedView : FlowView {
    DetailsPanel details{state, themes};
    QSignalSpy made{&state, &ViewState::diagnosisMade};

    using FlowView::FlowView;
};

ItemRef findOp(const Session& session, int step, int rank, OpKind kind, int microbatch) {
    const auto& ops = session.step(step).ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].op.kind == kind && ops[i].op.microbatch.value == microbatch)
            return {ItemKind::Op, step, rank, static_cast<std::int32_t>(i)};
    }
    return {};
}

/// The first step whose diagnosis is not made yet.
int otherStep(const Session& session) {
    int step = 0;
    while (!session.lacksDiagnosis(step))
        ++step;
    return step;
}

std::vector<int> stepsToDiagnose(const Session& session) {
    std::vector<int> steps;
    for (int step = 0; step < session.stepCount(); ++step) {
        if (session.lacksDiagnosis(step)) steps.push_back(step);
    }
    return steps;
}

/// The steps for which diagnosisMade() was emitted, in that order.
std::vector<int> stepsOf(const QSignalSpy& made) {
    std::vector<int> steps;
    for (const QList<QVariant>& arguments : made)
        steps.push_back(arguments.first().toInt());
    return steps;
}

/// Whether the details of the selected bubble lack its cause.
bool isUndetermined(const DetailsPanel& details) {
    return details.value(QStringLiteral("Attributed to")) == QStringLiteral("not determined yet");
}

/// For pictures, in which it would be framed.
void leaveFocus(QWidget& view) {
    view.setFocusPolicy(Qt::NoFocus);
    view.clearFocus();
}

ItemRef longestBubble(const Session& session, int step, int rank) {
    const std::vector<Bubble>& all = session.analysis(step).bubbles[static_cast<std::size_t>(rank)];
    const auto longest =
        std::ranges::max_element(all, {}, [](const Bubble& bubble) { return bubble.end - bubble.start; });
    return {ItemKind::Bubble, step, rank, static_cast<std::int32_t>(longest - all.begin())};
}

} // namespace

/// Arrows, critical path, causes of waits, the path of a micro-batch, and measuring.
class FlowOverlayTest : public QObject {
    Q_OBJECT

private slots:
    void everyTransferHasItsArrow() {
        const SessionPtr session = sampleSession(withTransfers());
        StepFlows flows(session, 1);
        // Eight micro-batches cross three borders in both directions.
        QCOMPARE(flows.transfers().size(), 48U);
        for (const Arrow& arrow : flows.transfers()) {
            const TimelineOp& from = session->op(arrow.producer);
            const TimelineOp& to = session->op(arrow.consumer);
            QCOMPARE(from.op.microbatch, to.op.microbatch);
            QCOMPARE(from.op.kind == OpKind::Forward, arrow.kind == Arrow::Kind::Activation);
            QCOMPARE(std::abs(arrow.from.rank - arrow.to.rank), 1);
            QVERIFY(arrow.from.time >= from.end && arrow.to.time <= to.start && arrow.from.time < arrow.to.time);
        }
    }

    void anOpHasArrowsInAndOut() {
        const SessionPtr session = sampleSession(withTransfers());
        StepFlows flows(session, 1);
        const ItemRef middle = findOp(*session, 1, 1, OpKind::Forward, 3);
        QCOMPARE(flows.transfersOf(middle).size(), 2U);
        QCOMPARE(flows.transfersOf(findOp(*session, 1, 0, OpKind::Forward, 3)).size(), 1U);
        QCOMPARE(flows.transfersOf({ItemKind::Op, 0, 1, 3}).size(), 0U); // of another step
        QCOMPARE(flows.transfersOf(middle).front().producer.rank, 0);
    }

    void theCriticalPathFillsTheStep() {
        const SessionPtr session = sampleSession(withTransfers());
        (void)session->diagnosis(1);
        StepFlows flows(session, 1);
        const Path& path = flows.criticalPath();
        TimeNs sum{0};
        for (const Stretch& stretch : path.stretches)
            sum += stretch.range.length();
        for (const Arrow& arrow : path.arrows) {
            QVERIFY(arrow.from.rank != arrow.to.rank);
            sum += arrow.to.time - arrow.from.time;
        }
        QCOMPARE(sum, session->window(1).length());
        QVERIFY(path.caption.contains(QStringLiteral("Critical path")));
    }

    void aMicrobatchIsFollowedThroughAllRanks() {
        const SessionPtr session = sampleSession(withTransfers());
        StepFlows flows(session, 1);
        const Path& path = flows.microbatchOf(findOp(*session, 1, 2, OpKind::Backward, 5));
        QCOMPARE(path.stretches.size(), 8U); // forward and backward on four ranks
        QCOMPARE(path.arrows.size(), 6U);
        std::set<int> ranks;
        for (const Stretch& stretch : path.stretches)
            ranks.insert(stretch.rank);
        QCOMPARE(ranks.size(), 4U);
    }

    void blameLeadsToTheSlowOp() {
        const SessionPtr session = slowOp();
        int step = 0;
        while (session->step(step).index != 3)
            ++step;
        const ItemRef slow = findOp(*session, step, 2, OpKind::Forward, 4);
        (void)session->diagnosis(step);
        StepFlows flows(session, step);
        int led = 0;
        const auto& bubbles = session->analysis(step).bubbles[3];
        for (std::size_t i = 0; i < bubbles.size(); ++i) {
            const ItemRef bubble{ItemKind::Bubble, step, 3, static_cast<std::int32_t>(i)};
            for (const Stretch& stretch : flows.causeOf(bubble).stretches) {
                if (!stretch.cause || stretch.rank != 2) continue;
                if (stretch.range != session->range(slow)) continue;
                ++led;
                QVERIFY(flows.causeOf(bubble).caption.contains(QStringLiteral("F4.0 of rank 2")));
                QVERIFY(!flows.causeOf(bubble).arrows.empty());
            }
        }
        QVERIFY(led > 0);
        QVERIFY(flows.causeOf(slow).stretches.empty()); // no bubble
    }

    /// A click into a step that is not the typical one does not wait for its diagnosis: the views state that it is
    /// being made, and show it when it is ready.
    void aStepIsDiagnosedInTheBackground() {
        const SessionPtr session = slowOp();
        const int step = otherStep(*session);
        const ItemRef bubble = longestBubble(*session, step, 3);
        DiagnosedView shown(session);
        shown.state.showStep(step);
        QImage before;
        {
            const HeldWorkers held;
            QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {}, shown.view.centreOf(bubble).toPoint());
            QCOMPARE(shown.state.selection(), bubble);
            QTest::keyClick(&shown.view, Qt::Key_P);
            QVERIFY(session->lacksDiagnosis(step));
            QVERIFY(isUndetermined(shown.details));
            StepFlows flows(session, step);
            QVERIFY(flows.criticalPath().stretches.empty());
            QVERIFY(flows.criticalPath().caption.contains(QStringLiteral("Finding the critical path")));
            QVERIFY(flows.causeOf(bubble).caption.contains(QStringLiteral("Finding what")));
            leaveFocus(shown.view);
            before = shown.picture();
        }
        QTRY_COMPARE(shown.made.count(), 1);
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000));
        QCoreApplication::processEvents();
        QCOMPARE(shown.made.count(), 1); // though the click and the key asked for it
        QCOMPARE(shown.made.first().first().toInt(), step);
        QVERIFY(!session->lacksDiagnosis(step));
        QVERIFY(!shown.details.value(QStringLiteral("Attributed to")).isEmpty() && !isUndetermined(shown.details));
        const QImage after = shown.picture();
        QVERIFY(after != before);
        FlowView later(session);
        later.state.showStep(step);
        QTest::mouseClick(later.view.viewport(), Qt::LeftButton, {}, later.view.centreOf(bubble).toPoint());
        QTest::keyClick(&later.view, Qt::Key_P);
        leaveFocus(later.view);
        QCOMPARE(later.picture(), after);
        QVERIFY(!StepFlows(session, step).criticalPath().stretches.empty());
    }

    /// The last of the steps that were clicked while one was being diagnosed is next, and none of another session.
    void stepsThatWereLeftAreNotDiagnosed() {
        const SessionPtr session = slowOp();
        ViewState state;
        QSignalSpy made(&state, &ViewState::diagnosisMade);
        state.setSession(session);
        const int expected = session->lacksDiagnosis(state.step()) ? 1 : 0;
        state.showFlow(FlowOverlay::CriticalPath, true);
        QTRY_COMPARE(made.count(), expected);
        made.clear();
        const std::vector<int> others = stepsToDiagnose(*session);
        QVERIFY(others.size() >= 3);
        {
            const HeldWorkers held;
            for (const int step : others)
                state.showStep(step);
        }
        QTRY_COMPARE(made.count(), 2);
        QVERIFY(!session->lacksDiagnosis(others.front()));
        QVERIFY(!session->lacksDiagnosis(others.back()));
        QVERIFY(session->lacksDiagnosis(others[1]));
        {
            const HeldWorkers held;
            state.showStep(others[1]);
            state.setSession(nullptr);
        }
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000));
        QCoreApplication::processEvents();
        QCOMPARE(made.count(), 2);
        QVERIFY(session->lacksDiagnosis(others[1])); // the work was called off before it began
    }

    /// When a diagnosis is finished, the next one is the one needed then: first the selection's step, though the view
    /// has
    /// moved on, then the step of the critical path.
    void aSelectionIsDiagnosedWhenTheViewHasMovedOn() {
        const SessionPtr session = slowOp();
        const std::vector<int> others = stepsToDiagnose(*session);
        QVERIFY(others.size() >= 3);
        const ItemRef bubble = longestBubble(*session, others[1], 3);
        DiagnosedView shown(session);
        {
            const HeldWorkers held;
            shown.state.showStep(others[0]);
            shown.state.showFlow(FlowOverlay::CriticalPath, true);
            shown.state.select(bubble);
            shown.state.showStep(others[2]);
            QCOMPARE(shown.state.selection(), bubble);
            QVERIFY(isUndetermined(shown.details));
        }
        QTRY_COMPARE(shown.made.count(), 3);
        QCOMPARE(stepsOf(shown.made), std::vector<int>({others[0], others[1], others[2]}));
        QVERIFY(!isUndetermined(shown.details));
        QVERIFY(!session->lacksDiagnosis(others[2]));
    }

    /// A run that is followed has a new session every now and then, in which the selection stays in its step.
    void aSelectionIsDiagnosedInTheNextSession() {
        const SessionPtr session = slowOp();
        const int step = otherStep(*session);
        const ItemRef bubble = longestBubble(*session, step, 3);
        DiagnosedView shown(session);
        shown.state.select(bubble);
        QTRY_COMPARE(shown.made.count(), 1);
        QVERIFY(!isUndetermined(shown.details));
        const SessionPtr next = slowOp();
        {
            const HeldWorkers held;
            shown.state.followSession(next, next->window(next->stepCount() - 1));
            QCOMPARE(shown.state.selection(), bubble);
            QVERIFY(shown.state.step() != step);
            QVERIFY(isUndetermined(shown.details));
        }
        QTRY_COMPARE(shown.made.count(), 2);
        QCOMPARE(shown.made.last().first().toInt(), step);
        QVERIFY(!isUndetermined(shown.details));
    }

    /// A file is drawn at once. Views that wait for the same diagnosis get it when their turn comes.
    void aDiagnosisMadeForAFileReachesWhoWaits() {
        const SessionPtr session = slowOp();
        const std::vector<int> others = stepsToDiagnose(*session);
        QVERIFY(others.size() >= 2);
        DiagnosedView shown(session);
        {
            const HeldWorkers held;
            shown.state.showStep(others[0]);
            shown.state.showFlow(FlowOverlay::CriticalPath, true);
            shown.state.showFlow(FlowOverlay::CriticalPath, false);
            shown.state.select(longestBubble(*session, others[1], 3));
            QImage file(shown.view.viewport()->size(), QImage::Format_RGB32);
            QPainter painter(&file);
            shown.view.draw(painter);
            painter.end();
            QVERIFY(!session->lacksDiagnosis(others[1]));
            QVERIFY(isUndetermined(shown.details));
        }
        QTRY_COMPARE(shown.made.count(), 2);
        QCOMPARE(stepsOf(shown.made), std::vector<int>({others[0], others[1]}));
        QVERIFY(!isUndetermined(shown.details));
    }

    /// The line about a bubble under the mouse waits for nothing. The copied text is complete.
    void aCopyHasTheCauseOfABubble() {
        const SessionPtr session = slowOp();
        const int step = otherStep(*session);
        const ItemRef bubble = longestBubble(*session, step, 3);
        QVERIFY(oneLine(*session, bubble).contains(QStringLiteral("Attributed to not determined yet")));
        QVERIFY(session->lacksDiagnosis(step));
        const QString copy = copyAsText(*session, bubble);
        QVERIFY(copy.contains(QStringLiteral("Attributed to: ")) &&
                !copy.contains(QStringLiteral("not determined yet")));
        QVERIFY(!oneLine(*session, bubble).contains(QStringLiteral("not determined yet")));
    }

    void keysAndSelectionDraw() {
        FlowView shown(sampleSession(withTransfers()));
        const QImage plain = shown.picture();
        QTest::keyClick(&shown.view, Qt::Key_T);
        QVERIFY(shown.state.shows(FlowOverlay::Transfers));
        const QImage transfers = shown.picture();
        QVERIFY(transfers != plain);
        QTest::keyClick(&shown.view, Qt::Key_T);
        QCOMPARE(shown.picture(), plain);
        QTest::keyClick(&shown.view, Qt::Key_P);
        QVERIFY(shown.picture() != plain);
        QTest::keyClick(&shown.view, Qt::Key_P);
        shown.state.select(findOp(*shown.state.session(), 1, 1, OpKind::Forward, 3));
        const QImage selected = shown.picture();
        QVERIFY(selected != plain);
        QTest::keyClick(&shown.view, Qt::Key_B);
        QVERIFY(shown.picture() != selected);
    }

    void draggingWithShiftMeasuresFromEdgeToEdge() {
        FlowView shown(sampleSession());
        const Session& session = *shown.state.session();
        const TimeRange range = session.range(findOp(session, 1, 1, OpKind::Forward, 2));
        const TimeRange view = shown.state.range().range();
        const auto x = [&](TimeNs time) {
            const double width = shown.view.viewport()->width() - 148.0;
            return 148 + static_cast<int>(TimeScale{view, width}.x(time));
        };
        const int y = static_cast<int>(shown.view.centreOf(findOp(session, 1, 1, OpKind::Forward, 2)).y());
        QWidget* port = shown.view.viewport();
        QTest::mousePress(port, Qt::LeftButton, Qt::ShiftModifier, {x(range.begin) + 3, y});
        QTest::mouseMove(port, {x(range.begin) + 40, y});
        QTest::mouseMove(port, {x(range.end) - 3, y});
        QTest::mouseRelease(port, Qt::LeftButton, Qt::ShiftModifier, {x(range.end) - 3, y});
        QCOMPARE(shown.state.measured().begin, range.begin);
        QCOMPARE(shown.state.measured().end, range.end);
        QCOMPARE(shown.state.range().range(), view); // it does not pan
        QTest::keyClick(&shown.view, Qt::Key_Escape);
        QCOMPARE(shown.state.measured().length(), TimeNs{0});
    }

    void aRangeIsSummedUp() {
        const SessionPtr session = sampleSession();
        const RangeStats stats = statsOf(*session, session->window(1));
        TimeNs busy{0};
        TimeNs bubble{0};
        for (const RankAccount& rank : session->analysis(1).ranks) {
            busy += rank.busy;
            bubble += rank.bubble;
        }
        QCOMPARE(stats.busy(), busy);
        QCOMPARE(stats.bubble(), bubble);
        QCOMPARE(stats.ops(), 64);
        QCOMPARE(statsOf(*session, {}).ops(), 0);
    }

    void aPictureForAFileIsWhatTheScreenShows() {
        FlowView shown(sampleSession(withTransfers()));
        shown.state.select({ItemKind::Op, 1, 2, 4});
        QImage drawn(shown.view.viewport()->size(), QImage::Format_RGB32);
        QPainter painter(&drawn);
        shown.view.draw(painter);
        painter.end();
        QCOMPARE(drawn, shown.picture().convertToFormat(QImage::Format_RGB32));
    }
};

BUBBLESCOPE_GUI_TEST(FlowOverlayTest, flow_overlay_test);
#include "flow_overlay_test.moc"
