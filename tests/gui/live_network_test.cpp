#include "app/gui/live/live_bar.h"
#include "app/gui/live/live_dialog.h"
#include "app/gui/live/live_models.h"
#include "app/gui/live/run_process.h"
#include "app/gui/main_window.h"
#include "app/gui/options.h"
#include "app/gui/panels/bars.h"
#include "tests/gui/gui_tests.h"
#include "tests/support/recorded_job.h"
#include "tests/support/scratch_folder.h"

#include <QFileInfo>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QThreadPool>
#include <QToolButton>

#include <algorithm>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

Result<Run> loadKept(const std::vector<std::filesystem::path>& paths, JobControl& control) {
    return loadRun(paths, control);
}

template <class T>
T& childIn(QWidget& parent, const char* name) {
    T* found = parent.findChild<T*>(QString::fromLatin1(name));
    if (found == nullptr) qFatal("there is no %s", name);
    return *found;
}

LiveTarget listening(const QString& token) {
    LiveTarget target;
    target.listen = QStringLiteral("127.0.0.1:0");
    target.token = token;
    return target;
}

std::size_t filesIn(const std::filesystem::path& folder) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        files += entry.is_regular_file();
    return files;
}

} // namespace

/// Streams from other hosts, sent by programs on this machine.
class LiveNetworkTest : public GuiTest {
    Q_OBJECT

    /// Starts to send what a folder holds to the window's address.
    void send(QProcess& sender, MainWindow& window, const std::string& folder, const std::string& token,
              const QStringList& more = {}) {
        QTRY_VERIFY(window.live().snapshot() && !window.live().snapshot()->address.empty());
        sender.start(commandLineProgram(),
                     QStringList{QStringLiteral("monitor"), QString::fromStdString(folder), QStringLiteral("--forward"),
                                 QString::fromStdString(window.live().snapshot()->address),
                                 QStringLiteral("--token-file"), QString::fromStdString(token)} +
                         more);
        QVERIFY(sender.waitForStarted());
    }

private slots:
    void initTestCase() {
        const QString folder = QFileInfo(QStringLiteral(BUBBLESCOPE_PROGRAM)).path();
        qputenv("PATH", (folder + QLatin1Char(':') + qEnvironmentVariable("PATH")).toLocal8Bit());
    }

    void aRecordedJobIsWatchedAndKept() {
        const test::ScratchFolder scratch;
        const auto token = scratch.writeSecret("token", "only we know\n");
        const std::filesystem::path from = scratch.path() / "job";
        const std::filesystem::path kept = scratch.path() / "kept";
        test::RecordedJob job(from);
        for (int rank = 0; rank < test::RecordedJob::kRanks; ++rank) {
            for (int step = 0; step < 4; ++step)
                job.write(rank, step);
            job.end(rank, 4);
        }
        MainWindow window(loadKept, false);
        window.show();
        LiveTarget target = listening(QStringLiteral("only we know"));
        target.keep = QString::fromStdString(kept.string());
        window.watch(target);
        QProcess sender;
        send(sender, window, from.string(), token.string());
        QTRY_VERIFY_WITH_TIMEOUT(window.state().session() != nullptr, 20000);
        QTRY_VERIFY_WITH_TIMEOUT(window.live().snapshot()->ended, 20000);
        QCOMPARE(window.live().snapshot()->counts.steps, std::int64_t{4});
        QVERIFY(window.live().snapshot()->captured);
        QCOMPARE(window.state().session()->run.schedule.name, std::string("1f1b"));
        QTRY_COMPARE_WITH_TIMEOUT(sender.state(), QProcess::NotRunning, 20000);

        // The kept trace can be opened.
        QCOMPARE(filesIn(kept), 2U);
        auto& open = childIn<QToolButton>(window, "liveOpen");
        QVERIFY(open.isVisible());
        QSignalSpy loaded(&window, &MainWindow::loaded);
        open.click();
        QVERIFY(loaded.wait(20000));
        QCOMPARE(window.tabCount(), 2);
        QCOMPARE(window.state().session()->stepCount(), 4);
    }

