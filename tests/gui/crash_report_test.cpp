#include "app/gui/crash_notice.h"
#include "app/gui/jobs/crash_report.h"
#include "tests/gui/gui_tests.h"

#include <QDir>
#include <QFile>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <QWidget>

#include <array>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace bubblescope::gui;

namespace {

[[gnu::noinline]] void readNothing() {
    const volatile int* volatile nothing = nullptr;
    static_cast<void>(*nothing);
}

// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] int overflowStack(volatile char* below) {
    std::array<volatile char, 4096> frame{};
    frame[0] = *below;
    if (frame[0] == 1) return 0; // never, which compilers cannot know
    return overflowStack(frame.data()) + frame[1];
}

/// How a process ended that did this; its reports are in `folder`.
int statusAfter(const QString& folder, const std::function<void()>& action) {
    const pid_t child = ::fork();
    if (child == 0) {
        reportCrashes(folder, QStringLiteral("crash test 1.2.3"));
        action();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

QString contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

QString outputOf(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.start(program, arguments);
    return process.waitForFinished() ? QString::fromUtf8(process.readAllStandardOutput()) : QString();
}

/// Whether a process handles a signal (/proc/PID/status, one bit per signal).
bool handles(qint64 pid, int signal) {
    static const QRegularExpression mask(QStringLiteral("SigCgt:\\s*([0-9a-f]+)"));
    const QString bits = mask.match(contentOf(QStringLiteral("/proc/%1/status").arg(pid))).captured(1);
    return ((bits.toULongLong(nullptr, 16) >> (signal - 1)) & 1U) != 0;
}

} // namespace

class CrashReportTest : public QObject {
    Q_OBJECT

private slots:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }

    void reportNamesProgramSignalAndFunction() {
        const int status = statusAfter(folder_->path(), readNothing);
        QVERIFY(WIFSIGNALED(status));
        QCOMPARE(WTERMSIG(status), SIGSEGV); // as without a report: shells and core dumps see the same end
        const QString report = onlyReport();
        const QFileInfo file = QDir(folder_->path()).entryInfoList(QDir::Files).front();
        QCOMPARE(file.permissions() & (QFile::ReadGroup | QFile::ReadOther), QFile::Permissions()); // the user's alone
        QVERIFY2(report.startsWith(QLatin1String("Crash report of crash test 1.2.3, Qt ")), qPrintable(report));
        QVERIFY2(report.contains(QLatin1String("Signal: SIGSEGV at address 0x0\n")), qPrintable(report));
        // The stack, as binutils read it.
        const QString self = QCoreApplication::applicationFilePath();
        static const QRegularExpression frame(QStringLiteral("gui_tests\\(\\+(0x[0-9a-f]+)\\)"));
        QStringList offsets;
        for (auto each = frame.globalMatch(report); each.hasNext();)
            offsets << each.next().captured(1);
        const QString names =
            outputOf(QStringLiteral("addr2line"), QStringList{QStringLiteral("-Cfe"), self} + offsets);
        QVERIFY2(names.contains(QLatin1String("readNothing")), qPrintable(names + report));
        static const QRegularExpression id(QStringLiteral("Build ID: ([0-9a-f]{8,})"));
        const QString notes = outputOf(QStringLiteral("readelf"), {QStringLiteral("-n"), self});
        QVERIFY2(notes.contains(id.match(report).captured(1)) && id.match(report).hasMatch(),
                 qPrintable(notes + report));
    }

    void reportsOverflowOfTheStack() {
        volatile char below = 0;
        const int status = statusAfter(folder_->path(), [&] { overflowStack(&below); });
        QCOMPARE(WTERMSIG(status), SIGSEGV);
        QVERIFY2(onlyReport().contains(QLatin1String("SIGSEGV at address 0x")), qPrintable(onlyReport()));
    }

    void reportsExceptionOfAThread() {
        const int status =
            statusAfter(folder_->path(), [] { std::thread([] { throw std::runtime_error("planted"); }).join(); });
        QCOMPARE(WTERMSIG(status), SIGABRT);
        const QString report = onlyReport();
        QVERIFY2(report.contains(QLatin1String("Signal: SIGABRT\nException: planted\n")), qPrintable(report));
    }

    void nothingIsWrittenWithoutACrash() {
        QCOMPARE(statusAfter(folder_->path(), [] {}), 0);
        QVERIFY(QDir(folder_->path()).isEmpty());
    }

    void appThatCrashedOffersItsReportOnce() {
        const QString reports = folder_->filePath(QStringLiteral("bubblescope/crashes"));
        QProcess app;
        startApp(app);
        QTRY_VERIFY_WITH_TIMEOUT(handles(app.processId(), SIGSEGV), 30000);
        ::kill(static_cast<pid_t>(app.processId()), SIGSEGV);
        QVERIFY(app.waitForFinished(30000));
        QCOMPARE(app.exitStatus(), QProcess::CrashExit);
        const QStringList names = QDir(reports).entryList({QStringLiteral("*.new.txt")});
        QCOMPARE(names.size(), 1);

        startApp(app); // reads, and so marks, the report
        QTRY_VERIFY_WITH_TIMEOUT(QDir(reports).entryList({QStringLiteral("*.new.txt")}).isEmpty(), 30000);
        app.kill();
        QVERIFY(app.waitForFinished(30000));
        QCOMPARE(QDir(reports).entryList({QStringLiteral("crash-*.txt")}).size(), 1); // and keeps it
    }

    void noticeShowsTheReportAndDeletesItIfAsked() {
        statusAfter(folder_->path(), readNothing);
        QWidget window;
        window.show();
        offerCrashReport(window, folder_->path());
        auto* const box = window.findChild<QMessageBox*>(QStringLiteral("crashNotice"));
        QVERIFY(box != nullptr);
        QCOMPARE(box->detailedText(), onlyReport());
        QVERIFY(box->informativeText().contains(folder_->path()));
        box->findChild<QPushButton*>(QStringLiteral("crashDelete"))->click();
        QVERIFY(QDir(folder_->path()).isEmpty());
        QTRY_VERIFY(window.findChild<QMessageBox*>() == nullptr);
        offerCrashReport(window, folder_->path());
        QVERIFY(window.findChild<QMessageBox*>() == nullptr);
    }

    void tenNewestReportsAreKept() {
        for (int i = 10; i < 25; ++i) {
            QFile file(folder_->filePath(QStringLiteral("crash-20260101-0000%1-1.new.txt").arg(i)));
            QVERIFY(file.open(QIODevice::WriteOnly));
        }
        const QStringList found = takeNewCrashReports(folder_->path());
        QCOMPARE(found.size(), 10);
        QVERIFY(found.front().endsWith(QLatin1String("000024-1.txt")));
        QCOMPARE(QDir(folder_->path()).entryList(QDir::Files).size(), 10);
        QVERIFY(takeNewCrashReports(folder_->path()).isEmpty());
    }

private:
    [[nodiscard]] QString onlyReport() const {
        const QDir folder(folder_->path());
        const QStringList names = folder.entryList(QDir::Files);
        return names.size() == 1 ? contentOf(folder.filePath(names.front()))
                                 : QStringLiteral("%1 files").arg(names.size());
    }

    void startApp(QProcess& app) const {
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("XDG_STATE_HOME"), folder_->path());
        environment.insert(QStringLiteral("HOME"), folder_->path());
        environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
        app.setProcessEnvironment(environment);
        app.start(QStringLiteral(BUBBLESCOPE_GUI_PROGRAM), QStringList{});
        QVERIFY(app.waitForStarted(30000));
    }

    std::unique_ptr<QTemporaryDir> folder_;
};

BUBBLESCOPE_GUI_TEST(CrashReportTest, crash_report_test);
#include "crash_report_test.moc"
