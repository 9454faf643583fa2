#include "app/gui/charts/heat_map.h"
#include "app/gui/charts/memory_chart.h"
#include "app/gui/explorer/comparison_table.h"
#include "app/gui/explorer/schedule_explorer.h"
#include "app/gui/language/language.h"
#include "app/gui/language/text.h"
#include "app/gui/live/run_dialog.h"
#include "app/gui/panels/aadiff_panel.h"
#include "app/gui/panels/advice_table.h"
#include "app/gui/panels/whatif_panel.h"
#include "core/schedule/schedule_files.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"
#include "tests/support/jittered_run.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// Rank 2 of four takes half as long again as the others.
SessionPtr slowRank() {
    test::JitteredRun wanted;
    wanted.spec = {"1f1b", "", 4, 8, 1};
    wanted.steps = 6;
    wanted.op_factor = [](int, Rank rank, const Op&) { return rank.value == 2 ? 1.5 : 1.0; };
    return makeSession(test::makeJitteredRun(wanted, 5), JobControl()).value();
}

void type(QWidget& window, const char* field, const QString& text) {
    auto& line = child<QLineEdit>(window, field);
    line.selectAll();
    QTest::keyClicks(&line, text);
    QTest::keyClick(&line, Qt::Key_Tab);
}

} // namespace

/// What-if, the schedule lab and A/A checks.
class ExplorerPanelsTest : public GuiTest {
    Q_OBJECT

private slots:
    void whatIfTellsWhatASlowRankCosts() {
        ThemeManager themes;
        ViewState state;
        WhatIfPanel panel(state, themes);
        panel.resize(900, 300);
        panel.show();
        state.setSession(slowRank());
        QSignalSpy answered(&panel, &WhatIfPanel::answered);
        auto& target = child<QComboBox>(panel, "whatIfTarget");
        target.setCurrentIndex(target.findData(QStringLiteral("rank:2")));
        QCOMPARE(panel.changes(), std::vector<std::string>{"rank:2=usual"});
        QVERIFY(answered.wait());
        const auto model = runModel(state.session()->run).value();
        const auto scenario = parseScenario(std::vector<std::string>{"rank:2=usual"}).value();
        const Prediction prediction = predict(model, state.session()->run.schedule, scenario).value();
        QVERIFY(prediction.relativeChange() < -0.1);
        const QString headline = child<QLabel>(panel, "whatIfHeadline").text();
        QVERIFY2(headline.contains(percentDelta(prediction.relativeChange())), qPrintable(headline));

        // On the timeline, and removed again.
        child<QCheckBox>(panel, "whatIfReference").click();
        QVERIFY(state.reference());
        QVERIFY(state.reference()->timeline.wall() < state.session()->window(state.step()).length());
        state.setReference(nullptr);
        QVERIFY(!child<QCheckBox>(panel, "whatIfReference").isChecked());
    }

    void whatIfChangesAddUp() {
        ThemeManager themes;
        ViewState state;
        WhatIfPanel panel(state, themes);
        panel.show();
        state.setSession(slowRank());
        QSignalSpy answered(&panel, &WhatIfPanel::answered);
        auto& target = child<QComboBox>(panel, "whatIfTarget");
        target.setCurrentIndex(target.findData(QStringLiteral("links")));
        child<QComboBox>(panel, "whatIfValue").setCurrentIndex(2);
        child<QSlider>(panel, "whatIfShare").setValue(50);
        child<QPushButton>(panel, "whatIfAdd").click();
        auto& schedule = child<QComboBox>(panel, "whatIfSchedule");
        schedule.setCurrentIndex(schedule.findData(QStringLiteral("zb-h1")));
        QCOMPARE(panel.changes(), (std::vector<std::string>{"links=-50%", "schedule=zb-h1"}));
        QVERIFY(answered.wait());
        QVERIFY(child<QLabel>(panel, "whatIfNote").text().contains(QStringLiteral("zb-h1")));
        auto& list = child<QListWidget>(panel, "whatIfChanges");
        emit list.itemActivated(list.item(0));
        QCOMPARE(panel.changes(), std::vector<std::string>{"schedule=zb-h1"});
    }

