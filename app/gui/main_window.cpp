#include "app/gui/main_window.h"

#include "app/gui/central_area.h"
#include "app/gui/explorer/schedule_explorer.h"
#include "app/gui/jobs/application.h"
#include "app/gui/keyboard.h"
#include "app/gui/live/live_bar.h"
#include "app/gui/live/live_models.h"
#include "app/gui/main_menus.h"
#include "app/gui/manual_window.h"
#include "app/gui/models/demo_files.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/recent_files.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/panels/bars.h"
#include "app/gui/panels/dropped_files.h"
#include "app/gui/panels/file_dialogs.h"
#include "app/gui/panels/model_dialog.h"
#include "app/gui/panels/ranks_dialog.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/panels/unopened_panel.h"
#include "app/gui/panels/welcome_panel.h"
#include "app/gui/preferences_dialog.h"
#include "app/gui/remote/remote_dialog.h"
#include "app/gui/status_line.h"
#include "app/gui/timeline/timeline_view.h"
#include "app/gui/trace_exports.h"
#include "core/base/visible.h"

#include <QCloseEvent>
#include <QStatusBar>
#include <QToolBar>
#include <QVBoxLayout>

namespace bubblescope::gui {

MainWindow::MainWindow(RunLoader loader, bool remember, QWidget* parent)
    : QMainWindow(parent), loader_(withDemos(std::move(loader))),
      preferences_({themes_, languages_, notes_, state_}, remember), tabs_(loader_, state_, live_.controller(), notes_),
      docks_(new DockPanels(*this)) {
    setDockOptions(AnimatedDocks | AllowNestedDocks | AllowTabbedDocks);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    connect(&tabs_, &TraceTabs::titleChanged, this, &MainWindow::showTitle);
    new KeyGuard(this);
    const auto* const drops = new FileDrops(*this, state_);
    connect(drops, &FileDrops::openRequested, this, &MainWindow::open);
    connect(drops, &FileDrops::openBesideRequested, this, &MainWindow::openBeside);
    connect(drops, &FileDrops::openEachRequested, this, &MainWindow::openEach);
    connect(drops, &FileDrops::compareRequested, this, &MainWindow::compareWith);
    // The central widget and the docks remain when the language changes, so that nothing moves.
    setCentralWidget(new QWidget(this));
    (new QVBoxLayout(centralWidget()))->setContentsMargins(0, 0, 0, 0);
    build();
    connectParts();
    resize(1280, 800);
    restoreLayout();
    showSession();
}

MainWindow::~MainWindow() {
    // The views use the members, and QObject would delete the views after the members.
    clear();
    delete manual_;
}

/// Connects the parts that remain when the views are recreated. Views are connected to the state before the window, so
/// they are up to date when the window is notified.
void MainWindow::connectParts() {
    connect(&state_, &ViewState::sessionChanged, this, &MainWindow::showSession);
    connect(&tabs_, &TraceTabs::loadStarted, this, [this] { centre_->message().hide(); });
    connect(&tabs_, &TraceTabs::opened, this, &MainWindow::addRecent);
    connect(&tabs_, &TraceTabs::switched, this, [this] {
        centre_->showPage();
        centre_->focusPage();
    });
    connect(&tabs_, &TraceTabs::sessionAsks, this,
            [this](const QString& file) { askAboutSession(*this, tabs_, file); });
    connect(&tabs_, &TraceTabs::refused, this, &MainWindow::showError);
    connect(&tabs_, &TraceTabs::loaded, this, &MainWindow::loaded);
    connect(&tabs_, &TraceTabs::failed, this, &MainWindow::failed);
    connect(&tabs_, &TraceTabs::cancelled, this, [this] { showMessage(tr("Loading was cancelled"), 4000); });
    connect(&tabs_, &TraceTabs::sessionOpened, this, [this](const QByteArray& docks) {
        if (!docks.isEmpty()) docks_->restore(docks);
    });
    connect(&tabs_.job(), &BackgroundJob::progress, this, [this] { centre_->showPreview(); });
    connect(&tabs_.job(), &BackgroundJob::runningChanged, this, [this](bool running) {
        if (!running) centre_->showPage();
    });
    connect(&live_, &LiveWatch::changed, this, &MainWindow::showLive);
    connect(&live_, &LiveWatch::watchRequested, this, &MainWindow::watch);
    connect(&live_, &LiveWatch::runRequested, this, &MainWindow::runSchedule);
    connect(&live_, &LiveWatch::message, this, &MainWindow::showMessage);
    connect(&live_, &LiveWatch::refused, this, &MainWindow::showError);
    connect(&live_, &LiveWatch::loaded, this, &MainWindow::loaded);
    connect(&live_, &LiveWatch::failed, this, &MainWindow::failed);
    connect(docks_, &DockPanels::message, this, &MainWindow::showMessage);
    connect(&notes_, &NoteStore::failed, this, &MainWindow::showError);
    if (auto* const application = qobject_cast<Application*>(QCoreApplication::instance()))
        connect(application, &Application::failed, this, &MainWindow::showError);
    // Queued, because the signal may come from a menu that the rebuild deletes.
    connect(&languages_, &LanguageManager::changed, this, &MainWindow::rebuild, Qt::QueuedConnection);
    connect(&preferences_, &Preferences::timeStyleChosen, this, &MainWindow::rebuild, Qt::QueuedConnection);
}

// ---- Building ------------------------------------------------------------------------------------

void MainWindow::build() {
    buildCentre();
    docks_->build({loader_, state_, themes_, notes_, live_.controller()});
    ComparePanel& compare = docks_->compare();
    compare.setChoices([this] { return tabs_.runsToCompare(preferences_.remember()); });
    const auto compare_with = [this](const QStringList& paths) { compareWith(paths); };
    connect(&compare, &ComparePanel::fileRequested, this,
            [this, compare_with] { askForTraces(*this, tr("Open the run to compare with"), compare_with); });
    connect(&compare, &ComparePanel::folderRequested, this,
            [this, compare_with] { askForTraceFolder(*this, compare_with); });
    tabs_.setViews(compare, centre_->ideal());
    live_.setPanel(docks_->livePanel());
    buildStatusLine();
    auto* const exports = new TraceExports({state_, themes_, tabs_, *centre_}, *this);
    connect(exports, &TraceExports::written, this, &MainWindow::showWritten);
    connect(exports, &TraceExports::noted, this, &MainWindow::showMessage);
    buildMenus(*this, {state_, themes_, languages_, preferences_, tabs_, live_, *docks_, *exports, centre_->timeline(),
                       centre_->ideal()});
    tools_ = makeToolBar(*this);
    if (!languages_.hasFont())
        centre_->message().showInEnglish(
            runError("No installed font has Chinese characters",
                     "install one, such as Noto Sans CJK (Debian package fonts-noto-cjk), and restart"));
}

/// Deletes everything created by build().
void MainWindow::clear() {
    docks_->clear();
    delete centre_;
    delete tools_;
    setMenuBar(nullptr); // deletes the old menu bar
    setStatusBar(nullptr);
    delete explorer_;
    explorer_ = nullptr;
}

/// Recreates all widgets in the current language. Their content is part of the state and remains.
void MainWindow::rebuild() {
    tabs_.saveViews();
    state_.setReference(nullptr);
    clear();
    build();
    if (manual_ != nullptr) manual_->setLanguage(languages_.current());
    showRecent();
    if (state_.session()) emit state_.sessionChanged(); // the new views have missed this signal
    tabs_.restoreViews();
    showSession();
}

void MainWindow::buildCentre() {
    centre_ = new CentralArea({state_, themes_, notes_, preferences_, tabs_, live_}, centralWidget());
    centralWidget()->layout()->addWidget(centre_);
    connect(centre_, &CentralArea::noted, this, &MainWindow::showMessage);
    connect(&centre_->summary(), &SummaryBar::findingChosen, docks_, &DockPanels::showAnomalies);
    connect(centre_, &CentralArea::statementChosen, this, &MainWindow::showStatement);
    connect(&centre_->timeline(), &TimelineView::timeRangeChosen, docks_, &DockPanels::showRange);
    connect(&centre_->timeline(), &TimelineView::hovered, this, &MainWindow::showHovered);
    connect(centre_, &CentralArea::problemsRequested, docks_, &DockPanels::showProblems);
    connect(centre_, &CentralArea::stacksRequested, docks_, &DockPanels::showStacks);
    connect(&centre_->liveBar(), &LiveBar::alertChosen, docks_, &DockPanels::showLive);
    connect(&centre_->liveBar(), &LiveBar::openRequested, this,
            [this] { openBeside(recordedFolders(live().target(), *live().snapshot())); });
    const UnopenedPanel* const unopened = &centre_->unopened();
    const auto locate = [this](const QStringList& paths) { tabs_.locate(paths); };
    connect(unopened, &UnopenedPanel::locateFilesRequested, this,
            [this, locate] { askForTraces(*this, tr("Locate the trace"), locate); });
    connect(unopened, &UnopenedPanel::locateFolderRequested, this,
            [this, locate] { askForTraceFolder(*this, locate); });
    connect(unopened, &UnopenedPanel::retryRequested, this, [this] { tabs_.locate(tabs_.front().paths); });
    const WelcomePanel* const welcome = &centre_->welcome();
    connect(welcome, &WelcomePanel::openFilesRequested, this, &MainWindow::chooseFiles);
    connect(welcome, &WelcomePanel::openDirectoryRequested, this, &MainWindow::chooseDirectory);
    connect(welcome, &WelcomePanel::watchRequested, this, &MainWindow::chooseLive);
    connect(welcome, &WelcomePanel::runRequested, this, &MainWindow::chooseRun);
    connect(welcome, &WelcomePanel::recentChosen, this, &MainWindow::openBeside);
    connect(welcome, &WelcomePanel::demoChosen, this, &MainWindow::openDemo);
    connect(welcome, &WelcomePanel::firstStepsRequested, this, [this] { openManual(kFirstStepsPage); });
}

void MainWindow::buildStatusLine() {
    status_ = new StatusLine(*statusBar(), tabs_);
    connect(status_, &StatusLine::problemsRequested, docks_, &DockPanels::showProblems);
}

// ---- Showing -------------------------------------------------------------------------------------

void MainWindow::showError(const Error& error) {
    centre_->message().showError(error);
}

void MainWindow::showMessage(const QString& text, int milliseconds) {
    status_->showMessage(text, milliseconds);
}

void MainWindow::showWritten(const Status& written, const QString& file) {
    if (!written.ok()) return showError(written.error());
    showMessage(tr("Written: %1").arg(file), 4000);
}

void MainWindow::showTitle(const QString& trace) {
    setWindowTitle(trace.isEmpty() ? tr("Bubblescope")
                                   : tr("%1 – Bubblescope").arg(QString::fromStdString(visible(trace.toStdString()))));
}

void MainWindow::showStatement(const Statement& statement) {
    docks_->showStatement(statement);
    const std::string& kind = statement.kind;
    if (kind == "guessed-ranks" || kind == "unknown-rank" || kind == "rank-contradiction") chooseRanks();
}

void MainWindow::showSession() {
    const SessionPtr session = state_.session();
    centre_->showPage();
    const auto content = session == nullptr    ? DockPanels::Content::Nothing
                         : session->hasSteps() ? DockPanels::Content::Pipeline
                                               : DockPanels::Content::Trace;
    if (docks_->show(content) && live().active() && !live().parked()) docks_->showLive();
    showHovered({});
    // Problems are known for complete traces, but not for previews.
    const bool known = session != nullptr && !tabs_.front().first_steps_only;
    status_->showProblems(known ? std::optional(session->run.problems.size()) : std::nullopt);
}

void MainWindow::showLive() {
    centre_->showPage();
    const LiveSnapshotPtr& watched = live().snapshot();
    const LiveAlert* const worst = watched ? worstOpen(*watched) : nullptr;
    tabs_.markLive(worst == nullptr ? QString() : alertText(*worst, *watched));
    docks_->followLive(live(), state_.session() != nullptr);
}

void MainWindow::showHovered(const ItemRef& item) {
    // The details panel shows the complete text.
    status_->setHovered(state_.session() == nullptr ? QString()
                        : item                      ? oneLine(*state_.session(), item)
                               : tr("Wheel zooms, drag pans, click selects; ? shows all shortcuts"));
}

// ---- Requests of users ---------------------------------------------------------------------------

void MainWindow::openEach(const QStringList& paths) {
    for (const QString& path : paths)
        openBeside({path});
}

void MainWindow::addRecent(const QStringList& paths) {
    if (!preferences_.remember() || isDemo(paths)) return;
    RecentFiles::add(paths);
    showRecent();
}

void MainWindow::showRecent() {
    if (preferences_.remember()) centre_->welcome().setRecent(RecentFiles::load());
}

void MainWindow::compareWith(const QStringList& paths) {
    showPanel(QStringLiteral("compare"));
    docks_->compare().compareWith(paths);
}

void MainWindow::watch(const LiveTarget& target) {
    centre_->message().hide();
    tabs_.showLive(target.name());
    live_.start(target);
}

void MainWindow::runSchedule(const RunPlan& plan) {
    if (process().running()) return;
    process().start(commandLineProgram(), plan.arguments());
    LiveTarget target;
    target.folders << plan.folder;
    watch(target);
}

void MainWindow::saveSession(const QString& file) {
    showWritten(tabs_.saveSession(file, docks_->arrangement()), file);
}

ScheduleExplorer& MainWindow::openExplorer() {
    if (explorer_ == nullptr) {
        explorer_ = new ScheduleExplorer(themes_, this);
        connect(explorer_, &ScheduleExplorer::runRequested, this,
                [this](const QString& file, const ScheduleSpec& spec) {
                    live_.chooseRunOf(file, spec, themes_, this);
                    activateWindow();
                });
        explorer_->setOpenStep([this] { return std::pair(state_.session(), state_.step()); });
        if (state_.pipeline()) explorer_->startFrom(*state_.session(), state_.step());
    }
    explorer_->show();
    explorer_->raise();
    explorer_->activateWindow();
    return *explorer_;
}

ManualWindow& MainWindow::openManual(const QString& page) {
    if (manual_ == nullptr) manual_ = new ManualWindow(themes_, languages_.current(), this);
    if (!page.isEmpty()) manual_->open(page);
    manual_->show();
    manual_->raise();
    manual_->activateWindow();
    return *manual_;
}

void MainWindow::showIdeal(bool on) {
    centre_->ideal().setOn(on);
}

void MainWindow::openDemo(const QString& name) {
    open({demoFile(name)});
}

void MainWindow::chooseFiles() {
    askForTraces(*this, tr("Open traces"), [this](const QStringList& files) { openBeside(files); });
}

void MainWindow::chooseDirectory() {
    askForTraceFolder(*this, [this](const QStringList& folders) { openBeside(folders); });
}

void MainWindow::chooseComparison() {
    showPanel(QStringLiteral("compare"));
    docks_->compare().choose();
}

void MainWindow::chooseRanks() {
    if (!state_.session()) return;
    auto* const dialog = new RanksDialog(*state_.session(), tabs_.front().taught.ranks, this);
    connect(dialog, &RanksDialog::stated, this, [this](const std::vector<RankRule>& rules) {
        Taught taught = tabs_.front().taught;
        taught.ranks = rules;
        tabs_.reopen(taught);
    });
    openDialog(dialog);
}

void MainWindow::chooseModel() {
    if (state_.session()) openDialog(new ModelDialog(state_, themes_, this));
}

void MainWindow::openRemote(const QString& address) {
    auto* const dialog = new RemoteDialog(preferences_.remember(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &RemoteDialog::fetched, this, &MainWindow::openBeside);
    if (address.isEmpty())
        dialog->show();
    else
        dialog->openAddress(address);
}

void MainWindow::openPreferences() {
    openDialog(new PreferencesDialog(preferences_, this));
}

void MainWindow::chooseSessionToSave() {
    const QString name = tabs_.front().title.section(QLatin1Char('.'), 0, 0);
    askWhereToSaveSession(*this, name.isEmpty() ? tr("session") : name,
                          [this](const QString& file) { saveSession(file); });
}

void MainWindow::chooseSessionToOpen() {
    askForSession(*this, [this](const QString& file) { openSession(file); });
}

// ---- Settings and events -------------------------------------------------------------------------

void MainWindow::restoreLayout() {
    if (!preferences_.remember()) return;
    const Preferences::Layout layout = preferences_.layout();
    restoreGeometry(layout.geometry);
    docks_->restore(layout.docks);
    state_.setRows(preferences_.rows());
    showRecent();
}

bool MainWindow::focusNextPrevChild(bool next) {
    QWidget* const widget = nextInFocusOrder(*this, next);
    if (widget == nullptr) return false;
    widget->setFocus(next ? Qt::TabFocusReason : Qt::BacktabFocusReason);
    return true;
}

void MainWindow::closeEvent(QCloseEvent* event) {
    tabs_.stopLoad();
    preferences_.saveLayout({saveGeometry(), docks_->arrangement()});
    preferences_.saveRows(state_.rowPreferences());
    QMainWindow::closeEvent(event);
}

} // namespace bubblescope::gui