    /// A host whose sender goes is named as long as it is away.
    void aSenderThatIsLostIsNamed() {
        const test::ScratchFolder scratch;
        const auto token = scratch.writeSecret("token", "only we know\n");
        test::RecordedJob job(scratch.path() / "job");
        for (int rank = 0; rank < test::RecordedJob::kRanks; ++rank) {
            for (int step = 0; step < 3; ++step)
                job.write(rank, step);
        }
        MainWindow window(loadKept, false);
        window.show();
        window.watch(listening(QStringLiteral("only we know")));
        const auto lost = [&] {
            const auto& alerts = window.live().snapshot()->alerts;
            return std::ranges::find(alerts, LiveAlert::Kind::SenderLost, &LiveAlert::kind);
        };
        const auto told = [&] { return lost() != window.live().snapshot()->alerts.end(); };
        QProcess sender;
        send(sender, window, (scratch.path() / "job").string(), token.string());
        QTRY_VERIFY_WITH_TIMEOUT(window.live().snapshot()->counts.steps > 0, 20000);
        QVERIFY(!told());
        sender.kill();
        sender.waitForFinished();
        QTRY_VERIFY_WITH_TIMEOUT(told(), 20000);
        const LiveSnapshotPtr snapshot = window.live().snapshot();
        QVERIFY(!lost()->sender.name.empty() && lost()->sender.streams > 0);
        const QString text = alertText(*lost(), *snapshot);
        QVERIFY2(text.contains(QString::fromStdString(lost()->sender.name)), qPrintable(text));
        QVERIFY(worstOpen(*snapshot) != nullptr);
        // With the sender the run is back.
        QProcess again;
        send(again, window, (scratch.path() / "job").string(), token.string());
        QTRY_VERIFY_WITH_TIMEOUT(!isOpen(*lost()), 20000);
        again.kill();
        again.waitForFinished();
    }

