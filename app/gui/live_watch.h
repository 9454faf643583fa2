#pragma once

#include "app/gui/live/live_controller.h"
#include "app/gui/live/run_process.h"

#include <QObject>

class QDockWidget;
class QWidget;

namespace bubblescope::gui {

class ThemeManager;

/// Notices that the user works in a dock: presses a button or a key there. Lives on the GUI thread.
class InteractionMonitor : public QObject {
    Q_OBJECT

public:
    using QObject::QObject;

    /// Looks at all events of the application while it is on.
    void setOn(bool on);
    /// Does not report this one.
    void setExcept(const QDockWidget* dock) { except_ = dock; }

signals:
    void interacted();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    const QDockWidget* except_ = nullptr;
    bool on_ = false;
};

/// The run that a window watches while it goes on, and the process of one that it started. Follows the newest step
/// until the user works in one of the panels, which would be made anew under their hands. Lives on the GUI thread.
class LiveWatch : public QObject {
    Q_OBJECT

public:
    explicit LiveWatch(ViewState& state, QObject* parent = nullptr);

    [[nodiscard]] LiveController& controller() { return controller_; }
    [[nodiscard]] RunProcess& process() { return process_; }
    /// Whether a run is watched of which something is known, if only that it goes on.
    [[nodiscard]] bool waiting() const;
    /// The panel in which the user may work without leaving the newest step.
    void setPanel(const QDockWidget* dock) { interactions_.setExcept(dock); }

    /// Ends what was watched before.
    void start(const LiveTarget& target);
    /// Ask the user for a run to watch, or for one to start; watchRequested() and runRequested() follow.
    void chooseTarget(QWidget* window);
    void chooseRun(ThemeManager& themes, QWidget* window);

signals:
    void watchRequested(const bubblescope::gui::LiveTarget& target);
    void runRequested(const bubblescope::gui::RunPlan& plan);
    /// There is another snapshot, or the watch has begun or ended.
    void changed();
    /// The first steps that were put together are in view.
    void loaded();
    /// Something to be shown at once; failed() too where nothing can be watched.
    void refused(const bubblescope::Error& error);
    void failed(const bubblescope::Error& error);
    /// For the status bar.
    void message(const QString& text, int milliseconds);

private:
    void update();
    void announce(const LiveAlert& alert);
    void finishRun(bool well, const QString& said);

    ViewState& state_;
    LiveController controller_;
    RunProcess process_;
    InteractionMonitor interactions_;
    bool loaded_ = false; ///< loaded() was emitted for this watch
};

} // namespace bubblescope::gui
