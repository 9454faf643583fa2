#include "app/gui/main_window.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QApplication>
#include <QDockWidget>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTabBar>
#include <QTest>
#include <QToolBar>

#include <algorithm>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

struct FocusDesk {
    MainWindow window{loadSample, false};

    explicit FocusDesk(QSize size = {1280, 800}) {
        window.resize(size);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("sample.pftrace")});
        if (!loaded.wait()) qFatal("the sample did not load");
        if (!QTest::qWaitForWindowActive(&window)) qFatal("the window is not active");
    }

    /// All widgets that Tab reaches, from the timeline until it returns there.
    std::vector<QWidget*> walk(Qt::Key key = Qt::Key_Tab) {
        auto& timeline = child<TimelineView>(window, "timeline");
        timeline.setFocus();
        std::vector<QWidget*> out;
        constexpr std::size_t kMost = 300;
        do {
            out.push_back(QApplication::focusWidget());
            QTest::keyClick(QApplication::focusWidget(), key);
        } while (QApplication::focusWidget() != &timeline && out.size() < kMost);
        return out;
    }

    /// The part of the window that contains a widget, and the tabs of docks.
    [[nodiscard]] QWidget* partOf(QWidget* widget) const {
        while (widget->parentWidget() != &window)
            widget = widget->parentWidget();
        return widget;
    }
};

} // namespace

/// Where Tab leads.
class FocusOrderTest : public GuiTest {
    Q_OBJECT

private slots:
    void tabReachesEachPartOnceAndNothingHidden() {
        FocusDesk desk;
        const std::vector<QWidget*> walk = desk.walk();
        QVERIFY(walk.size() > 12 && walk.size() < 300);
        std::vector<QWidget*> parts;
        for (QWidget* widget : walk) {
            QVERIFY2(widget->isVisible() && widget->isEnabled(), qPrintable(widget->objectName()));
            QCOMPARE(std::ranges::count(walk, widget), 1);
            QWidget* part = desk.partOf(widget);
            if (parts.empty() || parts.back() != part) parts.push_back(part);
        }
        // It began in the middle, and ends there.
        if (parts.size() > 1 && parts.back() == parts.front()) parts.pop_back();
        for (QWidget* part : parts)
            QVERIFY2(std::ranges::count(parts, part) == 1, qPrintable(part->objectName()));
        const auto place = [&](const QWidget* part) { return std::ranges::find(parts, part) - parts.begin(); };
        const auto count = static_cast<std::ptrdiff_t>(parts.size());
        QCOMPARE(place(desk.window.centralWidget()), 0);
        QVERIFY(place(desk.window.findChild<QToolBar*>()) < count);
        // The panels in front, from left to right; the tabs of the left ones come right before them.
        const auto* bubbles = desk.window.findChild<QDockWidget*>(QStringLiteral("bubblesDock"));
        const auto* details = desk.window.findChild<QDockWidget*>(QStringLiteral("detailsDock"));
        QVERIFY(place(bubbles) < place(details) && place(details) < count);
        QVERIFY(qobject_cast<QTabBar*>(parts[static_cast<std::size_t>(place(bubbles)) - 1]) != nullptr);
        for (const QDockWidget* dock : desk.window.findChildren<QDockWidget*>()) {
            const bool in_front = dock->isVisible() && !dock->visibleRegion().isEmpty();
            QVERIFY2(in_front || place(dock) == count, qPrintable(dock->objectName()));
        }
    }

    void shiftAndTabLeadBackTheSameWay() {
        FocusDesk desk;
        std::vector<QWidget*> forward = desk.walk();
        std::vector<QWidget*> back = desk.walk(Qt::Key_Backtab);
        std::ranges::reverse(back.begin() + 1, back.end());
        QCOMPARE(back, forward);
    }

    void anotherPanelInFrontIsReachedInItsPlace() {
        FocusDesk desk;
        for (const char* panel : {"anomalies", "steps", "whatif", "compare", "notes", "range"}) {
            desk.window.showPanel(QString::fromLatin1(panel));
            QCoreApplication::processEvents();
            const auto* dock = desk.window.findChild<QDockWidget*>(QString::fromLatin1(panel) + QLatin1String("Dock"));
            const auto* details = desk.window.findChild<QDockWidget*>(QStringLiteral("detailsDock"));
            bool reached = false;
            bool passed = false;
            for (QWidget* widget : desk.walk()) {
                QVERIFY(widget->isVisible());
                reached = reached || dock->isAncestorOf(widget);
                passed = passed || details->isAncestorOf(widget);
                QVERIFY2(!dock->isAncestorOf(widget) || !passed, panel); // it lies to the left
            }
            QVERIFY2(reached, panel);
        }
    }

    /// Names of panels are not cut in a small window.
    void namesOfPanelsStayWhole_data() {
        QTest::addColumn<int>("language");
        QTest::newRow("English") << static_cast<int>(Language::English);
        QTest::newRow("Chinese") << static_cast<int>(Language::Chinese);
    }

    void namesOfPanelsStayWhole() {
        QFETCH(int, language);
        FocusDesk desk({1000, 700});
        desk.window.languages().choose(static_cast<Language>(language));
        QCoreApplication::processEvents();
        int named = 0;
        for (const QTabBar* tabs : desk.window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
            if (!tabs->isVisible()) continue;
            QCOMPARE(tabs->elideMode(), Qt::ElideNone);
            for (int tab = 0; tab < tabs->count(); ++tab) {
                const int name = tabs->fontMetrics().horizontalAdvance(tabs->tabText(tab));
                QVERIFY2(tabs->tabRect(tab).width() >= name, qPrintable(tabs->tabText(tab)));
                ++named;
            }
        }
        QVERIFY(named > 8);
    }
};

BUBBLESCOPE_GUI_TEST(FocusOrderTest, focus_order_test);
#include "focus_order_test.moc"