    void whatIfSaysWhyNot() {
        ThemeManager themes;
        ViewState state;
        WhatIfPanel panel(state, themes);
        panel.show();
        state.setSession(slowRank());
        QSignalSpy answered(&panel, &WhatIfPanel::answered);
        child<QSpinBox>(panel, "whatIfVpp").setValue(7); // 1F1B has a single chunk
        QVERIFY(answered.wait());
        QVERIFY(!child<QLabel>(panel, "whatIfNote").text().isEmpty());
        QVERIFY(!child<QCheckBox>(panel, "whatIfReference").isEnabled());
    }

    void adviceCanBeChosen() {
        ThemeManager themes;
        ViewState state;
        WhatIfPanel panel(state, themes);
        panel.show();
        state.setSession(slowRank());
        // Opening the panel is enough.
        QSignalSpy advised(&panel, &WhatIfPanel::advised);
        QVERIFY(advised.wait(60000));
        auto& advices = child<AdviceTable>(panel, "whatIfAdvices");
        QVERIFY(advices.isVisible());
        QVERIFY(advices.rowCount() > 0);
        // The first row is what would help most, and no row is in the syntax of options.
        const auto model = runModel(state.session()->run).value();
        TimeNs before{0};
        for (int row = 0; row < advices.rowCount(); ++row) {
            const QString change = advices.changeAt(row);
            std::vector<std::string> texts;
            for (const QString& text : change.split(QLatin1Char(' ')))
                texts.push_back(text.toStdString());
            const Scenario scenario = parseScenario(texts).value();
            const Prediction prediction = predict(model, state.session()->run.schedule, scenario).value();
            QVERIFY(prediction.predicted() >= before);
            before = prediction.predicted();
            QCOMPARE(advices.item(row, AdviceTable::StepColumn)->text(), shortTime(prediction.predicted()));
            QVERIFY(!advices.item(row, AdviceTable::ChangeColumn)->text().contains(QLatin1Char('=')));
        }
        QSignalSpy answered(&panel, &WhatIfPanel::answered);
        emit advices.cellActivated(0, 0);
        QVERIFY(!panel.changes().empty());
        QVERIFY(answered.wait());
        QVERIFY(!advices.isVisible());
        const QString headline = child<QLabel>(panel, "whatIfHeadline").text();
        QVERIFY2(headline.startsWith(shortTime(model.step_time)) && headline.endsWith(QLatin1String(" %)")),
                 qPrintable(headline));
        QVERIFY(child<QLabel>(panel, "whatIfKey").text().contains(QStringLiteral("bubble&nbsp;saved")));
        // Back to the list.
        child<QPushButton>(panel, "whatIfAdvise").click();
        QVERIFY(advices.isVisible());
        QVERIFY(panel.changes().empty());
        // Suggestions for other layers are dropped.
        child<QLineEdit>(panel, "whatIfLayers").setText(QStringLiteral("8"));
        QCOMPARE(advices.rowCount(), 0);
        QVERIFY(child<QPushButton>(panel, "whatIfAdvise").isEnabled());
    }

    void explorerShowsOrderMemoryAndFormulas() {
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        QSignalSpy computed(&explorer, &ScheduleExplorer::computed);
        explorer.show();
        QTRY_VERIFY(explorer.result().has_value());
        QCOMPARE(explorer.result()->session->window(0).length(), TimeNs{(8 + 3) * 15'000'000});
        QVERIFY(child<QLabel>(explorer, "explorerHeadline").text().contains(QStringLiteral("(p−1)")));
        QCOMPARE(explorer.result()->peak, 4 * explorer.result()->input.spec.sizes.forward); // p activations on rank 0
        auto& family = child<QComboBox>(explorer, "explorerFamily");
        family.setCurrentText(QStringLiteral("fthenb"));
        QTRY_VERIFY(explorer.result() && explorer.result()->input.spec.name == "fthenb");
        QCOMPARE(explorer.result()->peak, 8 * explorer.result()->input.spec.sizes.forward); // all m
        QCOMPARE(explorer.state().session(), explorer.result()->session);
    }

