#include "app/gui/panels/widgets.h"
#include "tests/gui/gui_tests.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QTest>

using namespace bubblescope::gui;

namespace {

/// A window with two tabbed docks, the second one behind the first.
struct Docks {
    QMainWindow window;
    QDockWidget* front = new QDockWidget(&window);
    QDockWidget* behind = new QDockWidget(&window);
    QWidget* seen = new QWidget(front);
    QWidget* unseen = new QWidget(behind);

    explicit Docks(bool shown = true) {
        for (auto* dock : {front, behind})
            window.addDockWidget(Qt::BottomDockWidgetArea, dock);
        front->setWidget(seen);
        behind->setWidget(unseen);
        window.tabifyDockWidget(front, behind);
        front->raise();
        window.resize(600, 400);
        if (shown) show();
    }
    void show() {
        window.show();
        QCoreApplication::processEvents(); // places the docks
    }
};

} // namespace

class FillWhenVisibleTest : public QObject {
    Q_OBJECT

private slots:
    void whatIsSeenIsFilledAtOnce() {
        Docks docks;
        int fills = 0;
        FillWhenVisible& fill = *new FillWhenVisible(*docks.seen, [&] { ++fills; });
        fill.markStale();
        QCOMPARE(fills, 1);
        fill.fillNow();
        QCOMPARE(fills, 1);
        QVERIFY(!fill.stale());
    }

    void whatIsBehindATabIsFilledOnceWhenItIsChosen() {
        Docks docks;
        int fills = 0;
        FillWhenVisible& fill = *new FillWhenVisible(*docks.unseen, [&] { ++fills; });
        for (int i = 0; i < 5; ++i)
            fill.markStale();
        QCOMPARE(fills, 0);
        QVERIFY(fill.stale());
        docks.behind->raise();
        QTRY_COMPARE(fills, 1);
        QVERIFY(!fill.stale());
        fill.markStale();
        QCOMPARE(fills, 2);
        docks.front->raise();
        QCoreApplication::processEvents();
        fill.markStale();
        QCOMPARE(fills, 2);
    }

    void aWindowThatOpensFillsWhatIsInFrontOnly() {
        Docks docks(false);
        int seen = 0;
        int unseen = 0;
        (new FillWhenVisible(*docks.seen, [&] { ++seen; }))->markStale();
        (new FillWhenVisible(*docks.unseen, [&] { ++unseen; }))->markStale();
        docks.show();
        QTRY_COMPARE(seen, 1);
        QTest::qWait(50);
        QCOMPARE(unseen, 0);
        docks.behind->raise();
        QTRY_COMPARE(unseen, 1);
    }

    void whatIsClosedIsFilledWhenItIsOpened() {
        Docks docks;
        docks.front->close();
        int fills = 0;
        FillWhenVisible& fill = *new FillWhenVisible(*docks.seen, [&] { ++fills; });
        fill.markStale();
        QCOMPARE(fills, 0);
        docks.front->show();
        docks.front->raise();
        QTRY_COMPARE(fills, 1);
    }

    void whatIsNotShownYetIsFilledWhenItIs() {
        QWidget panel;
        int fills = 0;
        FillWhenVisible& fill = *new FillWhenVisible(panel, [&] { ++fills; });
        fill.markStale();
        QCOMPARE(fills, 0);
        panel.show();
        QCOMPARE(fills, 1);
    }

    void whoReadsItUnseenSettlesIt() {
        QWidget panel;
        int fills = 0;
        FillWhenVisible& fill = *new FillWhenVisible(panel, [&] { ++fills; });
        fill.markStale();
        fill.fillNow();
        QCOMPARE(fills, 1);
        panel.show();
        QCOMPARE(fills, 1);
    }
};

BUBBLESCOPE_GUI_TEST(FillWhenVisibleTest, fill_when_visible_test);
#include "fill_when_visible_test.moc"
