#pragma once

#include "app/gui/live/live_controller.h"
#include "app/gui/live/run_process.h"

#include <QObject>

class QDockWidget;
class QWidget;

namespace bubblescope::gui {

class ThemeManager;

/// Reports when the user works in a dock with mouse or keyboard. Lives on the GUI thread.
class InteractionMonitor : public QObject {
    Q_OBJECT

public:
    using QObject::QObject;

    /// While on, filters all events of the application.
    void setOn(bool on);
    /// Ignores this dock.
    void setExcept(const QDockWidget* dock) { except_ = dock; }

signals:
    void interacted();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    const QDockWidget* except_ = nullptr;
    bool on_ = false;
};

/// The run that a window watches, and the process of a run that it started. Follows the newest step until the user
/// works in one of the panels, which would otherwise change while in use. Lives on the GUI thread.
class LiveWatch : public QObject {
    Q_OBJECT

public:
    explicit LiveWatch(ViewState& state, QObject* parent = nullptr);

    [[nodiscard]] LiveController& controller() { return controller_; }
    [[nodiscard]] RunProcess& process() { return process_; }
    /// True if a run is being watched, or if the last watched run has reported its sizes.
    [[nodiscard]] bool waiting() const;
    /// The panel in which the user may work without leaving the newest step.
    void setPanel(const QDockWidget* dock) { interactions_.setExcept(dock); }

    /// Ends the previous watch.
    void start(const LiveTarget& target);
    /// Asks the user for a run to watch or to start; watchRequested() or runRequested() follows.
    void chooseTarget(QWidget* window);
    void chooseRun(ThemeManager& themes, QWidget* window);
    /// As above, for an order from the schedule lab.
    void chooseRunOf(const QString& file, const ScheduleSpec& spec, ThemeManager& themes, QWidget* window);

signals:
    void watchRequested(const bubblescope::gui::LiveTarget& target);
    void runRequested(const bubblescope::gui::RunPlan& plan);
    /// There is a new snapshot, or the watch has begun or ended.
    void changed();
    /// The first complete steps are shown.
    void loaded();
    /// An error to show at once; failed() follows if nothing can be watched.
    void refused(const bubblescope::Error& error);
    void failed(const bubblescope::Error& error);
    /// A message for the status bar.
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
