#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QMouseEvent>
#include <QPaintEvent>
#include <QScreen>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// A visible timeline on a sample session.
struct Bench {
    ThemeManager themes;
    ViewState state;
    TimelineView view{state, themes};

    explicit Bench(const SampleSpec& spec = {}) {
        view.resize(1000, 480);
        view.show();
        state.setSession(sampleSession(spec));
        view.setFocus();
    }
    void key(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) { QTest::keyClick(&view, key, modifiers); }
    void click(const ItemRef& item) {
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.centreOf(item).toPoint());
    }
    void wheel(const QPointF& at, QPoint angle, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        QWheelEvent event(at, view.viewport()->mapToGlobal(at), {}, angle, Qt::NoButton, modifiers, Qt::NoScrollPhase,
                          false);
        QCoreApplication::sendEvent(view.viewport(), &event);
    }
    [[nodiscard]] TimeRange range() { return state.range().range(); }
};

} // namespace

class TimelineViewTest : public QObject {
    Q_OBJECT

private slots:
    void clickSelectsOpsAndBubbles() {
        Bench s;
        for (const ItemRef item :
             {ItemRef{ItemKind::Op, 1, 2, 4}, ItemRef{ItemKind::Bubble, 1, 0, 0}, ItemRef{ItemKind::Op, 1, 3, 0}}) {
            s.click(item);
            QCOMPARE(s.state.selection(), item);
        }
        s.key(Qt::Key_Escape);
        QVERIFY(!s.state.selection());
    }

    void hoverIsAnnounced() {
        Bench s;
        QSignalSpy hovered(&s.view, &TimelineView::hovered);
        const ItemRef item{ItemKind::Op, 1, 1, 3};
        QTest::mouseMove(s.view.viewport(), s.view.centreOf(item).toPoint());
        QTRY_COMPARE(hovered.count(), 1);
        QCOMPARE(hovered.last().first().value<ItemRef>(), item);
        QCOMPARE(s.view.itemAt(s.view.centreOf(item)), item);
    }

    /// The item under the pointer is outlined, and only that part is painted: the picture of a large window takes long
    /// to copy.
    void hoveringPaintsTheItemAlone() {
        struct Painted : QObject {
            qint64 pixels = 0;
            bool eventFilter(QObject*, QEvent* event) override {
                if (event->type() != QEvent::Paint) return false;
                for (const QRect& rect : static_cast<QPaintEvent*>(event)->region())
                    pixels += qint64{rect.width()} * rect.height();
                return false;
            }
        };
        Bench s;
        s.view.setUnfolded(1, true);
        s.view.run(Command::FitAll);
        QVERIFY(QTest::qWaitForWindowExposed(&s.view));
        RowChoice rows = s.state.rows();
        rows.setPinned(2, true);
        s.state.setRows(rows);
        s.view.setRowHeight(110);
        s.view.verticalScrollBar()->setValue(30);
        const auto shown = [&] { return s.view.screen()->grabWindow(s.view.winId()).toImage(); };
        const auto moveTo = [&](const QPointF& to) {
            QMouseEvent move(QEvent::MouseMove, to, s.view.viewport()->mapToGlobal(to), Qt::NoButton, Qt::NoButton,
                             Qt::NoModifier);
            QCoreApplication::sendEvent(s.view.viewport(), &move);
            QCoreApplication::processEvents();
        };
        moveTo({5, 5});
        s.view.viewport()->repaint();
        const QImage without = shown();
        Painted painted;
        s.view.viewport()->installEventFilter(&painted);
        QImage before = without;
        for (const ItemRef item : {ItemRef{ItemKind::Op, 1, 2, 4}, ItemRef{ItemKind::Op, 1, 1, 3},
                                   ItemRef{ItemKind::Bubble, 1, 0, 0}, ItemRef{ItemKind::Op, 1, 2, 0}}) {
            painted.pixels = 0;
            const QPointF at = s.view.centreOf(item);
            QVERIFY(s.view.itemAt(at) == item);
            moveTo(at);
            const QImage outlined = shown();
            QVERIFY(outlined != before);
            QVERIFY(painted.pixels > 0 && painted.pixels < qint64{without.width()} * without.height() / 4);
            s.view.viewport()->repaint(); // all of it
            QCOMPARE(outlined, shown());
            before = outlined;
        }
        moveTo({5, 5});
        QCOMPARE(shown(), without);
    }

