#include "app/gui/main_window.h"
#include "app/gui/models/session_file.h"
#include "app/gui/panels/answer_bar.h"
#include "app/gui/panels/compare_panel.h"
#include "app/gui/panels/ranks_dialog.h"
#include "core/trace/files_apart.h"
#include "core/trace/trace_builder.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

/// Files without ranks, each with a slice on a stream; the k-th begins `apart` after the one before.
std::shared_ptr<const Trace> filesWithoutRanks(const RunLoader::Paths& paths, const TraceRules& rules,
                                               TimeNs apart = TimeNs{0}) {
    TraceBuilder builder;
    builder.setRules(rules);
    for (std::size_t file = 0; file < paths.size(); ++file) {
        builder.addFile({paths[file], "chrome", std::nullopt, {}, {}});
        const TrackId stream = builder.addTrack(7, 1);
        builder.track(stream).thread_name = builder.intern("stream 7");
        (void)builder.addSlice({stream, static_cast<std::int64_t>(file) * apart, 1ms, builder.intern("kernel"),
                                builder.intern("kernel"), 0});
    }
    DiagnosticLog log;
    return builder.finish(log);
}

Result<LoadedTrace> loadFiles(const RunLoader::Paths& paths, JobControl&, const LoadOptions& options) {
    Run run;
    run.files = paths;
    run.format = "chrome";
    run.trace = filesWithoutRanks(paths, options.reading);
    run.slices = static_cast<std::int64_t>(run.trace->sliceCount());
    run.problems = {{"rank-contradiction", 1, say("{}", paths.front().string()),
                     say("the file contains rank {}, but its name has rank {}; using the content", 0, 1)}};
    if (options.reading.ranks.empty())
        run.problems.push_back(
            {"unknown-rank", 1, say("{}", paths.front().string()),
             say("files do not specify their rank; ranks are assigned in the order of files and processes")});
    return LoadedTrace{std::move(run), inputError("a.json", "no pipeline op found")};
}

struct RanksWindow {
    MainWindow window{loadFiles, false};
    QSignalSpy loaded{&window, &MainWindow::loaded};

    RanksWindow() {
        window.resize(1200, 800);
        window.show();
        window.open({QStringLiteral("/t/a.json"), QStringLiteral("/t/b.json")});
        if (!loaded.wait()) qFatal("not loaded");
    }
    [[nodiscard]] std::vector<std::int64_t> ranks() { return ranksOfFiles(window.state().session()->run.inputs()); }
};

} // namespace