    void explorerKeepsResultsToCompare() {
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        explorer.show();
        QTRY_VERIFY(explorer.result().has_value());
        child<QPushButton>(explorer, "explorerKeep").click();
        child<QSpinBox>(explorer, "explorerMicrobatches").setValue(16);
        QTRY_COMPARE(explorer.result() ? explorer.result()->input.spec.microbatches : 0, 16);
        const auto& table = child<QTableWidget>(explorer, "explorerTable");
        QCOMPARE(table.rowCount(), 2);
        QVERIFY(table.item(0, 0)->text().contains(QStringLiteral("m = 16")));
        QVERIFY(table.item(1, 0)->text().contains(QStringLiteral("m = 8")));
    }

    void explorerTellsWhatAScheduleNeeds() {
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        explorer.show();
        QTRY_VERIFY(explorer.result().has_value());
        child<QComboBox>(explorer, "explorerFamily").setCurrentText(QStringLiteral("zb-v")); // needs two chunks
        QTRY_VERIFY(explorer.result().has_value() && explorer.result()->input.spec.name == "zb-v");
        QCOMPARE(child<QSpinBox>(explorer, "explorerVpp").value(), 2); // set with the family
        child<QSpinBox>(explorer, "explorerVpp").setValue(3);
        QTRY_VERIFY(!explorer.result().has_value());
        // Next to the fields, in their words; the old drawing is gone.
        const auto& problem = child<QLabel>(explorer, "explorerProblem");
        QVERIFY(problem.isVisible());
        QVERIFY2(!problem.text().contains(QLatin1String("--")), qPrintable(problem.text()));
        QVERIFY2(problem.text().contains(QLatin1String("Chunks per rank v")) ||
                     problem.text().contains(QLatin1String("v")),
                 qPrintable(problem.text()));
        QVERIFY(!explorer.state().session());
        QVERIFY(!child<QPushButton>(explorer, "explorerExport").isEnabled());
        QVERIFY(!child<QPushButton>(explorer, "explorerRun").isEnabled());
        QVERIFY(!explorer.exportCsv(QStringLiteral("x.csv")).ok());
        child<QSpinBox>(explorer, "explorerVpp").setValue(2);
        QTRY_VERIFY(explorer.result().has_value());
        QVERIFY(!problem.isVisible());
        QVERIFY(explorer.state().session());
    }

    void hintsNameTheFields() {
        const Error error = makeSchedule({"zb-v", "handcrafted", 4, 8, 2, 0, 3}).error();
        QCOMPARE(errorText(error),
                 QStringLiteral("zb-v (handcrafted) has a fixed order and does not support “Activation "
                                "limit” (omit “Activation limit”, or use “Flavor” greedy)"));
        LanguageManager languages;
        languages.choose(Language::Chinese);
        QCOMPARE(
            errorText(error),
            QStringLiteral(
                "zb-v（handcrafted）的顺序是固定的，不接受 “激活上限”（请去掉 “激活上限”，或改用 “变体” greedy）"));
        QCOMPARE(translated(say("{} specifies {} pipeline ranks, but the trace shows {}; using the trace",
                                Field("pp").term(), 2, 4)),
                 QStringLiteral("“rank 数 p” 写明有 2 个流水线 rank，而跟踪显示 4 个；以跟踪为准"));
        languages.choose(Language::English);
        // No family's hint quotes an option.
        for (const ScheduleFamily& family : scheduleFamilies()) {
            for (const int vpp : {1, 2, 3}) {
                ScheduleSpec spec;
                spec.name = family.name;
                spec.pp = 3;
                spec.microbatches = 5;
                spec.vpp = vpp;
                const auto made = makeSchedule(spec);
                if (made.ok()) continue;
                const QString text = errorText(made.error());
                QVERIFY2(!text.contains(QLatin1String("--")), qPrintable(text));
            }
        }
    }

