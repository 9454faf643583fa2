#pragma once

#include "app/gui/dock_panels.h"
#include "app/gui/language/language.h"
#include "app/gui/live_watch.h"
#include "app/gui/models/notes.h"
#include "app/gui/models/view_state.h"
#include "app/gui/preferences.h"
#include "app/gui/theme/theme.h"
#include "app/gui/trace_tabs.h"

#include <QMainWindow>

class QToolBar;

namespace bubblescope::gui {

class CentralArea;
class ManualWindow;
class ScheduleExplorer;
class StatusLine;

/// Connects the parts of the app: open traces (TraceTabs), the watched run (LiveWatch), panels (DockPanels), menus
/// (buildMenus) and the views in the centre (CentralArea). ViewState contains the shared state of the views, such as
/// the selection.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    /// If `remember` is set, restores and saves theme, layout and recent files in QSettings.
    MainWindow(RunLoader loader, bool remember, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// See TraceTabs.
    void open(const QStringList& paths) { tabs_.open(paths); }
    void openBeside(const QStringList& paths) { tabs_.openBeside(paths); }
    /// Opens each trace in a separate tab.
    void openEach(const QStringList& paths);
    void cancelLoad() { tabs_.cancelLoad(); }
    [[nodiscard]] bool loading() const { return tabs_.loading(); }
    /// Selects a tab and restores its last view.
    void showTab(int tab) { tabs_.show(tab); }
    void closeTab(int tab) { tabs_.close(tab); }
    [[nodiscard]] int tabCount() const { return tabs_.count(); }
    [[nodiscard]] int currentTab() const { return tabs_.current(); }
    /// Saves all tabs and the layout of the panels; shows errors. Watched runs are not saved.
    void saveSession(const QString& file);
    void openSession(const QString& file) { tabs_.openSession(file); }
    /// Compares the open run with another run.
    void compareWith(const QStringList& paths);
    /// Watches a run in progress. Emits loaded() with the first complete steps.
    void watch(const LiveTarget& target);
    /// Starts a run with `bubblescope run` and watches it.
    void runSchedule(const RunPlan& plan);
    /// Raises the panel with this name, such as "anomalies". Returns false if there is no such panel.
    bool showPanel(const QString& name) { return docks_->show(name); }

    /// Opens or raises the schedule explorer. Initially, the explorer shows the sizes and times of the open run.
    ScheduleExplorer& openExplorer();
    void showIdeal(bool on);
    /// Opens or raises the manual, at the given page unless `page` is empty.
    ManualWindow& openManual(const QString& page = {});
    /// Opens one of demoTraces(), creating the trace if necessary.
    void openDemo(const QString& name);

    /// Actions of the menus and the welcome page that open a dialog.
    void chooseFiles();
    void chooseDirectory();
    /// Opens traces that are stored on another machine. If `address` is empty, a dialog asks for the address.
    void openRemote(const QString& address = {});
    /// Lets the user choose from open tabs, recent runs, files and folders.
    void chooseComparison();
    void chooseRanks();
    void chooseModel();
    void openPreferences();
    void chooseSessionToSave();
    void chooseSessionToOpen();
    void chooseLive() { live_.chooseTarget(this); }
    void chooseRun() { live_.chooseRun(themes_, this); }

    [[nodiscard]] ViewState& state() { return state_; }
    [[nodiscard]] NoteStore& noteStore() { return notes_; }
    [[nodiscard]] LiveController& live() { return live_.controller(); }
    [[nodiscard]] RunProcess& process() { return live_.process(); }
    [[nodiscard]] ThemeManager& themes() { return themes_; }
    [[nodiscard]] LanguageManager& languages() { return languages_; }
    [[nodiscard]] Preferences& preferences() { return preferences_; }

signals:
    void loaded();
    void failed(const bubblescope::Error& error);

protected:
    bool focusNextPrevChild(bool next) override;
    void closeEvent(QCloseEvent* event) override;

private:
    void connectParts();
    void build();
    void clear();
    void rebuild();
    void buildCentre();
    void buildStatusLine();
    void showError(const Error& error);
    void showMessage(const QString& text, int milliseconds);
    void showWritten(const Status& written, const QString& file);
    void showTitle(const QString& trace);
    void showStatement(const Statement& statement);
    void showSession();
    void showLive();
    void showHovered(const ItemRef& item);
    void addRecent(const QStringList& paths);
    void showRecent();
    void restoreLayout();

    RunLoader loader_;
    ThemeManager themes_;
    LanguageManager languages_;
    ViewState state_;
    NoteStore notes_{state_};
    Preferences preferences_;
    LiveWatch live_{state_};
    TraceTabs tabs_;
    DockPanels* docks_;

    // Recreated when the language changes.
    QToolBar* tools_ = nullptr;
    CentralArea* centre_ = nullptr;
    StatusLine* status_ = nullptr;
    ScheduleExplorer* explorer_ = nullptr;

    ManualWindow* manual_ = nullptr;
};

} // namespace bubblescope::gui
