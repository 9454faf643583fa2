#include "app/gui/models/reference_overlay.h"
#include "app/gui/panels/bars.h"
#include "app/gui/timeline/geometry.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QLabel>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

/// Half of the second step's time is transfers, so that there is something to gain.
SessionPtr slowTransfers() {
    SampleSpec spec;
    spec.comm = 4ms;
    return sampleSession(spec);
}

ReferenceOverlayPtr halfAsLong(const Session& session, int step) {
    StepTimeline timeline = session.step(step);
    const TimeNs begin = timeline.begin;
    for (auto& ops : timeline.ranks) {
        for (TimelineOp& op : ops) {
            op.start = begin + (op.start - begin) / 2;
            op.end = begin + (op.end - begin) / 2;
        }
    }
    timeline.end = begin + (timeline.end - begin) / 2;
    return std::make_shared<const ReferenceOverlay>(
        ReferenceOverlay::make(QStringLiteral("half"), {}, step, timeline, begin));
}

} // namespace

class ReferenceOverlayTest : public GuiTest {
    Q_OBJECT

private slots:
    void opsMoveWithTheShare() {
        ViewState state;
        state.setSession(sampleSession());
        const Session& session = *state.session();
        const ReferenceOverlayPtr reference = halfAsLong(session, 1);
        state.setReference(reference);
        QCOMPARE(state.shownReference(), reference);
        QSignalSpy moved(&state, &ViewState::referenceMoved);
        QSignalSpy changed(&state, &ViewState::referenceChanged);
        for (const double share : {0.75, 0.5, 0.0}) {
            state.setReferenceBlend(share);
            const StepTimeline& shown = state.shownReference()->timeline;
            QVERIFY(shown.comm.empty());
            for (std::size_t rank = 0; rank < shown.ranks.size(); ++rank) {
                const auto& observed = session.step(1).ranks[rank];
                QCOMPARE(shown.ranks[rank].size(), observed.size());
                for (std::size_t i = 0; i < observed.size(); ++i) {
                    const TimeNs way = observed[i].start - reference->timeline.ranks[rank][i].start;
                    const TimeNs gone = observed[i].start - shown.ranks[rank][i].start;
                    QVERIFY(std::abs(static_cast<double>(gone.count()) - share * static_cast<double>(way.count())) <=
                            1);
                }
            }
        }
        QCOMPARE(moved.count(), 3);
        QCOMPARE(changed.count(), 0);
        state.setReferenceBlend(7);
        QCOMPARE(state.referenceBlend(), 1.0);
        QCOMPARE(state.shownReference(), reference);
    }

    void theShareStaysForTheNextReference() {
        ViewState state;
        state.setSession(sampleSession());
        state.setReferenceBlend(0.5);
        QVERIFY(!state.shownReference());
        const ReferenceOverlayPtr reference = halfAsLong(*state.session(), 2);
        state.setReference(reference);
        QVERIFY(state.shownReference() != reference);
        QVERIFY(state.shownReference()->timeline.end > reference->timeline.end);
        state.setReference(nullptr);
        QVERIFY(!state.shownReference());
    }

    void theBarMovesTheReferenceAndFollowsIt() {
        ViewState state;
        ReferenceBar bar(state);
        QVERIFY(bar.isHidden());
        state.setSession(slowTransfers());
        IdealOverlay ideal(state);
        QSignalSpy arrived(&state, &ViewState::referenceChanged);
        ideal.setOn(true);
        QVERIFY(arrived.count() > 0 || arrived.wait());
        QVERIFY(!bar.isHidden());
        auto* slider = bar.findChild<QSlider*>(QStringLiteral("referenceSlider"));
        auto* result = bar.findChild<QLabel*>(QStringLiteral("referenceResult"));
        QCOMPARE(slider->value(), 100);
        QVERIFY(!slider->accessibleName().isEmpty());
        const QString whole = result->text();
        QVERIFY2(whole.contains(QLatin1Char('-')) || whole.contains(QChar(0x2212)), qPrintable(whole)); // shorter
        slider->setValue(40);
        QCOMPARE(state.referenceBlend(), 0.4);
        QVERIFY(result->text() != whole);
        state.setReferenceBlend(0.9);
        QCOMPARE(slider->value(), 90);
        ideal.setOn(false);
        QVERIFY(bar.isHidden());
    }

    void keysMoveTheReferenceInTheTimeline() {
        ThemeManager themes;
        ViewState state;
        TimelineView view(state, themes);
        view.resize(1000, 480);
        view.show();
        state.setSession(sampleSession());
        view.setFocus();
        QTest::keyClick(&view, Qt::Key_Left, Qt::ControlModifier); // nothing to move
        QCOMPARE(state.referenceBlend(), 1.0);
        state.setReference(halfAsLong(*state.session(), 1));
        const QImage there = view.viewport()->grab().toImage();
        for (int i = 0; i < 3; ++i)
            QTest::keyClick(&view, Qt::Key_Left, Qt::ControlModifier);
        QCOMPARE(state.referenceBlend(), 0.7);
        QVERIFY(view.viewport()->grab().toImage() != there);
        for (int i = 0; i < 4; ++i)
            QTest::keyClick(&view, Qt::Key_Right, Qt::ControlModifier);
        QCOMPARE(state.referenceBlend(), 1.0);
        QCOMPARE(view.viewport()->grab().toImage(), there);
    }
};

BUBBLESCOPE_GUI_TEST(ReferenceOverlayTest, reference_overlay_test);
#include "reference_overlay_test.moc"
