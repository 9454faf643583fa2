#pragma once

#include "app/gui/models/session.h"
#include "core/answer/statement.h"

#include <QByteArray>
#include <QObject>
#include <QString>

#include <vector>

class QAction;
class QDockWidget;
class QMainWindow;
class QWidget;

namespace bubblescope::gui {

class AnomalyPanel;
class ComparePanel;
class DevicesPanel;
class LiveController;
class NoteStore;
class ThemeManager;
class ViewState;
class WhatIfPanel;

/// Manages the docks with the panels around the timeline: creates and raises them, and saves the user's layout.
/// All panels are hidden while no trace is open. Panels for pipelines are also hidden if the trace has no
/// pipeline.
class DockPanels : public QObject {
    Q_OBJECT

public:
    /// Sources of the displayed data. The sources must outlive the panels.
    struct Sources {
        RunLoader loader;
        ViewState& state;
        ThemeManager& themes;
        NoteStore& notes;
        LiveController& live;
    };

    /// The object becomes a child of the window that contains the docks.
    explicit DockPanels(QMainWindow& window);

    /// Creates the content of the docks. The first call also creates the docks; later calls keep their positions.
    void build(const Sources& sources);
    /// Empties the docks.
    void clear();

    /// Raises the panel with this name, such as "anomalies". Returns false if there is no such panel.
    bool show(const QString& name);
    void showAnomalies() { bringUp(anomalies_); }
    /// Raises the panel with the evidence for a statement in the answer.
    void showStatement(const Statement& statement);
    void showProblems() { bringUp(problems_); }
    void showLive() { bringUp(live_); }
    void showRange() { bringUp(range_); }
    void showStacks() { bringUp(stacks_); }
    /// Shows the panel of a watched run while the tab of that run is selected, unless the user closed the panel there.
    /// Opens the panel before the first steps arrive, because they may take a while to arrive. Must be called for each
    /// snapshot and when the tab changes.
    void followLive(const LiveController& live, bool any_steps);
    [[nodiscard]] const QDockWidget* livePanel() const { return live_; }
    /// Panel that the last build() created.
    [[nodiscard]] ComparePanel& compare() { return *compare_; }
    /// Actions that show or hide the panels, one per panel.
    [[nodiscard]] std::vector<QAction*> actions() const;

    /// Kind of open content, which determines the available panels.
    enum class Content : std::uint8_t { Nothing, Trace, Pipeline };
    /// Shows the panels when the first trace is opened, in the last layout for this kind of content. Hides the panels
    /// when the last trace is closed. Returns true if this call made the panels visible.
    bool show(Content content);
    /// Layout of the visible panels. restore() ignores layouts saved by other versions of the app.
    [[nodiscard]] QByteArray arrangement() const;
    void restore(const QByteArray& arrangement);
    /// Restores the default layout.
    void reset();

signals:
    /// Requests a message in the status bar.
    void message(const QString& text, int milliseconds);

private:
    static void bringUp(QDockWidget* dock);
    QDockWidget* fill(const QString& name, const QString& title, QWidget* content);
    void fitHeight();
    void arrange(QDockWidget* bubbles, const std::vector<QDockWidget*>& others);
    void showThoseOfTraces();
    [[nodiscard]] bool isOfPipelines(const QDockWidget* dock) const;
    void enableActions();

    QMainWindow& window_;
    ComparePanel* compare_ = nullptr;
    AnomalyPanel* findings_ = nullptr;
    WhatIfPanel* what_if_ = nullptr;
    QDockWidget* anomalies_ = nullptr;
    QDockWidget* problems_ = nullptr;
    QDockWidget* live_ = nullptr;
    QDockWidget* range_ = nullptr;
    QDockWidget* stacks_ = nullptr;
    QDockWidget* steps_ = nullptr;
    Content content_ = Content::Pipeline;
    QByteArray default_;      ///< initial layout
    QByteArray for_pipeline_; ///< saved layout for traces with a pipeline
    QByteArray for_trace_;    ///< saved layout for other traces
    std::vector<QDockWidget*> of_pipelines_;
    DevicesPanel* device_times_ = nullptr;
    QDockWidget* devices_ = nullptr;
    QDockWidget* details_ = nullptr;
    bool arranged_ = false;       ///< true if the layout was set by the user or adapted to the window's size
    bool live_parked_ = false;    ///< LiveController::parked() at the last followLive()
    bool live_panel_open_ = true; ///< true if the panel was open when the user last left the tab of the watched run
};

} // namespace bubblescope::gui