    void wheelZoomsAtThePointer() {
        Bench s;
        const ItemRef item{ItemKind::Op, 1, 1, 3};
        const QPointF at = s.view.centreOf(item);
        const TimeNs before = s.range().length();
        for (int i = 0; i < 5; ++i)
            s.wheel(at, {0, 120});
        QVERIFY(s.range().length() < before);
        QCOMPARE(s.view.itemAt(at), item); // still under the pointer
        s.key(Qt::Key_Backspace);          // one turn of the wheel is one entry
        QCOMPARE(s.range().length(), before);
    }

    void shiftWheelAndSidewaysWheelPan() {
        Bench s;
        const TimeRange before = s.range();
        s.wheel({500, 200}, {0, -120}, Qt::ShiftModifier);
        QVERIFY(s.range().begin > before.begin);
        QCOMPARE(s.range().length(), before.length());
        s.wheel({500, 200}, {120, 0});
        QVERIFY(s.range().begin <= before.begin + TimeNs{2});
    }

    void dragPansAndDoesNotSelect() {
        Bench s;
        const TimeRange before = s.range();
        QWidget* viewport = s.view.viewport();
        QTest::mousePress(viewport, Qt::LeftButton, {}, {600, 200});
        QTest::mouseMove(viewport, {550, 200});
        QTest::mouseMove(viewport, {400, 200});
        QTest::mouseRelease(viewport, Qt::LeftButton, {}, {400, 200});
        QVERIFY(s.range().begin > before.begin);
        QCOMPARE(s.range().length(), before.length());
        QVERIFY(!s.state.selection());
        s.key(Qt::Key_Backspace);
        QCOMPARE(s.range(), before);
    }

    void zoomAndPanKeys() {
        Bench s;
        const TimeRange before = s.range();
        s.key(Qt::Key_W);
        QVERIFY(s.range().length() < before.length());
        s.key(Qt::Key_S);
        s.key(Qt::Key_D);
        QVERIFY(s.range().begin > before.begin);
        s.key(Qt::Key_A);
        s.key(Qt::Key_0, Qt::ControlModifier);
        QCOMPARE(s.range(), s.state.range().limits());
        s.key(Qt::Key_1, Qt::ControlModifier);
        QCOMPARE(s.range(), before);
    }

    void focusCentresThenFits() {
        Bench s;
        const ItemRef item{ItemKind::Op, 1, 1, 6};
        s.click(item);
        s.key(Qt::Key_W);
        s.key(Qt::Key_W);
        s.key(Qt::Key_W);
        const TimeNs length = s.range().length();
        const TimeRange wanted = s.state.session()->range(item);
        s.key(Qt::Key_F);
        QCOMPARE(s.range().length(), length);
        const TimeNs off = s.range().begin + length / 2 - (wanted.begin + wanted.length() / 2);
        QVERIFY(std::abs(off.count()) <= 2);
        s.key(Qt::Key_F);
        QVERIFY(s.range().length() < length);
        s.key(Qt::Key_0, Qt::ControlModifier);
        s.key(Qt::Key_Z);
        QCOMPARE(s.range(), padded(wanted, 1.0));
    }

    void opsAndTransfersAreFollowedByKeys() {
        Bench s;
        s.click({ItemKind::Op, 1, 0, 0}); // F0
        s.key(Qt::Key_Period);
        QCOMPARE(s.state.selection(), (ItemRef{ItemKind::Op, 1, 0, 1}));
        s.key(Qt::Key_Comma);
        s.key(Qt::Key_BracketRight);
        QCOMPARE(s.state.selection(), (ItemRef{ItemKind::Op, 1, 1, 0}));
        s.key(Qt::Key_BracketLeft);
        QCOMPARE(s.state.selection(), (ItemRef{ItemKind::Op, 1, 0, 0}));
        s.key(Qt::Key_BracketLeft); // it has no input
        QCOMPARE(s.state.selection(), (ItemRef{ItemKind::Op, 1, 0, 0}));
        s.key(Qt::Key_Down);
        QCOMPARE(s.state.selection().rank, 1);
        s.key(Qt::Key_Up);
        s.key(Qt::Key_Up);
        QCOMPARE(s.state.selection().rank, 0);
    }

    void followingLeavesNoSelectionOutOfSight() {
        Bench s;
        s.click({ItemKind::Op, 1, 0, 3});
        s.key(Qt::Key_Z);
        for (int i = 0; i < 40; ++i) {
            s.key(Qt::Key_Period);
            const TimeRange item = s.state.session()->range(s.state.selection());
            QCOMPARE(overlap(item, s.range()), item.length());
        }
        QCOMPARE(s.state.selection().step, 2); // into the next step
    }

