// The model FLOPs utilisation (MFU) that the app shows once it knows the model.

#include "app/gui/live/live_panel.h"
#include "app/gui/models/session_file.h"
#include "app/gui/panels/answer_bar.h"
#include "app/gui/panels/model_dialog.h"
#include "app/gui/panels/ranks_dialog.h"
#include "app/gui/panels/steps_panel.h"
#include "app/gui/panels/summary_bar.h"
#include "tests/gui/live_run.h"
#include "tests/gui/tasks/desk.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFile>
#include <QHelpEvent>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QToolTip>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

constexpr double kLayers = 8;
constexpr double kHidden = 1024;
constexpr double kFfn = 4096;
constexpr double kSequence = 2048;
constexpr double kVocabulary = 32'000;
constexpr double kBatch = 16;
constexpr double kPeak = 100e12;

/// From the sizes of the matrices: query, key, value and output, three of the feed-forward part, and the head; each
/// multiply-add is two operations, the backward needs twice the forward. A token attends to half of the others.
double flopsOfStep() {
    const double layer = 2 * (4 * kHidden * kHidden + 3 * kHidden * kFfn) + 2 * 2 * kHidden * kSequence / 2;
    return 3 * (kLayers * layer + 2 * kHidden * kVocabulary) * kSequence * kBatch;
}

QString useIn(TimeNs step, int devices) {
    return percent(flopsOfStep() / (kPeak * devices * static_cast<double>(step.count()) / 1e9));
}

ModelDialog& openDialog(MainWindow& window) {
    child<QAction>(window, "modelOfRun").trigger();
    return *window.findChildren<ModelDialog*>().back(); // closed ones may not be deleted yet
}

void setCount(const ModelDialog& dialog, const char* name, double value) {
    child<QSpinBox>(dialog, name).setValue(static_cast<int>(value));
}

void describe(const ModelDialog& dialog) {
    setCount(dialog, "modelLayers", kLayers);
    setCount(dialog, "modelHidden", kHidden);
    setCount(dialog, "modelHeads", 16);
    setCount(dialog, "modelFfn", kFfn);
    setCount(dialog, "modelSequence", kSequence);
    setCount(dialog, "modelVocabulary", kVocabulary);
    setCount(dialog, "modelBatch", kBatch);
    child<QDoubleSpinBox>(dialog, "modelTeraflops").setValue(kPeak / 1e12);
}

void confirm(const ModelDialog& dialog) {
    for (QPushButton* const button : dialog.findChild<QDialogButtonBox*>()->findChildren<QPushButton*>()) {
        if (button->isDefault()) return button->click();
    }
    qFatal("no default button");
}

QString header(const MainWindow& window) {
    return window.findChild<SummaryBar*>()->text();
}

/// Two steps of 10 ms on one device, as PyTorch's profiler writes them.
QString plainTrace(const QTemporaryDir& folder) {
    QFile file(folder.filePath(QStringLiteral("rank0.json")));
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
    file.write(R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": [)");
    for (int step = 0; step < 3; ++step) {
        const int begin = 10'000 * step;
        file.write(
            QStringLiteral(R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%1", "pid": 1, "tid": 1,
                                      "ts": %2, "dur": 10000},
                                     {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": %3,
                                      "dur": 6000, "args": {"device": 0, "stream": 7}}%4)")
                .arg(step + 1)
                .arg(begin)
                .arg(begin + 1000)
                .arg(step == 2 ? QString() : QStringLiteral(","))
                .toUtf8());
    }
    file.write("]}");
    return file.fileName();
}

} // namespace

class ModelTest : public GuiTest {
    Q_OBJECT

private slots:
    void theHeaderAndTheStepsShowIt() {
        Desk desk;
        QVERIFY(!header(desk.window).contains(QLatin1String("MFU")));
        const ModelDialog& dialog = openDialog(desk.window);
        describe(dialog);
        confirm(dialog);
        const TimeNs step = desk.state.session()->analysis(desk.state.step()).wall;
        const QString shown = QStringLiteral("MFU ") + useIn(step, 4);
        QVERIFY2(header(desk.window).contains(shown), qPrintable(header(desk.window) + " | " + shown));

        QVERIFY(desk.window.showPanel(QStringLiteral("steps")));
        auto* const steps = desk.window.findChild<StepsPanel*>();
        const QPoint at = steps->pointOf(0, 0).toPoint();
        QHelpEvent help(QEvent::ToolTip, at, steps->mapToGlobal(at));
        QCoreApplication::sendEvent(steps, &help);
        const TimeNs first = desk.state.session()->report.selection.steps().front().time;
        QVERIFY2(QToolTip::text().contains(useIn(first, 4)), qPrintable(QToolTip::text()));
    }

