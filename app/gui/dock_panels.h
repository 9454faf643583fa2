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

/// The panels around a window's timeline, each in a dock. Creates them, brings them to the front, and remembers the
/// user's arrangement. All panels are hidden while no trace is open, and panels for pipelines are hidden if the trace
/// has no pipeline, because empty tables do not help.
class DockPanels : public QObject {
    Q_OBJECT

public:
    /// The data that the panels show. It must outlive them.
    struct Sources {
        RunLoader loader;
        ViewState& state;
        ThemeManager& themes;
        NoteStore& notes;
        LiveController& live;
    };

    /// The object is a child of the window that has the docks.
    explicit DockPanels(QMainWindow& window);

    /// Fills the docks. The first call creates the docks; later calls leave them where they are.
    void build(const Sources& sources);
    /// Empties the docks.
    void clear();

    /// Brings the panel with this name to the front, such as "anomalies". Returns false if there is none.
    bool show(const QString& name);
    void showAnomalies() { bringUp(anomalies_); }
    /// Shows the panel for a statement of the answer.
    void showStatement(const Statement& statement);
    void showProblems() { bringUp(problems_); }
    void showLive() { bringUp(live_); }
    void showRange() { bringUp(range_); }
    void showStacks() { bringUp(stacks_); }
    /// Shows or hides the panel of a watched run, which belongs to that run's tab: it is hidden with other tabs, and
    /// returns as it was left. It opens before the first steps arrive, which may take a while. Call it with each
    /// snapshot and when tabs change.
    void followLive(const LiveController& live, bool any_steps);
    [[nodiscard]] const QDockWidget* livePanel() const { return live_; }
    /// The panel created by the last build().
    [[nodiscard]] ComparePanel& compare() { return *compare_; }
    /// Actions that show and hide the panels, one for each.
    [[nodiscard]] std::vector<QAction*> actions() const;

    /// The kind of content that the panels are for: some of them exist only for a pipeline.
    enum class Content : std::uint8_t { Nothing, Trace, Pipeline };
    /// The panels appear with the first trace, in their last arrangement for its kind, and disappear with the last
    /// trace. Returns true if they appear now.
    bool show(Content content);
    /// The arrangement while the panels are shown. restore() ignores arrangements of other versions of the app.
    [[nodiscard]] QByteArray arrangement() const;
    void restore(const QByteArray& arrangement);
    /// Restores the arrangement of a new installation.
    void reset();

signals:
    /// A message for the status bar.
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
    QByteArray default_;      ///< the first arrangement
    QByteArray for_pipeline_; ///< saved arrangement for traces with a pipeline
    QByteArray for_trace_;    ///< saved arrangement for other traces
    std::vector<QDockWidget*> of_pipelines_;
    DevicesPanel* device_times_ = nullptr;
    QDockWidget* devices_ = nullptr;
    QDockWidget* details_ = nullptr;
    bool arranged_ = false;       ///< true once arranged by the user, or for the window's size
    bool live_parked_ = false;    ///< LiveController::parked() at the last followLive()
    bool live_panel_open_ = true; ///< true if the panel was open when the watched run's tab was last left
};

} // namespace bubblescope::gui