    void stepKeysAndTheStepBand() {
        Bench s;
        s.key(Qt::Key_PageDown);
        QCOMPARE(s.state.step(), 2);
        s.key(Qt::Key_PageUp);
        s.key(Qt::Key_PageUp);
        QCOMPARE(s.state.step(), 0);
        s.key(Qt::Key_0, Qt::ControlModifier);
        const double x = kHeaderWidth + (s.view.viewport()->width() - kHeaderWidth) * 0.9;
        QTest::mouseClick(s.view.viewport(), Qt::LeftButton, {}, {static_cast<int>(x), 8});
        QCOMPARE(s.state.step(), 2);
    }

    void doubleClickZooms() {
        Bench s;
        const ItemRef item{ItemKind::Bubble, 1, 3, 1};
        QTest::mouseDClick(s.view.viewport(), Qt::LeftButton, {}, s.view.centreOf(item).toPoint());
        QCOMPARE(s.range(), padded(s.state.session()->range(item), 1.0));
    }

    void manyRanksScroll() {
        SampleSpec spec;
        spec.schedule = {"1f1b", "", 32, 32, 1};
        Bench s(spec);
        s.view.setRowHeight(RowLayout::kMinReadableHeight); // compact rows by default
        QScrollBar* bar = s.view.verticalScrollBar();
        QVERIFY(bar->maximum() > 0);
        s.wheel({20, 200}, {0, -240}); // over the rank names
        QVERIFY(bar->value() > 0);
        s.state.select({ItemKind::Op, 1, 31, 0});
        emit s.state.rankRequested(31);
        QCOMPARE(bar->value(), bar->maximum());
        QVERIFY(s.view.viewport()->rect().contains(s.view.centreOf({ItemKind::Op, 1, 31, 0}).toPoint()));
    }

    void drawsOpsInTheirColours_data() {
        QTest::addColumn<int>("choice");
        QTest::newRow("light") << static_cast<int>(ThemeChoice::Light);
        QTest::newRow("dark") << static_cast<int>(ThemeChoice::Dark);
    }
    void drawsOpsInTheirColours() {
        QFETCH(const int, choice);
        Bench s;
        s.themes.choose(static_cast<ThemeChoice>(choice));
        const QImage image = s.view.viewport()->grab().toImage();
        const Theme& theme = s.themes.theme();
        const auto colourBeside = [&](const ItemRef& item) {
            // Next to the label, inside the op.
            const QPointF at = s.view.centreOf(item) - QPointF(0, 14);
            return QColor(image.pixel((at * image.devicePixelRatio()).toPoint()));
        };
        QCOMPARE(colourBeside({ItemKind::Op, 1, 0, 0}), theme.fill(Role::Forward));
        QCOMPARE(colourBeside({ItemKind::Op, 1, 3, 1}), theme.fill(Role::Backward));
    }

    void emptyViewTakesAllInput() {
        ThemeManager themes;
        ViewState state;
        TimelineView view(state, themes);
        view.resize(600, 300);
        view.show();
        for (const CommandInfo& info : commandTable())
            view.run(info.command);
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, {300, 150});
        QTest::mouseDClick(view.viewport(), Qt::LeftButton, {}, {300, 150});
        view.grab();
    }

    void themeColoursAreTellable() {
        // Neighbours on the timeline must differ in lightness, not only in hue.
        for (const ThemeChoice choice : {ThemeChoice::Light, ThemeChoice::Dark}) {
            const Theme& theme = themeOf(choice);
            const std::vector<Role> roles{Role::Forward, Role::Backward, Role::BackwardInput, Role::BackwardWeight,
                                          Role::Optimizer};
            for (std::size_t a = 0; a < roles.size(); ++a) {
                for (std::size_t b = a + 1; b < roles.size(); ++b) {
                    const int difference =
                        std::abs(qGray(theme.fill(roles[a]).rgb()) - qGray(theme.fill(roles[b]).rgb()));
                    QVERIFY2(difference >= 12, qPrintable(QStringLiteral("%1 %2: %3").arg(a).arg(b).arg(difference)));
                }
            }
        }
    }
};

BUBBLESCOPE_GUI_TEST(TimelineViewTest, timeline_view_test);
#include "timeline_view_test.moc"
