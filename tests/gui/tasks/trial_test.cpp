#include "app/gui/language/language.h"
#include "app/gui/panels/welcome_panel.h"
#include "app/gui/preferences.h"
#include "tests/gui/tasks/desk.h"

#include <QFile>
#include <QFileDialog>
#include <QPushButton>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QWheelEvent>

#include <algorithm>
#include <vector>

// Defects of the trial with users that no other test covers. The numbers are those of the trial.

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

Result<LoadedTrace> loadWithSlices(const RunLoader::Paths&, JobControl&, const LoadOptions&) {
    SampleSpec spec;
    spec.trace = true;
    spec.nested = true;
    return LoadedTrace{sampleRun(spec), {}};
}

/// The first step is slow, the second one the fastest, the last but one slow again.
Result<LoadedTrace> loadUnevenSteps(const RunLoader::Paths&, JobControl&, const LoadOptions&) {
    test::JitteredRun wanted;
    wanted.spec = {"1f1b", "", 4, 8, 1};
    wanted.steps = 9;
    wanted.op_factor = [](int step, Rank, const Op&) {
        return step == 0 ? 1.5 : step == 1 ? 0.8 : step == 7 ? 1.2 : 1.0;
    };
    return LoadedTrace{test::makeJitteredRun(wanted, 7), {}};
}

struct OpenWindow {
    MainWindow window;

    explicit OpenWindow(const RunLoader& loader) : window(loader, false) {
        window.resize(1200, 700);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("/runs/a/run.pftrace")});
        if (!loaded.wait(30000)) qFatal("not loaded");
    }
};

} // namespace

class TrialTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() { settings_.use(); }

    /// 14. Neither the fastest step nor the first.
    void theTypicalStepIsShownFirst() {
        OpenWindow open{RunLoader(loadUnevenSteps)};
        const Session& session = *open.window.state().session();
        std::vector<TimeNs> walls;
        for (int step = 0; step < session.stepCount(); ++step)
            walls.push_back(session.step(step).wall());
        const TimeNs shown = walls[static_cast<std::size_t>(open.window.state().step())];
        std::ranges::sort(walls);
        QVERIFY(std::chrono::abs(shown - walls[walls.size() / 2]) < walls[walls.size() / 2] / 50);
    }

    /// 19. The stacks of the last rank are below the edge until the view scrolls.
    void theLastRankUnfoldsIntoView() {
        OpenWindow open{RunLoader(loadWithSlices)};
        auto& timeline = child<TimelineView>(open.window, "timeline");
        const Session& session = *open.window.state().session();
        const int last = static_cast<int>(session.lanes.lineCount()) - 1;
        timeline.setUnfolded(last, true);
        const TimeRange step = session.window(open.window.state().step());
        const Trace& trace = *session.run.trace;
        bool seen = false;
        for (const RawLane& lane : session.raw.of(last)) {
            for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
                if (trace.sliceTracks()[slice] != lane.track ||
                    overlap({trace.start(slice), trace.end(slice)}, step) <= TimeNs{0})
                    continue;
                const QPointF centre = timeline.centreOf(session.sliceItem(last, slice));
                QVERIFY2(timeline.viewport()->rect().contains(centre.toPoint()),
                         qPrintable(QStringLiteral("%1, %2").arg(centre.x()).arg(centre.y())));
                seen = true;
                break;
            }
        }
        QVERIFY(seen);
    }

    /// 24. Names of processes and threads, after Chinese.
    void namesFollowTheLanguageBack() {
        Desk desk({dataFile("traces/kineto_amd.json")});
        const auto names = [&desk] {
            const Session& session = *desk.state.session();
            QStringList all;
            for (int line = 0; line < static_cast<int>(session.lanes.lineCount()); ++line) {
                all << lineName(session, line);
                for (const RawLane& lane : session.raw.of(line))
                    all << lane.name();
            }
            return all.join(QLatin1Char('|'));
        };
        const QString english = names();
        QSignalSpy changed(&desk.state, &ViewState::sessionChanged);
        desk.window.preferences().chooseLanguage(Language::Chinese);
        QVERIFY(changed.wait());
        desk.window.preferences().chooseLanguage(Language::English);
        QVERIFY(changed.wait());
        QCOMPARE(names(), english);
        static const QRegularExpression chinese(QStringLiteral("\\p{Han}"));
        QVERIFY2(!names().contains(chinese), qPrintable(names()));
    }

    /// 27. Names of files that the dialog offers.
    void theDialogOffersWhatIsRead() {
        Desk desk(QStringList{});
        desk.choose("openFiles");
        auto* const dialog = desk.window.findChild<QFileDialog*>();
        QVERIFY(dialog != nullptr);
        const QString filter = dialog->nameFilters().front();
        for (const char* const suffix :
             {"pftrace", "perfetto-trace", "json", "gz", "zst", "sqlite", "db", "rpd", "jsonl", "log"})
            QVERIFY2(filter.contains(QStringLiteral("*.%1").arg(QLatin1String(suffix))), suffix);
        dialog->close();
    }

    /// 28. Files are proposed outside the folder of the trace, which may be somebody else's.
    void nothingIsSavedBesideTheTraces() {
        const QTemporaryDir folder;
        const QString trace = folder.filePath(QStringLiteral("kineto_amd.json"));
        QVERIFY(QFile::copy(dataFile("traces/kineto_amd.json"), trace));
        Desk desk({trace});
        desk.choose("saveSession");
        auto* const dialog = desk.window.findChild<QFileDialog*>();
        QVERIFY(dialog != nullptr);
        QVERIFY2(dialog->directory() != QDir(folder.path()), qPrintable(dialog->directory().path()));
        QVERIFY2(dialog->selectedFiles().front().contains(QLatin1String("kineto_amd")),
                 qPrintable(dialog->selectedFiles().front()));
        dialog->close();
    }

    /// 36. Backwards in two parts are not yellow.
    void theFirstStepsNameTheColoursOfSplitBackwards() {
        QFile page(QStringLiteral(BUBBLESCOPE_MANUAL "/first-steps.md"));
        QVERIFY(page.open(QIODevice::ReadOnly));
        QVERIFY(page.readAll().contains("orange and green if"));
        ThemeManager themes;
        themes.choose(ThemeChoice::Light);
        const auto hue = [&themes](Role role) { return themes.theme().fill(role).hsvHue(); };
        QVERIFY(hue(Role::Backward) >= 35 && hue(Role::Backward) < 60);
        QVERIFY(hue(Role::BackwardInput) >= 10 && hue(Role::BackwardInput) < 35);
        QVERIFY(hue(Role::BackwardWeight) >= 80 && hue(Role::BackwardWeight) < 180);
    }

    /// 38. The question about the wheel appears without moving what is under the pointer.
    void theQuestionAboutTheWheelMovesNothing() {
        MainWindow window(loadForTask, true); // asks and remembers
        window.resize(1200, 700);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("/runs/slow/run.pftrace")});
        QVERIFY(loaded.wait(30000));
        QWidget& canvas = *child<TimelineView>(window, "timeline").viewport();
        const QPoint before = canvas.mapToGlobal(QPoint(0, 0));
        const QPointF at = canvas.rect().center();
        QWheelEvent wheel(at, canvas.mapToGlobal(at), {}, {0, 120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                          false);
        QCoreApplication::sendEvent(&canvas, &wheel);
        QTRY_VERIFY(child<QWidget>(window, "wheelQuestion").isVisible());
        QCOMPARE(canvas.mapToGlobal(QPoint(0, 0)), before);
    }

    /// 39. For users who come back.
    void recentTracesComeBeforeDemos() {
        WelcomePanel panel;
        panel.resize(1000, 800);
        panel.setRecent({{QStringLiteral("/runs/monday/run.pftrace")}, {QStringLiteral("/runs/sunday/run.pftrace")}});
        panel.show();
        const QPushButton* recent = nullptr;
        for (const QPushButton* const button : panel.findChildren<QPushButton*>()) {
            if (button->text().contains(QLatin1String("monday"))) recent = button;
        }
        QVERIFY(recent != nullptr);
        const auto& first_steps = child<QPushButton>(panel, "welcomeFirstSteps");
        QTRY_VERIFY(recent->y() > 0 && recent->y() < first_steps.y());
        for (const QAbstractButton* const button : panel.findChildren<QAbstractButton*>()) {
            if (qobject_cast<const QPushButton*>(button) == nullptr) QVERIFY(button->y() > recent->y());
        }
    }

private:
    OwnSettings settings_;
};

BUBBLESCOPE_GUI_TEST(TrialTest, trial_test);
#include "trial_test.moc"
