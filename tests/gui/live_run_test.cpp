#include "app/gui/live/live_bar.h"
#include "app/gui/live/live_dialog.h"
#include "app/gui/live/live_models.h"
#include "app/gui/live/run_dialog.h"
#include "app/gui/main_window.h"
#include "app/gui/panels/bars.h"
#include "tests/gui/gui_tests.h"
#include "tests/support/scratch_folder.h"

#include <QAction>
#include <QComboBox>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

Result<Run> loadFiles(const std::vector<std::filesystem::path>& paths, JobControl& control) {
    return loadRun(paths, control);
}

/// Two ranks with steps of about 15 ms.
RunPlan smallPlan(const QString& folder, int steps) {
    RunPlan plan;
    plan.spec.name = "1f1b";
    plan.spec.pp = 2;
    plan.spec.microbatches = 3;
    plan.spec.times.forward = std::chrono::milliseconds(1);
    plan.spec.times.backward = std::chrono::milliseconds(2);
    plan.steps = steps;
    plan.folder = folder;
    return plan;
}

template <class T>
T& childOf(QWidget& parent, const char* name) {
    T* found = parent.findChild<T*>(QString::fromLatin1(name));
    if (found == nullptr) qFatal("there is no %s", name);
    return *found;
}

} // namespace

/// The dialogs, and real runs in separate processes.
class LiveRunTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() {
        const QString folder = QFileInfo(QStringLiteral(BUBBLESCOPE_PROGRAM)).path();
        qputenv("PATH", (folder + QLatin1Char(':') + qEnvironmentVariable("PATH")).toLocal8Bit());
    }

    void startsARunWatchesItAndStopsIt() {
        const test::ScratchFolder scratch;
        MainWindow window(loadFiles, false);
        window.show();
        QSignalSpy ended(&window.process(), &RunProcess::ended);
        window.runSchedule(smallPlan(QString::fromStdString(scratch.file("run")), 100'000));
        QTRY_VERIFY(window.live().snapshot() && window.live().snapshot()->steps.size() >= 5);
        QVERIFY(window.state().session() != nullptr);
        auto& stop = childOf<QToolButton>(window, "liveStopRun");
        QVERIFY(stop.isVisible());
        QVERIFY(childOf<QAction>(window, "stopRun").isEnabled());
        QCOMPARE(childOf<QLabel>(window, "liveStatus").text(), QStringLiteral("Recording"));

        stop.click();
        QTRY_VERIFY_WITH_TIMEOUT(!window.process().running(), 30000);
        QCOMPARE(ended.count(), 1);
        QVERIFY(ended.front().front().toBool());
        QVERIFY(stop.isHidden());
        QTRY_COMPARE(childOf<QLabel>(window, "liveStatus").text(), QStringLiteral("Run ended"));
        const LiveSnapshot& snapshot = *window.live().snapshot();
        QCOMPARE(lostRecords(snapshot.counts), std::int64_t{0});
        QCOMPARE(snapshot.counts.incomplete, std::int64_t{0}); // the last step is complete, too
        const std::int64_t steps = snapshot.counts.steps;

        // The complete recording is opened in addition to the watch.
        QSignalSpy loaded(&window, &MainWindow::loaded);
        childOf<QToolButton>(window, "liveOpen").click();
        QVERIFY(loaded.wait(30000));
        QCOMPARE(static_cast<std::int64_t>(window.state().session()->stepCount()), steps);
        QCOMPARE(window.tabCount(), 2);
    }

    void saysWhyARunFailed() {
        const test::ScratchFolder scratch;
        MainWindow window(loadFiles, false);
        window.show();
        QSignalSpy ended(&window.process(), &RunProcess::ended);
        RunPlan plan = smallPlan(QString::fromStdString(scratch.file("run")), 5);
        plan.faults << QStringLiteral("nonsense:rank=1");
        window.runSchedule(plan);
        QVERIFY(ended.wait(20000));
        QVERIFY(!ended.front().front().toBool());
        QVERIFY(window.findChild<MessageBar*>()->text().contains(QStringLiteral("nonsense")));
        QVERIFY(window.findChild<MessageBar*>()->isVisible());
    }

    void saysThatTheProgramIsNotThere() {
        RunProcess process;
        QSignalSpy ended(&process, &RunProcess::ended);
        process.start(QStringLiteral("/nowhere/bubblescope"), {});
        QTRY_COMPARE(ended.count(), 1);
        QVERIFY(!ended.front().front().toBool());
        QVERIFY(!ended.front().back().toString().isEmpty());
        QVERIFY(!process.running());
    }

    void hearsOfARunOverTheNetwork() {
        const test::ScratchFolder scratch;
        const QString folder = QString::fromStdString(scratch.file("run"));
        QCOMPARE(QProcess::execute(commandLineProgram(), smallPlan(folder, 4).arguments()), 0);
        const auto token = scratch.writeSecret("token", "only we know\n");
        MainWindow window(loadFiles, false);
        window.show();
        LiveTarget target;
        target.listen = QStringLiteral("127.0.0.1:0");
        target.token = QStringLiteral("only we know");
        window.watch(target);
        QTRY_VERIFY(window.live().snapshot() && !window.live().snapshot()->address.empty());
        QProcess sender;
        sender.start(commandLineProgram(), {QStringLiteral("monitor"), folder, QStringLiteral("--forward"),
                                            QString::fromStdString(window.live().snapshot()->address),
                                            QStringLiteral("--token-file"), QString::fromStdString(token.string())});
        QTRY_COMPARE_WITH_TIMEOUT(sender.state(), QProcess::NotRunning, 20000);
        QCOMPARE(sender.exitCode(), 0);
        QTRY_VERIFY(window.live().snapshot()->ended);
        QCOMPARE(window.live().snapshot()->counts.steps, std::int64_t{4});
        QVERIFY(window.state().session() != nullptr);
        QVERIFY(childOf<QToolButton>(window, "liveOpen").isHidden()); // there are no files here
    }

    void theDialogKnowsWhatCanBeRun() {
        ThemeManager themes;
        RunDialog dialog(themes, QStringLiteral("/tmp/it's here"));
        dialog.show();
        QSignalSpy checked(&dialog, &RunDialog::checked);
        auto& start = childOf<QPushButton>(dialog, "runStart");
        QTRY_VERIFY(start.isEnabled());
        auto& estimate = childOf<QLabel>(dialog, "runEstimate");
        QVERIFY(estimate.text().contains(QStringLiteral("165 ms"))); // (m + p - 1)(t_f + t_b)
        QVERIFY(estimate.text().contains(QStringLiteral("33.0 s")));

        childOf<QComboBox>(dialog, "runFamily").setCurrentText(QStringLiteral("interleaved"));
        QTRY_VERIFY(!checked.isEmpty() && !checked.back().front().toBool()); // needs more than one chunk
        QVERIFY(!start.isEnabled());
        childOf<QSpinBox>(dialog, "runVpp").setValue(2);
        QTRY_VERIFY(start.isEnabled());
        auto& folder = childOf<QLineEdit>(dialog, "runFolder");
        folder.clear();
        QTRY_VERIFY(!start.isEnabled());
        folder.setText(QStringLiteral("/tmp/it's here"));
        QTRY_VERIFY(start.isEnabled());

        childOf<QComboBox>(dialog, "runFault").setCurrentIndex(0);
        childOf<QPushButton>(dialog, "runAddFault").click();
        auto& faults = childOf<QListWidget>(dialog, "runFaults");
        QCOMPARE(faults.count(), 1);
        QTRY_VERIFY(start.isEnabled());
        QSignalSpy requested(&dialog, &RunDialog::runRequested);
        const RunPlan plan = dialog.plan();
        QCOMPARE(plan.faults.size(), 1);
        QVERIFY(plan.arguments().contains(QStringLiteral("--inject")));
        QVERIFY(plan.arguments().contains(QStringLiteral("5ms")));
        const QString line = childOf<QLineEdit>(dialog, "runCommand").text();
        QVERIFY(line.startsWith(QStringLiteral("bubblescope run --schedule interleaved --flavor megatron --pp 4")));
        QVERIFY(line.endsWith(QStringLiteral("--out '/tmp/it'\\''s here'")));

        faults.setFocus();
        QTest::keyClick(&faults, Qt::Key_Delete);
        QCOMPARE(faults.count(), 0);
        QTRY_VERIFY(start.isEnabled());
        start.click();
        QCOMPARE(requested.count(), 1);
    }

    void theDialogAsksForWhatToWatch() {
        LiveDialog dialog;
        dialog.show();
        auto& watch = childOf<QPushButton>(dialog, "liveWatch");
        auto& folder = childOf<QLineEdit>(dialog, "liveFolder");
        QVERIFY(!watch.isEnabled());
        folder.setText(QStringLiteral("/a"));
        QVERIFY(watch.isEnabled());
        childOf<QPushButton>(dialog, "liveAddFolder").click();
        folder.setText(QStringLiteral("/b"));
        QCOMPARE(dialog.target().folders, QStringList({QStringLiteral("/a"), QStringLiteral("/b")}));
        childOf<QLineEdit>(dialog, "liveListen").setText(QStringLiteral("9200"));
        QVERIFY(!watch.isEnabled()); // without a token
        childOf<QLineEdit>(dialog, "liveToken").setText(QStringLiteral("secret"));
        QVERIFY(watch.isEnabled());
        auto& folders = childOf<QListWidget>(dialog, "liveFolders");
        folders.setCurrentRow(0);
        QTest::keyClick(&folders, Qt::Key_Delete);
        QSignalSpy requested(&dialog, &LiveDialog::watchRequested);
        watch.click();
        QCOMPARE(requested.count(), 1);
        LiveTarget wanted;
        wanted.folders << QStringLiteral("/b");
        wanted.listen = QStringLiteral("9200");
        wanted.token = QStringLiteral("secret");
        QVERIFY(requested.front().front().value<LiveTarget>() == wanted);
    }
};

BUBBLESCOPE_GUI_TEST(LiveRunTest, live_run_test);
#include "live_run_test.moc"
