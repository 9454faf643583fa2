#include "app/gui/language/language.h"
#include "app/gui/language/text.h"
#include "app/gui/main_window.h"
#include "app/gui/models/anomaly_model.h"
#include "app/gui/models/item_text.h"
#include "app/gui/panels/accounting_panel.h"
#include "app/gui/panels/bars.h"
#include "core/analysis/anomalies/thresholds.h"
#include "core/analysis/period/host_activity.h"
#include "core/cost/cost_model.h"
#include "core/demo/demo_traces.h"
#include "core/families/registry.h"
#include "core/recognise/rule_table.h"
#include "core/schedule/schedule.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"
#include "tests/support/jittered_run.h"

#include <QAction>
#include <QDirIterator>
#include <QDockWidget>
#include <QFile>
#include <QFontDatabase>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMenuBar>
#include <QRegularExpression>
#include <QSet>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

#include <algorithm>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// Adjacent literals after `from`, joined as by the compiler.
QString literalAt(const QString& text, qsizetype from) {
    static const QRegularExpression literal(QStringLiteral("\\G\\s*\"((?:[^\"\\\\]|\\\\.)*)\""));
    QString out;
    for (auto match = literal.match(text, from); match.hasMatch(); match = literal.match(text, from)) {
        out += match.captured(1);
        from = match.capturedEnd();
    }
    return out.replace(QLatin1String("\\n"), QLatin1String("\n"))
        .replace(QLatin1String("\\t"), QLatin1String("\t"))
        .replace(QLatin1String("\\\""), QLatin1String("\""))
        .replace(QLatin1String("\\\\"), QLatin1String("\\"));
}

/// All texts that the app's sources pass through tr(), except those of the command line, which stay English.
QSet<QString> textsOfSources() {
    static const QRegularExpression start(QStringLiteral("\\btr\\(|QT_TRANSLATE_NOOP\\(\"\\w+\","));
    QSet<QString> texts;
    QDirIterator files(QStringLiteral(BUBBLESCOPE_GUI_SOURCES), {QStringLiteral("*.cpp"), QStringLiteral("*.h")},
                       QDir::Files, QDirIterator::Subdirectories);
    while (files.hasNext()) {
        QFile file(files.next());
        if (files.fileName() == QLatin1String("options.cpp") || !file.open(QIODevice::ReadOnly)) continue;
        const QString source = QString::fromUtf8(file.readAll());
        for (auto found = start.globalMatch(source); found.hasNext();) {
            const QString text = literalAt(source, found.next().capturedEnd());
            if (!text.isEmpty()) texts << text;
        }
    }
    return texts;
}

/// An argument of a call, from after the opening bracket or a comma up to the next comma or the closing bracket.
QString argumentAt(const QString& text, qsizetype from) {
    int depth = 0;
    bool quoted = false;
    for (qsizetype at = from; at < text.size(); ++at) {
        const QChar c = text[at];
        if (quoted) {
            if (c == QLatin1Char('\\')) ++at;
            if (c == QLatin1Char('"')) quoted = false;
        } else if (c == QLatin1Char('"')) {
            quoted = true;
        } else if (QStringLiteral("([{").contains(c)) {
            ++depth;
        } else if (QStringLiteral(")]}").contains(c) && depth-- == 0) {
            return text.mid(from, at - from);
        } else if (c == QLatin1Char(',') && depth == 0) {
            return text.mid(from, at - from);
        }
    }
    return text.mid(from);
}

/// The contents of a folder's sources by name.
QMap<QString, QString> sourcesIn(const QString& folder) {
    QMap<QString, QString> sources;
    QDirIterator files(folder, {QStringLiteral("*.cpp"), QStringLiteral("*.h")}, QDir::Files,
                       QDirIterator::Subdirectories);
    while (files.hasNext()) {
        QFile file(files.next());
        if (file.open(QIODevice::ReadOnly)) sources.insert(files.filePath(), QString::fromUtf8(file.readAll()));
    }
    return sources;
}

