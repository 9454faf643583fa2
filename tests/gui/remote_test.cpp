#include "app/gui/main_window.h"
#include "app/gui/remote/remote_dialog.h"
#include "app/gui/remote/remote_trace.h"
#include "core/recognise/run.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

void writeText(const QString& path, const QString& text, bool executable = false) {
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
    file.write(text.toUtf8());
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | (executable ? QFile::ExeOwner : QFile::Permissions()));
}

/// A port of this machine on which nobody listens.
int freePort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::bind(probe, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) != 0)
        qFatal("no port");
    ::close(probe);
    return ntohs(address.sin_port);
}

bool run(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.start(program, arguments);
    return process.waitForFinished(20000) && process.exitCode() == 0;
}

} // namespace

/// Traces on another machine. Mostly over a script in place of ssh, which runs the same commands here; once over a
/// real sshd, if there is one.
class RemoteTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        settings_.use();
        QStandardPaths::setTestModeEnabled(true); // the cache
        QVERIFY(dir_.isValid());
        QDir().mkpath(path("my run"));
        writeSampleRun(path("my run/run.pftrace"));
        qputenv("BUBBLESCOPE_REMOTE_PROGRAM", BUBBLESCOPE_PROGRAM);
        // The last argument is what the other machine runs, in a shell of its own, as with ssh.
        writeText(path("ssh"),
                  QStringLiteral("#!/bin/sh\nfor last; do :; done\ncd /\n"
                                 "exec 4<&0; sh -c \"$last\" <&4 & exec 4<&-; wait $!\n"),
                  true);
    }
    void init() {
        qputenv("BUBBLESCOPE_SSH", path("ssh").toUtf8());
        qputenv("TMPDIR", path("there").toUtf8()); // of the other machine
        QDir(path("there")).removeRecursively();
        QDir().mkpath(path("there"));
    }
    void cleanupTestCase() {
        for (const char* name : {"BUBBLESCOPE_SSH", "BUBBLESCOPE_REMOTE_PROGRAM", "TMPDIR"})
            qunsetenv(name);
    }

    void addressesAreRead() {
        const RemoteAddress full = RemoteAddress::parse("ssh://me@node1:2222/data/my%20run").value();
        QCOMPARE(full.target, QStringLiteral("me@node1"));
        QCOMPARE(full.port, 2222);
        QCOMPARE(full.path, QStringLiteral("/data/my run"));
        QCOMPARE(RemoteAddress::parse("ssh://node1/~/traces").value().path, QStringLiteral("traces"));
        for (const char* wrong : {"ssh://", "ssh:///data", "ssh://node1", "ssh://node1/", "http://node1/a", "/data/run",
                                  "ssh://-oProxyCommand=x/a"})
            QVERIFY2(!RemoteAddress::parse(QString::fromLatin1(wrong)).ok(), wrong);
    }

    void extractsAreFetchedAndOpened() {
        MainWindow window([](const RunLoader::Paths& paths, JobControl& control,
                             const LoadOptions& options) { return loadTrace(paths, control, options); },
                          false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.openRemote(address());
        QVERIFY(loaded.wait(60000));
        QVERIFY(window.state().pipeline());
        QCOMPARE(window.state().pipeline()->run.schedule.pp, 4);
        QCOMPARE(window.windowTitle().contains(QLatin1String("my run")), true);
        QVERIFY(nothingIsLeft());
    }

    void pathsAreNotCommands() {
        QDir().mkpath(path("a'; touch pwned; '"));
        const auto fetched = fetch(QStringLiteral("ssh://node1") + path("a'; touch pwned; '"));
        QVERIFY(!fetched.isEmpty()); // there is no trace
        QVERIFY(!QFile::exists(QStringLiteral("/pwned")) && !QFile::exists(path("pwned")));
    }

    void errorsOfTheOtherMachineAreShown() {
        const QString missing = fetch(QStringLiteral("ssh://node1/no/such/place"));
        QVERIFY2(missing.contains(QLatin1String("/no/such/place")), qPrintable(missing));
        qputenv("BUBBLESCOPE_REMOTE_PROGRAM", "/no/bubblescope");
        const QString none = fetch(address());
        qputenv("BUBBLESCOPE_REMOTE_PROGRAM", BUBBLESCOPE_PROGRAM);
        QVERIFY2(none.contains(QLatin1String("not installed on node1")), qPrintable(none));
        // A host that cannot be reached is not tried again and again.
        writeText(path("never"), QStringLiteral("#!/bin/sh\necho 'ssh: no route' >&2\nexit 255\n"), true);
        qputenv("BUBBLESCOPE_SSH", path("never").toUtf8());
        const QString never = fetch(address());
        QVERIFY2(never.contains(QLatin1String("no route")) && never.contains(QLatin1String("without a password")),
                 qPrintable(never));
        QVERIFY(nothingIsLeft());
    }

    /// The first connection breaks in the middle of the data.
    void aLostConnectionIsMadeAgain() {
        writeText(path("breaks"),
                  QStringLiteral("#!/bin/sh\nif [ -e %1 ]; then exec %2 \"$@\"; fi\ntouch %1\n"
                                 "%2 \"$@\" </dev/null | head -c 3000\nexit 255\n")
                      .arg(path("broken-once"), path("ssh")),
                  true);
        qputenv("BUBBLESCOPE_SSH", path("breaks").toUtf8());
        RemoteTrace trace;
        QStringList told;
        connect(&trace, &RemoteTrace::progressed, this, [&told](const QString& text) { told << text; });
        QSignalSpy ready(&trace, &RemoteTrace::ready);
        trace.start(RemoteAddress::parse(address()).value(), path("here"));
        QVERIFY(ready.wait(30000));
        QVERIFY(told.filter(QLatin1String("connecting again")).size() > 0);
        QCOMPARE(QDir(path("here")).entryList(QDir::Files).size(), 1);
    }

    /// The other machine stops and leaves nothing behind.
    void cancelStopsTheOtherMachine() {
        writeText(path("slow"), QStringLiteral("#!/bin/sh\necho $$ > %1\nexec sleep 60\n").arg(path("pid")), true);
        qputenv("BUBBLESCOPE_REMOTE_PROGRAM", path("slow").toUtf8());
        RemoteDialog dialog(false);
        dialog.openAddress(address());
        QTRY_VERIFY_WITH_TIMEOUT(QFileInfo(path("pid")).size() > 0, 10000);
        QVERIFY(!nothingIsLeft());
        QFile file(path("pid"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const pid_t slow = file.readAll().trimmed().toInt();
        QCOMPARE(::kill(slow, 0), 0);
        dialog.reject();
        qputenv("BUBBLESCOPE_REMOTE_PROGRAM", BUBBLESCOPE_PROGRAM);
        QTRY_VERIFY_WITH_TIMEOUT(::kill(slow, 0) != 0, 10000);
        QTRY_VERIFY_WITH_TIMEOUT(nothingIsLeft(), 10000);
    }

    void overARealConnection() {
        const QString sshd = QStandardPaths::findExecutable(QStringLiteral("sshd"), {QStringLiteral("/usr/sbin")});
        if (sshd.isEmpty() || QStandardPaths::findExecutable(QStringLiteral("ssh")).isEmpty())
            QSKIP("needs OpenSSH's sshd and ssh");
        const int port = freePort();
        for (const char* key : {"host", "user"})
            QVERIFY(::run(QStringLiteral("ssh-keygen"),
                          {"-q", "-t", "ed25519", "-N", "", "-f", path(QString::fromLatin1(key))}));
        QVERIFY(QFile::copy(path("user.pub"), path("authorized")));
        writeText(path("sshd.conf"),
                  QStringLiteral("Port %1\nListenAddress 127.0.0.1\nHostKey %2\nAuthorizedKeysFile %3\nPidFile none\n"
                                 "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n")
                      .arg(port)
                      .arg(path("host"), path("authorized")));
        writeText(path("ssh.conf"),
                  QStringLiteral("Host *\n IdentityFile %1\n IdentitiesOnly yes\n StrictHostKeyChecking no\n"
                                 " UserKnownHostsFile %2\n LogLevel ERROR\n")
                      .arg(path("user"), path("known")));
        if (::geteuid() == 0) QDir().mkpath(QStringLiteral("/run/sshd"));
        QProcess server;
        server.start(sshd, {"-D", "-e", "-f", path("sshd.conf")});
        QVERIFY(server.waitForStarted());
        QTest::qWait(500);
        if (server.state() != QProcess::Running)
            QSKIP(("sshd does not start here: " + server.readAllStandardError()).constData());
        qputenv("BUBBLESCOPE_SSH", QStringLiteral("ssh -F %1").arg(path("ssh.conf")).toUtf8());
        RemoteTrace trace;
        QSignalSpy ready(&trace, &RemoteTrace::ready);
        QString error;
        connect(&trace, &RemoteTrace::failed, this,
                [&error](const Error& failure) { error = QString::fromStdString(failure.text()); });
        trace.start(RemoteAddress::parse(QStringLiteral("ssh://127.0.0.1:%1%2").arg(port).arg(path("my run"))).value(),
                    path("far"));
        QTRY_VERIFY2_WITH_TIMEOUT(ready.size() == 1 || !error.isEmpty(), "no answer", 30000);
        server.terminate();
        server.waitForFinished();
        QVERIFY2(error.isEmpty(), qPrintable(error));
        QCOMPARE(QDir(path("far")).entryList(QDir::Files).size(), 1);
    }

private:
    [[nodiscard]] QString path(const QString& name) const { return dir_.filePath(name); }
    [[nodiscard]] QString address() const {
        return QStringLiteral("ssh://node1") + QString(path("my run")).replace(QLatin1Char(' '), QLatin1String("%20"));
    }
    /// In the other machine's folder for temporary files.
    [[nodiscard]] bool nothingIsLeft() const {
        return QDir(path("there")).isEmpty(QDir::AllEntries | QDir::NoDotAndDotDot);
    }
    /// The error of a fetch; empty if it succeeds.
    [[nodiscard]] QString fetch(const QString& from) {
        RemoteTrace trace;
        QString error;
        bool done = false;
        connect(&trace, &RemoteTrace::failed, this, [&](const Error& failure) {
            error = QString::fromStdString(failure.text());
            done = true;
        });
        connect(&trace, &RemoteTrace::ready, this, [&] { done = true; });
        trace.start(RemoteAddress::parse(from).value(), path("fetched"));
        if (!QTest::qWaitFor([&] { return done; }, 30000)) return QStringLiteral("no answer");
        return error;
    }

    QTemporaryDir dir_;
    OwnSettings settings_;
};

BUBBLESCOPE_GUI_TEST(RemoteTest, remote_test);
#include "remote_test.moc"
