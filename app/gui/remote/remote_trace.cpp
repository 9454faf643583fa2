#include "app/gui/remote/remote_trace.h"

#include "app/gui/language/text.h"
#include "core/base/shell_word.h"

#include <QDir>
#include <QTimer>
#include <QUrl>

#include <algorithm>

namespace bubblescope::gui {

namespace {

constexpr int kMostAttempts = 4;
constexpr int kPauseMs = 1000; ///< before the first retry; then twice and three times as long
constexpr int kPatienceMs = 2000;
constexpr qsizetype kMostErrorOutput = 2000;
constexpr int kConnectionLost = 255; ///< exit code of ssh
constexpr int kNoProgram = 127;
const QByteArray kHereMark = "bubblescope-here";
const QByteArray kSizeMark = "bubblescope-kib ";

/// A setting from the environment, or its default.
QString setting(const char* name, const char* usual) {
    return qEnvironmentVariable(name, QString::fromLatin1(usual));
}

QString quoted(const QString& word) {
    return fromUtf8(shellWord(word.toStdString()));
}

} // namespace

Result<RemoteAddress> RemoteAddress::parse(const QString& text) {
    const QUrl url(text, QUrl::TolerantMode);
    RemoteAddress address;
    address.target = url.userName().isEmpty() ? url.host() : url.userName() + QLatin1Char('@') + url.host();
    address.port = std::max(0, url.port());
    address.path = url.path(QUrl::FullyDecoded);
    if (address.path.startsWith(QLatin1String("/~/"))) address.path.remove(0, 3); // commands start in the home folder
    const bool has_path = !address.path.isEmpty() && address.path != QLatin1String("/");
    if (!matches(text) || !url.isValid() || url.host().isEmpty() || !has_path ||
        address.target.startsWith(QLatin1Char('-')))
        return usageError(tr("%1: not an address").arg(text).toStdString(),
                          tr("write ssh://HOST/PATH, such as ssh://user@node1/home/user/traces").toStdString());
    return address;
}

/// The script stops when its standard input ends, which means that the connection was closed.
QString RemoteTrace::script(const RemoteAddress& address) {
    return QStringLiteral("program=%1; path=%2\n"
                          "echo bubblescope-here >&2\n"
                          "command -v \"$program\" >/dev/null || exit 127\n"
                          "d=$(mktemp -d) || exit 1\n"
                          "exec 3<&0\n"
                          "\"$program\" extract --out \"$d/x\" -- \"$path\" </dev/null 3<&- >&2 & job=$!\n"
                          "(cat <&3; kill $job; rm -rf \"$d\"; kill $$) >/dev/null 2>&1 & watch=$!\n"
                          "exec 3<&-\n"
                          "wait $job; code=$?\n"
                          "if [ $code = 0 ]; then\n"
                          "  echo \"bubblescope-kib $(du -sk \"$d/x\" | cut -f1)\" >&2\n"
                          "  tar -C \"$d/x\" -cf - .; code=$?\n"
                          "fi\n"
                          "kill $watch 2>/dev/null; rm -rf \"$d\"; exit $code\n")
        .arg(quoted(setting("BUBBLESCOPE_REMOTE_PROGRAM", "bubblescope")), quoted(address.path));
}

RemoteTrace::RemoteTrace(QObject* parent) : QObject(parent), ssh_(this), unpack_(this) {
    connect(&ssh_, &QProcess::readyReadStandardOutput, this, [this] {
        const QByteArray part = ssh_.readAllStandardOutput();
        received_ += part.size();
        unpack_.write(part);
        report(tr("Receiving from %1 …").arg(address_.target));
    });
    connect(&ssh_, &QProcess::readyReadStandardError, this, &RemoteTrace::readErrors);
    connect(&ssh_, &QProcess::finished, this, &RemoteTrace::finishSsh);
    connect(&ssh_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            fail(runError(tr("cannot start ssh").toStdString(), tr("install OpenSSH's client").toStdString()));
    });
    connect(&unpack_, &QProcess::finished, this, &RemoteTrace::finishUnpacking);
}

RemoteTrace::~RemoteTrace() {
    cancel();
}

void RemoteTrace::start(const RemoteAddress& address, const QString& folder) {
    cancel();
    address_ = address;
    folder_ = folder;
    attempts_ = 0;
    connected_ = false;
    running_ = true;
    connectOnce();
}