/// All patterns in say() and the plural ones in sayCounted(), in the sources of core and the app.
QSet<QString> patternsOfCore() {
    static const QRegularExpression start(QStringLiteral("\\b(say|sayCounted)\\("));
    QSet<QString> patterns;
    QMap<QString, QString> sources = sourcesIn(QStringLiteral(BUBBLESCOPE_CORE_SOURCES));
    sources.insert(sourcesIn(QStringLiteral(BUBBLESCOPE_GUI_SOURCES)));
    for (auto file = sources.begin(); file != sources.end(); ++file) {
        if (file.key().contains(QLatin1String("core/base/sentence."))) continue; // defined there, not used
        for (auto found = start.globalMatch(file.value()); found.hasNext();) {
            const QRegularExpressionMatch call = found.next();
            qsizetype at = call.capturedEnd();
            if (call.captured(1) == QLatin1String("sayCounted")) at += argumentAt(file.value(), at).size() + 1;
            patterns << literalAt(file.value(), at); // an empty pattern is not a key, and fails
        }
    }
    return patterns;
}

/// Messages and hints of errors in these folders: their literals, and those of constants in the same file. Errors of
/// other folders of core are about options and files of the command line and stay English.
QSet<QString> errorTexts() {
    static const QRegularExpression start(QStringLiteral("\\b(inputError|usageError|runError)\\("));
    static const QRegularExpression literal(QStringLiteral("(?:\"(?:[^\"\\\\]|\\\\.)*\"\\s*)+"));
    // Names of fields and their values are arguments.
    static const QRegularExpression field(
        QStringLiteral("(optionOf\\()?Field\\(\"\\w+\"\\)(\\.is\\(\"[^\"]*\"\\))?(, \"[^\"]*\"\\))?"));
    static const QRegularExpression constant(QStringLiteral("\\bk[A-Z]\\w+"));
    static const QRegularExpression letter(QStringLiteral("[A-Za-z]"));
    // Passed on from elsewhere, already translated, or about drawings that the app does not request.
    static const QSet<QString> elsewhere{
        QStringLiteral("unpacked.fault"),
        QStringLiteral("message"), // SQLite's
        QStringLiteral("hintFor(message)"),
        QStringLiteral("what"),
        QStringLiteral("why"),
        QStringLiteral("std::move(hint)"),
        QStringLiteral("problems.front().message.text()"),
        QStringLiteral("error.message"),
        QStringLiteral("error.hint"),
        QStringLiteral("fmt::format(\"{}: {}\", what, std::strerror(errno))"),
        QStringLiteral("fmt::format(\"'{}': {}\", text, what)"),
        QStringLiteral("std::string(kNotesShape)"),
        QStringLiteral("std::string(conversionAdvice(where, bytes.text()))"),
        QStringLiteral("std::string(kXPlaneAdvice)"),
        QStringLiteral("hint.toStdString()"),
        QStringLiteral("error_output.section(QLatin1Char('\\n'), 1).toStdString()"),
    };
    QMap<QString, QString> sources = sourcesIn(QStringLiteral(BUBBLESCOPE_GUI_SOURCES));
    for (const char* folder : {"formats", "recognise", "analysis/whatif", "optimize/advice", "theory", "timeline",
                               "schedule", "families", "graph", "aadiff", "query"})
        sources.insert(sourcesIn(QStringLiteral(BUBBLESCOPE_CORE_SOURCES "/%1").arg(QLatin1String(folder))));
    QSet<QString> texts;
    // From checkSizes(), which is next to the readers of the command line's schedule files.
    texts << QStringLiteral("pp, vpp and microbatches require {:.0f} forwards, but the lists contain {} ops")
          << QStringLiteral("correct the sizes");
    // From live::checkFolders(), the only error of its folder that the app shows.
    texts << QStringLiteral("neither the folder nor its parent exists")
          << QStringLiteral("specify the folder that the run records into");
    // From Database::hintFor().
    texts << QStringLiteral("did you mean '{}'?") << QStringLiteral("the tables are {}");
    // From sniff.h.
    texts << QStringLiteral(
        "open the trace.json.gz that the profiler wrote next to it, or create one with TensorBoard's profile plugin");
    // From ModelUseRequest::use(), the only one of the requests of the command line that the app makes.
    texts << QStringLiteral("MFU needs the model") << QStringLiteral("MFU needs the global batch, in sequences")
          << QStringLiteral("no model given") << QStringLiteral("MFU needs steps, and this trace has none")
          << QStringLiteral("use a known model, or specify its layers, hidden size, heads and sequence length")
          << QStringLiteral("the model has {} layers for {} pipeline stages")
          << QStringLiteral("specify the model that this run trains")
          << QStringLiteral("the transformer's \"{}\" is {}") << QStringLiteral("use a number from 1 to {}")
          << QStringLiteral("the transformer's \"{}\" is {}, not a multiple of its \"{}\", {}")
          << QStringLiteral("correct one of the two") << QStringLiteral("the trace does not name a known device")
          << QStringLiteral("specify its name or its peak");
    // From openInput() and readInputText(), which also read files of the app.
    texts << QStringLiteral("cannot be read: {}") << QStringLiteral("check the name and the permissions")
          << QStringLiteral("is a folder, not a file") << QStringLiteral("is a pipe without a writer")
          << QStringLiteral("start its writer first");
    for (auto file = sources.begin(); file != sources.end(); ++file) {
        // From the command line, its files, the recorder, and checks for other frameworks.
        static const QRegularExpression of_command_line(
            QStringLiteral("gui/screenshot\\.cpp|/schedule/[a-z_]*(csv|json)[a-z_]*\\.|/perfetto/packet_file\\.|/"
                           "existing_results\\.|/aadiff/check_session\\."));
        if (file.key().contains(of_command_line)) continue;
        for (auto found = start.globalMatch(file.value()); found.hasNext();) {
            const QRegularExpressionMatch call = found.next();
            qsizetype at = call.capturedEnd();
            if (call.captured(1) == QLatin1String("inputError")) at += argumentAt(file.value(), at).size() + 1;
            for (int argument = 0; argument < 2 && file.value()[at - 1] != QLatin1Char(')'); ++argument) {
                QString words = argumentAt(file.value(), at);
                at += words.size() + 1;
                words.remove(field);
                QSet<QString> here;
                for (auto text = literal.globalMatch(words); text.hasNext();)
                    here << literalAt(text.next().captured(), 0);
                for (auto name = constant.globalMatch(words); name.hasNext();) {
                    const QRegularExpression value(name.next().captured() + QStringLiteral("\\s*=\\s*(?=\")"));
                    if (const auto is = value.match(file.value()); is.hasMatch())
                        here << literalAt(file.value(), is.capturedEnd());
                }
                here.removeIf([](const QString& text) { return !text.contains(letter); });
                const QString plain = words.simplified();
                if (here.isEmpty() && !plain.isEmpty() && !plain.contains(QLatin1String("tr(")) &&
                    !elsewhere.contains(plain))
                    here << plain; // an unknown expression has no translation, and fails
                if (!plain.contains(QLatin1String("tr("))) texts += here;
            }
        }
    }
    return texts;
}

