#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAccessible>
#include <QScrollBar>
#include <QTest>

#include <algorithm>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

struct AccessibleEvent {
    QAccessible::Event type;
    QObject* object;
    int child;
    QString value;
};

std::vector<AccessibleEvent>& accessibleEvents() {
    static std::vector<AccessibleEvent> events;
    return events;
}

void listen(QAccessibleEvent* event) {
    QString value;
    if (event->type() == QAccessible::ValueChanged)
        value = static_cast<QAccessibleValueChangeEvent*>(event)->value().toString();
    accessibleEvents().push_back({event->type(), event->object(), event->child(), value});
}

/// A timeline as seen by a screen reader.
struct Reader {
    ThemeManager themes;
    ViewState state;
    TimelineView view{state, themes};

    explicit Reader(int ranks) {
        SampleSpec spec;
        spec.schedule = {"1f1b", "", ranks, 16, 1};
        view.resize(900, 400);
        view.show();
        state.setSession(sampleSession(spec));
    }
    [[nodiscard]] QAccessibleInterface& timeline() { return *QAccessible::queryAccessibleInterface(&view); }
};

} // namespace

class AccessibleTest : public QObject {
    Q_OBJECT

private slots:
    void init() { accessibleEvents().clear(); }

    void theTimelineIsReadAsATable() {
        Reader reader(8);
        QAccessibleInterface& timeline = reader.timeline();
        QCOMPARE(timeline.role(), QAccessible::Table);
        QVERIFY(!timeline.text(QAccessible::Name).isEmpty());
        QVERIFY(timeline.text(QAccessible::Description).contains(QLatin1Char('8')));
        QAccessibleTableInterface* table = timeline.tableInterface();
        QVERIFY(table != nullptr);
        QCOMPARE(table->rowCount(), 8);
        QVERIFY(table->columnCount() > 3);
        QCOMPARE(timeline.childCount(), table->rowCount() * table->columnCount());
        for (int row = 0; row < table->rowCount(); ++row) {
            const RankAccount& account = reader.state.session()->analysis(1).ranks[static_cast<std::size_t>(row)];
            QCOMPARE(table->rowDescription(row), QStringLiteral("Rank %1").arg(row));
            for (int column = 0; column < table->columnCount(); ++column) {
                QAccessibleInterface* cell = table->cellAt(row, column);
                QVERIFY(cell != nullptr && cell->isValid());
                QCOMPARE(cell, table->cellAt(row, column)); // the same object each time
                QCOMPARE(cell->parent(), &timeline);
                QCOMPARE(timeline.child(timeline.indexOfChild(cell)), cell);
                QVERIFY(!cell->text(QAccessible::Name).isEmpty());
                QCOMPARE(cell->text(QAccessible::Description), table->columnDescription(column));
                QCOMPARE(cell->tableCellInterface()->rowIndex(), row);
                QCOMPARE(cell->tableCellInterface()->columnIndex(), column);
            }
            QCOMPARE(table->cellAt(row, 0)->text(QAccessible::Name), QStringLiteral("Rank %1").arg(row));
            QCOMPARE(table->cellAt(row, 1)->text(QAccessible::Name), shortTime(account.bubble));
        }
        QVERIFY(table->cellAt(8, 0) == nullptr);
        QVERIFY(table->cellAt(0, table->columnCount()) == nullptr);
        QVERIFY(timeline.child(-1) == nullptr);
    }

    void cellsHaveTheirPlaces() {
        Reader reader(8);
        QAccessibleInterface& timeline = reader.timeline();
        QAccessibleTableInterface& table = *timeline.tableInterface();
        const std::vector<int> rows = reader.view.rowsInSight();
        QVERIFY(rows.size() > 2 && rows.size() < 8); // the rest is scrolled out of view
        for (int row = 0; row < 8; ++row) {
            QAccessibleInterface* name = table.cellAt(row, 0);
            const bool seen = std::ranges::find(rows, row) != rows.end();
            QCOMPARE(name->state().offscreen == 0, seen);
            if (!seen) continue;
            QVERIFY(timeline.rect().contains(name->rect()));
            const QPoint centre = name->rect().center();
            QCOMPARE(timeline.childAt(centre.x(), centre.y()), name);
        }
        reader.view.setRowHeight(60);
        reader.view.verticalScrollBar()->setValue(reader.view.rows().rowTop(5));
        QCOMPARE(table.cellAt(5, 0)->state().offscreen == 0, true);
        QCOMPARE(table.cellAt(0, 0)->state().offscreen == 0, false);
    }

    void aRowIsSelectedByItsLongestBubble() {
        Reader reader(4);
        QAccessibleTableInterface& table = *reader.timeline().tableInterface();
        QVERIFY(table.selectedRows().isEmpty());
        QVERIFY(table.selectRow(3));
        QCOMPARE(reader.state.selection().kind, ItemKind::Bubble);
        QCOMPARE(reader.state.selection().rank, 3);
        QCOMPARE(table.selectedRows(), QList<int>{3});
        QCOMPARE(table.selectedCellCount(), table.columnCount());
        QVERIFY(table.unselectRow(3));
        QVERIFY(!reader.state.selection());
        QVERIFY(!table.selectRow(4));
    }

    void theSelectionIsAnnounced() {
        Reader reader(4);
        QAccessibleInterface& timeline = reader.timeline();
        QVERIFY(timeline.text(QAccessible::Value).isEmpty());
        const auto before = QAccessible::installUpdateHandler(listen);
        QAccessible::setActive(true);
        const bool active = QAccessible::isActive(); // not on every platform
        const ItemRef item{ItemKind::Op, 1, 2, 4};
        reader.state.select(item);
        QAccessible::setActive(false);
        QAccessible::installUpdateHandler(before);
        const QString text = oneLine(*reader.state.session(), item);
        QCOMPARE(timeline.text(QAccessible::Value), text);
        const int columns = timeline.tableInterface()->columnCount();
        QVERIFY(timeline.child(2 * columns)->state().selected);
        QVERIFY(!timeline.child(1 * columns)->state().selected);
        if (!active) QSKIP("nothing is announced on this platform");
        bool value = false;
        bool row = false;
        for (const AccessibleEvent& event : accessibleEvents()) {
            if (event.object != &reader.view) continue;
            value = value || (event.type == QAccessible::ValueChanged && event.value == text);
            row = row || (event.type == QAccessible::Selection && event.child == 2 * columns);
        }
        QVERIFY(value);
        QVERIFY(row);
    }

    void nothingIsReadWithoutATrace() {
        ThemeManager themes;
        ViewState state;
        TimelineView view(state, themes);
        view.show();
        QCOMPARE(QAccessible::queryAccessibleInterface(&view)->childCount(), 0);
    }
};

BUBBLESCOPE_GUI_TEST(AccessibleTest, accessible_test);
#include "accessible_test.moc"