void RemoteTrace::cancel() {
    running_ = false;
    for (QProcess* process : {&ssh_, &unpack_}) {
        if (process->state() == QProcess::NotRunning) continue;
        process->terminate();
        if (!process->waitForFinished(kPatienceMs)) process->kill();
        process->waitForFinished(kPatienceMs);
    }
}

void RemoteTrace::connectOnce() {
    if (!running_) return;
    ++attempts_;
    received_ = whole_ = 0;
    error_output_.clear();
    line_.clear();
    QDir(folder_).removeRecursively();
    if (!QDir().mkpath(folder_))
        return fail(runError(tr("cannot create %1").arg(folder_).toStdString(),
                             tr("check the permissions and the free space").toStdString()));
    unpack_.start(QStringLiteral("tar"), {QStringLiteral("-C"), folder_, QStringLiteral("-xf"), QStringLiteral("-")});
    // Disables questions, because nobody could answer them.
    QStringList words = QProcess::splitCommand(setting("BUBBLESCOPE_SSH", "ssh"));
    const QString program = words.takeFirst();
    words << QStringLiteral("-o") << QStringLiteral("BatchMode=yes") << QStringLiteral("-o")
          << QStringLiteral("ServerAliveInterval=10");
    if (address_.port > 0) words << QStringLiteral("-p") << QString::number(address_.port);
    words << address_.target << script(address_);
    report(attempts_ == 1 ? tr("Connecting to %1 …").arg(address_.target)
                          : tr("The connection to %1 was lost; connecting again …").arg(address_.target));
    ssh_.start(program, words);
}

void RemoteTrace::readErrors() {
    line_ += ssh_.readAllStandardError();
    for (qsizetype end = line_.indexOf('\n'); end >= 0; end = line_.indexOf('\n')) {
        const QByteArray line = line_.left(end).trimmed();
        line_.remove(0, end + 1);
        if (line.startsWith(kSizeMark)) {
            whole_ = line.mid(kSizeMark.size()).toLongLong() * 1024;
        } else if (line == kHereMark) {
            connected_ = true;
            report(tr("Extracting on %1 …").arg(address_.target));
        } else if (!line.isEmpty()) {
            error_output_ = (error_output_ + line + '\n').right(kMostErrorOutput);
        }
    }
}

void RemoteTrace::finishSsh(int code, QProcess::ExitStatus status) {
    readErrors();
    if (!running_) return;
    if (status == QProcess::NormalExit && code == 0) {
        if (unpack_.state() == QProcess::NotRunning) return finishUnpacking(unpack_.exitCode()); // it ended early
        return unpack_.closeWriteChannel();
    }
    unpack_.kill();
    unpack_.waitForFinished(kPatienceMs);
    const bool is_lost = status != QProcess::NormalExit || code == kConnectionLost;
    // Retries only after a successful connection: a wrong name or a missing key cannot be fixed by retrying.
    if (is_lost && connected_ && attempts_ < kMostAttempts) {
        report(tr("The connection to %1 was lost; connecting again …").arg(address_.target));
        QTimer::singleShot(kPauseMs * attempts_, this, &RemoteTrace::connectOnce);
        return;
    }
    if (code == kNoProgram)
        return fail(runError(tr("bubblescope is not installed on %1").arg(address_.target).toStdString(),
                             tr("install it there, or set BUBBLESCOPE_REMOTE_PROGRAM to its path").toStdString()));
    const QString reason = QString::fromUtf8(error_output_.trimmed());
    fail(runError(tr("%1: %2").arg(address_.target, reason.isEmpty() ? tr("no connection") : reason).toStdString(),
                  is_lost ? tr("check that `ssh %1` connects without a password").arg(address_.target).toStdString()
                          : std::string()));
}

void RemoteTrace::finishUnpacking(int code) {
    if (!running_ || ssh_.state() != QProcess::NotRunning) return;
    if (unpack_.exitStatus() != QProcess::NormalExit) return; // killed for a retry
    if (code != 0)
        return fail(runError(tr("cannot unpack what %1 sent").arg(address_.target).toStdString(),
                             tr("check the free space").toStdString()));
    running_ = false;
    emit ready(folder_);
}

void RemoteTrace::fail(const Error& error) {
    if (!running_) return;
    cancel();
    emit failed(error);
}

void RemoteTrace::report(const QString& text) {
    emit progressed(text, received_, whole_);
}

} // namespace bubblescope::gui
