#include "app/gui/live/run_process.h"

#include "app/gui/language/text.h"

#include <sys/prctl.h>

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStandardPaths>

#include <csignal>

namespace bubblescope::gui {

namespace {

constexpr qsizetype kMaxSaid = 4000;
constexpr int kPatienceMs = 3000;

/// Formats a time in the syntax of options, in the largest unit for which it is an integer.
QString timeWord(TimeNs time) {
    constexpr std::int64_t kMicro = 1000;
    constexpr std::int64_t kMilli = 1000 * kMicro;
    if (time.count() % kMilli == 0) return QStringLiteral("%1ms").arg(time.count() / kMilli);
    if (time.count() % kMicro == 0) return QStringLiteral("%1us").arg(time.count() / kMicro);
    return QStringLiteral("%1ns").arg(time.count());
}

QString quoted(QString word) {
    static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_./:=,@%+-]+$"));
    if (plain.match(word).hasMatch()) return word;
    return QLatin1Char('\'') + word.replace(QLatin1Char('\''), QLatin1String("'\\''")) + QLatin1Char('\'');
}

} // namespace

QStringList RunPlan::arguments() const {
    QStringList arguments{QStringLiteral("run")};
    const auto add = [&arguments](const char* option, const QString& value) {
        arguments << QString::fromLatin1(option) << value;
    };
    if (schedule_file.isEmpty()) {
        add("--schedule", fromUtf8(spec.name));
        if (!spec.flavor.empty()) add("--flavor", fromUtf8(spec.flavor));
        add("--pp", QString::number(spec.pp));
        add("--microbatches", QString::number(spec.microbatches));
        if (spec.vpp > 1) add("--vpp", QString::number(spec.vpp));
    } else {
        add("--schedule-file", schedule_file);
    }
    add("--forward", timeWord(spec.times.forward));
    add("--backward", timeWord(spec.times.backward));
    if (spec.comm > TimeNs{0}) add("--comm", timeWord(spec.comm));
    add("--steps", QString::number(steps));
    for (const QString& fault : faults)
        add("--inject", fault);
    add("--out", folder);
    return arguments;
}

QString RunPlan::commandLine() const {
    QString line = QStringLiteral("bubblescope");
    for (const QString& word : arguments())
        line += QLatin1Char(' ') + quoted(word);
    return line;
}

QString commandLineProgram() {
    const QDir here(QCoreApplication::applicationDirPath());
    for (const char* candidate : {"bubblescope", "../cli/bubblescope"}) {
        const QString path = QDir::cleanPath(here.filePath(QString::fromLatin1(candidate)));
        if (QFileInfo(path).isExecutable()) return path;
    }
    const QString found = QStandardPaths::findExecutable(QStringLiteral("bubblescope"));
    return found.isEmpty() ? QStringLiteral("bubblescope") : found;
}

RunProcess::RunProcess(QObject* parent) : QObject(parent), process_(this) {
    process_.setStandardOutputFile(QProcess::nullDevice()); // not needed, because the app displays the run
    process_.setStandardInputFile(QProcess::nullDevice());
    // Ends the run if the app crashes, because nothing else could stop it.
    process_.setChildProcessModifier([] { ::prctl(PR_SET_PDEATHSIG, SIGTERM); });
    connect(&process_, &QProcess::readyReadStandardError, this,
            [this] { error_output_ = (error_output_ + process_.readAllStandardError()).right(kMaxSaid); });
    connect(&process_, &QProcess::started, this, &RunProcess::changed);
    connect(&process_, &QProcess::finished, this,
            [this](int code, QProcess::ExitStatus status) { finish(status == QProcess::NormalExit && code == 0); });
    connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return;
        error_output_ = process_.errorString().toUtf8();
        finish(false);
    });
}

RunProcess::~RunProcess() {
    process_.disconnect(this);
    if (!running()) return;
    process_.terminate();
    if (!process_.waitForFinished(kPatienceMs)) process_.kill();
}

void RunProcess::start(const QString& program, const QStringList& arguments) {
    error_output_.clear();
    stopping_ = false;
    process_.start(program, arguments);
}

void RunProcess::stop() {
    if (!running()) return;
    if (stopping_) return process_.kill();
    stopping_ = true;
    process_.terminate();
    emit changed();
}

void RunProcess::finish(bool succeeded) {
    error_output_ = (error_output_ + process_.readAllStandardError()).right(kMaxSaid);
    emit changed();
    emit ended(succeeded || stopping_, QString::fromUtf8(error_output_).trimmed());
}

} // namespace bubblescope::gui