/// The names of an anomaly's numbers, as shown by the app.
QSet<QString> evidenceNames() {
    static const QRegularExpression name(QStringLiteral("(?:(?<!ThresholdInfo)\\{|emplace_back\\()\"([a-z_]+)\","));
    QSet<QString> names;
    QDirIterator files(QStringLiteral(BUBBLESCOPE_CORE_SOURCES "/analysis/anomalies"), {QStringLiteral("*.cpp")},
                       QDir::Files);
    while (files.hasNext()) {
        QFile file(files.next());
        if (!file.open(QIODevice::ReadOnly)) continue;
        const QString source = QString::fromUtf8(file.readAll());
        for (auto found = name.globalMatch(source); found.hasNext();) {
            QString words = found.next().captured(1);
            if (words == QLatin1String("truncated")) continue; // a kind of problem
            if (words.endsWith(QLatin1String("_ns"))) words.chop(3);
            names << words.replace(QLatin1Char('_'), QLatin1Char(' '));
        }
    }
    return names;
}

/// Names that core provides and the app translates.
QSet<QString> textsOfCore() {
    QSet<QString> texts = patternsOfCore() + evidenceNames() + errorTexts();
    texts << QStringLiteral("{}, {}"); // of sayListed()
    texts << QStringLiteral("no slices at all") << QStringLiteral("{} slices of the categories {}")
          << QStringLiteral("no pipeline ops found: searched for Bubblescope's names and for {}; found {}")
          << QStringLiteral("{}; without names: {}"); // of nothingRecognised()
    texts << QStringLiteral("ranks {} are not evenly spaced; a file may be missing")
          << QStringLiteral("rank {} exchanges data with rank {}, which is not among the files")
          << QStringLiteral("ranks that exchange data form groups of different sizes ({} and {})")
          << QStringLiteral("only one rank both computes and transfers")
          << QStringLiteral("it contains no complete step")
          << QStringLiteral("the specified schedule is for {} ranks, but the trace has {}")
          << QStringLiteral("forwards and backwards on {} ranks run in the order {}")
          << QStringLiteral("forwards and backwards on {} ranks run in the order {}, and {}")
          << QStringLiteral("the specified schedule does not match at any size: {}")
          << QStringLiteral("no known schedule matches: {}")
          << QStringLiteral("no rank ran as many ops in a step as the schedule has (observed: {})"); // of inferOps()
    for (const RecognitionRule& rule : builtinRules())
        texts << QString::fromStdString(rule.name);
    for (const ThresholdInfo& info : thresholdTable())
        texts << QString::fromStdString(std::string(info.unit)) << QString::fromStdString(std::string(info.meaning));
    for (const Placement placement : {Placement::Loop, Placement::V, Placement::Bidirectional})
        texts << QString::fromStdString(std::string(placementName(placement)));
    for (const SendMode mode : {SendMode::Asynchronous, SendMode::Blocking, SendMode::Paired, SendMode::Batched})
        texts << QString::fromStdString(std::string(sendModeName(mode)));
    for (std::size_t activity = 0; activity < kHostActivityCount; ++activity)
        texts << QString::fromStdString(std::string(hostActivityName(static_cast<HostActivity>(activity))));
    for (std::size_t cause = 0; cause < kCauseCount; ++cause)
        texts << QString::fromStdString(std::string(causeName(static_cast<Cause>(cause))));
    for (std::size_t position = 0; position < kPositionCount; ++position) {
        for (const bool f_then_b : {false, true})
            texts << QString::fromStdString(std::string(positionName(static_cast<Position>(position), f_then_b)));
    }
    for (const AnomalyKindInfo& kind : anomalyKinds())
        texts << QString::fromStdString(std::string(kind.name)).replace(QLatin1Char('-'), QLatin1Char(' '));
    static const QRegularExpression word(QStringLiteral("[a-z]{4}"));
    for (const ScheduleFamily& family : scheduleFamilies()) {
        const QString limits = QString::fromStdString(std::string(family.limits));
        if (limits.contains(word)) texts << limits; // not only formulas
    }
    texts << QStringLiteral("head + work + tail − the rank's work")
          << QStringLiteral("max over ranks of head + work + tail"); // of orderBound()
    for (const DemoTrace& demo : demoTraces())
        texts << QString::fromStdString(std::string(demo.title))
              << QString::fromStdString(std::string(demo.description));
    texts.remove(QString());
    return texts;
}