    void aSearchImprovesTheDrawingUntilItEnds() {
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        explorer.show();
        QTRY_VERIFY(explorer.result().has_value());
        QSignalSpy improved(&explorer, &ScheduleExplorer::improved);
        QSignalSpy ended(&explorer, &ScheduleExplorer::searchEnded);
        auto& button = child<QPushButton>(explorer, "explorerSearch");
        const TimeNs before = explorer.result()->session->window(0).length();
        button.click();
        QVERIFY(explorer.searching());
        QVERIFY(button.text().contains(QLatin1String("Stop")));
        QTRY_VERIFY_WITH_TIMEOUT(improved.count() > 0 || ended.count() > 0, 30000);
        if (explorer.searching()) button.click(); // ends it with what it has found
        QTRY_COMPARE_WITH_TIMEOUT(ended.count(), 1, 60000);
        QVERIFY(!explorer.searching());
        const ExplorerResult& result = *explorer.result();
        QVERIFY(result.session->window(0).length() < before); // zero-bubble orders beat 1F1B
        QCOMPARE(explorer.state().session(), result.session);
        const auto& gap = child<QLabel>(explorer, "explorerGap");
        QVERIFY(gap.isVisible());
        QVERIFY2(gap.text().contains(QLatin1String("The best named schedule")), qPrintable(gap.text()));
        // As `search` gives it with the same sizes: never worse than the best family.
        const auto families = exploreFamilies(*explorer.input(), JobControl());
        QVERIFY(families.ok());
        for (const ExplorerResult& family : families.value()) {
            // Two copies of the model are another placement, which one chunk a rank does not have.
            if (family.session->run.schedule.placement != Placement::Loop) continue;
            QVERIFY2(result.session->window(0).length() <= family.session->window(0).length(),
                     family.input.spec.name.c_str());
        }

        // Other sizes make it void.
        button.click();
        child<QSpinBox>(explorer, "explorerMicrobatches").setValue(12);
        QVERIFY(!explorer.searching());
        QTRY_VERIFY(explorer.result() && explorer.result()->input.spec.microbatches == 12);
        QCOMPARE(explorer.result()->input.spec.name, std::string("1f1b"));
    }

    void aSearchThatCannotBeSaysWhy() {
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        explorer.show();
        QTRY_VERIFY(explorer.result().has_value());
        child<QSpinBox>(explorer, "explorerPp").setValue(512);
        child<QSpinBox>(explorer, "explorerVpp").setValue(64);
        child<QSpinBox>(explorer, "explorerMicrobatches").setValue(4096);
        QSignalSpy ended(&explorer, &ScheduleExplorer::searchEnded);
        child<QPushButton>(explorer, "explorerSearch").click();
        QTRY_COMPARE_WITH_TIMEOUT(ended.count(), 1, 30000);
        QVERIFY(!child<QLabel>(explorer, "explorerProblem").text().isEmpty());
    }

    void familiesAreComparedShortestFirst() {
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        explorer.show();
        QTRY_VERIFY(explorer.result().has_value());
        child<QPushButton>(explorer, "explorerFamilies").click();
        const auto& table = child<QTableWidget>(explorer, "explorerTable");
        QTRY_VERIFY_WITH_TIMEOUT(table.rowCount() > 4, 30000);
        QVERIFY(table.item(0, 0)->text().contains(QLatin1String("1f1b"))); // what is shown
        const auto families = exploreFamilies(*explorer.input(), JobControl()).value();
        QCOMPARE(table.rowCount(), 1 + static_cast<int>(families.size()));
        for (std::size_t i = 1; i < families.size(); ++i)
            QVERIFY(families[i - 1].session->analysis(0).wall <= families[i].session->analysis(0).wall);
    }

