#include "app/gui/models/view_state.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QSignalSpy>
#include <QTest>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

class ViewStateTest : public QObject {
    Q_OBJECT

private slots:
    void zoomKeepsTheTimeUnderTheCursor_data() {
        QTest::addColumn<double>("fraction");
        for (const double fraction : {0.0, 0.25, 0.5, 0.9, 1.0})
            QTest::addRow("%g", fraction) << fraction;
    }
    void zoomKeepsTheTimeUnderTheCursor() {
        QFETCH(const double, fraction);
        VisibleRange range;
        range.setLimits({0s, 10s});
        range.reset({4s, 6s});
        const auto under = [&] {
            const TimeRange now = range.range();
            return static_cast<double>(now.begin.count()) + fraction * static_cast<double>(now.length().count());
        };
        const double before = under();
        for (int i = 0; i < 20; ++i) {
            range.zoomAt(fraction, 0.8);
            QVERIFY(std::abs(under() - before) <= 2.0 * (i + 1)); // nanoseconds: rounding only
        }
        for (int i = 0; i < 20; ++i)
            range.zoomAt(fraction, 1.25);
        QVERIFY(std::abs(under() - before) <= 100);
    }

    void staysWithinLimits() {
        VisibleRange range;
        range.setLimits({1s, 2s});
        range.zoomAt(0.5, 10);
        QCOMPARE(range.range(), range.limits());
        for (int i = 0; i < 200; ++i)
            range.zoomAt(0.3, 0.5);
        QCOMPARE(range.range().length(), VisibleRange::kMinLength);
        range.reset({1200ms, 1300ms});
        range.panBy(-100);
        QCOMPARE(range.range(), (TimeRange{1s, 1100ms}));
        range.panBy(100);
        QCOMPARE(range.range(), (TimeRange{1900ms, 2s}));
        range.show({0s, 500ms});
        QCOMPARE(range.range(), (TimeRange{1s, 1500ms}));
        range.show({1500ms, 1500ms}); // an op of length 0
        QCOMPARE(range.range().length(), VisibleRange::kMinLength);
    }

    void emptyLimitsAreSurvived() {
        VisibleRange range;
        range.setLimits({});
        QVERIFY(range.range().length() > TimeNs{0});
        range.zoomAt(0.5, 0.5);
        range.panBy(1);
        range.back();
    }

    void backUndoesJumpsAndWholeGestures() {
        VisibleRange range;
        range.setLimits({0s, 10s});
        QVERIFY(!range.canGoBack());
        range.show({2s, 4s});
        for (int i = 0; i < 5; ++i)
            range.zoomAt(0.5, 0.9); // one turn of the wheel
        range.endGesture();
        range.panBy(0.1);
        range.panBy(0.1);
        const TimeRange panned = range.range();
        range.show({8s, 9s});

        range.back();
        QCOMPARE(range.range(), panned);
        range.back();
        range.back();
        QCOMPARE(range.range(), (TimeRange{2s, 4s}));
        range.back();
        QCOMPARE(range.range(), range.limits());
        QVERIFY(!range.canGoBack());
        range.back();
        QCOMPARE(range.range(), range.limits());
    }

    void nothingIsRememberedWhenNothingMoves() {
        VisibleRange range;
        range.setLimits({0s, 10s});
        QSignalSpy changed(&range, &VisibleRange::changed);
        range.showAll();
        range.panBy(0.5);
        range.zoomAt(0.5, 2);
        QVERIFY(!range.canGoBack());
        QCOMPARE(changed.count(), 0);
    }

    void firstViewIsTheSecondStep() {
        ViewState state;
        state.setSession(sampleSession());
        QCOMPARE(state.step(), 1);
        const TimeRange window = state.session()->window(1);
        QVERIFY(state.range().range().begin < window.begin);
        QVERIFY(state.range().range().end > window.end);
        QVERIFY(state.range().range().length() < window.length() * 11 / 10);

        SampleSpec one;
        one.steps = 1;
        state.setSession(sampleSession(one));
        QCOMPARE(state.step(), 0);
        state.setSession(nullptr);
        QCOMPARE(state.step(), -1);
    }

    void currentStepFollowsTheView() {
        ViewState state;
        state.setSession(sampleSession());
        QSignalSpy changed(&state, &ViewState::stepChanged);
        state.range().showAll();
        QCOMPARE(state.step(), 1); // still visible
        QCOMPARE(changed.count(), 0);
        state.range().show(state.session()->window(2));
        QCOMPARE(state.step(), 2);
        QCOMPARE(changed.count(), 1);
        state.showStep(0);
        QCOMPARE(state.step(), 0);
        QVERIFY(overlap(state.range().range(), state.session()->window(0)) == state.session()->window(0).length());
        state.showStep(3);
        state.showStep(-1);
        QCOMPARE(state.step(), 0);
    }

    void selectingMakesTheItemsStepCurrent() {
        ViewState state;
        state.setSession(sampleSession());
        QSignalSpy selected(&state, &ViewState::selectionChanged);
        const ItemRef item{ItemKind::Op, 2, 3, 5};
        state.select(item);
        state.select(item);
        QCOMPARE(selected.count(), 1);
        QCOMPARE(state.step(), 2);
        state.reveal(item);
        const TimeRange range = state.session()->range(item);
        QVERIFY(overlap(range, state.range().range()) == range.length());
        state.setSession(sampleSession());
        QVERIFY(!state.selection());
    }
};

BUBBLESCOPE_GUI_TEST(ViewStateTest, view_state_test);
#include "view_state_test.moc"
