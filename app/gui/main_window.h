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

/// Connects the parts of the app: the open traces (TraceTabs), the watched run (LiveWatch), the panels (DockPanels),
/// the menus (buildMenus) and the views in the centre (CentralArea). ViewState holds what is shown; the views define
/// how it is shown.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    /// `remember`: restore and save theme, layout and recent files in QSettings.
    MainWindow(RunLoader loader, bool remember, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// See TraceTabs.
    void open(const QStringList& paths) { tabs_.open(paths); }
    void openBeside(const QStringList& paths) { tabs_.openBeside(paths); }
    /// Opens each trace in a separate tab.
    void openEach(const QStringList& paths);
    void cancelLoad() { tabs_.cancelLoad(); }
    [[nodiscard]] bool loading() const { return tabs_.loading(); }
    /// Brings a tab to the front, with its last view.
    void showTab(int tab) { tabs_.show(tab); }
    void closeTab(int tab) { tabs_.close(tab); }
    [[nodiscard]] int tabCount() const { return tabs_.count(); }
    [[nodiscard]] int currentTab() const { return tabs_.current(); }
    /// Saves all tabs and the arrangement of the panels; shows errors. Watched runs are not saved.
    void saveSession(const QString& file);
    void openSession(const QString& file) { tabs_.openSession(file); }
    /// Compares the open run with another one.
    void compareWith(const QStringList& paths);
    /// Watches a run in progress. loaded() is emitted with its first complete steps.
    void watch(const LiveTarget& target);
    /// Starts our own runtime and watches it.
    void runSchedule(const RunPlan& plan);
    /// Brings the panel with this name to the front, such as "anomalies". Returns false if there is none.
    bool showPanel(const QString& name) { return docks_->show(name); }

    /// Opens the schedule explorer, or brings it to the front; the first time, with sizes and times of the open run.
    ScheduleExplorer& openExplorer();
    void showIdeal(bool on);
    /// Opens the manual or brings it to the front, at a page unless `page` is empty.
    ManualWindow& openManual(const QString& page = {});
    /// Opens one of demoTraces(), creating it if necessary.
    void openDemo(const QString& name);

    /// Actions of the menus and the welcome page that ask for more input, such as files.
    void chooseFiles();
    void chooseDirectory();
    /// Opens traces on another machine; asks for the address if `address` is empty.
    void openRemote(const QString& address = {});
    /// Offers open tabs, recent runs, files and folders.
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

    // Rebuilt when the language changes.
    QToolBar* tools_ = nullptr;
    CentralArea* centre_ = nullptr;
    StatusLine* status_ = nullptr;
    ScheduleExplorer* explorer_ = nullptr;

    ManualWindow* manual_ = nullptr;
};

} // namespace bubblescope::gui