    void anOrderIsSentToARun() {
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        QTRY_VERIFY(explorer.result().has_value());
        QSignalSpy run(&explorer, &ScheduleExplorer::runRequested);
        child<QPushButton>(explorer, "explorerRun").click();
        QCOMPARE(run.count(), 1);
        const QString file = run.front().front().toString();
        const auto read = readScheduleFile(file.toStdString());
        QVERIFY(read.ok());
        QVERIFY(read.value().ranks == explorer.result()->session->run.schedule.ranks);
        RunDialog dialog(themes, QStringLiteral("folder"));
        dialog.setOrder(file, explorer.input()->spec);
        const QStringList arguments = dialog.plan().arguments();
        QCOMPARE(arguments.value(arguments.indexOf(QStringLiteral("--schedule-file")) + 1), file);
        QVERIFY(!arguments.contains(QStringLiteral("--pp")));
        QVERIFY(!child<QComboBox>(dialog, "runFamily").isEnabled());
        QSignalSpy checked(&dialog, &RunDialog::checked);
        QTRY_VERIFY(child<QPushButton>(dialog, "runStart").isEnabled());
        QFile::remove(file);
    }

    void explorerExportsWhatPyTorchReads() {
        const QTemporaryDir folder;
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        QTRY_VERIFY(explorer.result().has_value());
        const QString path = folder.filePath(QStringLiteral("order.csv"));
        QVERIFY(explorer.exportCsv(path).ok());
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const auto read = scheduleFromCsv(file.readAll().toStdString(), "order.csv");
        QVERIFY(read.ok());
        QVERIFY(read.value().ranks == explorer.result()->session->run.schedule.ranks);
        QVERIFY(!explorer.exportCsv(folder.filePath(QStringLiteral("no/such/folder.csv"))).ok());
    }

    void explorerTakesOverARun() {
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        const SessionPtr session = sampleSession();
        explorer.startFrom(*session, 1);
        QCOMPARE(explorer.input()->spec.pp, 4);
        QCOMPARE(explorer.input()->spec.times.forward, TimeNs{5'000'000});
        QCOMPARE(explorer.input()->spec.times.backward, TimeNs{10'000'000});
    }

    /// The last of four stages takes 18 ms per micro-batch and never waits once it began: 3 × 5 + 8 × 18 + 3 × 10 ms.
    void explorerTakesTimesOfEachStage() {
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        explorer.show();
        QTRY_VERIFY(explorer.result().has_value());
        type(explorer, "explorerForward", QStringLiteral("5,5,5,8"));
        QTRY_VERIFY(explorer.result() && explorer.result()->input.stages.size() == 4);
        QCOMPARE(explorer.result()->session->window(0).length(), TimeNs{189'000'000});
        QVERIFY(child<QLabel>(explorer, "explorerForwardNote").isVisible());
        // A pasted column, with units.
        QGuiApplication::clipboard()->setText(QStringLiteral("5 ms\t5000us\t5\t0.008 s"));
        auto& forward = child<QLineEdit>(explorer, "explorerForward");
        forward.selectAll();
        forward.paste();
        QTRY_VERIFY(forward.text().contains(QLatin1String("0.008")) && explorer.input());
        QCOMPARE(explorer.input()->stages.size(), std::size_t{4});
        QCOMPARE(explorer.input()->stages.at(3).forward, TimeNs{8'000'000});
    }

    void explorerRejectsListsAtTheField_data() {
        QTest::addColumn<QString>("text");
        QTest::newRow("too short") << QStringLiteral("5,5,8");
        QTest::newRow("too long") << QStringLiteral("5,5,5,5,8");
        QTest::newRow("not a time") << QStringLiteral("5,5,5,x");
        QTest::newRow("negative") << QStringLiteral("-5");
    }

    void explorerRejectsListsAtTheField() {
        QFETCH(QString, text);
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        explorer.show();
        QTRY_VERIFY(explorer.result().has_value());
        type(explorer, "explorerForward", text);
        QTRY_VERIFY(!explorer.result().has_value());
        const auto& note = child<QLabel>(explorer, "explorerForwardNote");
        QVERIFY(note.isVisible() && !note.text().isEmpty());
        QVERIFY(!child<QLabel>(explorer, "explorerWeightGradNote").isVisible());
        QVERIFY(!explorer.input());
        type(explorer, "explorerForward", QStringLiteral("5"));
        QTRY_VERIFY(explorer.result().has_value());
        QVERIFY(!note.isVisible());
    }

