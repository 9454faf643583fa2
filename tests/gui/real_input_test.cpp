#include "app/gui/command_palette.h"
#include "app/gui/main_window.h"
#include "app/gui/panels/bubble_panel.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/timeline/overview_bar.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"
#include "tests/gui/user_input.h"

#include <QApplication>
#include <QHeaderView>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QSettings>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QToolTip>

// The other tests send events to widgets. Here an X server moves a pointer and presses keys, and the widget with the
// focus receives them, as from a user. Skipped without Xvfb or xdotool.

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// The app's window with the sample open and the keyboard focus.
struct InputWindow {
    MainWindow window{loadSample, false};
    ViewState& state = window.state();

    InputWindow() { openOnScreen(window, QStringLiteral("sample.pftrace")); }
    template <class T>
    T& child() {
        T* found = window.findChild<T*>();
        if (found == nullptr) qFatal("no such child");
        return *found;
    }
    TimelineView& timeline() { return child<TimelineView>(); }
    QWidget& canvas() { return *timeline().viewport(); }
    QPoint placeOf(const ItemRef& item) { return timeline().centreOf(item).toPoint(); }
    [[nodiscard]] TimeRange range() { return state.range().range(); }
};

} // namespace

class RealInputTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() {
        settings_.use();
        QCOMPARE(QGuiApplication::platformName(), QStringLiteral("xcb"));
    }

    void pointerSelectsAndKeysGoOnFromThere() {
        InputWindow shown;
        const ItemRef first{ItemKind::Op, 1, 0, 0};
        UserInput::click(shown.canvas(), shown.placeOf(first));
        QTRY_COMPARE(shown.state.selection(), first);
        UserInput::press("period");
        QTRY_COMPARE(shown.state.selection(), (ItemRef{ItemKind::Op, 1, 0, 1}));
        UserInput::press("Down");
        QTRY_COMPARE(shown.state.selection().rank, 1);
        UserInput::press("Escape");
        QTRY_VERIFY(!shown.state.selection());
    }

    void wheelAndDragMoveTheView() {
        InputWindow shown;
        const TimeRange before = shown.range();
        const ItemRef item{ItemKind::Op, 1, 1, 3};
        const QPoint at = shown.placeOf(item);
        UserInput::wheel(shown.canvas(), at, true);
        QTRY_VERIFY(shown.range().length() < before.length());
        QCOMPARE(shown.timeline().itemAt(at), item); // it stays under the pointer
        const TimeRange zoomed = shown.range();
        UserInput::drag(shown.canvas(), at, at - QPoint(160, 0));
        QTRY_VERIFY(shown.range().begin > zoomed.begin);
        QCOMPARE(shown.range().length(), zoomed.length());
        QVERIFY(!shown.state.selection()); // a drag is not a click
        UserInput::hold("shift", true);
        const TimeRange dragged = shown.range();
        UserInput::wheel(shown.canvas(), at, false);
        UserInput::hold("shift", false);
        QTRY_VERIFY(shown.range().begin > dragged.begin);
        QCOMPARE(shown.range().length(), dragged.length());
    }

    void shiftAndDragMeasure() {
        InputWindow shown;
        const QPoint from = shown.placeOf({ItemKind::Op, 1, 0, 1});
        const QPoint to = shown.placeOf({ItemKind::Op, 1, 0, 3});
        UserInput::hold("shift", true);
        UserInput::drag(shown.canvas(), from, to);
        UserInput::hold("shift", false);
        QTRY_VERIFY(shown.state.measured().length() > TimeNs{0});
        QTRY_VERIFY(shown.state.measured().begin < shown.state.measured().end);
        QVERIFY(overlap(shown.state.measured(), shown.state.session()->range({ItemKind::Op, 1, 0, 2})) > TimeNs{0});
    }

    void doubleClickZoomsToABubbleAndBackspaceGoesBack() {
        InputWindow shown;
        const TimeRange before = shown.range();
        const ItemRef bubble{ItemKind::Bubble, 1, 3, 1};
        UserInput::click(shown.canvas(), shown.placeOf(bubble), 1, 2);
        QTRY_COMPARE(shown.range(), padded(shown.state.session()->range(bubble), 1.0));
        UserInput::press("BackSpace");
        QTRY_COMPARE(shown.range(), before);
    }

    void restingPointerExplainsWhatIsBelow() {
        InputWindow shown;
        const QPoint forward = shown.placeOf({ItemKind::Op, 1, 2, 1}); // F1
        UserInput::moveTo(shown.canvas(), forward - QPoint(3, 0));
        UserInput::moveTo(shown.canvas(), forward);
        QTRY_VERIFY(QToolTip::isVisible());
        QVERIFY(QToolTip::text().contains(QLatin1String("F1")));
    }

    void searchIsTypedAndChosen() {
        InputWindow shown;
        UserInput::click(shown.canvas(), shown.placeOf({ItemKind::Op, 1, 1, 0}));
        UserInput::press("slash");
        auto& search = shown.child<SearchBar>();
        QTRY_VERIFY(search.isVisible() && search.line().hasFocus());
        UserInput::type("F3");
        QTRY_COMPARE(search.line().text(), QStringLiteral("F3"));
        QTRY_VERIFY(search.list().count() > 0);
        UserInput::press("Return");
        const auto chosen = [&] {
            const ItemRef item = shown.state.selection();
            return item.kind == ItemKind::Op ? shown.state.session()->op(item).op : Op{};
        };
        QTRY_COMPARE(chosen().microbatch, Microbatch{3});
        QCOMPARE(chosen().kind, OpKind::Forward);
    }

    void paletteRunsWhatIsTyped() {
        InputWindow shown;
        QVERIFY(shown.window.themes().choice() != ThemeChoice::Dark);
        UserInput::press("ctrl+shift+p");
        CommandPalette* palette = nullptr;
        QTRY_VERIFY((palette = shown.window.findChild<CommandPalette*>()) != nullptr && palette->isVisible());
        QTRY_VERIFY(palette->line().hasFocus());
        UserInput::type("dark");
        QTRY_COMPARE(palette->line().text(), QStringLiteral("dark"));
        UserInput::press("Return");
        QTRY_COMPARE(shown.window.themes().choice(), ThemeChoice::Dark);
    }

    void menusOpenByKeyAndByPointer() {
        InputWindow shown;
        UserInput::press("alt+f");
        QTRY_VERIFY(qobject_cast<QMenu*>(QApplication::activePopupWidget()) != nullptr);
        UserInput::press("Escape");
        QTRY_VERIFY(QApplication::activePopupWidget() == nullptr);
        UserInput::press("Escape"); // the menu bar returns the focus
        UserInput::click(shown.canvas(), shown.timeline().rowRect(2).topLeft() + QPoint(20, 20), 3);
        QTRY_VERIFY(qobject_cast<QMenu*>(QApplication::activePopupWidget()) != nullptr);
        UserInput::press("Escape");
        QTRY_VERIFY(QApplication::activePopupWidget() == nullptr);
    }

    void tablesSortByTheirHeadersAndSelectByTheirRows() {
        InputWindow shown;
        QTableView& table = shown.child<BubblePanel>().table();
        for (QWidget* dock = &table; dock != nullptr; dock = dock->parentWidget())
            if (dock->inherits("QDockWidget")) dock->raise();
        QTRY_VERIFY(table.isVisible());
        QHeaderView* header = table.horizontalHeader();
        const int column = header->logicalIndex(1);
        const QPoint title(header->sectionViewportPosition(column) + 12, header->height() / 2);
        UserInput::click(*header->viewport(), title);
        QTRY_COMPARE(header->sortIndicatorSection(), column);
        const QRect cell = table.visualRect(table.model()->index(1, column));
        UserInput::click(*table.viewport(), cell.center());
        QTRY_COMPARE(shown.state.selection().kind, ItemKind::Bubble);
    }

    void overviewIsDragged() {
        InputWindow shown;
        auto& strip = shown.child<OverviewBar>();
        const TimeRange before = shown.range();
        const int middle = strip.height() / 2;
        UserInput::drag(strip, {strip.width() * 3 / 4, middle}, {strip.width() * 7 / 8, middle});
        QTRY_VERIFY(shown.range() != before);
        QVERIFY(shown.range().begin > before.begin);
    }

private:
    OwnSettings settings_;
};

static const GuiTestEntry entry_of_real_input_test{"real_input_test", runOnOwnDisplay<RealInputTest>};

#include "real_input_test.moc"
