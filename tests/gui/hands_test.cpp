#include "app/gui/command_palette.h"
#include "app/gui/key_sheet.h"
#include "app/gui/main_menus.h"
#include "app/gui/main_window.h"
#include "app/gui/panels/bubble_panel.h"
#include "app/gui/panels/range_panel.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAbstractButton>
#include <QAction>
#include <QClipboard>
#include <QComboBox>
#include <QDockWidget>
#include <QGuiApplication>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QScrollBar>
#include <QSettings>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QToolBar>
#include <QToolButton>
#include <QWheelEvent>

#include <map>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

struct HandsDesk {
    MainWindow window;

    explicit HandsDesk(bool remember = false, bool trace = true) : window(loadSample, remember) {
        window.resize(1280, 800);
        window.show();
        if (!trace) return;
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("sample.pftrace")});
        if (!loaded.wait()) qFatal("the sample did not load");
        if (!QTest::qWaitForWindowActive(&window)) qFatal("the window is not active");
    }
    [[nodiscard]] TimelineView& view() { return child<TimelineView>(window, "timeline"); }
    [[nodiscard]] ViewState& state() { return window.state(); }
    [[nodiscard]] QAction& action(const QString& name) {
        auto* found = window.findChild<QAction*>(name);
        if (found == nullptr) qFatal("no action %s", qPrintable(name));
        return *found;
    }
    void openMenu(const ItemRef& item, QMenu*& menu) {
        const QPoint at = view().centreOf(item).toPoint();
        QContextMenuEvent event(QContextMenuEvent::Mouse, at, view().viewport()->mapToGlobal(at));
        QApplication::sendEvent(view().viewport(), &event);
        menu = window.findChild<QMenu*>(QStringLiteral("itemMenu"));
        if (menu == nullptr) qFatal("no menu");
    }
};

void collect(const QList<QAction*>& actions, QList<QAction*>& out) {
    for (QAction* action : actions) {
        if (action->menu() != nullptr) {
            collect(action->menu()->actions(), out);
        } else {
            out << action;
        }
    }
}

QList<QAction*> menuActions(const MainWindow& window) {
    QList<QAction*> out;
    collect(window.menuBar()->actions(), out);
    return out;
}

void turnWheel(TimelineView& view, int y, Qt::KeyboardModifiers modifiers = {}) {
    const QPointF at(600, 200);
    QWheelEvent event(at, view.viewport()->mapToGlobal(at), {}, {0, y}, Qt::NoButton, modifiers, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(view.viewport(), &event);
}

void drag(QWidget& widget, QPoint from, QPoint to) {
    QTest::mousePress(&widget, Qt::LeftButton, {}, from);
    QTest::mouseMove(&widget, (from + to) / 2);
    QTest::mouseMove(&widget, to);
    QTest::mouseRelease(&widget, Qt::LeftButton, {}, to);
}

} // namespace