/// The number of places in a pattern of core, and those that its translation fills.
int placesOf(const QString& pattern) {
    QString plain = pattern;
    return static_cast<int>(
        plain.remove(QLatin1String("{{")).remove(QLatin1String("}}")).count(QRegularExpression("\\{(:[^}]*)?\\}")));
}
QSet<int> filledPlaces(const QString& translation) {
    static const QRegularExpression mark(QStringLiteral("\\{(\\d+)\\}"));
    QSet<int> out;
    for (auto found = mark.globalMatch(translation); found.hasNext();)
        out << found.next().captured(1).toInt();
    return out;
}

QStringList placeholders(const QString& text) {
    static const QRegularExpression mark(QStringLiteral("%L?(\\d|n)"));
    QStringList out;
    for (auto found = mark.globalMatch(text); found.hasNext();)
        out << found.next().captured();
    out.sort();
    return out;
}

QJsonObject table() {
    LanguageManager().choose(Language::Chinese); // links the resource
    QFile file(QStringLiteral(":/translations/zh_CN.json"));
    return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
}

bool hasChinese(const QString& text) {
    return std::any_of(text.begin(), text.end(), [](QChar c) { return c.script() == QChar::Script_Han; });
}

} // namespace

class TranslationTest : public GuiTest {
    Q_OBJECT

private slots:
    void everyTextIsTranslated() {
        const QJsonObject chinese = table();
        const QSet<QString> sources = textsOfSources();
        QVERIFY(sources.size() > 200);
        QStringList missing;
        for (const QString& text : sources + textsOfCore()) {
            if (chinese.value(text).toString().isEmpty()) missing << text;
        }
        QVERIFY2(missing.isEmpty(), qPrintable(missing.join(QLatin1Char('\n'))));
    }

