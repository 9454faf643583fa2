// Commands copied from the app give the answers that the app shows.

#include "app/gui/models/item_copy.h"
#include "app/gui/options.h"
#include "core/formats/perfetto/writer.h"
#include "core/recognise/rule_by_example.h"
#include "tests/gui/gui_tests.h"
#include "tests/support/jittered_run.h"

#include <nlohmann/json.hpp>

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <QThreadPool>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// Runs a copied command in a shell, with `more` options for either program.
QByteArray runInShell(const QString& command, const QString& more) {
    const QString programs =
        QStringLiteral("bubblescope() { '%1' \"$@\" %3; }\n"
                       "bubblescope-gui() { '%2' \"$@\" %3; }\n%4")
            .arg(QStringLiteral(BUBBLESCOPE_PROGRAM), QStringLiteral(BUBBLESCOPE_GUI_PROGRAM), more, command);
    QProcess shell;
    shell.start(QStringLiteral("bash"), {QStringLiteral("-c"), programs});
    if (!shell.waitForFinished(60000) || shell.exitCode() != 0)
        qWarning("%s\n%s", qPrintable(command), shell.readAllStandardError().constData());
    return shell.readAllStandardOutput();
}

/// Two steps of F-then-B on two ranks, with names and file names that state little: ops "vor 0", "rueck 0".
void writeForeignTrace(const QString& name, int rank) {
    QFile file(name);
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
    QStringList events;
    const auto add = [&](const QString& op, int begin, int length) {
        events << QStringLiteral(R"({"ph": "X", "name": "%1", "pid": 1, "tid": 1, "ts": %2, "dur": %3})")
                      .arg(op)
                      .arg(begin)
                      .arg(length);
    };
    for (int step = 0; step < 3; ++step) {
        const int base = 20'000 * step;
        for (int mb = 0; mb < 3; ++mb) {
            add(QStringLiteral("vor %1").arg(mb), base + 1000 * (mb + rank), 1000 + 500 * rank);
            add(QStringLiteral("rueck %1").arg(mb), base + 9000 + 2000 * (mb + 1 - rank), 2000);
        }
    }
    file.write(QStringLiteral("{\"traceEvents\": [%1]}").arg(events.join(QLatin1Char(','))).toUtf8());
}

/// Ten steps in which rank 2 is slow.
void writeSlowRun(const QString& name) {
    test::JitteredRun wanted;
    wanted.spec = {"1f1b", "", 4, 8, 1};
    wanted.steps = 10;
    wanted.op_factor = [](int, Rank rank, const Op&) { return rank.value == 2 ? 1.5 : 1.0; };
    const Run run = test::makeJitteredRun(wanted, 5);
    RunInfo info;
    info.source = "simulate";
    info.schedule = "1f1b";
    info.pp = 4;
    info.microbatches = 8;
    const Status written = perfetto::writeTimeline(name.toStdString(), info, run.steps);
    if (!written.ok()) qFatal("%s", written.error().text().c_str());
}

SessionPtr load(const QStringList& paths, const Taught& taught = {}, const QStringList& options = {}) {
    QString error;
    const auto parsed = parseOptions(QStringList{QStringLiteral("bubblescope-gui")} + options, error);
    if (!parsed) qFatal("%s", qPrintable(error));
    std::vector<std::filesystem::path> files;
    for (const QString& path : paths)
        files.emplace_back(path.toStdString());
    JobControl control;
    Result<SessionPtr> made = loadSession(loaderOf(*parsed), files, control, taught);
    if (!made.ok()) qFatal("%s", made.error().text().c_str());
    return made.value();
}

QStringList statementsOf(const nlohmann::json& report) {
    QStringList lines;
    for (const auto& statement : report.at("answer"))
        lines << QString::fromStdString(statement.at("message").get<std::string>());
    return lines;
}

QStringList statementsOf(const Answer& answer) {
    QStringList lines;
    for (const Statement& statement : answer.statements)
        lines << QString::fromStdString(statement.what.text());
    return lines;
}

/// The report of the copied command.
nlohmann::json reportOf(const Session& session, const ModelUseRequest& model = {}) {
    const QByteArray out = runInShell(commandThatAnalyzes(session, model), QStringLiteral("--json"));
    return nlohmann::json::parse(out.toStdString(), nullptr, false);
}

} // namespace

class CopiedCommandTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        QVERIFY(dir_.isValid());
        writeSlowRun(path("a run's.pftrace"));
        for (int rank = 0; rank < 2; ++rank)
            writeForeignTrace(path(rank == 0 ? "north.json" : "south.json"), rank);
    }
    void cleanup() {
        setFindingThresholds({});
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000));
    }

    void answersAreTheSame_data() {
        QTest::addColumn<QStringList>("files");
        QTest::addColumn<QString>("rules");
        QTest::addColumn<QString>("schedule");
        QTest::addColumn<QStringList>("ranks");
        QTest::addColumn<QStringList>("options");
        const QStringList run{path("a run's.pftrace")};
        const QStringList foreign{path("north.json"), path("south.json")};
        const TaughtRule rule{"mine",
                              {{"vor {microbatch}", OpKind::Forward}, {"rueck {microbatch}", OpKind::Backward}},
                              RankSource::File,
                              true};
        const QString rules = QString::fromStdString(rulesDocument(rule));
        QTest::newRow("as it is") << run << QString() << QString() << QStringList() << QStringList();
        QTest::newRow("without a pipeline") << foreign << QString() << QString() << QStringList() << QStringList();
        QTest::newRow("rules") << foreign << rules << QString() << QStringList() << QStringList();
        QTest::newRow("ranks") << foreign << rules << QString() << QStringList{"*south*=0", "*north*=1"}
                               << QStringList();
        QTest::newRow("schedule") << run << QString() << QStringLiteral("gpipe") << QStringList() << QStringList();
        QTest::newRow("options of the app")
            << run << QString() << QString() << QStringList() << QStringList{"--schedule", "zb-h1", "--mesh", "pp=4"};
    }
    void answersAreTheSame() {
        QFETCH(const QStringList, files);
        QFETCH(const QString, rules);
        QFETCH(const QString, schedule);
        QFETCH(const QStringList, ranks);
        QFETCH(const QStringList, options);
        Taught taught;
        taught.rules = rules.toStdString();
        for (const QString& rank : ranks)
            taught.ranks.push_back({rank.section('=', 0, 0).toStdString(), rank.section('=', 1).toInt()});
        if (!schedule.isEmpty()) taught.family = ScheduleSpec{schedule.toStdString(), "", 0, 0, 0};
        const SessionPtr session = load(files, taught, options);
        QCOMPARE(session->hasSteps(), rules.isEmpty() ? files.size() == 1 : true);
        const nlohmann::json report = reportOf(*session);
        QVERIFY(report.is_object());
        QCOMPARE(statementsOf(report), statementsOf(session->answer));
        QVERIFY(!statementsOf(report).isEmpty());
        if (session->hasSteps()) QCOMPARE(report["anomalies"].size(), session->report.anomalies.size());

        // And the app, started with the command of an item, shows it.
        const ItemRef item = session->hasSteps() ? ItemRef{ItemKind::Op, 1, 1, 2} : session->sliceItem(SliceId{0});
        const QString picture = path("item.png");
        runInShell(copyAsCommand(*session, item),
                   QStringLiteral("--force --screenshot '%1' --theme dark").arg(picture));
        QVERIFY(QFile::remove(picture));
    }

    void thresholdsAndTheModelAreIncluded() {
        const QStringList run{path("a run's.pftrace")};
        ModelUseRequest model;
        model.model.preset = "gpt3-6.7b";
        model.model.layers = 16;
        model.global_batch = 8;
        model.teraflops = 312.5;
        Thresholds strict;
        strict.least_cost = 0.5;
        const std::size_t usual = load(run)->report.anomalies.size();
        setFindingThresholds(strict);
        const SessionPtr session = load(run);
        QVERIFY(session->report.anomalies.size() < usual);
        const nlohmann::json report = reportOf(*session, model);
        QVERIFY(report.is_object());
        QCOMPARE(report["anomalies"].size(), session->report.anomalies.size());
        QCOMPARE(statementsOf(report), statementsOf(session->answer));
        const auto use = model.use(session->run);
        QVERIFY(use.ok() && use.value());
        const QString stated = QString::fromStdString(report["mfu"].dump());
        const double share = use.value()->of(session->report.selection.stepTime());
        QVERIFY2(report["mfu"]["step"].is_number(), qPrintable(stated));
        QVERIFY2(qFuzzyCompare(report["mfu"]["step"].get<double>(), share), qPrintable(stated));
    }

    void findingsHaveACommand() {
        const SessionPtr session = load({path("a run's.pftrace")});
        QVERIFY(!session->report.anomalies.empty());
        for (const Anomaly& anomaly : session->report.anomalies)
            QVERIFY(!runInShell(copyAsCommand(*session, anomaly), QString()).isEmpty());
        Anomaly plain = session->report.anomalies.front();
        plain.kind = AnomalyKind::GradientExchange; // has no command of its own
        plain.step.reset();
        QVERIFY(!runInShell(copyAsCommand(*session, plain), QString()).isEmpty());
    }

private:
    [[nodiscard]] QString path(const char* name) const { return dir_.filePath(QString::fromLatin1(name)); }

    QTemporaryDir dir_;
};

BUBBLESCOPE_GUI_TEST(CopiedCommandTest, copied_command_test);
#include "copied_command_test.moc"
