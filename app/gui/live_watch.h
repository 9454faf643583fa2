#pragma once

#include "app/gui/live/live_controller.h"
#include "app/gui/live/run_process.h"

#include <QObject>

class QDockWidget;
class QWidget;

namespace bubblescope::gui {

class ThemeManager;

/// Emits interacted() when the user works in a dock with the mouse or the keyboard. Lives on the GUI thread.
class InteractionMonitor : public QObject {
    Q_OBJECT

public:
    using QObject::QObject;

    /// If `on` is true, filters all events of the application.
    void setOn(bool on);
    /// Ignores events in this dock.
    void setExcept(const QDockWidget* dock) { except_ = dock; }

signals:
    void interacted();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    const QDockWidget* except_ = nullptr;
    bool on_ = false;
};

/// The run that a window watches, and its process if the window started it. Follows the newest step until the user
/// works in a panel, so that the panel does not change while it is used. Lives on the GUI thread.
class LiveWatch : public QObject {
    Q_OBJECT

public:
    explicit LiveWatch(ViewState& state, QObject* parent = nullptr);

    [[nodiscard]] LiveController& controller() { return controller_; }
    [[nodiscard]] RunProcess& process() { return process_; }
    /// True if a run is being watched, or if the last watched run has reported its sizes.
    [[nodiscard]] bool waiting() const;
    /// Sets the panel in which the user may work while the view follows the newest step.
    void setPanel(const QDockWidget* dock) { interactions_.setExcept(dock); }

    /// Ends the previous watch and starts a new one.
    void start(const LiveTarget& target);
    /// Opens a dialog to select a run to watch or to start, and then emits watchRequested() or runRequested().
    void chooseTarget(QWidget* window);
    void chooseRun(ThemeManager& themes, QWidget* window);
    /// Like chooseRun(), for an order from the schedule explorer.
    void chooseRunOf(const QString& file, const ScheduleSpec& spec, ThemeManager& themes, QWidget* window);

signals:
    void watchRequested(const bubblescope::gui::LiveTarget& target);
    void runRequested(const bubblescope::gui::RunPlan& plan);
    /// Emitted for each new snapshot, and when the watch starts or ends.
    void changed();
    /// Emitted when the first complete steps are visible.
    void loaded();
    /// Reports an error that must be shown now. If there is nothing to watch, failed() is emitted afterwards.
    void refused(const bubblescope::Error& error);
    void failed(const bubblescope::Error& error);
    /// Requests a message in the status bar.
    void message(const QString& text, int milliseconds);

private:
    void update();
    void announce(const LiveAlert& alert);
    void finishRun(bool succeeded, const QString& error_output);

    ViewState& state_;
    LiveController controller_;
    RunProcess process_;
    InteractionMonitor interactions_;
    bool loaded_ = false; ///< true if loaded() was emitted for this watch
};

} // namespace bubblescope::gui
