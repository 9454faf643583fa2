#include "app/gui/live/live_dialog.h"
#include "app/gui/panels/teach_panel.h"
#include "tests/gui/live_run.h"
#include "tests/gui/tasks/desk.h"

#include <QComboBox>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

#include <fmt/format.h>

#include <string>

// Tasks of the trial in which the app learns something: the names of ops, and what happens while a run goes on. Each
// takes at most the actions that it took there.

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// A file per rank, with ops named as no framework names them.
QStringList filesWithOwnNames(const QTemporaryDir& folder) {
    const Run run = sampleRun();
    QStringList files;
    for (int rank = 0; rank < 4; ++rank) {
        QFile file(folder.filePath(QStringLiteral("rank%1.json").arg(rank)));
        if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
        std::string events;
        for (const StepTimeline& step : run.steps) {
            for (const TimelineOp& op : step.ranks[static_cast<std::size_t>(rank)]) {
                if (op.op.kind == OpKind::Optimizer) continue;
                events +=
                    fmt::format("{}{{\"ph\": \"X\", \"cat\": \"own\", \"name\": \"{} {}\", \"pid\": 1, \"tid\": 1, "
                                "\"ts\": {}, \"dur\": {}}}",
                                events.empty() ? "" : ",\n", op.op.kind == OpKind::Forward ? "vor" : "zurueck",
                                op.op.microbatch.value, op.start.count() / 1000, op.duration().count() / 1000);
            }
        }
        file.write(fmt::format("{{\"distributedInfo\": {{\"rank\": {}, \"world_size\": 4}}, \"traceEvents\": [{}]}}",
                               rank, events)
                       .c_str());
        files << file.fileName();
    }
    return files;
}

SliceId sliceNamed(const Session& session, std::string_view name) {
    const Trace& trace = *session.run.trace;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (trace.name(slice) == name) return slice;
    }
    qFatal("no such slice");
}

} // namespace

class LearningTasksTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() { settings_.use(); }

    /// 10. A pipeline is taught by a forward and a backward.
    void aPipelineIsTaughtByExample() {
        const QTemporaryDir folder;
        Desk desk(filesWithOwnNames(folder));
        QVERIFY(!desk.state.pipeline());
        desk.click(child<QToolButton>(desk.window, "teachNames"));
        auto& teach = child<TeachPanel>(desk.window, "teachPanel");
        const auto point = [&](std::string_view name) {
            const Session& session = *desk.state.session();
            desk.clickOn(session.sliceItem(sliceNamed(session, name)));
        };
        auto& add = child<QPushButton>(teach, "teachAdd");
        point("vor 2");
        QTRY_VERIFY(add.isEnabled());
        desk.click(add);
        point("zurueck 2");
        desk.press(child<QComboBox>(teach, "teachKind"), Qt::Key_B); // backward
        QTRY_VERIFY(add.isEnabled());
        desk.click(add);
        QTRY_COMPARE(teach.ops().size(), std::size_t{2});
        QSignalSpy loaded(&desk.window, &MainWindow::loaded);
        desk.click(child<QPushButton>(teach, "teachReopen"));
        QVERIFY(loaded.wait(30000));
        QVERIFY(desk.state.pipeline());
        QCOMPARE(desk.state.pipeline()->run.schedule.name, std::string("1f1b"));
        QCOMPARE(desk.state.pipeline()->run.schedule.pp, 4);
        QCOMPARE(desk.state.pipeline()->run.schedule.microbatches, 8);
        AT_MOST(desk, 9);
    }

    /// 11. A rank becomes slow during a run.
    void aRunIsWatched() {
        test::JitteredRun wanted;
        wanted.op_factor = [](int step, Rank rank, const Op&) { return step >= 20 && rank.value == 1 ? 1.5 : 1.0; };
        LiveRun run(wanted);
        Desk desk(QStringList{});
        desk.choose("openLive");
        auto* const dialog = desk.window.findChild<LiveDialog*>();
        QVERIFY(dialog != nullptr);
        auto& folder = child<QLineEdit>(*dialog, "liveFolder");
        desk.type(folder, QString::fromStdString(run.dir().string()));
        desk.press(folder, Qt::Key_Return);
        const auto told = [&] {
            const QAbstractItemModel& alerts = *child<QTableView>(desk.window, "liveAlerts").model();
            QStringList all;
            for (int row = 0; row < alerts.rowCount(); ++row)
                all << alerts.index(row, alerts.columnCount() - 1).data().toString();
            return all.join(QLatin1Char('\n'));
        };
        run.writeSteps(60);
        QTRY_VERIFY2_WITH_TIMEOUT(told().contains(QLatin1String("Rank 1 became")) &&
                                      told().contains(QLatin1String("from step 20 on")),
                                  qPrintable(told()), 60000);
        AT_MOST(desk, 3);
    }

private:
    OwnSettings settings_;
};

BUBBLESCOPE_GUI_TEST(LearningTasksTest, learning_tasks_test);
#include "learning_tasks_test.moc"
