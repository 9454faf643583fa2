#pragma once

#include "app/gui/models/session.h"

#include <QByteArray>
#include <QObject>
#include <QString>

#include <vector>

class QAction;
class QDockWidget;
class QMainWindow;
class QWidget;

namespace bubblescope::gui {

class ComparePanel;
class LiveController;
class NoteStore;
class ThemeManager;
class ViewState;

/// The panels around a window's timeline, each in a dock: makes them, brings them to the front, and keeps where the
/// user has put them. They are hidden while nothing is open, as empty tables tell a newcomer nothing.
class DockPanels : public QObject {
    Q_OBJECT

public:
    /// What the panels show. All of it outlives them.
    struct Sources {
        RunLoader loader;
        ViewState& state;
        ThemeManager& themes;
        NoteStore& notes;
        LiveController& live;
    };

    /// A child of the window, in which the docks lie.
    explicit DockPanels(QMainWindow& window);

    /// Fills the docks, which are made the first time and stay where they are the next.
    void build(const Sources& sources);
    /// Empties the docks.
    void clear();

    /// Brings a panel to the front by its name, such as "anomalies". False if there is none.
    bool show(const QString& name);
    void showAnomalies() { bringUp(anomalies_); }
    void showProblems() { bringUp(problems_); }
    void showLive() { bringUp(live_); }
    void hideLive();
    [[nodiscard]] bool liveHidden() const;
    [[nodiscard]] const QDockWidget* livePanel() const { return live_; }
    /// Of the last build().
    [[nodiscard]] ComparePanel& compare() { return *compare_; }
    /// Entries that show and hide the panels, one each.
    [[nodiscard]] std::vector<QAction*> actions() const;

    /// The panels come with the first trace, as they were arranged, and go with the last. True where they come now.
    bool setShown(bool shown);
    /// Where the panels are while they are shown; restore() refuses what another version of the app arranged.
    [[nodiscard]] QByteArray arrangement() const;
    void restore(const QByteArray& arrangement);

signals:
    /// The user asked for another run to compare with.
    void comparisonRequested();
    /// For the status bar.
    void message(const QString& text, int milliseconds);

private:
    static void bringUp(QDockWidget* dock);
    QDockWidget* fill(const QString& name, const QString& title, QWidget* content);
    void arrange(QDockWidget* bubbles, QDockWidget* details, const std::vector<QDockWidget*>& others);

    QMainWindow& window_;
    ComparePanel* compare_ = nullptr;
    QDockWidget* anomalies_ = nullptr;
    QDockWidget* problems_ = nullptr;
    QDockWidget* live_ = nullptr;
    QByteArray hidden_; ///< the arrangement, while the panels are hidden
};

} // namespace bubblescope::gui
