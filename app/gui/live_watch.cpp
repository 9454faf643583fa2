#include "app/gui/live_watch.h"

#include "app/gui/live/live_dialog.h"
#include "app/gui/live/live_models.h"
#include "app/gui/live/run_dialog.h"
#include "app/gui/panels/file_dialogs.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QDockWidget>
#include <QKeyEvent>

namespace bubblescope::gui {

namespace {

/// Creates a folder with a unique name in the system's folder for temporary files.
QString newRunFolder() {
    const QString time = QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-HHmmss"));
    return QDir::temp().filePath(QStringLiteral("bubblescope-run-") + time);
}

bool isInteraction(const QEvent& event) {
    if (event.type() == QEvent::MouseButtonPress) return true;
    if (event.type() != QEvent::KeyPress) return false;
    // A modifier key alone may be the start of a shortcut.
    const int key = static_cast<const QKeyEvent&>(event).key();
    return key != Qt::Key_Control && key != Qt::Key_Shift && key != Qt::Key_Alt && key != Qt::Key_Meta;
}

} // namespace

void InteractionMonitor::setOn(bool on) {
    if (on == on_) return;
    on_ = on;
    if (on) {
        QCoreApplication::instance()->installEventFilter(this);
    } else {
        QCoreApplication::instance()->removeEventFilter(this);
    }
}

bool InteractionMonitor::eventFilter(QObject* watched, QEvent* event) {
    if (!watched->isWidgetType() || !isInteraction(*event)) return false;
    // The parent of a popup list is the widget that the list belongs to.
    for (auto* widget = static_cast<QWidget*>(watched); widget != nullptr; widget = widget->parentWidget()) {
        const auto* dock = qobject_cast<QDockWidget*>(widget);
        if (dock == nullptr) continue;
        if (dock != except_) emit interacted();
        break;
    }
    return false;
}

LiveWatch::LiveWatch(ViewState& state, QObject* parent) : QObject(parent), state_(state), controller_(state) {
    connect(&controller_, &LiveController::changed, this, &LiveWatch::update);
    connect(&controller_, &LiveController::activeChanged, this, &LiveWatch::update);
    connect(&controller_, &LiveController::alerted, this, &LiveWatch::announce);
    connect(&controller_, &LiveController::failed, this, [this](const Error& error) {
        emit refused(error);
        emit failed(error);
    });
    const auto monitor = [this] {
        interactions_.setOn(controller_.active() && controller_.following() && !controller_.parked());
    };
    connect(&controller_, &LiveController::parkedChanged, this, monitor);
    connect(&controller_, &LiveController::parkedChanged, this, &LiveWatch::changed);
    connect(&controller_, &LiveController::activeChanged, this, monitor);
    connect(&controller_, &LiveController::followingChanged, this, monitor);
    connect(&interactions_, &InteractionMonitor::interacted, this, [this] { controller_.setFollowing(false); });
    connect(&process_, &RunProcess::ended, this, &LiveWatch::finishRun);
}

bool LiveWatch::waiting() const {
    return controller_.active() || (controller_.snapshot() && controller_.snapshot()->info);
}

void LiveWatch::start(const LiveTarget& target) {
    loaded_ = false;
    controller_.stop();
    controller_.setParked(false);
    controller_.start(target);
}

void LiveWatch::chooseTarget(QWidget* window) {
    auto* dialog = new LiveDialog(window);
    connect(dialog, &LiveDialog::watchRequested, this, &LiveWatch::watchRequested);
    openDialog(dialog);
}

void LiveWatch::chooseRun(ThemeManager& themes, QWidget* window) {
    chooseRunOf({}, {}, themes, window);
}

void LiveWatch::chooseRunOf(const QString& file, const ScheduleSpec& spec, ThemeManager& themes, QWidget* window) {
    if (process_.running()) return emit message(tr("A run is in progress; stop it first"), 6000);
    auto* dialog = new RunDialog(themes, newRunFolder(), window);
    if (!file.isEmpty()) dialog->setOrder(file, spec);
    connect(dialog, &RunDialog::runRequested, this, &LiveWatch::runRequested);
    openDialog(dialog);
}

void LiveWatch::update() {
    emit changed();
    const LiveSnapshotPtr snapshot = controller_.shown();
    if (loaded_ || !snapshot || snapshot->more || !state_.pipeline()) return;
    loaded_ = true;
    emit loaded();
}

void LiveWatch::announce(const LiveAlert& alert) {
    if (severityOf(alert) == Severity::Notice || !controller_.shown()) return;
    if (!isNews(alert, *controller_.snapshot())) return;
    emit message(tr("Step %1: %2").arg(alert.step).arg(alertText(alert, *controller_.snapshot())), 8000);
}

void LiveWatch::finishRun(bool succeeded, const QString& error_output) {
    if (succeeded) return emit message(tr("The run has ended"), 6000);
    if (!controller_.snapshot() || !controller_.snapshot()->info) controller_.stop(); // more records will not arrive
    const QString what = error_output.section(QLatin1Char('\n'), 0, 0);
    emit refused(runError(tr("The run failed: %1").arg(what).toStdString(),
                          error_output.section(QLatin1Char('\n'), 1).toStdString()));
}

} // namespace bubblescope::gui
