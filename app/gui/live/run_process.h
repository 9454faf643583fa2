#pragma once

#include "core/families/registry.h"

#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QStringList>

namespace bubblescope::gui {

/// Parameters for an invocation of `bubblescope run`.
struct RunPlan {
    ScheduleSpec spec;     ///< only the times forward, backward and comm are used
    QString schedule_file; ///< file with the order, which replaces family and sizes; empty = none
    int steps = 200;
    QStringList faults; ///< in the syntax of --inject
    QString folder;     ///< folder for the recording

    [[nodiscard]] QStringList arguments() const;
    /// Command line, quoted for a shell.
    [[nodiscard]] QString commandLine() const;
};

/// Path of the `bubblescope` program: next to this program, in the sibling folder of a build tree, or in
/// PATH.
[[nodiscard]] QString commandLineProgram();

/// Runs one command line at a time. Lives on the GUI thread. Blocks that thread only on exit, for at most three
/// seconds, while a running process ends.
class RunProcess : public QObject {
    Q_OBJECT

public:
    explicit RunProcess(QObject* parent = nullptr);
    ~RunProcess() override;

    /// Must not be called while a process is running.
    void start(const QString& program, const QStringList& arguments);
    /// Requests that the process end after the current step; a second call kills the process.
    void stop();

    [[nodiscard]] bool running() const { return process_.state() != QProcess::NotRunning; }
    [[nodiscard]] bool stopping() const { return stopping_; }

signals:
    /// Emitted when running() or stopping() has changed.
    void changed();
    /// `error_output` is the tail of the process's output on stderr.
    void ended(bool succeeded, const QString& error_output);

private:
    void finish(bool succeeded);

    QProcess process_;
    QByteArray error_output_;
    bool stopping_ = false;
};

} // namespace bubblescope::gui
