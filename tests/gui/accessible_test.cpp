#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAccessible>
#include <QScrollBar>
#include <QTest>

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

    void rowsInSightAreRead() {
        Reader reader(8);
        QAccessibleInterface& timeline = reader.timeline();
        QCOMPARE(timeline.role(), QAccessible::List);
        QVERIFY(!timeline.text(QAccessible::Name).isEmpty());
        const std::vector<int> rows = reader.view.rowsInSight();
        const int end = static_cast<int>(rows.size());
        QCOMPARE(rows.front(), 0);
        QVERIFY(end > 2 && end < 8); // the rest is scrolled out of view
        QCOMPARE(timeline.childCount(), end);
        for (int row = 0; row < end; ++row) {
            QAccessibleInterface* child = timeline.child(row);
            QVERIFY(child != nullptr && child->isValid());
            QCOMPARE(child, timeline.child(row)); // the same object each time
            QCOMPARE(child->parent(), &timeline);
            QCOMPARE(timeline.indexOfChild(child), row);
            QCOMPARE(child->text(QAccessible::Name), QStringLiteral("Rank %1").arg(row));
            const RankAccount& account = reader.state.session()->analysis(1).ranks[static_cast<std::size_t>(row)];
            QVERIFY(child->text(QAccessible::Value).contains(shortTime(account.bubble)));
            const QRect rect = child->rect();
            QVERIFY(timeline.rect().contains(rect));
            QCOMPARE(timeline.childAt(rect.center().x(), rect.center().y()), child);
        }
        QVERIFY(timeline.child(end) == nullptr);
        QVERIFY(timeline.child(-1) == nullptr);
    }

    void scrollingBringsOtherRows() {
        Reader reader(64);
        reader.view.setRowHeight(60);
        reader.view.verticalScrollBar()->setValue(reader.view.rows().rowTop(40));
        QCOMPARE(reader.timeline().child(0)->text(QAccessible::Name), QStringLiteral("Rank 40"));
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
        QVERIFY(timeline.child(2)->state().selected);
        QVERIFY(!timeline.child(1)->state().selected);
        if (!active) QSKIP("nothing is announced on this platform");
        bool value = false;
        bool row = false;
        for (const AccessibleEvent& event : accessibleEvents()) {
            if (event.object != &reader.view) continue;
            value = value || (event.type == QAccessible::ValueChanged && event.value == text);
            row = row || (event.type == QAccessible::Selection && event.child == 2);
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
