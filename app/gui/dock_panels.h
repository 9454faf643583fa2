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

/// The panels around a window's timeline, each in a dock. Creates them, brings them to the front, and keeps the user's
/// arrangement. All panels are hidden while no trace is open, and the panels of pipelines are hidden if the trace has
/// no pipeline, since empty tables do not help.
class DockPanels : public QObject {
    Q_OBJECT

public:
    /// The data that the panels show. Must outlive them.
    struct Sources {
        RunLoader loader;
        ViewState& state;
        ThemeManager& themes;
        NoteStore& notes;
        LiveController& live;
    };

    /// A child of the window that has the docks.
    explicit DockPanels(QMainWindow& window);

    /// Fills the docks. Creates them the first time; later calls leave them where they are.
    void build(const Sources& sources);
    /// Empties the docks.
    void clear();

    /// Brings the panel of that name to the front, such as "anomalies". False if there is none.
    bool show(const QString& name);
    void showAnomalies() { bringUp(anomalies_); }
    /// The panel that shows a statement of the answer.
    void showStatement(const Statement& statement);
    void showProblems() { bringUp(problems_); }
    void showLive() { bringUp(live_); }
    void showRange() { bringUp(range_); }
    void showStacks() { bringUp(stacks_); }
    /// The panel of a watched run belongs to that run's tab: it is hidden with other tabs, and returns as it was left.
    /// It opens before the first steps, which may be long. Call with each snapshot, and when tabs change.
    void followLive(const LiveController& live, bool any_steps);
    [[nodiscard]] const QDockWidget* livePanel() const { return live_; }
    /// The panel made by the last build().
    [[nodiscard]] ComparePanel& compare() { return *compare_; }
    /// Actions that show and hide the panels, one each.
    [[nodiscard]] std::vector<QAction*> actions() const;

    /// The subject of the panels: some of them exist only for a pipeline.
    enum class Content : std::uint8_t { Nothing, Trace, Pipeline };
    /// The panels appear with the first trace, in their last arrangement for its kind, and are hidden with the last.
    /// True if they appear now.
    bool show(Content content);
    /// The arrangement while the panels are shown. restore() ignores those of other versions of the app.
    [[nodiscard]] QByteArray arrangement() const;
    void restore(const QByteArray& arrangement);
    /// Arranges the panels as in a new installation.
    void reset();

signals:
    /// For the status bar.
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
    QByteArray for_pipeline_; ///< the arrangement, while there is none …
    QByteArray for_trace_;    ///< … and that of traces without one, if there was any
    std::vector<QDockWidget*> of_pipelines_;
    DevicesPanel* device_times_ = nullptr;
    QDockWidget* devices_ = nullptr;
    QDockWidget* details_ = nullptr;
    bool arranged_ = false;       ///< by the user, or for the window's size
    bool live_parked_ = false;    ///< LiveController::parked() as of the last followLive()
    bool live_panel_open_ = true; ///< when the watched run's tab was last left
};

} // namespace bubblescope::gui
