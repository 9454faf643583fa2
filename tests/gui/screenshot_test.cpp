#include "tests/gui/gui_tests.h"
#include "tests/gui/live_run.h"
#include "tests/gui/sample_run.h"

#include <QFile>
#include <QImage>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <string_view>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

struct Outcome {
    int code = -1;
    QString out;
    QString err;
};

/// Runs the real program as a script without a display does.
Outcome runGui(const QStringList& arguments, const QString& platform = QString()) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "QT_SCALE_FACTOR", "BUBBLESCOPE_TOKEN"})
        environment.remove(QString::fromLatin1(name));
    if (!platform.isEmpty()) environment.insert(QStringLiteral("QT_QPA_PLATFORM"), platform);
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(BUBBLESCOPE_GUI_PROGRAM), arguments);
    if (!process.waitForFinished(60000) || process.exitStatus() != QProcess::NormalExit) return {};
    return {process.exitCode(), QString::fromUtf8(process.readAllStandardOutput()),
            QString::fromUtf8(process.readAllStandardError())};
}

} // namespace

class ScreenshotTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        QVERIFY(dir_.isValid());
        writeSampleRun(path("run.pftrace"));
    }

    void writesAPictureOfTheAskedSize() {
        const QString png = path("light.png");
        const Outcome light = runGui({"--screenshot", png, "--size", "1000x700", path("run.pftrace")});
        QVERIFY2(light.code == 0, qPrintable(light.err));
        QCOMPARE(light.err, QString());
        const QImage image(png);
        QCOMPARE(image.size(), QSize(1000, 700));
        QVERIFY(image.pixelColor(5, 5).lightness() > 200);
        const Outcome again = runGui({"--screenshot", png, "--theme", "dark", path("run.pftrace")});
        QCOMPARE(again.code, 2);
        QVERIFY2(again.err.contains(QLatin1String("--force")), qPrintable(again.err));
        QCOMPARE(QImage(png), image);
        QCOMPARE(runGui({"--screenshot", png, "--force", "--theme", "dark", path("run.pftrace")}).code, 0);
        QVERIFY(QImage(png).pixelColor(5, 5).lightness() < 80);

        const QString dark = path("dark.png");
        QCOMPARE(
            runGui({"--screenshot", dark, "--theme", "dark", "--step", "2", path("run.pftrace")}, "offscreen").code, 0);
        QVERIFY(QImage(dark).pixelColor(5, 5).lightness() < 80);

        const QString steps = path("steps.png");
        QCOMPARE(runGui({"--screenshot", steps, "--panel", "steps", path("run.pftrace")}, "offscreen").code, 0);
        QVERIFY(QImage(steps) != image);
    }

    /// Dialogs about the open trace, as they are, and the teaching panel in the window.
    void showsDialogsAboutATrace() {
        const QString window = path("window.png");
        QCOMPARE(runGui({"--screenshot", window, "--size", "1000x700", path("run.pftrace")}).code, 0);
        for (const char* const panel : {"ranks", "model", "figure", "teach"}) {
            const QString png = path(panel) + QStringLiteral(".png");
            const Outcome shown =
                runGui({"--screenshot", png, "--panel", QString::fromLatin1(panel), path("run.pftrace")});
            QVERIFY2(shown.code == 0, qPrintable(shown.err));
            const QImage picture(png);
            QVERIFY(!picture.isNull() && picture != QImage(window));
            if (panel == std::string_view("teach")) continue;
            QVERIFY2(picture.width() < 1000 && picture.height() < 700, panel);
        }
    }

    void showsARunThatIsWatched() {
        LiveRun run;
        run.writeSteps(3);
        run.end();
        const QString folder = QString::fromStdString(run.dir().string());
        const QString png = path("live.png");
        const Outcome shown = runGui({"--screenshot", png, "--size", "1000x700", "--live", folder});
        QVERIFY2(shown.code == 0, qPrintable(shown.err));
        QCOMPARE(QImage(png).size(), QSize(1000, 700));
        const Outcome missing = runGui({"--screenshot", path("x.png"), "--live", path("no/such/folder")});
        QCOMPARE(missing.code, 3);
        QVERIFY(missing.err.contains(QLatin1String("no/such")));
    }

    void showsDemosAndTheFirstPage() {
        const QTemporaryDir cache; // leaves the user's own settings alone
        qputenv("XDG_CACHE_HOME", cache.path().toUtf8());
        const auto shot = [&](const char* name, const QStringList& words) {
            const Outcome outcome = runGui(QStringList{"--screenshot", path(name), "--size", "1000x700"} + words);
            return outcome.code == 0 ? QImage(path(name)) : QImage();
        };
        const QImage demo = shot("demo.png", {"--demo", "slow-last-stage"});
        const QImage welcome = shot("welcome.png", {"--panel", "welcome"});
        qunsetenv("XDG_CACHE_HOME");
        for (const QImage& image : {demo, welcome})
            QCOMPARE(image.size(), QSize(1000, 700));
        QVERIFY(demo != welcome);
        const Outcome unknown = runGui({"--screenshot", path("x.png"), "--demo", "nothing"});
        QCOMPARE(unknown.code, 2);
        QVERIFY(unknown.err.contains(QLatin1String("balanced")));
    }

    void unreadableInputIsExitCode3() {
        const Outcome missing = runGui({"--screenshot", path("x.png"), path("missing.json")});
        QCOMPARE(missing.code, 3);
        QVERIFY(missing.err.contains(QLatin1String("missing.json")));
        QVERIFY(!QFile::exists(path("x.png")));

        QFile foreign(path("foreign.json"));
        QVERIFY(foreign.open(QIODevice::WriteOnly));
        foreign.write("this is not a trace\n");
        foreign.close();
        const Outcome wrong = runGui({"--screenshot", path("x.png"), foreign.fileName()});
        QCOMPARE(wrong.code, 3);
        QVERIFY(wrong.err.contains(QLatin1String("foreign.json")));

        const Outcome rules = runGui(
            {"--screenshot", path("x.png"), "--rules", foreign.fileName(), "--mesh", "pp=2", path("run.pftrace")});
        QCOMPARE(rules.code, 3);
        QVERIFY(rules.err.contains(QLatin1String("foreign.json")));
        const Outcome mesh = runGui({"--screenshot", path("x.png"), "--mesh", "pp=many", path("run.pftrace")});
        QVERIFY(mesh.code != 0);
        QVERIFY(mesh.err.contains(QLatin1String("many")));
    }

    void wrongUsageIsExitCode2_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("unknown option") << QStringList{"--frobnicate"};
        QTest::newRow("no trace") << QStringList{"--screenshot", path("x.png")};
        QTest::newRow("size") << QStringList{"--screenshot", path("x.png"), "--size", "huge", path("run.pftrace")};
        QTest::newRow("tiny") << QStringList{"--screenshot", path("x.png"), "--size", "1x1", path("run.pftrace")};
        QTest::newRow("theme") << QStringList{"--theme", "pink", path("run.pftrace")};
        QTest::newRow("step text") << QStringList{"--step", "two", path("run.pftrace")};
        QTest::newRow("no such step") << QStringList{"--screenshot", path("x.png"), "--step", "99",
                                                     path("run.pftrace")};
        QTest::newRow("no such panel") << QStringList{"--screenshot", path("x.png"), "--panel", "kitchen",
                                                      path("run.pftrace")};
        QTest::newRow("live and files") << QStringList{"--live", path("."), path("run.pftrace")};
        QTest::newRow("demo and files") << QStringList{"--demo", "balanced", path("run.pftrace")};
        QTest::newRow("no token") << QStringList{"--listen", "9200"};
        QTest::newRow("no display") << QStringList{path("run.pftrace")};
    }
    void wrongUsageIsExitCode2() {
        QFETCH(const QStringList, arguments);
        const Outcome outcome = runGui(arguments);
        QCOMPARE(outcome.code, 2);
        QVERIFY(outcome.err.startsWith(QLatin1String("bubblescope-gui: ")));
        QCOMPARE(outcome.out, QString());
    }

    void deadDisplayIsSaidInWords() {
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.remove(QStringLiteral("QT_QPA_PLATFORM"));
        environment.insert(QStringLiteral("DISPLAY"), QStringLiteral(":8765"));
        process.setProcessEnvironment(environment);
        process.start(QStringLiteral(BUBBLESCOPE_GUI_PROGRAM), {path("run.pftrace")});
        QVERIFY(process.waitForFinished(60000));
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 2);
        QVERIFY(process.readAllStandardError().contains("display"));
    }

    void unwritablePictureIsExitCode4() {
        const Outcome outcome = runGui({"--screenshot", path("no/such/dir/x.png"), path("run.pftrace")});
        QCOMPARE(outcome.code, 4);
        QVERIFY(outcome.err.contains(QLatin1String("no/such/dir")));
    }

    void helpAndVersionNeedNoDisplay() {
        const Outcome help = runGui({"--help"});
        QCOMPARE(help.code, 0);
        QVERIFY(help.out.contains(QLatin1String("--screenshot")));
        const Outcome version = runGui({"--version"});
        QCOMPARE(version.code, 0);
        QVERIFY(version.out.startsWith(QLatin1String("bubblescope-gui ")));
    }

private:
    [[nodiscard]] QString path(const char* name) const { return dir_.filePath(QString::fromLatin1(name)); }

    QTemporaryDir dir_;
};

BUBBLESCOPE_GUI_TEST(ScreenshotTest, screenshot_test);
#include "screenshot_test.moc"
