#pragma once

#include "app/gui/dock_panels.h"
#include "app/gui/language/language.h"
#include "app/gui/live_watch.h"
#include "app/gui/models/notes.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "app/gui/tour/tour.h"
#include "app/gui/trace_tabs.h"

#include <QMainWindow>

class QLabel;
class QStackedWidget;
class QToolButton;

namespace bubblescope::gui {

class LoadIndicator;
class LoadPreviewView;
class ManualWindow;
class MessageBar;
class ScheduleExplorer;
class TimelineView;
class WelcomePanel;

/// Puts the app together: the open traces (TraceTabs), the run that is watched (LiveWatch), the panels (DockPanels),
/// the menus (buildMenus) and the views in the middle. What is shown lives in ViewState, how it looks in the views.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    /// `remember`: restore and keep theme, layout and recent files in QSettings.
    MainWindow(RunLoader loader, bool remember, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// As TraceTabs does.
    void open(const QStringList& paths) { tabs_.open(paths); }
    void openBeside(const QStringList& paths) { tabs_.openBeside(paths); }
    /// Each trace in its tab.
    void openEach(const QStringList& paths);
    void cancelLoad() { tabs_.cancelLoad(); }
    [[nodiscard]] bool loading() const { return tabs_.loading(); }
    /// Brings a tab to the front, with what its view showed.
    void showTab(int tab) { tabs_.show(tab); }
    void closeTab(int tab) { tabs_.close(tab); }
    [[nodiscard]] int tabCount() const { return tabs_.count(); }
    [[nodiscard]] int currentTab() const { return tabs_.current(); }
    /// All tabs and where the panels are; errors are shown. Runs that are watched are left out.
    void saveSession(const QString& file);
    void openSession(const QString& file) { tabs_.openSession(file); }
    /// Sets another run beside the open one.
    void compareWith(const QStringList& paths);
    /// Watches a run while it goes on. loaded() tells of the first steps that were put together.
    void watch(const LiveTarget& target);
    /// Starts our own runtime and watches it.
    void runSchedule(const RunPlan& plan);
    /// Brings a panel to the front by its name, such as "anomalies". False if there is none.
    bool showPanel(const QString& name) { return docks_->show(name); }

    /// Opens the schedule explorer, or brings it to the front; at first with sizes and times of the run that is open.
    ScheduleExplorer& openExplorer();
    void showIdeal(bool on);
    /// Opens the manual, or brings it to the front.
    ManualWindow& openManual();
    /// Opens one of demoTraces(), made if it is not there yet; the first time with the tour.
    void openDemo(const QString& name);
    /// Shows the user around, on a demo where nothing is open. `step` counts from 0.
    void startTour(int step = 0);
    /// The tour that is being taken, or null.
    [[nodiscard]] Tour* tour() const { return tours_.tour(); }

    /// What the menus and the welcome page ask the user for.
    void chooseFiles();
    void chooseDirectory();
    void chooseComparison();
    void chooseExport();
    void chooseSessionToSave();
    void chooseSessionToOpen();
    void chooseLive() { live_.chooseTarget(this); }
    void chooseRun() { live_.chooseRun(themes_, this); }
    void chooseTheme(ThemeChoice choice);
    void chooseLanguage(Language language);

    [[nodiscard]] ViewState& state() { return state_; }
    [[nodiscard]] NoteStore& noteStore() { return notes_; }
    [[nodiscard]] LiveController& live() { return live_.controller(); }
    [[nodiscard]] RunProcess& process() { return live_.process(); }
    [[nodiscard]] ThemeManager& themes() { return themes_; }
    [[nodiscard]] LanguageManager& languages() { return languages_; }

signals:
    void loaded();
    void failed(const bubblescope::Error& error);

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void connectParts();
    void build();
    void clear();
    void rebuild();
    void buildCentre();
    QStackedWidget* buildPages(QWidget* parent);
    QWidget* buildLiveBar(QWidget* parent);
    void buildStatusBar();
    void showError(const Error& error);
    void showMessage(const QString& text, int milliseconds);
    void showTitle(const QString& trace);
    void showSession();
    void showPage();
    void showPreview();
    void showLive();
    void showHovered(const ItemRef& item);
    void addRecent(const QStringList& paths);
    void restoreSettings();

    RunLoader loader_;
    const bool remember_;
    ThemeManager themes_;
    LanguageManager languages_;
    ViewState state_;
    NoteStore notes_{state_};
    LiveWatch live_{state_};
    TraceTabs tabs_;
    DockPanels* docks_;
    TourLauncher tours_;

    // Made anew with the language.
    MessageBar* message_ = nullptr;
    QStackedWidget* pages_ = nullptr;
    WelcomePanel* welcome_ = nullptr;
    TimelineView* timeline_ = nullptr;
    LoadPreviewView* preview_ = nullptr;
    QLabel* live_waiting_ = nullptr; ///< in place of a timeline, before there is one
    QWidget* overview_ = nullptr;
    IdealOverlay* ideal_ = nullptr;
    ScheduleExplorer* explorer_ = nullptr;
    LoadIndicator* load_ = nullptr;
    QLabel* hover_ = nullptr;
    QToolButton* problems_ = nullptr;

    ManualWindow* manual_ = nullptr;
};

} // namespace bubblescope::gui