/// Keys, tool bar, menus under the pointer, time ranges: what hands know from other programs.
class HandsTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() { settings_.use(); }

    void eachKeyHasOneAction() {
        HandsDesk desk;
        std::map<QString, QString> owner;
        for (const QAction* action : menuActions(desk.window)) {
            for (const QKeySequence& keys : action->shortcuts()) {
                const QString text = keys.toString();
                QVERIFY2(!owner.contains(text), qPrintable(text + QLatin1String(": ") + owner[text] +
                                                           QLatin1String(" and ") + action->text()));
                owner[text] = action->text();
            }
        }
        for (const char* keys : {"Home", "Left", "+", "Ctrl+F", "F3", "Shift+F3", "Ctrl+E", "W"})
            QVERIFY2(owner.contains(QString::fromLatin1(keys)), keys);
    }

    void eachCommandIsInAMenuOnce() {
        HandsDesk desk;
        QStringList texts;
        for (const QAction* action : menuActions(desk.window)) {
            if (!action->isSeparator()) texts << plainMenuText(action->text());
        }
        QList<QKeySequence> keys;
        for (const QAction* action : menuActions(desk.window))
            keys += action->shortcuts();
        for (const CommandInfo& info : commandTable())
            QVERIFY2(keys.contains(commandKeys(info).front()), info.text);
        // Languages and themes may both be "Same as system".
        texts.removeAll(QStringLiteral("Same as system"));
        QCOMPARE(texts.removeDuplicates(), 0);
    }

    void theKeySheetListsEachAction() {
        HandsDesk desk;
        const KeySheet sheet(*desk.window.menuBar(), &desk.window);
        QStringList listed;
        for (const KeySheet::Entry& entry : sheet.entries())
            listed << entry.text;
        for (const QAction* action : menuActions(desk.window)) {
            if (action->shortcut().isEmpty()) continue;
            QCOMPARE(listed.count(plainMenuText(action->text())), 1);
        }
        QVERIFY(listed.contains(QStringLiteral("Select a time range")));
    }

    void theKeySheetFitsAndIsSearched() {
        HandsDesk desk;
        KeySheet sheet(*desk.window.menuBar(), &desk.window);
        sheet.show();
        QVERIFY(sheet.height() <= sheet.screen()->availableSize().height());
        QVERIFY(sheet.minimumSizeHint().height() < 500);
        const auto count = [&] { return sheet.findChildren<QLabel*>().size(); };
        const auto all = count();
        QTest::keyClicks(&sheet.line(), QStringLiteral("critical"));
        QTRY_VERIFY(count() < 6 && count() >= 2);
        sheet.line().clear();
        QTRY_COMPARE(count(), all);
    }

    void keysWorkWhereverTheFocusIs() {
        HandsDesk desk;
        auto& table = child<QTableView>(desk.window, "bubbleTable");
        desk.window.showPanel(QStringLiteral("bubbles"));
        table.setFocus();
        QTRY_VERIFY(table.hasFocus());
        QTest::keyClick(&table, Qt::Key_T);
        QVERIFY(desk.state().shows(FlowOverlay::Transfers));
        const TimeRange before = desk.state().range().range();
        QTest::keyClick(&table, Qt::Key_W);
        QVERIFY(desk.state().range().range().length() < before.length());
        QTest::keyClick(&table, Qt::Key_Left, Qt::AltModifier); // back
        QCOMPARE(desk.state().range().range(), before);
        QTest::keyClick(&table, Qt::Key_Right, Qt::AltModifier); // forward
        QVERIFY(desk.state().range().range().length() < before.length());
        // The table keeps the keys that move in it.
        table.setCurrentIndex(table.model()->index(0, 0));
        const TimeRange now = desk.state().range().range();
        const int row = table.currentIndex().row();
        QTest::keyClick(&table, Qt::Key_Down);
        QCOMPARE(table.currentIndex().row(), row + 1);
        Q_UNUSED(now);
        // A text field keeps letters and Escape.
        QTest::keyClick(&table, Qt::Key_F, Qt::ControlModifier);
        auto& bar = child<SearchBar>(desk.window, "searchBar");
        QVERIFY(bar.isVisible());
        QTRY_VERIFY(bar.line().hasFocus());
        desk.state().showFlow(FlowOverlay::Transfers, false);
        QTest::keyClick(&bar.line(), Qt::Key_T);
        QCOMPARE(bar.line().text(), QStringLiteral("t"));
        QVERIFY(!desk.state().shows(FlowOverlay::Transfers));
        QTest::keyClick(&bar.line(), Qt::Key_Escape);
        QVERIFY(!bar.isVisible());
    }

    void undoneChangesComeBack() {
        ViewState state;
        state.setSession(sampleSession());
        const TimeRange first = state.range().range();
        state.range().showAll();
        const TimeRange second = state.range().range();
        RowChoice rows = state.rows();
        rows.setPinned(2, true);
        state.setRows(rows);
        QVERIFY(state.canUndo() && !state.canRedo());
        state.undo();
        QVERIFY(!state.rows().pins(2));
        state.undo();
        QCOMPARE(state.range().range(), first);
        state.redo();
        QCOMPARE(state.range().range(), second);
        QVERIFY(!state.rows().pins(2));
        state.redo();
        QVERIFY(state.rows().pins(2));
        QVERIFY(!state.canRedo());
        state.undo();
        state.range().zoomAt(0.5, 0.5); // a new change: undone changes are discarded
        QVERIFY(!state.canRedo());
    }

    void theToolBarHasTheFrequentActions() {
        HandsDesk desk(false, false);
        auto& bar = child<QToolBar>(desk.window, "toolBar");
        int disabled = 0;
        for (QAction* action : bar.actions()) {
            if (action->isSeparator()) continue;
            QVERIFY2(!action->icon().isNull(), qPrintable(action->text()));
            QVERIFY(!action->toolTip().isEmpty());
            auto* button = qobject_cast<QToolButton*>(bar.widgetForAction(action));
            QVERIFY2(!button->accessibleName().isEmpty(), qPrintable(action->text()));
            const QImage image = action->icon().pixmap(20, 20).toImage();
            bool drawn = false;
            for (int y = 0; y < image.height() && !drawn; ++y) {
                for (int x = 0; x < image.width() && !drawn; ++x)
                    drawn = image.pixelColor(x, y).alpha() > 0;
            }
            QVERIFY2(drawn, qPrintable(action->text()));
            if (!action->isEnabled()) ++disabled;
        }
        QVERIFY(disabled >= 7); // nothing is open
        QVERIFY(desk.action(QStringLiteral("openFiles")).isEnabled());
    }

    void theMenuOfAnOpActsOnIt() {
        HandsDesk desk;
        const ItemRef op{ItemKind::Op, desk.state().step(), 1, 4};
        QMenu* menu = nullptr;
        desk.openMenu(op, menu);
        QCOMPARE(desk.state().selection(), op);
        for (const char* name : {"itemZoom", "itemConsumer", "itemProducer", "itemMicrobatch", "itemPin", "itemNote",
                                 "itemSame", "itemCopyText", "itemCopyJson", "itemCopyCommand"})
            QVERIFY2(menu->findChild<QAction*>(QString::fromLatin1(name)) != nullptr, name);
        menu->findChild<QAction*>(QStringLiteral("itemPin"))->trigger();
        QVERIFY(desk.state().rows().pins(1));
        menu->findChild<QAction*>(QStringLiteral("itemCopyJson"))->trigger();
        const QJsonObject json = QJsonDocument::fromJson(QGuiApplication::clipboard()->text().toUtf8()).object();
        QCOMPARE(json[QStringLiteral("kind")].toString(), QStringLiteral("op"));
        QCOMPARE(json[QStringLiteral("rank")].toInt(), 1);
        QCOMPARE(json[QStringLiteral("duration_ns")].toInteger(),
                 qint64{desk.state().session()->op(op).duration().count()});
        menu->findChild<QAction*>(QStringLiteral("itemCopyCommand"))->trigger();
        const auto start = desk.state().session()->op(op).start - desk.state().session()->window(op.step).begin;
        QCOMPARE(QGuiApplication::clipboard()->text(),
                 QStringLiteral("bubblescope-gui sample.pftrace --step %1 --select 1@%2ns")
                     .arg(desk.state().session()->step(op.step).index)
                     .arg(start.count()));
        menu->findChild<QAction*>(QStringLiteral("itemSame"))->trigger();
        auto& bar = child<SearchBar>(desk.window, "searchBar");
        QVERIFY(bar.isVisible());
        QTRY_COMPARE(bar.counter(), QStringLiteral("3")); // of three steps
        delete menu;
    }

    void bubblesAndTransfersHaveMenus() {
        HandsDesk desk;
        QMenu* menu = nullptr;
        desk.openMenu({ItemKind::Bubble, desk.state().step(), 2, 0}, menu);
        QVERIFY(menu->findChild<QAction*>(QStringLiteral("itemMicrobatch")) == nullptr);
        menu->findChild<QAction*>(QStringLiteral("itemCopyText"))->trigger();
        QVERIFY(QGuiApplication::clipboard()->text().contains(QLatin1String("ms")));
        delete menu;
    }

    void aDragOnTheRulerSelectsATimeRange() {
        HandsDesk desk;
        QWidget& view = *desk.view().viewport();
        const int y = kRulerHeight - 4;
        drag(view, {kHeaderWidth + 100, y}, {kHeaderWidth + 500, y});
        const TimeRange range = desk.state().measured();
        QVERIFY(range.length() > TimeNs{0});
        auto& panel = child<RangePanel>(desk.window, "rangePanel");
        QTRY_VERIFY(panel.isVisible());
        QTRY_VERIFY(panel.model().rowCount() > 0);
        // The ops of the range, counted by hand.
        const Session& session = *desk.state().session();
        std::size_t forwards = 0;
        TimeNs total{0};
        for (int step = 0; step < session.stepCount(); ++step) {
            for (const auto& ops : session.step(step).ranks) {
                for (const TimelineOp& op : ops) {
                    const TimeNs shared = overlap({op.start, op.end}, range);
                    if (op.op.kind != OpKind::Forward || shared == TimeNs{0}) continue;
                    ++forwards;
                    total += shared;
                }
            }
        }
        const RangeRow* row = nullptr;
        for (int at = 0; at < panel.model().rowCount(); ++at) {
            if (panel.model().at(at).name == QLatin1String("forward")) row = &panel.model().at(at);
        }
        QVERIFY(row != nullptr);
        QCOMPARE(row->count, forwards);
        QCOMPARE(row->total, total);
        QCOMPARE(row->longest, TimeNs{std::chrono::milliseconds(5)});
        for (const RangeGroup group : {RangeGroup::Op, RangeGroup::Rank, RangeGroup::Stage}) {
            panel.groups().setCurrentIndex(static_cast<int>(group));
            QSignalSpy filled(&panel, &RangePanel::filled);
            QVERIFY(filled.wait());
            TimeNs all{0};
            const RangeTable of_group = rangeTable(session, range, group);
            for (const RangeRow& one : of_group.rows)
                all += one.total;
            TimeNs kinds{0};
            const RangeTable of_kinds = rangeTable(session, range, RangeGroup::Kind);
            for (const RangeRow& one : of_kinds.rows) {
                if (one.longest_item.kind == ItemKind::Op) kinds += one.total;
            }
            QCOMPARE(all, kinds);
        }
        // Shares of what excludes each other add up, of all ranks and of one.
        panel.groups().setCurrentIndex(static_cast<int>(RangeGroup::Kind));
        for (const int rank : {0, 3}) {
            panel.ranks().setCurrentIndex(rank);
            QSignalSpy filled(&panel, &RangePanel::filled);
            QVERIFY(filled.wait());
            double shares = 0;
            for (int at = 0; at < panel.model().rowCount(); ++at)
                shares +=
                    panel.model().index(at, RangeTableModel::ShareColumn).data(RangeTableModel::kSortRole).toDouble();
            QVERIFY2(std::abs(shares - 1) < 1e-9, qPrintable(QString::number(shares)));
        }
        // Z zooms to it; a click on the ruler ends it.
        desk.view().setFocus();
        QTest::keyClick(&desk.view(), Qt::Key_Z);
        const TimeRange shown = desk.state().range().range();
        QVERIFY(shown.begin <= range.begin && range.end <= shown.end && shown.length() < range.length() * 11 / 10);
        QTest::mouseClick(&view, Qt::LeftButton, {}, {kHeaderWidth + 100, y});
        QVERIFY(desk.state().measured().length() == TimeNs{0});
    }

    void theMeasuringToolSelectsWithoutShift() {
        HandsDesk desk;
        desk.action(QStringLiteral("measure")).trigger();
        QVERIFY(desk.view().selecting());
        const TimeRange before = desk.state().range().range();
        drag(*desk.view().viewport(), {kHeaderWidth + 100, 200}, {kHeaderWidth + 400, 200});
        QCOMPARE(desk.state().range().range(), before);
        QVERIFY(desk.state().measured().length() > TimeNs{0});
    }

    void kernelsOfARangeAreCountedByName() {
        SampleSpec spec;
        spec.trace = true;
        const SessionPtr session = sampleSession(spec);
        const auto rows = rangeTable(*session, session->window(1), RangeGroup::Kernel).rows;
        QVERIFY(!rows.empty());
        for (const RangeRow& row : rows) {
            QVERIFY(row.count > 0 && row.longest_item.kind == ItemKind::Slice);
            QVERIFY(row.mean() <= row.longest);
        }
        QVERIFY(rangeTable(*session, {}, RangeGroup::Kernel).rows.empty());
    }

    void theWheelDoesWhatWasChosen() {
        QSettings().clear();
        {
            HandsDesk desk(true);
            auto& question = child<QWidget>(desk.window, "wheelQuestion");
            const TimeRange before = desk.state().range().range();
            QVERIFY(!question.isVisible());
            turnWheel(desk.view(), 120);
            QVERIFY(desk.state().range().range().length() < before.length());
            QVERIFY(question.isVisible()); // asked with the first turn
            child<QToolButton>(desk.window, "wheelScroll").click();
            QVERIFY(!question.isVisible());
            const TimeRange now = desk.state().range().range();
            turnWheel(desk.view(), 120);
            QCOMPARE(desk.state().range().range(), now); // it scrolls
            turnWheel(desk.view(), 120, Qt::ControlModifier);
            QVERIFY(desk.state().range().range().length() < now.length());
            desk.window.close();
        }
        HandsDesk desk(true);
        QVERIFY(desk.window.preferences().wheel() == TimelineView::Wheel::Scrolls); // remembered
        turnWheel(desk.view(), 120);
        QVERIFY(!child<QWidget>(desk.window, "wheelQuestion").isVisible()); // and not asked again
        desk.window.preferences().chooseWheel(TimelineView::Wheel::Zooms);
        const TimeRange before = desk.state().range().range();
        turnWheel(desk.view(), 120);
        QVERIFY(desk.state().range().range().length() < before.length());
        QSettings().clear();
    }

    void lettersOfMenusAreNoButtons() {
        HandsDesk desk;
        const auto letter = [](const QString& text) { return QKeySequence::mnemonic(text).toString(); };
        QStringList menus;
        for (const QAction* menu : desk.window.menuBar()->actions())
            menus << letter(menu->text());
        QCOMPARE(menus.removeDuplicates(), 0);
        for (const QAbstractButton* button : desk.window.findChildren<QAbstractButton*>()) {
            const QString key = letter(button->text());
            QVERIFY2(key.isEmpty() || !menus.contains(key), qPrintable(button->text()));
        }
    }

    void theArrangementCanBeReset() {
        HandsDesk desk;
        auto& bubbles = child<QDockWidget>(desk.window, "bubblesDock");
        bubbles.close();
        QVERIFY(!bubbles.isVisible());
        desk.action(QStringLiteral("resetLayout")).trigger();
        QTRY_VERIFY(!bubbles.isHidden());
    }

private:
    OwnSettings settings_;
};

BUBBLESCOPE_GUI_TEST(HandsTest, hands_test);
#include "hands_test.moc"