    void explorerReadsTimesFromAFile() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("stages.csv"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("forward,backward\n5ms,10ms\n5ms,10ms\n5ms,10ms\n8ms,10ms\n");
        file.close();
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        auto& form = *explorer.findChild<LabForm*>();
        form.takeTimes(path);
        QTRY_VERIFY(explorer.result() && explorer.result()->input.stages.size() == 4);
        QCOMPARE(child<QLineEdit>(explorer, "explorerForward").text(), QStringLiteral("5, 5, 5, 8"));
        QCOMPARE(child<QLineEdit>(explorer, "explorerInputGrad").text(), QStringLiteral("5"));
        form.takeTimes(folder.filePath(QStringLiteral("missing.csv")));
        QVERIFY(!child<QLabel>(explorer, "explorerProblem").text().isEmpty());
    }

    void explorerTakesTheTimesOfAnUnevenRun() {
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        const SessionPtr session = slowRank();
        explorer.setOpenStep([session] { return std::pair(session, 0); });
        child<QAction>(explorer, "explorerFromTrace").trigger();
        QTRY_VERIFY(explorer.result() && explorer.result()->input.stages.size() == 4);
        const std::vector<OpTimes>& stages = explorer.result()->input.stages;
        const double ratio =
            static_cast<double>(stages[2].forward.count()) / static_cast<double>(stages[1].forward.count());
        QVERIFY2(ratio > 1.4 && ratio < 1.6, qPrintable(QString::number(ratio))); // by the recording: 1.5
    }

    void explorerMarksRowsOfOtherInputs() {
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        explorer.show();
        QTRY_VERIFY(explorer.result().has_value());
        child<QPushButton>(explorer, "explorerKeep").click();
        const auto& table = child<ComparisonTable>(explorer, "explorerTable");
        QVERIFY(!table.differs(1));
        type(explorer, "explorerComm", QStringLiteral("1"));
        QTRY_VERIFY(table.differs(1));
        QVERIFY(!table.item(1, 0)->toolTip().isEmpty() && table.item(0, 0)->toolTip().isEmpty());
        QVERIFY(table.item(0, 6)->text().contains(QLatin1String("transfer 1 ")));
        QVERIFY(table.item(1, 6)->text().contains(QLatin1String("transfer 0 ")));
    }

    /// A rank of 1F1B holds p − rank activations: two on rank 0 exclude it, four do not.
    void memoryLimitsOfEachRankExcludeFamilies() {
        LabInput input;
        input.spec.pp = 4;
        input.spec.microbatches = 8;
        const auto hasPlain = [&](std::vector<int> limits) {
            input.activations = std::move(limits);
            const auto families = exploreFamilies(input, JobControl());
            return families.ok() && std::ranges::any_of(families.value(), [](const ExplorerResult& one) {
                       return one.input.spec.name == "1f1b";
                   });
        };
        QVERIFY(hasPlain({4, 3, 2, 1}));
        QVERIFY(!hasPlain({2, 3, 2, 1}));
    }

    /// 4 MB at 1 GB/s are 4 ms more for each of the 3 + 3 transfers on the way of the first micro-batch.
    void transfersTakeTimeByTheirBytes() {
        LabInput input;
        input.spec = {"1f1b", "", 4, 1, 1};
        const TimeNs before = exploreSchedule(input, JobControl()).value().session->window(0).length();
        input.transfers.activation_bytes = 4'000'000;
        input.transfers.gradient_bytes = 4'000'000;
        input.transfers.bytes_per_second = 1'000'000'000;
        const TimeNs after = exploreSchedule(input, JobControl()).value().session->window(0).length();
        QCOMPARE(after - before, TimeNs{6 * 4'000'000});
    }

