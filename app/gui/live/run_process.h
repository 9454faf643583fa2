#pragma once

#include "core/schedule/families/registry.h"

#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QStringList>

namespace bubblescope::gui {

/// A run of our own runtime, as `bubblescope run` takes it.
struct RunPlan {
    ScheduleSpec spec; ///< of its times forward, backward and comm
    int steps = 200;
    QStringList faults; ///< as --inject takes them
    QString folder;     ///< that it records into

    [[nodiscard]] QStringList arguments() const;
    /// For a shell.
    [[nodiscard]] QString commandLine() const;
};

/// Beside this program, as installed; in the sibling folder, as built; else wherever PATH finds it.
[[nodiscard]] QString commandLineProgram();

/// Runs one command line at a time. Lives on the GUI thread and does not wait, but for a run that is to end with the
/// app: that gets three seconds.
class RunProcess : public QObject {
    Q_OBJECT

public:
    explicit RunProcess(QObject* parent = nullptr);
    ~RunProcess() override;

    /// Nothing may be running.
    void start(const QString& program, const QStringList& arguments);
    /// Asks it to end with the step that is running; asked again, it is killed.
    void stop();

    [[nodiscard]] bool running() const { return process_.state() != QProcess::NotRunning; }
    [[nodiscard]] bool stopping() const { return stopping_; }

signals:
    /// Of running() or stopping().
    void changed();
    /// `said`: the end of what it wrote to standard error.
    void ended(bool well, const QString& said);

private:
    void finish(bool well);

    QProcess process_;
    QByteArray said_;
    bool stopping_ = false;
};

} // namespace bubblescope::gui
