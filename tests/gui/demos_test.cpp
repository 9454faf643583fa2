#include "app/gui/main_window.h"
#include "app/gui/manual_window.h"
#include "app/gui/models/anomaly_model.h"
#include "app/gui/models/recent_files.h"
#include "app/gui/panels/advice_table.h"
#include "app/gui/panels/anomaly_panel.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/panels/welcome_panel.h"
#include "app/gui/panels/whatif_panel.h"
#include "app/gui/timeline/timeline_view.h"
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

} // namespace

class DemosTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() {
        settings_.use();
        QCoreApplication::setApplicationName(QStringLiteral("demos_test"));
        QStandardPaths::setTestModeEnabled(true);
    }

    void init() {
        QSettings().clear();
        QFile::remove(demoFile(QStringLiteral("balanced")));
        QFile::remove(demoFile(QStringLiteral("slow-last-stage")));
    }

    void aDemoIsOpenedByAClickAndKept() {
        MainWindow window(loadFiles, true);
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

    void firstStepsOpenTheirPageOfTheManual() {
        MainWindow window(loadFiles, false);
        window.show();
        QTest::mouseClick(window.findChild<QPushButton*>(QStringLiteral("welcomeFirstSteps")), Qt::LeftButton);
        const auto* manual = window.findChild<ManualWindow*>();
        QVERIFY(manual != nullptr && manual->isVisible());
        QCOMPARE(manual->path(), kFirstStepsPage);
    }

    // The questions of a newcomer, answered only with clicks: what is slow, how much it costs, and how much another
    // split would gain.
    void fromTheFindingToWhatAnotherSplitWins() {
        MainWindow window(loadFiles, false);
        window.show();
        openSlowDemo(window);
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
        QVERIFY2(text("whatIfHeadline").contains(QStringLiteral(" per step (−")), qPrintable(text("whatIfHeadline")));
        const int typical = window.state().session()->step(window.state().step()).index;
        QVERIFY2(text("whatIfNote").startsWith(QStringLiteral("Step %1 only: ").arg(typical)),
                 qPrintable(text("whatIfNote")));
        window.state().showStep(2);
        QTRY_VERIFY(text("whatIfNote").startsWith(QLatin1String("Step 2 only: ")));
        // Eight layers on each stage; the last stage is slow and should have fewer.
        what_if.findChild<QLineEdit*>(QStringLiteral("whatIfLayers"))->setText(QStringLiteral("8"));
        auto* advices = what_if.findChild<AdviceTable*>();
        what_if.findChild<QPushButton*>(QStringLiteral("whatIfAdvise"))->click();
        QTRY_VERIFY_WITH_TIMEOUT(advices->rowCount() > 0, 20000);
        int split = 0;
        while (split < advices->rowCount() && !advices->changeAt(split).startsWith(QLatin1String("layers=")))
            ++split;
        QVERIFY(split < advices->rowCount());
        emit advices->cellActivated(split, 0);
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
        QVERIFY(changeFor(*session, link).isEmpty()); // it has no peer
        link.peer = Rank{2};
        QCOMPARE(changeFor(*session, link), QStringLiteral("link:1-2=usual"));
    }

private:
    static void openSlowDemo(MainWindow& window) {
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({demoFile(QStringLiteral("slow-last-stage"))});
        QVERIFY(loaded.wait());
    }

    OwnSettings settings_;
};

BUBBLESCOPE_GUI_TEST(DemosTest, demos_test);
#include "demos_test.moc"
