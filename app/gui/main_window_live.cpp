#include "app/gui/live/live_bar.h"
#include "app/gui/live/live_dialog.h"
#include "app/gui/live/live_models.h"
#include "app/gui/live/run_dialog.h"
#include "app/gui/main_window.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/panels/message_bar.h"

#include <QDateTime>
#include <QDir>
#include <QDockWidget>
#include <QLabel>
#include <QMenu>
#include <QStatusBar>

namespace bubblescope::gui {

namespace {

/// Of the machine's folder for temporary files, named so that runs do not meet.
QString newRunFolder() {
    const QString time = QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-HHmmss"));
    return QDir::temp().filePath(QStringLiteral("bubblescope-run-") + time);
}

} // namespace

/// Of what stays when the window is built anew.
void MainWindow::connectLive() {
    connect(&live_, &LiveController::changed, this, &MainWindow::showLive);
    connect(&live_, &LiveController::activeChanged, this, &MainWindow::showLive);
    connect(&live_, &LiveController::alerted, this, &MainWindow::showAlert);
    connect(&live_, &LiveController::failed, this, [this](const Error& error) {
        message_->showError(error);
        emit failed(error);
    });
    const auto watch_interactions = [this] { interactions_.setOn(live_.active() && live_.following()); };
    connect(&live_, &LiveController::activeChanged, this, watch_interactions);
    connect(&live_, &LiveController::followingChanged, this, watch_interactions);
    connect(&interactions_, &InteractionMonitor::interacted, this, [this] { live_.setFollowing(false); });
    connect(&process_, &RunProcess::ended, this, &MainWindow::tellRunEnded);
}

QWidget* MainWindow::buildLiveBar(QWidget* parent) {
    auto* bar = new LiveBar(live_, process_, state_, themes_, parent);
    connect(bar, &LiveBar::alertChosen, this, [this] { showDock(live_dock_); });
    connect(bar, &LiveBar::openRequested, this, [this] { open(recordedFolders(live_.target(), *live_.snapshot())); });
    return bar;
}

void MainWindow::buildLiveActions(QMenu& file) {
    file.addAction(tr("Open &live…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L), this, &MainWindow::chooseLive);
    QAction* run =
        file.addAction(tr("&Run a schedule…"), QKeySequence(Qt::CTRL | Qt::Key_R), this, &MainWindow::chooseRun);
    QAction* stop_run = file.addAction(tr("S&top the run"), &process_, &RunProcess::stop);
    stop_run->setObjectName(QStringLiteral("stopRun"));
    QAction* stop = file.addAction(tr("Stop &watching"), &live_, &LiveController::stop);
    stop->setObjectName(QStringLiteral("stopWatching"));
    const auto enable = [this, run, stop_run, stop] {
        run->setEnabled(!process_.running());
        stop_run->setEnabled(process_.running());
        stop->setEnabled(live_.active());
    };
    connect(&process_, &RunProcess::changed, run, enable);
    connect(&live_, &LiveController::activeChanged, run, enable);
    enable();
}

void MainWindow::buildFollowAction(QMenu& view) {
    QAction* follow = view.addAction(tr("F&ollow the newest step"), QKeySequence(Qt::CTRL | Qt::Key_E), &live_,
                                     &LiveController::setFollowing);
    follow->setObjectName(QStringLiteral("follow"));
    follow->setCheckable(true);
    const auto update = [this, follow] {
        follow->setEnabled(live_.active());
        follow->setChecked(live_.following());
    };
    connect(&live_, &LiveController::followingChanged, follow, update);
    connect(&live_, &LiveController::activeChanged, follow, update);
    update();
}

void MainWindow::watch(const LiveTarget& target) {
    job_.cancel();
    message_->hide();
    live_told_ = false;
    waiting_.clear();
    for (TraceTab& tab : tabs_)
        tab.live = false; // one is watched at a time
    tabInFront() = {};
    tabInFront().live = true;
    tabInFront().title = target.name();
    ideal_->setOn(false);
    compare_->restore({});
    live_.stop();
    live_.setParked(false);
    live_.start(target);
    showTabs();
}

void MainWindow::runSchedule(const RunPlan& plan) {
    if (process_.running()) return;
    process_.start(commandLineProgram(), plan.arguments());
    LiveTarget target;
    target.folders << plan.folder;
    watch(target);
}

void MainWindow::chooseLive() {
    auto* dialog = new LiveDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &LiveDialog::watchRequested, this, &MainWindow::watch);
    dialog->open();
}

void MainWindow::chooseRun() {
    if (process_.running()) return;
    auto* dialog = new RunDialog(themes_, newRunFolder(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &RunDialog::runRequested, this, &MainWindow::runSchedule);
    dialog->open();
}

void MainWindow::showLive() {
    live_waiting_->setText(tr("Waiting for the first step of %1 …").arg(live_.target().name()));
    showCentre();
    const LiveSnapshotPtr& snapshot = live_.snapshot();
    if (!snapshot) {
        live_dock_->hide();
    } else if (snapshot->info && live_dock_->isHidden() && !state_.session()) {
        showDock(live_dock_); // steps may be long, and ranks are there before
    }
    if (live_told_ || !snapshot || snapshot->more || !state_.session()) return;
    live_told_ = true;
    emit loaded();
}

void MainWindow::showAlert(const LiveAlert& alert) {
    if (severityOf(alert) == Severity::Notice || !live_.snapshot()) return;
    statusBar()->showMessage(tr("Step %1: %2").arg(alert.step).arg(alertText(alert, *live_.snapshot())), 8000);
}

void MainWindow::tellRunEnded(bool well, const QString& said) {
    if (well) return statusBar()->showMessage(tr("The run has ended"), 6000);
    if (!live_.snapshot() || !live_.snapshot()->info) live_.stop(); // nothing will come
    const QString what = said.section(QLatin1Char('\n'), 0, 0);
    message_->showError(runError(tr("The run has failed: %1").arg(what).toStdString(),
                                 said.section(QLatin1Char('\n'), 1).toStdString()));
}

} // namespace bubblescope::gui
