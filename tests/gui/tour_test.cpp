#include "app/gui/main_window.h"
#include "app/gui/models/anomaly_model.h"
#include "app/gui/models/recent_files.h"
#include "app/gui/panels/anomaly_panel.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/panels/welcome_panel.h"
#include "app/gui/panels/whatif_panel.h"
#include "app/gui/timeline/timeline_view.h"
#include "app/gui/tour/tour.h"
#include "core/recognise/run.h"
#include "tests/gui/gui_tests.h"

#include <QAction>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTest>
#include <QThreadPool>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

Result<Run> loadFiles(const std::vector<std::filesystem::path>& paths, JobControl& control) {
    return loadRun(paths, control);
}

QPushButton& tourButton(const MainWindow& window, const char* name) {
    return *window.tour()->findChild<QPushButton*>(QString::fromLatin1(name));
}

} // namespace

class TourTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        settings_.use();
        QCoreApplication::setApplicationName(QStringLiteral("tour_test"));
        QStandardPaths::setTestModeEnabled(true);
    }

    void init() {
        QSettings().clear();
        QFile::remove(demoFile(QStringLiteral("balanced")));
        QFile::remove(demoFile(QString::fromLatin1(kTourDemo)));
    }

    void cleanup() { QVERIFY(QThreadPool::globalInstance()->waitForDone(20000)); }

    void aDemoIsOpenedByAClickAndKept() {
        MainWindow window(loadFiles, true);
        Tour::setSeen(true);
        window.show();
        auto* card = window.findChild<DemoCard*>(QStringLiteral("demo-balanced"));
        QVERIFY(card != nullptr && card->isVisible());
        QVERIFY(!card->description().isEmpty());
        QCOMPARE(card->accessibleDescription(), card->description());
        QSignalSpy loaded(&window, &MainWindow::loaded);
        QTest::mouseClick(card, Qt::LeftButton);
        QVERIFY(loaded.wait());
        const QString file = demoFile(QStringLiteral("balanced"));
        QVERIFY(QFile::exists(file));
        QVERIFY(isDemo({file}));
        QVERIFY(!isDemo({QStringLiteral("/elsewhere/balanced.pftrace")}));
        QCOMPARE(window.state().session()->stepCount(), 8);
        QVERIFY(window.windowTitle().contains(QLatin1String("balanced")));
        QVERIFY(RecentFiles::load().isEmpty()); // it is on the first page as well
        QVERIFY(window.tour() == nullptr);
        // An existing file is not written again.
        QFile there(file);
        QVERIFY(there.open(QIODevice::WriteOnly) && there.resize(0));
        there.close();
        QSignalSpy failed(&window, &MainWindow::failed);
        window.openDemo(QStringLiteral("balanced"));
        QVERIFY(failed.wait());
    }

    // A cancelled load may still be writing when the next one begins.
    void aDemoThatSeveralWantAtOnceIsWrittenOnce() {
        const RunLoader loader = withDemos(loadFiles);
        const std::filesystem::path file = demoFile(QStringLiteral("balanced")).toStdString();
        for (int round = 0; round < 5; ++round) {
            std::filesystem::remove(file);
            std::atomic<int> good{0};
            std::vector<std::thread> threads;
            for (int i = 0; i < 4; ++i) {
                threads.emplace_back([&] {
                    JobControl control;
                    const Result<Run> run = loader.run({file}, control);
                    if (run.ok() && run.value().steps.size() == 8) ++good;
                });
            }
            for (std::thread& thread : threads)
                thread.join();
            QCOMPARE(good.load(), 4);
        }
    }

    void aDemoIsOpenedByKeyboard() {
        MainWindow window(loadFiles, false);
        window.show();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        // Tab moves from the first button through the demos.
        auto* card = window.findChild<DemoCard*>(QStringLiteral("demo-slow-last-stage"));
        window.findChild<WelcomePanel*>()->findChild<QPushButton*>()->setFocus();
        for (int i = 0; i < 20 && !card->hasFocus(); ++i)
            QTest::keyClick(window.focusWidget(), Qt::Key_Tab);
        QVERIFY(card->hasFocus());
        const QImage focused = card->grab().toImage();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        QTest::keyClick(card, Qt::Key_Space);
        QVERIFY(loaded.wait());
        QVERIFY(window.findChild<AnomalyPanel*>() != nullptr);
        QVERIFY(!window.state().session()->report.anomalies.empty());
        QVERIFY(focused != card->grab().toImage());
    }

    void aFolderThatCannotBeWrittenIsSaidSo() {
        const QString folder = QFileInfo(demoFile(QStringLiteral("balanced"))).path();
        QDir(folder).removeRecursively();
        QVERIFY(QDir().mkpath(QFileInfo(folder).path()));
        QFile blocker(folder); // a file in place of the folder
        QVERIFY(blocker.open(QIODevice::WriteOnly));
        blocker.close();
        MainWindow window(loadFiles, false);
        window.show();
        QSignalSpy failed(&window, &MainWindow::failed);
        window.openDemo(QStringLiteral("balanced"));
        QVERIFY(failed.wait());
        const auto error = failed.front().front().value<Error>();
        QVERIFY(error.text().find("balanced") != std::string::npos);
        QVERIFY(blocker.remove());
    }

    void theFirstDemoBringsTheTour() {
        MainWindow window(loadFiles, true);
        window.show();
        QVERIFY(window.findChild<QPushButton*>(QStringLiteral("welcomeTour"))->isDefault());
        QSignalSpy loaded(&window, &MainWindow::loaded);
        QTest::mouseClick(window.findChild<DemoCard*>(QStringLiteral("demo-balanced")), Qt::LeftButton);
        QVERIFY(loaded.wait());
        QVERIFY(window.tour() != nullptr);
        QTest::mouseClick(&tourButton(window, "tourSkip"), Qt::LeftButton);
        QTRY_VERIFY(window.tour() == nullptr);
        QVERIFY(Tour::seen());
        window.openDemo(QStringLiteral("balanced"));
        QVERIFY(loaded.wait());
        QVERIFY(window.tour() == nullptr);
    }

    void everyStopPointsAtItsWidget() {
        MainWindow window(loadFiles, false);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        QSignalSpy loaded(&window, &MainWindow::loaded);
        QTest::mouseClick(window.findChild<QPushButton*>(QStringLiteral("welcomeTour")), Qt::LeftButton);
        QVERIFY(loaded.wait()); // on a demo, since nothing was open
        Tour& tour = *window.tour();
        QVERIFY(tour.count() >= 6 && tour.count() <= 8);
        QStringList titles;
        for (int step = 0; step < tour.count(); ++step) {
            QCOMPARE(tour.step(), step);
            QVERIFY(!tour.text().isEmpty());
            titles << tour.title();
            QCoreApplication::processEvents();
            QTRY_VERIFY(tour.target() != nullptr && tour.target()->isVisible());
            QRect target(tour.target()->mapTo(&window, QPoint()), tour.target()->size());
            QTRY_VERIFY(tour.spotlight().place().contains(target.intersected(window.rect())));
            QVERIFY(window.rect().contains(tour.geometry()));
            // Small targets are not covered by the text box.
            if (target.height() < window.height() / 3) QVERIFY(!tour.geometry().intersects(target));
            QVERIFY(tour.findChild<QPushButton*>(QStringLiteral("tourNext"))->hasFocus());
            if (step + 1 < tour.count()) QTest::keyClick(&tourButton(window, "tourNext"), Qt::Key_Space);
        }
        titles.removeDuplicates();
        QCOMPARE(titles.size(), tour.count());
        QTest::keyClick(&tourButton(window, "tourBack"), Qt::Key_Space);
        QCOMPARE(tour.step(), tour.count() - 2);
        QTest::keyClick(&tour, Qt::Key_Left);
        QCOMPARE(tour.step(), tour.count() - 3);
        QTest::keyClick(&tour, Qt::Key_Right);
        QTest::mouseClick(&tourButton(window, "tourNext"), Qt::LeftButton);
        QTest::mouseClick(&tourButton(window, "tourNext"), Qt::LeftButton); // the last step ends it
        QTRY_VERIFY(window.tour() == nullptr);
    }

    void escapeEndsItWhereverTheFocusIs() {
        MainWindow window(loadFiles, false);
        window.show();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        openTourDemo(window);
        auto* help = window.findChild<QAction*>(QStringLiteral("tourAction"));
        for (int times = 0; times < 2; ++times) { // it can be repeated
            help->trigger();
            QVERIFY(window.tour() != nullptr);
            window.findChild<TimelineView*>()->setFocus();
            QTest::keyClick(window.focusWidget(), Qt::Key_Escape);
            QTRY_VERIFY(window.tour() == nullptr);
        }
        QVERIFY(window.state().session() != nullptr);
    }

    void itLetsTheWindowBeUsed() {
        MainWindow window(loadFiles, false);
        window.show();
        openTourDemo(window);
        window.startTour();
        QCoreApplication::processEvents();
        auto* timeline = window.findChild<TimelineView*>();
        const ItemRef op{ItemKind::Op, window.state().step(), 0, 0};
        const QPoint at = timeline->viewport()->mapTo(&window, timeline->centreOf(op).toPoint());
        QWidget* under = window.childAt(at); // what a click would hit
        QCOMPARE(under, timeline->viewport());
        QTest::mouseClick(under, Qt::LeftButton, {}, timeline->centreOf(op).toPoint());
        QCOMPARE(window.state().selection(), op);
    }

    void followsSizeLanguageAndTheme() {
        MainWindow window(loadFiles, false);
        window.show();
        openTourDemo(window);
        window.startTour(2);
        Tour& tour = *window.tour();
        const QString english = tour.text();
        window.resize(900, 700);
        QTRY_VERIFY(window.rect().contains(tour.geometry()));
        QTRY_COMPARE(tour.spotlight().size(), window.size());
        window.languages().choose(Language::Chinese);
        QTRY_VERIFY(tour.text() != english);
        QCOMPARE(tour.step(), 2);
        QTRY_VERIFY(tour.target() != nullptr && tour.target()->isVisible());
        QCOMPARE(tour.accessibleDescription(), tour.text());
        QVERIFY(tourButton(window, "tourNext").accessibleName().contains(tour.text()));
        window.languages().choose(Language::English);
        QTRY_COMPARE(tour.text(), english);
        window.themes().choose(ThemeChoice::Dark);
        QVERIFY(tour.palette().color(QPalette::Window).lightness() < 80);
        window.themes().choose(ThemeChoice::Light);
        QVERIFY(tour.palette().color(QPalette::Window).lightness() > 200);
    }

    // What a newcomer wants to know, by clicks alone: what is slow, what it costs, what another split would gain.
    void fromTheFindingToWhatAnotherSplitWins() {
        MainWindow window(loadFiles, false);
        window.show();
        openTourDemo(window);
        const auto* summary = window.findChild<SummaryBar*>();
        QVERIFY2(summary->text().contains(QLatin1String("last stage imbalance on rank 3")),
                 qPrintable(summary->text()));
        auto& anomalies = *window.findChild<AnomalyPanel*>();
        auto& what_if = *window.findChild<WhatIfPanel*>();
        window.showPanel(QStringLiteral("anomalies"));
        auto* ask = anomalies.findChild<QPushButton*>(QStringLiteral("anomalyAsk"));
        QVERIFY(ask->isVisible());
        QSignalSpy answered(&what_if, &WhatIfPanel::answered);
        ask->click();
        QVERIFY(answered.wait());
        QTRY_VERIFY(what_if.isVisible());
        QCOMPARE(what_if.changes(), std::vector<std::string>{"stage:3=usual"});
        const auto text = [&](const char* name) {
            return what_if.findChild<QLabel*>(QString::fromLatin1(name))->text();
        };
        QVERIFY2(text("whatIfHeadline").contains(QStringLiteral(" a step (−")), qPrintable(text("whatIfHeadline")));
        QVERIFY2(text("whatIfNote").startsWith(QLatin1String("Step 1 alone: ")), qPrintable(text("whatIfNote")));
        window.state().showStep(2);
        QTRY_VERIFY(text("whatIfNote").startsWith(QLatin1String("Step 2 alone: ")));
        // Eight layers on each stage; the last stage is slow and should have fewer.
        what_if.findChild<QLineEdit*>(QStringLiteral("whatIfLayers"))->setText(QStringLiteral("8"));
        auto* advise = what_if.findChild<QPushButton*>(QStringLiteral("whatIfAdvise"));
        advise->click();
        QTRY_VERIFY_WITH_TIMEOUT(advise->menu() != nullptr, 20000);
        const auto actions = advise->menu()->actions();
        const auto split = std::find_if(actions.begin(), actions.end(), [](const QAction* action) {
            return action->text().startsWith(QLatin1String("layers="));
        });
        QVERIFY(split != actions.end());
        (*split)->trigger();
        QVERIFY(answered.wait());
        QCOMPARE(what_if.changes().size(), std::size_t{1});
        QVERIFY(what_if.changes().front().starts_with("layers="));
    }

    void onlyWhatHasACauseIsAskedFor() {
        MainWindow window(loadFiles, false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.openDemo(QStringLiteral("checked-zb-h1"));
        QVERIFY(loaded.wait());
        const SessionPtr session = window.state().session();
        int asked = 0;
        for (const Anomaly& anomaly : session->report.anomalies) {
            const QString change = changeFor(*session, anomaly);
            if (anomaly.kind == AnomalyKind::AadiffMismatch) QVERIFY(change.isEmpty());
            if (change.isEmpty()) continue;
            ++asked;
            const std::vector<std::string> words{change.toStdString()};
            QVERIFY(parseScenario(words).ok());
        }
        QVERIFY(asked > 0);
        Anomaly link;
        link.kind = AnomalyKind::SlowLink;
        link.rank = Rank{1};
        QVERIFY(changeFor(*session, link).isEmpty()); // to whom?
        link.peer = Rank{2};
        QCOMPARE(changeFor(*session, link), QStringLiteral("link:1-2=usual"));
    }

    void aCancelledLoadBringsNoTourLater() {
        MainWindow window(loadFiles, false);
        window.show();
        window.startTour();
        window.cancelLoad();
        openTourDemo(window);
        QVERIFY(window.tour() == nullptr);
    }

private:
    static void openTourDemo(MainWindow& window) {
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({demoFile(QString::fromLatin1(kTourDemo))});
        QVERIFY(loaded.wait());
    }

    OwnSettings settings_;
};

BUBBLESCOPE_GUI_TEST(TourTest, tour_test);
#include "tour_test.moc"
