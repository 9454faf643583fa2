#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/language/language.h"
#include "app/gui/live/interaction_monitor.h"
#include "app/gui/live/live_controller.h"
#include "app/gui/live/run_process.h"
#include "app/gui/models/notes.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "app/gui/trace_tab.h"
#include "core/trace/load_sketch.h"

#include <QMainWindow>
#include <QPointer>

#include <deque>
#include <optional>
#include <vector>

class QLabel;
class QMenu;
class QStackedWidget;
class QTabBar;
class QToolButton;

namespace bubblescope::gui {

class BubblePanel;
class ComparePanel;
class IdealOverlay;
class ScheduleExplorer;
class LoadIndicator;
class LoadPreview;
class ManualWindow;
class MessageBar;
class SearchBar;
class TimelineView;
class Tour;
class WelcomePanel;

/// Puts the views together and opens files; what is shown lives in ViewState, how it looks in the views.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    /// `remember`: restore and keep theme, layout and recent files in QSettings.
    MainWindow(RunLoader loader, bool remember, QWidget* parent = nullptr);

    ~MainWindow() override;

    /// Loads in the background and replaces what the tab in front shows when it succeeds; a newer call wins. The file
    /// of a session replaces all tabs. loaded() comes once all that was asked for is there.
    void open(const QStringList& paths);
    /// The same in a tab of its own, unless there is nothing in the one in front. Calls wait for one another.
    void openBeside(const QStringList& paths);
    /// Each trace in its tab.
    void openEach(const QStringList& paths);
    void cancelLoad();
    /// Brings a tab to the front, with what its view showed.
    void showTab(int tab);
    /// The last one leaves an empty window.
    void closeTab(int tab);
    [[nodiscard]] int tabCount() const { return static_cast<int>(tabs_.size()); }
    [[nodiscard]] int currentTab() const { return tab_; }
    /// All tabs and where the panels are; errors are shown. Runs that are watched are left out.
    void saveSession(const QString& file);
    void openSession(const QString& file);
    /// Sets another run beside the open one.
    void compareWith(const QStringList& paths);
    /// Watches a run while it goes on. loaded() tells of the first steps that were put together.
    void watch(const LiveTarget& target);
    /// Starts our own runtime and watches it.
    void runSchedule(const RunPlan& plan);
    /// Brings a panel to the front by its name, such as "anomalies". False if there is none.
    bool showPanel(const QString& name);

    /// Opens the schedule lab, or brings it to the front; at first with sizes and times of the run that is open.
    ScheduleExplorer& openExplorer();
    void showIdeal(bool on);
    /// Opens the manual, or brings it to the front.
    ManualWindow& openManual();
    /// Opens one of demoTraces(), made if it is not there yet; the first time with the tour.
    void openDemo(const QString& name);
    /// Shows the user around, on a demo where nothing is open. `step` counts from 0.
    void startTour(int step = 0);
    /// The tour that is being taken, or null.
    [[nodiscard]] Tour* tour() const;

    [[nodiscard]] ViewState& state() { return state_; }
    [[nodiscard]] NoteStore& noteStore() { return note_store_; }
    [[nodiscard]] LiveController& live() { return live_; }
    [[nodiscard]] RunProcess& process() { return process_; }
    [[nodiscard]] ThemeManager& themes() { return themes_; }
    [[nodiscard]] LanguageManager& languages() { return languages_; }
    [[nodiscard]] bool loading() const { return job_.running(); }

signals:
    void loaded();
    void failed(const bubblescope::Error& error);

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void build();
    void clear();
    void rebuild();
    void buildCentre();
    void buildDocks();
    void buildStatusBar();
    void buildMenus();
    void buildFileMenu();
    void buildViewMenu();
    void buildNavigateMenu();
    void buildHelpMenu();
    void buildLiveActions(QMenu& file);
    void buildFollowAction(QMenu& view);
    void connectLive();
    QWidget* buildLiveBar(QWidget* parent);
    void chooseLive();
    void chooseRun();
    void showLive();
    void showAlert(const LiveAlert& alert);
    void tellRunEnded(bool well, const QString& said);
    void fillRecentMenu();
    static void showDock(QDockWidget* dock);
    QDockWidget* addDock(const QString& name, const QString& title, QWidget* content, Qt::DockWidgetArea area);

    QWidget* buildTabBar(QWidget* parent);
    [[nodiscard]] TraceTab& tabInFront() { return tabs_[static_cast<std::size_t>(tab_)]; }
    void showTabs();
    void keepTab();
    void bringTab();
    void turnTab(int by);
    void load(const TraceRequest& request);
    void loadNext();
    void finishLoad(const TraceRequest& request, Result<SessionPtr> result);
    void finishSession();
    void chooseSessionToSave();
    void chooseSessionToOpen();
    void showSession();
    void showCentre();
    void showPreview();
    void showHovered(const ItemRef& item);
    void chooseFiles();
    void chooseDirectory();
    void chooseComparison();
    void chooseExport();
    [[nodiscard]] ComparePanel& comparePanel() { return *compare_; }
    void chooseTheme(ThemeChoice choice);
    void buildLanguageMenu(QMenu& view);
    void buildFlowActions(QMenu& view);
    void chooseLanguage(Language language);
    void restoreSettings();
    void showPanels(bool any);
    void showAbout();
    void tourWhenOpen(int step = 0);

    /// Raised when docks change, so that a layout of another version is not forced on them.
    static constexpr int kLayoutVersion = 6;
    /// Of a session whose traces are being loaded.
    struct OpeningSession {
        int current = 0;
        QByteArray docks;
    };

    RunLoader loader_;
    bool remember_;
    ThemeManager themes_;
    LanguageManager languages_;
    ViewState state_;
    NoteStore note_store_{state_};
    LiveController live_{state_};
    RunProcess process_;
    InteractionMonitor interactions_; ///< of panels, which would be made anew under the user's hands
    bool live_told_ = false;          ///< loaded(), of this watch
    BackgroundJob job_;
    std::shared_ptr<const LoadSketch> sketch_; ///< of the load that is running
    std::deque<TraceRequest> waiting_;         ///< to be loaded after it
    std::optional<OpeningSession> opening_;
    std::vector<TraceTab> tabs_{1}; ///< never none
    int tab_ = 0;                   ///< in front

    QTabBar* tab_bar_ = nullptr;
    MessageBar* message_ = nullptr;
    QStackedWidget* stack_ = nullptr;
    WelcomePanel* welcome_ = nullptr;
    TimelineView* timeline_ = nullptr;
    SearchBar* search_ = nullptr;
    ComparePanel* compare_ = nullptr;
    QWidget* overview_ = nullptr;
    IdealOverlay* ideal_ = nullptr;
    ScheduleExplorer* explorer_ = nullptr;
    ManualWindow* manual_ = nullptr;
    LoadPreview* preview_ = nullptr;
    LoadIndicator* load_ = nullptr;
    QLabel* hover_ = nullptr;
    QToolButton* problems_button_ = nullptr;
    QDockWidget* anomalies_dock_ = nullptr;
    QDockWidget* problems_dock_ = nullptr;
    QDockWidget* live_dock_ = nullptr;
    QLabel* live_waiting_ = nullptr; ///< in place of a timeline, before there is one
    QMenu* recent_menu_ = nullptr;
    QMenu* dock_menu_ = nullptr;
    QList<QAction*> theme_actions_;
    QPointer<QWidget> tour_;
    QPointer<QObject> tour_waits_; ///< for what is being opened
    QByteArray layout_;            ///< of the docks, kept while there is nothing to show in them
};

} // namespace bubblescope::gui