    void communicatorsShowWhatQueuesCostAndWhatHangs() {
        ThemeManager themes;
        ScheduleExplorer explorer(themes);
        explorer.show();
        QTRY_VERIFY(explorer.result().has_value());
        child<QComboBox>(explorer, "explorerFamily").setCurrentText(QStringLiteral("looped-bfs"));
        child<QSpinBox>(explorer, "explorerVpp").setValue(2);
        type(explorer, "explorerComm", QStringLiteral("1"));
        child<QComboBox>(explorer, "explorerCommunicators").setCurrentIndex(1); // one for all
        QTRY_VERIFY(explorer.result() && explorer.result()->queue_cost);
        QVERIFY(*explorer.result()->queue_cost > TimeNs{0});
        QVERIFY(child<QLabel>(explorer, "explorerHeadline").text().contains(QStringLiteral("transfer queues: +")));
        child<QComboBox>(explorer, "explorerReceives").setCurrentIndex(1); // deferred
        auto& problem = child<QLabel>(explorer, "explorerProblem");
        QTRY_VERIFY(problem.text().contains(QStringLiteral("angs with payloads of")));
        QVERIFY(explorer.result().has_value());
        child<QComboBox>(explorer, "explorerCommunicators").setCurrentIndex(4); // one per directed edge
        QTRY_VERIFY(explorer.result() && explorer.result()->queue_cost);
        QVERIFY(problem.text().isEmpty());
    }

    void memoryStairsStartAndEndInThePlot() {
        ThemeManager themes;
        MemoryChart chart(themes);
        chart.resize(400, 150);
        chart.setCurves({{{TimeNs{0}, 0}, {TimeNs{10}, 4}, {TimeNs{50}, 2}}}, TimeNs{100}, 2);
        const QPolygonF stairs = chart.stairs(0);
        QVERIFY(stairs.front().y() > stairs[2].y());
        QCOMPARE(stairs.back().x(), 390.0);
        QCOMPARE(stairs.size(), 6);
    }

    void aadiffPlansSlotsOfTheRun() {
        ThemeManager themes;
        ViewState state;
        AadiffPanel panel(state, themes);
        panel.resize(900, 300);
        state.setSession(sampleSession());
        QVERIFY(!panel.plan()); // the panel is hidden
        QSignalSpy planned(&panel, &AadiffPanel::planned);
        panel.show();
        QVERIFY(planned.wait());
        QVERIFY(panel.plan().has_value());
        auto& table = child<QTableWidget>(panel, "aadiffSlots");
        QCOMPARE(table.rowCount(), static_cast<int>(panel.plan()->places.size()));
        QVERIFY(table.rowCount() > 4);
        emit table.cellClicked(2, 0);
        QCOMPARE(state.highlights().size(), 1U);
        QCOMPARE(state.step(), panel.plan()->step);
        const CheckPlan::Place& place = panel.plan()->places[2];
        QCOMPARE(state.highlights().front().range.begin, place.when.start);
        for (const TimelineOp& op : state.session()->step(state.step()).ranks[place.rank.index()])
            QVERIFY(op.end <= place.when.start || op.start >= place.when.end); // it is a bubble
    }

    void aadiffCellsLeadToChecks() {
        ThemeManager themes;
        ViewState state;
        AadiffPanel panel(state, themes);
        panel.resize(900, 300);
        panel.show();
        QSignalSpy planned(&panel, &AadiffPanel::planned);
        state.setSession(sampleSession());
        QVERIFY(planned.wait());
        auto& map = child<HeatMap>(panel, "aadiffCoverage");
        std::size_t checked = panel.plan()->units.size();
        for (std::size_t i = 0; i < panel.plan()->units.size(); ++i) {
            if (panel.plan()->units[i].first_step > 0) checked = i;
        }
        QVERIFY(checked < panel.plan()->units.size());
        const auto columns = panel.plan()->columns.size();
        const QRectF cell = map.cellRect(static_cast<int>(checked / columns), static_cast<int>(checked % columns));
        QTest::mouseClick(&map, Qt::LeftButton, {}, cell.center().toPoint());
        QCOMPARE(state.highlights().size(), panel.plan()->units[checked].checks.size());
        child<QSpinBox>(panel, "aadiffMargin").setValue(50);
        QVERIFY(planned.wait());
    }
};

BUBBLESCOPE_GUI_TEST(ExplorerPanelsTest, explorer_panels_test);
#include "explorer_panels_test.moc"