    void theCurvesOfAWatchedRunShowIt() {
        LiveRun run;
        MainWindow window{loadForTask, false};
        window.show();
        window.live().start(run.target(), run.clock());
        run.writeSteps(3);
        QTRY_VERIFY(window.live().snapshot() && window.live().snapshot()->steps.size() == 3 &&
                    window.state().session());
        const ModelDialog& dialog = openDialog(window);
        describe(dialog);
        confirm(dialog);
        run.writeSteps(2);
        QTRY_COMPARE(window.live().snapshot()->steps.size(), 5U);
        auto& strip = *window.findChild<LiveStepChart*>();
        const QPoint at = strip.pointOf(4, 0).toPoint();
        QHelpEvent help(QEvent::ToolTip, at, strip.mapToGlobal(at));
        QCoreApplication::sendEvent(&strip, &help);
        const QString shown = useIn(window.live().snapshot()->steps.back().wall, LiveRun::kRanks);
        QVERIFY2(QToolTip::text().contains(shown), qPrintable(QToolTip::text() + " | " + shown));
    }

    /// It belongs to its trace: other tabs have none, and a session keeps it.
    void aModelBelongsToItsTrace() {
        Desk desk;
        const ModelDialog& dialog = openDialog(desk.window);
        describe(dialog);
        confirm(dialog);
        const ModelUseRequest described = desk.state.model();
        const QString with = header(desk.window);
        QSignalSpy loaded(&desk.window, &MainWindow::loaded);
        desk.window.openBeside({QStringLiteral("/runs/even/run.pftrace")});
        QVERIFY(loaded.wait());
        QVERIFY(!header(desk.window).contains(QLatin1String("MFU")));
        desk.choose("previousTab");
        QCOMPARE(header(desk.window), with);

        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("s.bubblescope-session.json"));
        desk.window.saveSession(file);
        const Result<SavedSession> saved = readSession(file.toStdString());
        QVERIFY2(saved.ok(), saved.ok() ? "" : saved.error().text().c_str());
        QCOMPARE(saved.value().traces.size(), 2U);
        QVERIFY(saved.value().traces[0].view.model == described);
        QVERIFY(!saved.value().traces[1].view.model.model.given());
    }

    void aTraceThatIsLoadedAgainKeepsItsModel() {
        const QTemporaryDir folder;
        Desk desk({plainTrace(folder)});
        const ModelDialog& dialog = openDialog(desk.window);
        describe(dialog);
        confirm(dialog);
        const ModelUseRequest described = desk.state.model();
        QVERIFY(desk.state.modelUse().has_value());
        desk.choose("ranksOfFiles");
        QSignalSpy loaded(&desk.window, &MainWindow::loaded);
        auto* const ranks = desk.window.findChild<RanksDialog*>();
        QVERIFY(ranks != nullptr);
        child<QSpinBox>(*ranks, "rankOfFile0").setValue(3);
        desk.click(child<QPushButton>(*ranks, "ranksLoad"));
        QVERIFY(loaded.wait());
        QVERIFY(desk.state.model() == described && desk.state.modelUse());
        // Another trace in its place has none.
        desk.window.open({dataFile("traces/kineto_amd.json")});
        QVERIFY(loaded.wait());
        QVERIFY(!desk.state.modelUse());
    }

    void whatIsMissingIsNamedAndTheDialogStays() {
        Desk desk;
        const ModelDialog& dialog = openDialog(desk.window);
        setCount(dialog, "modelLayers", 2);
        confirm(dialog);
        QVERIFY(dialog.isVisible());
        const auto& error = child<QLabel>(dialog, "modelError");
        QVERIFY2(error.text().contains(QLatin1String("hidden size")), qPrintable(error.text()));
        describe(dialog);
        setCount(dialog, "modelLayers", 2); // on four stages
        confirm(dialog);
        QVERIFY2(dialog.isVisible() && error.text().contains(QLatin1String("2 layers")), qPrintable(error.text()));
        QVERIFY(!desk.state.modelUse());
    }

    void tracesWithoutAPipelineShowItAfterTheVerdict() {
        const QTemporaryDir folder;
        Desk desk({plainTrace(folder)});
        const auto& bar = child<AnswerBar>(desk.window, "answerBar");
        QVERIFY2(bar.lines().join(QLatin1Char('|')).contains(QLatin1String("Verdict:")),
                 qPrintable(bar.lines().join(QLatin1Char('|'))));
        const ModelDialog& dialog = openDialog(desk.window);
        describe(dialog);
        confirm(dialog);
        const QString shown = QStringLiteral("MFU: ") + useIn(TimeNs{10'000'000}, 1);
        QVERIFY2(bar.lines().join(QLatin1Char('|')).contains(shown),
                 qPrintable(bar.lines().join(QLatin1Char('|')) + " | " + shown));
        // A batch that no device could do in that time is doubted.
        const ModelDialog& larger = openDialog(desk.window);
        setCount(larger, "modelBatch", 1000 * kBatch);
        confirm(larger);
        QVERIFY2(bar.lines().join(QLatin1Char('|')).contains(QLatin1String("impossible")),
                 qPrintable(bar.lines().join(QLatin1Char('|'))));
        // The device's peak is known from its name.
        const ModelDialog& again = openDialog(desk.window);
        child<QDoubleSpinBox>(again, "modelTeraflops").setValue(0);
        confirm(again);
        QVERIFY(desk.state.modelUse().has_value());
        QVERIFY(desk.state.modelUse()->device.find("H100") != std::string::npos);
    }
};

BUBBLESCOPE_GUI_TEST(ModelTest, model_test);
#include "model_test.moc"