    void aRecordedJobThatNobodyKeepsIsWatchedAllTheSame() {
        const test::ScratchFolder scratch;
        const test::ScratchFolder temporary;
        qputenv("TMPDIR", temporary.path().string().c_str());
        const auto token = scratch.writeSecret("token", "only we know\n");
        test::RecordedJob job(scratch.path() / "job");
        for (int rank = 0; rank < test::RecordedJob::kRanks; ++rank) {
            for (int step = 0; step < 3; ++step)
                job.write(rank, step);
            job.end(rank, 3);
        }
        {
            MainWindow window(loadKept, false);
            window.show();
            window.watch(listening(QStringLiteral("only we know")));
            QProcess sender;
            send(sender, window, (scratch.path() / "job").string(), token.string());
            QTRY_VERIFY_WITH_TIMEOUT(window.live().snapshot()->ended, 20000);
            QCOMPARE(window.live().snapshot()->counts.steps, std::int64_t{3});
            QVERIFY(filesIn(temporary.path()) > 0);
            QVERIFY(childIn<QToolButton>(window, "liveOpen").isHidden());
            sender.kill();
            sender.waitForFinished();
        }
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000));
        QCOMPARE(filesIn(temporary.path()), 0U); // deleted with the watch
        qunsetenv("TMPDIR");
    }

    void recordsTravelEncryptedWhereThereIsACertificate() {
        const test::ScratchFolder scratch;
        const QString certificate = QString::fromStdString(scratch.file("certificate"));
        const QString key = QString::fromStdString(scratch.file("key"));
        const QStringList make{QStringLiteral("req"),
                               QStringLiteral("-x509"),
                               QStringLiteral("-newkey"),
                               QStringLiteral("rsa:2048"),
                               QStringLiteral("-nodes"),
                               QStringLiteral("-days"),
                               QStringLiteral("2"),
                               QStringLiteral("-subj"),
                               QStringLiteral("/CN=us"),
                               QStringLiteral("-addext"),
                               QStringLiteral("subjectAltName=IP:127.0.0.1"),
                               QStringLiteral("-keyout"),
                               key,
                               QStringLiteral("-out"),
                               certificate};
        QProcess openssl;
        openssl.start(QStringLiteral("openssl"), make);
        if (!openssl.waitForFinished() || openssl.exitCode() != 0) QSKIP("no openssl to make a certificate with");
        const auto token = scratch.writeSecret("token", "only we know\n");
        test::RecordedJob job(scratch.path() / "job");
        for (int rank = 0; rank < test::RecordedJob::kRanks; ++rank) {
            for (int step = 0; step < 3; ++step)
                job.write(rank, step);
            job.end(rank, 3);
        }
        MainWindow window(loadKept, false);
        window.show();
        LiveTarget target = listening(QStringLiteral("only we know"));
        target.certificate = certificate;
        target.key = key;
        window.watch(target);
        // Senders without encryption are rejected: only the other job's streams arrive.
        test::RecordedJob unheard(scratch.path() / "unheard");
        for (int rank = 0; rank < test::RecordedJob::kRanks; ++rank)
            unheard.write(rank, 0);
        QProcess plain;
        send(plain, window, (scratch.path() / "unheard").string(), token.string());

        QProcess sender;
        send(sender, window, (scratch.path() / "job").string(), token.string(),
             {QStringLiteral("--trust"), certificate});
        QTRY_VERIFY_WITH_TIMEOUT(window.live().snapshot()->ended, 20000);
        std::size_t written = 0;
        for (int rank = 0; rank < test::RecordedJob::kRanks; ++rank)
            written += job.bytes(rank).size();
        QCOMPARE(window.live().snapshot()->counts.bytes, static_cast<std::int64_t>(written));
        QCOMPARE(window.live().snapshot()->counts.steps, std::int64_t{3});
        QTRY_COMPARE_WITH_TIMEOUT(sender.state(), QProcess::NotRunning, 20000);
        QCOMPARE(sender.exitCode(), 0);
        plain.kill();
        plain.waitForFinished();
    }

    void aCertificateThatCannotBeReadIsTold() {
        MainWindow window(loadKept, false);
        window.show();
        QSignalSpy failed(&window, &MainWindow::failed);
        LiveTarget target = listening(QStringLiteral("t"));
        target.certificate = QStringLiteral("/nowhere/certificate.pem");
        target.key = QStringLiteral("/nowhere/key.pem");
        window.watch(target);
        QVERIFY(failed.wait());
        QVERIFY(window.findChild<MessageBar*>()->text().contains(QStringLiteral("/nowhere/certificate.pem")));
        QVERIFY(!window.live().active());
    }

    void theDialogAsksForCertificateKeyAndFolder() {
        LiveDialog dialog;
        dialog.show();
        auto& watch = childIn<QPushButton>(dialog, "liveWatch");
        auto& certificate = childIn<QLineEdit>(dialog, "liveCertificate");
        QVERIFY(!certificate.isEnabled()); // not listening
        childIn<QLineEdit>(dialog, "liveListen").setText(QStringLiteral("9200"));
        childIn<QLineEdit>(dialog, "liveToken").setText(QStringLiteral("secret"));
        QVERIFY(watch.isEnabled());
        QVERIFY(certificate.isEnabled());
        certificate.setText(QStringLiteral("/c.pem"));
        QVERIFY(!watch.isEnabled()); // a certificate without its key
        childIn<QLineEdit>(dialog, "liveKey").setText(QStringLiteral("/k.pem"));
        QVERIFY(watch.isEnabled());
        childIn<QLineEdit>(dialog, "liveKeep").setText(QStringLiteral("/kept"));
        const LiveTarget target = dialog.target();
        QCOMPARE(target.certificate, QStringLiteral("/c.pem"));
        QCOMPARE(target.key, QStringLiteral("/k.pem"));
        QCOMPARE(target.keep, QStringLiteral("/kept"));
    }

    void theCommandLineAsksForTheSame() {
        qputenv("BUBBLESCOPE_TOKEN", "secret");
        QString error;
        const auto options =
            parseOptions({QStringLiteral("bubblescope-gui"), QStringLiteral("--listen"), QStringLiteral("9200"),
                          QStringLiteral("--certificate"), QStringLiteral("c.pem"), QStringLiteral("--key"),
                          QStringLiteral("k.pem"), QStringLiteral("--keep"), QStringLiteral("kept")},
                         error);
        QVERIFY2(options && options->live, qPrintable(error));
        QCOMPARE(options->live->certificate, QStringLiteral("c.pem"));
        QCOMPARE(options->live->key, QStringLiteral("k.pem"));
        QCOMPARE(options->live->keep, QStringLiteral("kept"));
        for (const QStringList& wrong :
             {QStringList{QStringLiteral("--listen"), QStringLiteral("1"), QStringLiteral("--certificate"),
                          QStringLiteral("c.pem")},
              {QStringLiteral("--live"), QStringLiteral("run"), QStringLiteral("--keep"), QStringLiteral("kept")}}) {
            QVERIFY(!parseOptions(QStringList{QStringLiteral("bubblescope-gui")} + wrong, error));
            QVERIFY(!error.isEmpty());
        }
        qunsetenv("BUBBLESCOPE_TOKEN");
    }
};

BUBBLESCOPE_GUI_TEST(LiveNetworkTest, live_network_test);
#include "live_network_test.moc"