    void noTranslationIsLeftOver() {
        const QSet<QString> used = textsOfSources() + textsOfCore();
        QStringList left;
        for (const QString& text : table().keys()) {
            if (!used.contains(text)) left << text;
        }
        QVERIFY2(left.isEmpty(), qPrintable(left.join(QLatin1Char('\n'))));
    }

    void placeholdersAreKept() {
        const QJsonObject chinese = table();
        for (auto text = chinese.begin(); text != chinese.end(); ++text)
            QCOMPARE(placeholders(text.value().toString()), placeholders(text.key()));
    }

    void translatedPatternsFillAllPlaces() {
        const QJsonObject chinese = table();
        const QSet<QString> patterns = patternsOfCore() + errorTexts();
        QVERIFY(patterns.size() > 350);
        for (const QString& pattern : patterns) {
            const int places = placesOf(pattern);
            const QSet<int> filled = filledPlaces(chinese.value(pattern).toString());
            QVERIFY2(filled.size() == places && (places == 0 || *std::ranges::max_element(filled) == places - 1),
                     qPrintable(pattern));
        }
    }

    void sentencesOfCoreAreSaidInTheLanguage() {
        const Sentence said = say("{} repeats {}", say("{} on rank {}", "F1.0", 1), std::string("{0} %1"));
        LanguageManager languages;
        QCOMPARE(translated(said), QStringLiteral("F1.0 on rank 1 repeats {0} %1"));
        languages.choose(Language::Chinese);
        QCOMPARE(translated(said), QStringLiteral("rank 1 上的 F1.0 重复了 {0} %1"));
        QCOMPARE(translatedText(said.text()), translated(said)); // as another process sends it
        Sentence joined = say("step {}, rank {}", 7, 2);
        joined += say(" of replica {}", 1);
        QCOMPARE(translated(joined), QStringLiteral("第 7 步，rank 2（副本 1）"));
        QCOMPARE(translated(std::string("{}/x.json")), QStringLiteral("{}/x.json"));
        QCOMPARE(translatedText("no such words {} at all"), QStringLiteral("no such words {} at all"));
        languages.choose(Language::English);
        QCOMPARE(translated(said), QString::fromStdString(said.text()));
        QCOMPARE(translatedText(said.text()), QString::fromStdString(said.text()));
    }

