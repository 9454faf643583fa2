#include "app/gui/key_sheet.h"
#include "app/gui/main_window.h"
#include "app/gui/models/recent_files.h"
#include "app/gui/panels/bars.h"
#include "app/gui/panels/bubble_panel.h"
#include "app/gui/panels/details_panel.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/timeline/load_preview_view.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QDropEvent>
#include <QLabel>
#include <QMenu>
#include <QMimeData>
#include <QSemaphore>
#include <QSettings>
#include <QSignalSpy>
#include <QSpinBox>
#include <QStatusBar>
#include <QTableView>
#include <QTest>
#include <QThreadPool>
#include <QToolButton>
#include <QUrl>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

void openSample(MainWindow& window) {
    window.show();
    QSignalSpy loaded(&window, &MainWindow::loaded);
    window.open({QStringLiteral("sample.pftrace")});
    if (!loaded.wait()) qFatal("the sample did not load");
}

/// A visible window with the sample open.
struct OpenWindow {
    MainWindow window{loadSample, false};

    OpenWindow() { openSample(window); }
    template <class T>
    T& child(const char* name = nullptr) {
        T* found = window.findChild<T*>(QString::fromLatin1(name));
        if (found == nullptr) qFatal("no such child");
        return *found;
    }
};

} // namespace

class MainWindowTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() { settings_.use(); }

    // The load waits, with a preview to show, until the test has seen it; in both themes.
    void showsAFirstPictureWhileLoading() {
        for (const ThemeChoice choice : {ThemeChoice::Light, ThemeChoice::Dark}) {
            QSemaphore seen;
            MainWindow window(
                [&](const auto&, JobControl& control) -> Result<Run> {
                    control.total = 1'000'000'000;
                    control.done = 400'000'000;
                    LoadPreview::Part& part = control.preview->addPart("rank0.json", 0);
                    // The first track is busy in the first half of its time, the second one half of all.
                    for (int i = 0; i < 500; ++i) {
                        part.add(0, TimeNs{i * 1'000'000}, TimeNs{1'000'000});
                        part.add(1, TimeNs{i * 2'000'000}, TimeNs{1'000'000});
                    }
                    part.publish();
                    seen.acquire();
                    return sampleRun();
                },
                false);
            window.themes().choose(choice);
            window.show();
            QSignalSpy loaded(&window, &MainWindow::loaded);
            window.open({QStringLiteral("rank0.json")});
            auto* preview = window.findChild<LoadPreviewView*>();
            QVERIFY(preview != nullptr);
            QTRY_VERIFY(preview->isVisible());
            QTRY_VERIFY(preview->width() > 300);
            const QImage image = preview->grab().toImage();
            const Theme& theme = window.themes().theme();
            const auto painted = [&](const QRect& where) {
                int count = 0;
                for (int y = where.top(); y <= where.bottom(); ++y) {
                    for (int x = where.left(); x <= where.right(); ++x)
                        count += image.pixelColor(x, y) == theme.fill(Role::Forward) ? 1 : 0;
                }
                return count;
            };
            const int half = image.width() / 2;
            QVERIFY(painted(QRect(0, 0, half, image.height())) > 100);
            QVERIFY(painted(QRect(half + 100, 0, half - 100, image.height())) > 100); // the second track
            QCOMPARE(image.pixelColor(image.width() / 2, image.height() - 3), theme.timeline);
            seen.release();
            QVERIFY(loaded.wait());
            QVERIFY(!preview->isVisible());
            QVERIFY(window.findChild<TimelineView*>()->isVisible());
        }
    }

    void goesBackToTheBeginningWhereALoadWithAPictureFails() {
        QSemaphore seen;
        MainWindow window(
            [&](const auto&, JobControl& control) -> Result<Run> {
                LoadPreview::Part& part = control.preview->addPart("rank0.json", 0);
                part.add(0, TimeNs{0}, TimeNs{1'000'000});
                part.publish();
                seen.acquire();
                return inputError("rank0.json", "is cut off");
            },
            false);
        window.show();
        QSignalSpy failed(&window, &MainWindow::failed);
        window.open({QStringLiteral("rank0.json")});
        auto* preview = window.findChild<LoadPreviewView*>();
        QTRY_VERIFY(preview->isVisible());
        seen.release();
        QVERIFY(failed.wait());
        QVERIFY(!preview->isVisible());
        QVERIFY(window.findChild<QWidget*>(QStringLiteral("welcomePanel"))->isVisible());
    }

    void opensByDrop() {
        std::vector<std::filesystem::path> asked;
        MainWindow window(
            [&](const auto& paths, JobControl&) -> Result<Run> {
                asked = paths;
                return sampleRun();
            },
            false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(QStringLiteral("/traces/rank 0.json")),
                      QUrl::fromLocalFile(QStringLiteral("/traces/rank1.json"))});
        QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &drop);
        // They may belong to one run or to several.
        auto* menu = window.findChild<QMenu*>(QStringLiteral("dropMenu"));
        QVERIFY(menu != nullptr);
        menu->actions().front()->trigger();
        QVERIFY(loaded.wait());
        QCOMPARE(asked.size(), std::size_t{2});
        QCOMPARE(asked.front().string(), std::string("/traces/rank 0.json"));
        QVERIFY(window.state().session());
        QVERIFY(window.windowTitle().contains(QLatin1String("rank 0.json")));
    }

    void refusesDropsThatAreNoFiles() {
        MainWindow window(loadSample, false);
        QMimeData data;
        data.setUrls({QUrl(QStringLiteral("https://example.org/trace.json"))});
        QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &enter);
        QVERIFY(!enter.isAccepted());
    }

    void errorsSayWhatWhereAndWhatToDo() {
        OpenWindow w;
        const SessionPtr before = w.window.state().session();
        MainWindow failing(
            [](const auto&, JobControl&) -> Result<Run> {
                return inputError("broken.json, byte 17", "not a trace", "export it again");
            },
            false);
        failing.show();
        QSignalSpy failed(&failing, &MainWindow::failed);
        failing.open({QStringLiteral("broken.json")});
        QVERIFY(failed.wait());
        auto* bar = failing.findChild<MessageBar*>();
        QVERIFY(bar->isVisible());
        for (const char* part : {"Not a trace", "broken.json, byte 17", "Export it again"})
            QVERIFY(bar->text().contains(QLatin1String(part)));
        QVERIFY(!failing.state().session());
        QTest::mouseClick(bar->findChild<QToolButton*>(), Qt::LeftButton);
        QVERIFY(!bar->isVisible());
        QCOMPARE(w.window.state().session(), before);
    }

    void failedLoadKeepsWhatIsOpen() {
        bool fail = false;
        MainWindow window(
            [&](const auto&, JobControl&) -> Result<Run> {
                if (fail) return inputError("b", "broken");
                return sampleRun();
            },
            false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        QSignalSpy failed(&window, &MainWindow::failed);
        window.open({QStringLiteral("a")});
        QVERIFY(loaded.wait());
        const SessionPtr first = window.state().session();
        fail = true;
        window.open({QStringLiteral("b")});
        QVERIFY(failed.wait());
        QCOMPARE(window.state().session(), first);
    }

    void loadCanBeCancelled() {
        auto started = std::make_shared<QSemaphore>();
        MainWindow window(
            [started](const auto&, JobControl& control) -> Result<Run> {
                control.total = 10;
                control.done = 3;
                started->release();
                while (!control.stopRequested())
                    QThread::yieldCurrentThread();
                return cancelledError();
            },
            false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        QSignalSpy failed(&window, &MainWindow::failed);
        window.open({QStringLiteral("huge.json")});
        auto* cancel = window.findChild<QToolButton*>(QStringLiteral("cancelLoad"));
        QVERIFY(cancel->isVisible());
        started->acquire();
        QTest::mouseClick(cancel, Qt::LeftButton);
        QVERIFY(!window.loading());
        QVERIFY(!cancel->isVisible());
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000));
        QCoreApplication::processEvents();
        QCOMPARE(loaded.count() + failed.count(), 0);
    }

    void windowMayCloseWhileLoading() {
        auto release = std::make_shared<QSemaphore>();
        {
            MainWindow window(
                [release](const auto&, JobControl&) -> Result<Run> {
                    release->acquire();
                    return sampleRun();
                },
                false);
            window.show();
            window.open({QStringLiteral("slow")});
            window.close();
        }
        release->release();
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000));
        QCoreApplication::processEvents();
    }

    void tableRowSelectsAndZoomsOnTheTimeline() {
        OpenWindow w;
        auto& panel = w.child<BubblePanel>();
        auto& timeline = w.child<TimelineView>();
        const int row = panel.model().rowOf({ItemKind::Bubble, 1, 2, 0});
        const QModelIndex index = panel.model().index(row, BubbleTableModel::PositionColumn);
        panel.table().scrollTo(index);
        QTest::mouseClick(panel.table().viewport(), Qt::LeftButton, {}, panel.table().visualRect(index).center());
        const ItemRef selected = w.window.state().selection();
        QCOMPARE(selected, (ItemRef{ItemKind::Bubble, 1, 2, 0}));
        const TimeRange bubble = w.window.state().session()->range(selected);
        const TimeRange seen = w.window.state().range().range();
        QCOMPARE(overlap(bubble, seen), bubble.length());
        QVERIFY(seen.length() < bubble.length() * 4);
        QVERIFY(timeline.viewport()->rect().contains(timeline.centreOf(selected).toPoint()));
        QCOMPARE(w.child<DetailsPanel>().value(QStringLiteral("Rank")), QStringLiteral("2"));
    }

    void timelineBubbleSelectsItsRow() {
        OpenWindow w;
        auto& panel = w.child<BubblePanel>();
        auto& timeline = w.child<TimelineView>();
        const TimeRange before = w.window.state().range().range();
        const ItemRef bubble{ItemKind::Bubble, 1, 3, 1};
        QTest::mouseClick(timeline.viewport(), Qt::LeftButton, {}, timeline.centreOf(bubble).toPoint());
        QCOMPARE(w.window.state().selection(), bubble);
        QCOMPARE(panel.table().currentIndex().row(), panel.model().rowOf(bubble));
        QCOMPARE(w.window.state().range().range(), before); // shown already
        QVERIFY(w.child<DetailsPanel>().title().contains(QLatin1String("after cool-down")));

        QTest::mouseClick(timeline.viewport(), Qt::LeftButton, {},
                          timeline.centreOf({ItemKind::Op, 1, 0, 0}).toPoint());
        QVERIFY(!panel.table().currentIndex().isValid());
    }

    void stepSelectorAndTimelineFollowEachOther() {
        OpenWindow w;
        auto& selector = w.child<QSpinBox>("stepSelector");
        QCOMPARE(selector.value(), 1);
        selector.setValue(2);
        QCOMPARE(w.window.state().step(), 2);
        w.window.state().range().show(w.window.state().session()->window(0));
        QCOMPARE(selector.value(), 0);
    }

    void summaryNamesTheRun() {
        OpenWindow w;
        const QString text = w.child<SummaryBar>().text();
        for (const QString& part : {QStringLiteral("1F1B"), QStringLiteral("4 · 8 · 1"), QStringLiteral("165 ms"),
                                    QStringLiteral("27.3 % (closed form 27.3 %)"), QStringLiteral("5.00 ms · 10.0 ms")})
            QVERIFY2(text.contains(part), qPrintable(text));
    }

    void findingsStandInTheSummary() {
        MainWindow window(
            [](const auto&, JobControl&) -> Result<Run> {
                Run run = sampleRun();
                for (StepTimeline& step : run.steps) { // stage 2 takes three times as long as the others
                    for (TimelineOp& op : step.ranks[2])
                        op.end = op.start + 3 * op.duration();
                }
                return run;
            },
            false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("run")});
        QVERIFY(loaded.wait());
        const auto* summary = window.findChild<SummaryBar*>();
        QVERIFY(summary != nullptr);
        QVERIFY2(summary->text().contains(QLatin1String("slow stage on rank 2")), qPrintable(summary->text()));
    }

    void problemsAreCountedAndListed() {
        MainWindow window(
            [](const auto&, JobControl&) -> Result<Run> {
                Run run = sampleRun();
                run.problems.push_back({"truncated", 1, say("rank0"), say("cut off")});
                return run;
            },
            false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("a")});
        QVERIFY(loaded.wait());
        auto* button = window.findChild<QToolButton*>(QStringLiteral("problemsButton"));
        QVERIFY(button->text().contains(QLatin1Char('1')));
        auto* dock = window.findChild<QDockWidget*>(QStringLiteral("problemsDock"));
        QVERIFY(!dock->isVisible());
        QTest::mouseClick(button, Qt::LeftButton);
        QTRY_VERIFY(dock->isVisible());
        QCOMPARE(window.findChild<QTableView*>(QStringLiteral("problemsPanel"))->model()->rowCount(), 1);
    }

    void themeSwitchesByMenuAndIsRemembered() {
        {
            MainWindow window(loadSample, true);
            window.show();
            window.findChild<QAction*>(QStringLiteral("theme-dark"))->trigger();
            QVERIFY(window.themes().theme().dark);
            QVERIFY(QApplication::palette().color(QPalette::Window).lightness() < 80);
        }
        {
            MainWindow window(loadSample, true);
            QVERIFY(window.themes().theme().dark);
            QVERIFY(window.findChild<QAction*>(QStringLiteral("theme-dark"))->isChecked());
            window.findChild<QAction*>(QStringLiteral("theme-light"))->trigger();
            QVERIFY(!window.themes().theme().dark);
        }
    }

    void aMessageHasTheStatusBarToItself() {
        MainWindow window(loadSample, false);
        window.statusBar()->showMessage(QStringLiteral("said before the window is in view"));
        openSample(window);
        auto* line = window.findChild<QLabel*>(QStringLiteral("hoverLine"));
        QVERIFY(!line->isVisible());
        window.statusBar()->clearMessage();
        QVERIFY(line->isVisible());
    }

    void layoutIsRemembered() {
        {
            MainWindow window(loadSample, true);
            openSample(window);
            QVERIFY(window.findChild<QDockWidget*>(QStringLiteral("detailsDock"))->isVisible());
            window.findChild<QDockWidget*>(QStringLiteral("detailsDock"))->close();
            window.close();
        }
        {
            // A start without a trace shows no panels and must not lose their arrangement.
            MainWindow window(loadSample, true);
            window.show();
            QVERIFY(!window.findChild<QDockWidget*>(QStringLiteral("bubblesDock"))->isVisible());
            window.close();
        }
        MainWindow window(loadSample, true);
        openSample(window);
        QVERIFY(window.findChild<QDockWidget*>(QStringLiteral("bubblesDock"))->isVisible());
        QVERIFY(!window.findChild<QDockWidget*>(QStringLiteral("detailsDock"))->isVisible());
    }

    void kindsOfLanesAreRemembered() {
        const auto transfers = static_cast<std::size_t>(LaneGroup::Transfers);
        {
            MainWindow window(loadSample, true);
            openSample(window);
            RowChoice rows = window.state().rows();
            rows.hidden[transfers] = true;
            rows.counters = true;
            rows.filter = "0"; // only for this trace
            window.state().setRows(rows);
            window.close();
        }
        MainWindow window(loadSample, true);
        openSample(window);
        RowChoice usual;
        usual.hidden[transfers] = true;
        usual.counters = true;
        QCOMPARE(window.state().rows(), usual);
        window.state().setRows({});
        window.close();
    }

    void recentFilesAreNewestFirstWithoutRepeats() {
        RecentFiles::clear();
        for (int i = 0; i < 12; ++i)
            RecentFiles::add({QStringLiteral("/t/%1").arg(i)});
        RecentFiles::add({QStringLiteral("/t/9")});
        RecentFiles::add({QStringLiteral("/t/a"), QStringLiteral("/t/b")});
        const auto recent = RecentFiles::load();
        QCOMPARE(recent.size(), RecentFiles::kMaxEntries);
        QCOMPARE(recent[0].size(), 2);
        QCOMPARE(recent[1], QStringList{QStringLiteral("/t/9")});
        QCOMPARE(recent[2], QStringList{QStringLiteral("/t/11")});
        QCOMPARE(recentText(recent[0]), QStringLiteral("/t/a and 1 more"));
    }

    void questionMarkShowsTheKeys() {
        OpenWindow w;
        QVERIFY(QTest::qWaitForWindowActive(&w.window)); // shortcuts belong to the active window
        QTest::keyClick(&w.child<TimelineView>(), Qt::Key_Question);
        QTRY_VERIFY(w.window.findChild<KeySheet*>() != nullptr);
        QVERIFY(w.window.findChild<KeySheet*>()->isVisible());
    }

private:
    OwnSettings settings_;
};

BUBBLESCOPE_GUI_TEST(MainWindowTest, main_window_test);
#include "main_window_test.moc"
