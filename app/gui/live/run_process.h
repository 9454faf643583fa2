#pragma once

#include "core/families/registry.h"

#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QStringList>

namespace bubblescope::gui {

/// A run of Bubblescope's own runtime, as an invocation of `bubblescope run`.
struct RunPlan {
    ScheduleSpec spec;     ///< uses the times forward, backward and comm
    QString schedule_file; ///< the order, instead of family and sizes; empty = none
    int steps = 200;
    QStringList faults; ///< in the syntax of --inject
    QString folder;     ///< folder to record into

    [[nodiscard]] QStringList arguments() const;
    /// The command line, quoted for a shell.
    [[nodiscard]] QString commandLine() const;
};

/// The `bubblescope` program: in this program's folder if installed, in the sibling folder of a build, otherwise in
/// PATH.
[[nodiscard]] QString commandLineProgram();

/// Runs one command line at a time. Lives on the GUI thread and does not block it, except on exit, when a running
/// process has three seconds to end.
class RunProcess : public QObject {
    Q_OBJECT

public:
    explicit RunProcess(QObject* parent = nullptr);
    ~RunProcess() override;

    /// Must not be called while a process is running.
    void start(const QString& program, const QStringList& arguments);
    /// Asks the process to end after the current step; a second call kills it.
    void stop();

    [[nodiscard]] bool running() const { return process_.state() != QProcess::NotRunning; }
    [[nodiscard]] bool stopping() const { return stopping_; }

signals:
    /// running() or stopping() has changed.
    void changed();
    /// `error_output` is the last part of what the process wrote to standard error.
    void ended(bool succeeded, const QString& error_output);

private:
    void finish(bool succeeded);

    QProcess process_;
    QByteArray error_output_;
    bool stopping_ = false;
};

} // namespace bubblescope::gui