/// Ranks of files that the user states, and files that do not belong together.
class RanksTest : public GuiTest {
    Q_OBJECT

private slots:
    /// From the doubt in the answer to a trace with other ranks, and into a session.
    void guessedRanksAreStated() {
        RanksWindow w;
        QCOMPARE(w.ranks(), (std::vector<std::int64_t>{0, 1}));
        // The doubt is in the answer, and leads to the dialog.
        QLabel* doubt = nullptr;
        for (QLabel* label : w.window.findChild<AnswerBar*>()->findChildren<QLabel*>()) {
            if (label->text().contains(QLatin1String("ranks are assigned in the order of files"))) doubt = label;
        }
        QVERIFY(doubt != nullptr);
        QTest::mouseClick(doubt, Qt::LeftButton);
        auto* const dialog = w.window.findChild<RanksDialog*>();
        QVERIFY(dialog != nullptr && dialog->isVisible());
        QCOMPARE(child<QTableWidget>(*dialog, "ranksTable").item(0, 2)->text(), QStringLiteral("order of the files"));
        child<QSpinBox>(*dialog, "rankOfFile0").setValue(3);
        w.loaded.clear();
        child<QPushButton>(*dialog, "ranksLoad").click();
        QTRY_VERIFY(w.loaded.count() > 0);
        // The guesses about the others are stated with it, as they were shown.
        QCOMPARE(w.ranks(), (std::vector<std::int64_t>{3, 1}));
        QVERIFY(w.window.state().session()->run.problems.empty());

        w.window.findChild<QAction*>(QStringLiteral("copyTraceCommand"))->trigger();
        const QString command = QGuiApplication::clipboard()->text();
        QVERIFY2(command.contains(QLatin1String("--rank-of /t/a.json=3")), qPrintable(command));

        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("s.bubblescope-session.json"));
        w.window.saveSession(file);
        const SavedSession saved = readSession(file.toStdString()).value();
        QCOMPARE(saved.traces.front().taught.ranks.size(), std::size_t{2});
        QCOMPARE(saved.traces.front().taught.ranks.front().pattern, std::string("/t/a.json"));
        QCOMPARE(saved.traces.front().taught.ranks.front().rank, 3);
    }

    /// 1 ms of 2 ms is idle in the open trace, 3 ms of 4 ms in the other.
    void plainTracesAreCompared() {
        const auto load = [](const RunLoader::Paths& paths, JobControl& control,
                             const LoadOptions& options) -> Result<LoadedTrace> {
            Result<LoadedTrace> loaded = loadFiles(paths, control, options);
            const bool slow = paths.front().string().find("slow") != std::string::npos;
            TraceBuilder builder;
            builder.addFile({paths.front(), "chrome", 0, {}, {}});
            const TrackId stream = builder.addTrack(7, 1);
            builder.track(stream).thread_name = builder.intern("stream 7");
            for (const TimeNs at : {TimeNs{0}, TimeNs{slow ? 3'500'000 : 1'500'000}})
                (void)builder.addSlice(
                    {stream, at, TimeNs{500'000}, builder.intern("kernel"), builder.intern("kernel"), 0});
            DiagnosticLog log;
            loaded.value().run.trace = builder.finish(log);
            return loaded;
        };
        MainWindow window(load, false);
        window.resize(1200, 800);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("/t/even/0.json")});
        QVERIFY(loaded.wait());
        QSignalSpy compared(window.findChild<ComparePanel*>(), &ComparePanel::compared);
        window.compareWith({QStringLiteral("/t/slow/0.json")});
        QVERIFY(compared.wait(20000));
        const QString headline = child<QLabel>(window, "compareHeadline").text();
        QVERIFY2(headline.startsWith(QLatin1String("slow: Largest change: Rank 0")), qPrintable(headline));
        const auto& model = *child<QTableView>(window, "compareTable").model();
        QStringList idle;
        for (int row = 0; row < model.rowCount(); ++row) {
            if (model.index(row, 1).data().toString() != QLatin1String("idle")) continue;
            for (int column = 2; column < model.columnCount(); ++column)
                idle << model.index(row, column).data().toString();
        }
        QVERIFY2(idle.size() == 5 && idle[0].startsWith(QLatin1String("1.00 ms")) &&
                     idle[1].startsWith(QLatin1String("3.00 ms")) && idle[3].startsWith(QLatin1String("50")) &&
                     idle[4].startsWith(QLatin1String("75")),
                 qPrintable(idle.join(QLatin1String(" | "))));
    }

    void nothingIsStatedWithoutAChange() {
        RanksWindow w;
        child<QAction>(w.window, "ranksOfFiles").trigger();
        QVERIFY(w.window.findChild<RanksDialog*>()->rules().empty());
    }

    void filesOfOtherDaysAreApart() {
        const RunLoader::Paths two{"a.json", "b.json"};
        QVERIFY(!filesAreApart(*filesWithoutRanks(two, {}, 5s))); // a pause
        QVERIFY(filesAreApart(*filesWithoutRanks(two, {}, 24h)));
        QVERIFY(!filesAreApart(*filesWithoutRanks({"a.json"}, {}, 24h)));
    }

    /// Traces that share no time go into tabs, if the user wants that.
    void filesApartGoIntoTabs() {
        const auto load = [](const RunLoader::Paths& paths, JobControl& control,
                             const LoadOptions& options) -> Result<LoadedTrace> {
            Result<LoadedTrace> loaded = loadFiles(paths, control, options);
            loaded.value().run.trace = filesWithoutRanks(paths, {}, 24h);
            return loaded;
        };
        MainWindow window(load, false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("/t/a.json"), QStringLiteral("/t/b.json")});
        QVERIFY(loaded.wait());
        QVERIFY(child<QWidget>(window, "apartQuestion").isVisible());
        child<QToolButton>(window, "apartTabs").click();
        QTRY_COMPARE(window.tabCount(), 2);
        QTRY_VERIFY(loaded.count() >= 2);
        QVERIFY(!child<QWidget>(window, "apartQuestion").isVisible());
    }
};

BUBBLESCOPE_GUI_TEST(RanksTest, ranks_test);
#include "ranks_test.moc"