    void errorsAreToldInChinese() {
        const Error error = inputError("/x/y.json", "none of the 3 steps is complete (step 1: rank 2 is missing B0.0)",
                                       "record at least one complete step on all pipeline ranks");
        LanguageManager languages;
        QCOMPARE(errorText(error), QString::fromStdString(error.text()));
        languages.choose(Language::Chinese);
        QCOMPARE(errorText(error), QStringLiteral("/x/y.json：3 步中没有一步是完整的（第 1 步：rank 2 缺少 B0.0）"
                                                  "（请在所有流水线 rank 上至少记录一个完整的步）"));
        QCOMPARE(
            translatedText("no pipeline ops found: searched for Bubblescope's names and for 'F{microbatch}' (NVTX), "
                           "'forward' (PaddlePaddle jobs); found 7 slices of the categories cpu_op 7"),
            QStringLiteral("没有找到流水线操作：查找了 Bubblescope 的名称以及 'F{microbatch}'（NVTX）、'forward'"
                           "（PaddlePaddle 的作业）；找到的是 7 个切片，类别为 cpu_op 7"));
        QCOMPARE(
            translatedText("no pipeline ops found: searched for Bubblescope's names and for 'F{microbatch}' (NVTX); "
                           "found 7 slices of the categories cpu_op 7; without names: no known schedule matches: "
                           "forwards and backwards on 2 ranks run in the order FB, BF"),
            QStringLiteral(
                "没有找到流水线操作：查找了 Bubblescope 的名称以及 'F{microbatch}' (NVTX)；找到的是 7 个切片，"
                "类别为 cpu_op 7；不看名称时：没有已知的调度相符：2 个 rank 上前向与反向的顺序为 FB, BF"));
        MessageBar bar;
        bar.showError(error);
        QVERIFY(bar.text().startsWith(QStringLiteral("3 步中没有一步")));
        QVERIFY(bar.text().contains(QLatin1String("/x/y.json")));
    }

