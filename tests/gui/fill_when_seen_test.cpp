#include "app/gui/panels/widgets.h"
#include "tests/gui/gui_tests.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QTest>

using namespace bubblescope::gui;

namespace {

/// A window with two docks, of which the second lies behind the first.
struct Docks {
    QMainWindow window;
    QDockWidget* front = new QDockWidget(&window);
    QDockWidget* behind = new QDockWidget(&window);
    QWidget* seen = new QWidget(front);
    QWidget* unseen = new QWidget(behind);

    Docks() {
        for (auto* dock : {front, behind})
            window.addDockWidget(Qt::BottomDockWidgetArea, dock);
        front->setWidget(seen);
        behind->setWidget(unseen);
        window.tabifyDockWidget(front, behind);
        front->raise();
        window.resize(600, 400);
        window.show();
        QCoreApplication::processEvents(); // so that the docks have their places
    }
};

} // namespace

class FillWhenSeenTest : public QObject {
    Q_OBJECT

private slots:
    void whatIsSeenIsFilledAtOnce() {
        Docks docks;
        int fills = 0;
        FillWhenSeen& fill = *new FillWhenSeen(*docks.seen, [&] { ++fills; });
        fill.ask();
        QCOMPARE(fills, 1);
        fill.settle();
        QCOMPARE(fills, 1);
        QVERIFY(!fill.due());
    }

    void whatIsBehindATabIsFilledOnceWhenItIsChosen() {
        Docks docks;
        int fills = 0;
        FillWhenSeen& fill = *new FillWhenSeen(*docks.unseen, [&] { ++fills; });
        for (int i = 0; i < 5; ++i)
            fill.ask();
        QCOMPARE(fills, 0);
        QVERIFY(fill.due());
        docks.behind->raise();
        QTRY_COMPARE(fills, 1);
        QVERIFY(!fill.due());
        fill.ask();
        QCOMPARE(fills, 2);
        docks.front->raise();
        QCoreApplication::processEvents();
        fill.ask();
        QCOMPARE(fills, 2);
    }

    void whatIsClosedIsFilledWhenItIsOpened() {
        Docks docks;
        docks.front->close();
        int fills = 0;
        FillWhenSeen& fill = *new FillWhenSeen(*docks.seen, [&] { ++fills; });
        fill.ask();
        QCOMPARE(fills, 0);
        docks.front->show();
        docks.front->raise();
        QTRY_COMPARE(fills, 1);
    }

    void whatIsNotShownYetIsFilledWhenItIs() {
        QWidget panel;
        int fills = 0;
        FillWhenSeen& fill = *new FillWhenSeen(panel, [&] { ++fills; });
        fill.ask();
        QCOMPARE(fills, 0);
        panel.show();
        QCOMPARE(fills, 1);
    }

    void whoReadsItUnseenSettlesIt() {
        QWidget panel;
        int fills = 0;
        FillWhenSeen& fill = *new FillWhenSeen(panel, [&] { ++fills; });
        fill.ask();
        fill.settle();
        QCOMPARE(fills, 1);
        panel.show();
        QCOMPARE(fills, 1);
    }
};

BUBBLESCOPE_GUI_TEST(FillWhenSeenTest, fill_when_seen_test);
#include "fill_when_seen_test.moc"