    void anomaliesAreToldInChineseAndBack() {
        const auto troubled = [](const auto&, JobControl&) -> Result<Run> {
            test::JitteredRun wanted; // rank 2 is slow, and from step 12 on all are slower
            wanted.spec = {"1f1b", "", 4, 8, 1};
            wanted.steps = 24;
            wanted.op_factor = [](int step, Rank rank, const Op&) {
                return (rank.value == 2 ? 1.5 : 1.0) * (step < 12 ? 1.0 : 1.25);
            };
            return test::makeJitteredRun(wanted, 3);
        };
        MainWindow window(troubled, false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("sample.pftrace")});
        QVERIFY(loaded.wait());
        const std::vector<Anomaly>& anomalies = window.state().session()->report.anomalies;
        QVERIFY(!anomalies.empty());
        const auto texts = [&] {
            QStringList out;
            for (const char* label : {"anomalyMessage", "anomalySuggestion"})
                out << window.findChild<QLabel*>(QString::fromLatin1(label))->text();
            const auto* model = window.findChild<QTableView*>(QStringLiteral("anomalyTable"))->model();
            return out << model->index(0, AnomalyModel::Message).data().toString();
        };
        QVERIFY(window.showPanel(QStringLiteral("anomalies")));
        QTRY_VERIFY(!texts().contains(QString()));
        const QStringList english = texts();
        for (const QString& text : english)
            QVERIFY2(!text.isEmpty() && !hasChinese(text), qPrintable(text));
        window.findChild<QAction*>(QStringLiteral("language-zh_CN"))->trigger();
        QTRY_VERIFY(hasChinese(texts().front()));
        static const QRegularExpression words(QStringLiteral("[a-z]{4,}"));
        for (QString text : texts()) {
            QVERIFY2(hasChinese(text), qPrintable(text));
            // "rank" and the program's own commands are not translated.
            text.remove(QRegularExpression(QStringLiteral("“[^”]*”"))).remove(QLatin1String("rank"));
            QVERIFY2(!text.contains(words), qPrintable(text));
        }
        for (const Anomaly& anomaly : anomalies) {
            QVERIFY(hasChinese(translated(anomaly.message)));
            QVERIFY(hasChinese(translated(anomaly.suggestion)));
            for (const auto& evidence : anomaly.evidence)
                QVERIFY2(hasChinese(evidenceText(evidence).name) || evidence.first == "ulp", evidence.first.c_str());
        }
        window.findChild<QAction*>(QStringLiteral("language-en"))->trigger();
        QTRY_COMPARE(texts(), english);
    }

    void theWholeWindowSwitchesAndBack() {
        MainWindow window([](const auto&, JobControl&) -> Result<Run> { return sampleRun(); }, false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("sample.pftrace")});
        QVERIFY(loaded.wait());
        window.state().showStep(2);
        const auto dockTitle = [&] {
            return window.findChild<QDockWidget*>(QStringLiteral("stepsDock"))->windowTitle();
        };
        const auto menu = [&] { return window.menuBar()->actions().front()->text(); };
        QCOMPARE(dockTitle(), QStringLiteral("Steps"));
        const auto sizes = [&] {
            QCoreApplication::processEvents(); // lays out the window
            QList<QSize> out;
            for (const char* dock : {"bubblesDock", "detailsDock"})
                out << window.findChild<QDockWidget*>(QString::fromLatin1(dock))->size();
            return out;
        };
        const auto height = [&] { return window.findChild<QWidget*>(QStringLiteral("timeline"))->height(); };
        const QList<QSize> english = sizes();
        const int english_height = height();

        window.findChild<QAction*>(QStringLiteral("language-zh_CN"))->trigger();
        QTRY_VERIFY(hasChinese(dockTitle()));
        QVERIFY(hasChinese(menu()));
        QVERIFY(hasChinese(positionText(window.state().session()->analysis(0), Position::AfterCooldown)));
        QCOMPARE(window.state().step(), 2); // what is shown is kept, with its place
        QCOMPARE(sizes(), english);
        // Chinese letters are higher. If no font has them, a message states that; only the timeline becomes smaller.
        const auto* message = window.findChild<MessageBar*>();
        const int message_height = message->isVisible() ? message->height() : 0;
        QVERIFY(std::abs(height() + message_height - english_height) < 40);
        QVERIFY(window.findChild<QDockWidget*>(QStringLiteral("bubblesDock"))->isVisible());
        QVERIFY(window.findChild<QAction*>(QStringLiteral("language-zh_CN"))->isChecked());
        const QImage chinese = window.grab().toImage();

        window.findChild<QAction*>(QStringLiteral("language-en"))->trigger();
        QTRY_COMPARE(dockTitle(), QStringLiteral("Steps"));
        QVERIFY(window.grab().toImage() != chinese);
    }

    void aMissingFontIsNoticed() {
        LanguageManager languages;
        QVERIFY(languages.hasFont()); // English needs none
        languages.choose(Language::Chinese);
        QCOMPARE(languages.hasFont(), !QFontDatabase::families(QFontDatabase::SimplifiedChinese).isEmpty());
        languages.choose(Language::English);
        QCOMPARE(QCoreApplication::translate("x", "Steps"), QStringLiteral("Steps"));
    }

    void languagesHaveKeys() {
        for (const Language language : {Language::System, Language::English, Language::Chinese})
            QVERIFY(languageFromKey(languageKey(language)) == language);
        QVERIFY(!languageFromKey(QStringLiteral("klingon")));
    }
};

BUBBLESCOPE_GUI_TEST(TranslationTest, translation_test);
#include "translation_test.moc"
