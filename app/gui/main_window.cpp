#include "app/gui/main_window.h"

#include "app/gui/explorer/schedule_explorer.h"
#include "app/gui/export_view.h"
#include "app/gui/focus_order.h"
#include "app/gui/help/manual_window.h"
#include "app/gui/item_menu.h"
#include "app/gui/jobs/application.h"
#include "app/gui/key_guard.h"
#include "app/gui/live/live_bar.h"
#include "app/gui/live/live_models.h"
#include "app/gui/main_menus.h"
#include "app/gui/models/demo_files.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/recent_files.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/models/session_file.h"
#include "app/gui/panels/bars.h"
#include "app/gui/panels/rows_bar.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/panels/welcome_panel.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/plain/plain_page.h"
#include "app/gui/timeline/load_preview_view.h"
#include "app/gui/timeline/overview_bar.h"

#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QFileDialog>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QSettings>
#include <QSortFilterProxyModel>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QToolBar>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include <filesystem>
#include <initializer_list>

namespace bubblescope::gui {

namespace {

const QString kGeometryKey = QStringLiteral("window/geometry");
const QString kLayoutKey = QStringLiteral("window/layout");
const QString kThemeKey = QStringLiteral("theme");
const QString kLanguageKey = QStringLiteral("language");
const QString kHiddenLanesKey = QStringLiteral("rows/hidden");
const QString kCountersKey = QStringLiteral("rows/counters");
const QString kWheelKey = QStringLiteral("mouse/wheel");
const QString kWheelZooms = QStringLiteral("zooms");
const QString kWheelScrolls = QStringLiteral("scrolls");
const QString kNotesKey = QStringLiteral("notes/place");
const QString kNotesApp = QStringLiteral("app");
const QString kNotesBeside = QStringLiteral("beside");
const QString kCentre = QStringLiteral("centre"); ///< the part of the central widget that is rebuilt

QStringList localPaths(const QMimeData& data) {
    QStringList paths;
    for (const QUrl& url : data.urls()) {
        if (url.isLocalFile()) paths << url.toLocalFile();
    }
    return paths;
}

/// Which kinds of lanes are shown is a preference, not a property of the trace.
RowChoice usualRows(const QSettings& settings) {
    RowChoice rows;
    const QStringList hidden = settings.value(kHiddenLanesKey).toStringList();
    for (std::size_t i = 0; i < kLaneGroupCount; ++i)
        rows.hidden[i] = hidden.contains(QLatin1String(kLaneGroupNames[i].data(), kLaneGroupNames[i].size()));
    rows.counters = settings.value(kCountersKey).toBool();
    return rows;
}

void saveUsualRows(QSettings& settings, const RowChoice& rows) {
    QStringList hidden;
    for (std::size_t i = 0; i < kLaneGroupCount; ++i) {
        if (rows.hidden[i]) hidden << QLatin1String(kLaneGroupNames[i].data(), kLaneGroupNames[i].size());
    }
    settings.setValue(kHiddenLanesKey, hidden);
    settings.setValue(kCountersKey, rows.counters);
}

/// Leaves files of notes out of a file dialog: their names look like traces.
class WithoutNotes : public QSortFilterProxyModel {
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override {
        return !isNotesFile(sourceModel()->index(row, 0, parent).data().toString().toStdString());
    }
};

void leaveOutNotes(QFileDialog& dialog) {
    dialog.setOption(QFileDialog::DontUseNativeDialog); // which takes no filter but endings
    dialog.setProxyModel(new WithoutNotes(&dialog));
}

/// The filter of file dialogs for sessions.
QString sessionFilter() {
    return MainWindow::tr("Sessions (*%1)").arg(QLatin1String(kSessionSuffix.data(), kSessionSuffix.size()));
}

} // namespace

MainWindow::MainWindow(RunLoader loader, bool remember, QWidget* parent)
    : QMainWindow(parent), loader_(withDemos(std::move(loader))), remember_(remember),
      tabs_(loader_, state_, live_.controller(), notes_), docks_(new DockPanels(*this)) {
    setAcceptDrops(true);
    setDockOptions(AnimatedDocks | AllowNestedDocks | AllowTabbedDocks);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    if (remember_) {
        const QSettings settings;
        if (settings.value(kNotesKey).toString() == kNotesBeside) notes_.setPlace(NotePlace::Beside);
        if (settings.value(kWheelKey).toString() == kWheelScrolls) wheel_ = TimelineView::Wheel::Scrolls;
        languages_.choose(languageFromKey(settings.value(kLanguageKey).toString()).value_or(Language::System));
        themes_.choose(themeFromKey(settings.value(kThemeKey).toString()).value_or(ThemeChoice::System));
    }
    connect(&tabs_, &TraceTabs::titleChanged, this, &MainWindow::showTitle);
    new KeyGuard(this);
    build();
    connectParts();
    resize(1280, 800);
    restoreSettings();
    showSession();
}

MainWindow::~MainWindow() {
    // The views use the members; QObject would delete them after the members.
    clear();
    delete manual_;
}

/// Connects what survives a rebuild of the window. The views have connected to the state before, so they are up to date
/// when the window is notified.
void MainWindow::connectParts() {
    connect(&state_, &ViewState::sessionChanged, this, &MainWindow::showSession);
    connect(&tabs_, &TraceTabs::loadStarted, this, [this](const QString& name) {
        load_->setName(name);
        message_->hide();
    });
    connect(&tabs_, &TraceTabs::opened, this, &MainWindow::addRecent);
    connect(&tabs_, &TraceTabs::switched, this, [this] {
        if (tabs_.front().plain) return plain_->view().setFocus();
        timeline_->setFocus();
    });
    connect(&tabs_, &TraceTabs::refused, this, &MainWindow::showError);
    connect(&tabs_, &TraceTabs::loaded, this, &MainWindow::loaded);
    connect(&tabs_, &TraceTabs::failed, this, &MainWindow::failed);
    connect(&tabs_, &TraceTabs::cancelled, this, [this] { showMessage(tr("Loading was cancelled"), 4000); });
    connect(&tabs_, &TraceTabs::sessionOpened, this, [this](const QByteArray& docks) {
        if (!docks.isEmpty()) docks_->restore(docks);
    });
    connect(&tabs_.job(), &BackgroundJob::progress, this, &MainWindow::showPreview);
    connect(&tabs_.job(), &BackgroundJob::runningChanged, this, [this](bool running) {
        if (!running) showPage();
    });
    connect(&live_, &LiveWatch::changed, this, &MainWindow::showLive);
    connect(&live_, &LiveWatch::watchRequested, this, &MainWindow::watch);
    connect(&live_, &LiveWatch::runRequested, this, &MainWindow::runSchedule);
    connect(&live_, &LiveWatch::message, this, &MainWindow::showMessage);
    connect(&live_, &LiveWatch::refused, this, &MainWindow::showError);
    connect(&live_, &LiveWatch::loaded, this, &MainWindow::loaded);
    connect(&live_, &LiveWatch::failed, this, &MainWindow::failed);
    connect(docks_, &DockPanels::comparisonRequested, this, &MainWindow::chooseComparison);
    connect(docks_, &DockPanels::message, this, &MainWindow::showMessage);
    connect(&themes_, &ThemeManager::changed, this, [this] { message_->setTheme(themes_.theme()); });
    connect(&notes_, &NoteStore::failed, this, &MainWindow::showError);
    if (auto* const application = qobject_cast<Application*>(QCoreApplication::instance()))
        connect(application, &Application::failed, this, &MainWindow::showError);
    // Queued: the signal may come from a menu that the rebuild deletes.
    connect(&languages_, &LanguageManager::changed, this, &MainWindow::rebuild, Qt::QueuedConnection);
}

// ---- Building ------------------------------------------------------------------------------------

void MainWindow::build() {
    buildCentre();
    docks_->build({loader_, state_, themes_, notes_, live_.controller()});
    tabs_.setViews(docks_->compare(), *ideal_, *plain_);
    live_.setPanel(docks_->livePanel());
    buildStatusBar();
    buildMenus(*this, {state_, themes_, languages_, tabs_, live_, *docks_, *timeline_, *ideal_});
    tools_ = makeToolBar(*this);
    message_->setTheme(themes_.theme());
    if (!languages_.hasFont())
        message_->showInEnglish(
            runError("No font here has Chinese letters",
                     "install one, such as Noto Sans CJK (Debian's package fonts-noto-cjk), and start again"));
}

/// Deletes all that build() makes. Docks and the central widget are emptied but stay, so that nothing moves.
void MainWindow::clear() {
    docks_->clear();
    delete centralWidget()->findChild<QWidget*>(kCentre, Qt::FindDirectChildrenOnly);
    delete tools_;
    setMenuBar(nullptr); // deletes the old menu bar
    setStatusBar(nullptr);
    delete explorer_;
    delete ideal_;
    ideal_ = nullptr;
    explorer_ = nullptr;
}

/// Rebuilds all widgets in the current language. What they show lives in the state and is kept.
void MainWindow::rebuild() {
    tabs_.saveViews();
    state_.setReference(nullptr);
    PlainSnapshots plain = plain_->snapshots();
    clear();
    build();
    plain_->setSnapshots(std::move(plain));
    if (manual_ != nullptr) manual_->setLanguage(languages_.current());
    if (remember_) welcome_->setRecent(RecentFiles::load());
    if (state_.session()) emit state_.sessionChanged(); // the new views have missed it
    tabs_.restoreViews();
    showSession();
}

void MainWindow::buildCentre() {
    if (centralWidget() == nullptr) {
        setCentralWidget(new QWidget(this));
        auto* frame = new QVBoxLayout(centralWidget());
        frame->setContentsMargins(0, 0, 0, 0);
    }
    auto* centre = new QWidget(centralWidget());
    centre->setObjectName(kCentre);
    centralWidget()->layout()->addWidget(centre);
    QVBoxLayout* column = tightColumn(*centre);
    message_ = new MessageBar(centre);
    summary_ = new SummaryBar(state_, themes_, centre);
    connect(summary_, &SummaryBar::findingChosen, docks_, &DockPanels::showAnomalies);
    pages_ = buildPages(centre);
    overview_ = new OverviewBar(state_, themes_, centre);
    auto* search = new SearchBar(state_, timeline_);
    auto* wheel = buildWheelQuestion(centre);
    auto* notes = buildNotesQuestion(centre);
    ideal_ = new IdealOverlay(state_, this);
    auto* tabs = tabs_.makeBar(centre);
    auto* live_bar = buildLiveBar(centre);
    auto* reference = new ReferenceBar(state_, centre);
    auto* rows = new RowsBar(state_, centre);
    for (QWidget* bar :
         std::initializer_list<QWidget*>{tabs, message_, wheel, notes, live_bar, summary_, overview_, reference, rows})
        column->addWidget(bar);
    column->addWidget(pages_, 1);

    connect(timeline_, &TimelineView::searchRequested, search, &SearchBar::open);
    connect(timeline_, &TimelineView::hitRequested, search, &SearchBar::step);
    connect(timeline_, &TimelineView::timeRangeChosen, docks_, &DockPanels::showRange);
    connect(timeline_, &TimelineView::menuRequested, this, [this, search](const ItemRef& item, const QPoint& where) {
        makeItemMenu({state_, *timeline_, notes_, *search}, item, this)->popup(where);
    });
    connect(&tabs_, &TraceTabs::searchGoesOn, search, &SearchBar::find);
    connect(search, &SearchBar::stepped, this, [this](const QString& counter) { showMessage(counter, 2000); });
    connect(search, &SearchBar::closed, timeline_, qOverload<>(&QWidget::setFocus));
    connect(timeline_, &TimelineView::idealRequested, this, [this] { ideal_->setOn(!ideal_->on()); });
    connect(timeline_, &TimelineView::filterRequested, rows, &RowsBar::open);
    connect(rows, &RowsBar::closed, timeline_, qOverload<>(&QWidget::setFocus));
    connect(timeline_, &TimelineView::hovered, this, &MainWindow::showHovered);
}

/// The pages in the middle, one of which is shown: see showPage() and showPreview().
namespace {

/// As small as the page that is shown: hidden ones must not make the window higher.
class Pages : public QStackedWidget {
public:
    using QStackedWidget::QStackedWidget;

    [[nodiscard]] QSize minimumSizeHint() const override {
        return currentWidget() == nullptr ? QSize() : currentWidget()->minimumSizeHint();
    }
};

} // namespace

QStackedWidget* MainWindow::buildPages(QWidget* parent) {
    auto* pages = new Pages(parent);
    welcome_ = new WelcomePanel(pages);
    timeline_ = new TimelineView(state_, themes_, pages);
    timeline_->setNoteStore(&notes_);
    preview_ = new LoadPreviewView(themes_, pages);
    live_waiting_ = new QLabel(pages);
    live_waiting_->setObjectName(QStringLiteral("liveWaiting"));
    live_waiting_->setAlignment(Qt::AlignCenter);
    live_waiting_->setWordWrap(true);
    plain_ = new PlainPage(themes_, pages);
    connect(plain_, &PlainPage::reopenRequested, &tabs_, &TraceTabs::reopen);
    connect(plain_, &PlainPage::hovered, this, [this](const QString& line) { hover_->setText(line); });
    for (QWidget* page : std::initializer_list<QWidget*>{welcome_, timeline_, plain_, preview_, live_waiting_})
        pages->addWidget(page);

    connect(welcome_, &WelcomePanel::openFilesRequested, this, &MainWindow::chooseFiles);
    connect(welcome_, &WelcomePanel::openDirectoryRequested, this, &MainWindow::chooseDirectory);
    connect(welcome_, &WelcomePanel::watchRequested, this, &MainWindow::chooseLive);
    connect(welcome_, &WelcomePanel::runRequested, this, &MainWindow::chooseRun);
    connect(welcome_, &WelcomePanel::recentChosen, this, &MainWindow::openBeside);
    connect(welcome_, &WelcomePanel::demoChosen, this, &MainWindow::openDemo);
    connect(welcome_, &WelcomePanel::firstStepsRequested, this, [this] { openManual(kFirstStepsPage); });
    return pages;
}

QWidget* MainWindow::buildLiveBar(QWidget* parent) {
    auto* bar = new LiveBar(live(), process(), state_, themes_, parent);
    connect(bar, &LiveBar::alertChosen, docks_, &DockPanels::showLive);
    connect(bar, &LiveBar::openRequested, this,
            [this] { openBeside(recordedFolders(live().target(), *live().snapshot())); });
    return bar;
}

/// Asks once, when the wheel is first used.
QWidget* MainWindow::buildWheelQuestion(QWidget* parent) {
    auto* bar = new QuestionBar(tr("The wheel zooms. As in Perfetto, it would scroll, and zoom with Ctrl."), parent);
    bar->setObjectName(QStringLiteral("wheelQuestion"));
    bar->addAnswer("wheelKeep", tr("Keep it"), [this] { chooseWheel(TimelineView::Wheel::Zooms); });
    bar->addAnswer("wheelScroll", tr("As in Perfetto"), [this] { chooseWheel(TimelineView::Wheel::Scrolls); });
    connect(this, &MainWindow::wheelChosen, bar, &QWidget::hide);
    for (TimeView* view : std::initializer_list<TimeView*>{timeline_, &plain_->view()}) {
        connect(view, &TimeView::wheelTurned, bar, [this, bar] {
            if (remember_ && !QSettings().contains(kWheelKey)) bar->show();
        });
        view->setWheel(wheel_);
    }
    return bar;
}

/// Asks once, after the first note.
QWidget* MainWindow::buildNotesQuestion(QWidget* parent) {
    auto* bar =
        new QuestionBar(tr("Notes are kept with the app. Beside the trace, others who open it see them."), parent);
    bar->setObjectName(QStringLiteral("notesQuestion"));
    bar->addAnswer("notesApp", tr("With the app"), [this] { chooseNotePlace(NotePlace::App); });
    bar->addAnswer("notesBeside", tr("Beside the trace"), [this] { chooseNotePlace(NotePlace::Beside); });
    connect(this, &MainWindow::notePlaceChosen, bar, &QWidget::hide);
    connect(&notes_, &NoteStore::added, bar, [this, bar] {
        const bool there =
            notes_.file() == notesFileOf(std::filesystem::path(tabs_.front().paths.value(0).toStdString()));
        if (remember_ && !there && !QSettings().contains(kNotesKey)) bar->show();
    });
    return bar;
}

void MainWindow::buildStatusBar() {
    hover_ = new ElidedLabel(this);
    hover_->setObjectName(QStringLiteral("hoverLine"));
    hover_->setTextFormat(Qt::PlainText);
    hover_->setContentsMargins(8, 0, 8, 0);
    // A long line must not widen the window.
    hover_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    statusBar()->addWidget(hover_, 1);
    load_ = new LoadIndicator(tabs_.job(), this);
    load_->setName(tabs_.loadName());
    statusBar()->addPermanentWidget(load_);
    problems_ = new QToolButton(this);
    problems_->setObjectName(QStringLiteral("problemsButton"));
    problems_->setAutoRaise(true);
    statusBar()->addPermanentWidget(problems_);
    // Gives a message all of the room. The status bar hides visible widgets only, and right after a rebuild none is
    // visible.
    const auto make_room = [this](const QString& message) { hover_->setVisible(message.isEmpty()); };
    connect(statusBar(), &QStatusBar::messageChanged, hover_, make_room);
    make_room(statusBar()->currentMessage());
    connect(load_, &LoadIndicator::cancelRequested, this, &MainWindow::cancelLoad);
    connect(problems_, &QToolButton::clicked, docks_, &DockPanels::showProblems);
}

// ---- Showing -------------------------------------------------------------------------------------

void MainWindow::showError(const Error& error) {
    message_->showError(error);
}

void MainWindow::showMessage(const QString& text, int milliseconds) {
    statusBar()->showMessage(text, milliseconds);
}

void MainWindow::showTitle(const QString& trace) {
    setWindowTitle(trace.isEmpty() ? tr("Bubblescope") : tr("%1 – Bubblescope").arg(trace));
}

void MainWindow::showSession() {
    const bool any = state_.session() != nullptr;
    overview_->setVisible(any);
    showPage();
    if (docks_->setShown(any) && live().active() && !live().parked()) docks_->showLive();
    showHovered({});
    const std::size_t problems = any ? state_.session()->run.problems.size() : 0;
    problems_->setText(problems == 0 ? tr("No problems") : tr("Problems: %1").arg(problems));
    problems_->setToolTip(tr("What was damaged, lost or guessed while loading"));
    problems_->setVisible(any && !tabs_.front().first_steps_only); // of all steps, not of those that are there
}

void MainWindow::showPage() {
    plain_->setTrace(tabs_.front().plain);
    pages_->setCurrentWidget(state_.session() != nullptr           ? static_cast<QWidget*>(timeline_)
                             : tabs_.front().plain                 ? static_cast<QWidget*>(plain_)
                             : live_.waiting() && !live().parked() ? static_cast<QWidget*>(live_waiting_)
                                                                   : welcome_);
}

/// An open trace stays visible until the next one is loaded.
void MainWindow::showPreview() {
    if (!tabs_.front().empty() || !loading()) return;
    if (preview_->follow(tabs_.preview())) pages_->setCurrentWidget(preview_);
}

void MainWindow::showLive() {
    live_waiting_->setText(tr("Waiting for the first step of %1 …").arg(live().target().name()));
    showPage();
    const LiveSnapshotPtr& watched = live().snapshot();
    const LiveAlert* const worst = watched ? worstOpen(*watched) : nullptr;
    tabs_.markLive(worst == nullptr ? QString() : alertText(*worst, *watched));
    // The panel belongs to the watched run's tab.
    const bool returns = live_parked_ && !live().parked() && live_panel_open_;
    if (!live_parked_ && live().parked()) live_panel_open_ = !docks_->liveHidden();
    live_parked_ = live().parked();
    const LiveSnapshotPtr snapshot = live().shown();
    if (!snapshot) {
        docks_->hideLive();
    } else if (returns) {
        docks_->showLive();
    } else if (snapshot->info && docks_->liveHidden() && !state_.session()) {
        docks_->showLive(); // steps may be long, and ranks are known before
    }
}

void MainWindow::showHovered(const ItemRef& item) {
    const bool any = state_.session() != nullptr;
    const QString text = any && item ? oneLine(*state_.session(), item)
                         : any       ? tr("Wheel zooms, drag moves, click selects; ? shows all keys")
                                     : QString();
    // The details panel has what does not fit here.
    hover_->setText(text);
}

// ---- What users ask for --------------------------------------------------------------------------

void MainWindow::openEach(const QStringList& paths) {
    for (const QString& path : paths)
        openBeside({path});
}

void MainWindow::addRecent(const QStringList& paths) {
    if (!remember_ || isDemo(paths)) return;
    RecentFiles::add(paths);
    welcome_->setRecent(RecentFiles::load());
}

void MainWindow::compareWith(const QStringList& paths) {
    showPanel(QStringLiteral("compare"));
    docks_->compare().compareWith(paths);
}

void MainWindow::watch(const LiveTarget& target) {
    message_->hide();
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
    const Status written = tabs_.saveSession(file, docks_->arrangement());
    if (!written.ok()) return message_->showError(written.error());
    statusBar()->showMessage(tr("Written: %1").arg(file), 4000);
}

ScheduleExplorer& MainWindow::openExplorer() {
    if (explorer_ == nullptr) {
        explorer_ = new ScheduleExplorer(themes_, this);
        connect(explorer_, &ScheduleExplorer::runRequested, this,
                [this](const QString& file, const ScheduleSpec& spec) {
                    live_.chooseRunOf(file, spec, themes_, this);
                    activateWindow();
                });
        if (state_.session()) explorer_->startFrom(*state_.session(), state_.step());
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
    ideal_->setOn(on);
}

void MainWindow::openDemo(const QString& name) {
    open({demoFile(name)});
}

void MainWindow::chooseFiles() {
    auto* dialog = new QFileDialog(this, tr("Open traces"));
    leaveOutNotes(*dialog);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->setNameFilters({tr("Traces (*.pftrace *.perfetto-trace *.json *.json.gz *.gz)"), tr("All files (*)")});
    connect(dialog, &QFileDialog::filesSelected, this, &MainWindow::openBeside);
    dialog->open();
}

void MainWindow::chooseDirectory() {
    auto* dialog = new QFileDialog(this, tr("Open a directory of traces"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setOption(QFileDialog::ShowDirsOnly);
    connect(dialog, &QFileDialog::filesSelected, this, &MainWindow::openBeside);
    dialog->open();
}

void MainWindow::chooseComparison() {
    auto* dialog = new QFileDialog(this, tr("Open the run to compare with"));
    leaveOutNotes(*dialog);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->setNameFilters({tr("Traces (*.pftrace *.perfetto-trace *.json *.json.gz *.gz)"), tr("All files (*)")});
    connect(dialog, &QFileDialog::filesSelected, this, &MainWindow::compareWith);
    dialog->open();
}

void MainWindow::chooseExport() {
    if (!state_.session()) return;
    auto* dialog = new QFileDialog(this, tr("Export the timeline"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("png"));
    dialog->selectFile(suggestedPictureName(tabs_.front().title, state_.session()->step(state_.step()).index));
    dialog->setNameFilters({tr("Pictures (*.png *.svg *.pdf)")});
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& file) {
        if (!state_.session()) return; // closed, or no longer loaded, while the dialog was open
        const Status written = exportView(*timeline_, file, pictureFrame());
        if (!written.ok()) return message_->showError(written.error());
        statusBar()->showMessage(tr("Written: %1").arg(file), 4000);
    });
    dialog->open();
}

void MainWindow::chooseSessionToSave() {
    auto* dialog = new QFileDialog(this, tr("Save session"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setNameFilters({sessionFilter()});
    connect(dialog, &QFileDialog::fileSelected, this, [this](QString file) {
        const QLatin1String suffix(kSessionSuffix.data(), kSessionSuffix.size());
        if (!file.endsWith(suffix)) file += suffix;
        saveSession(file);
    });
    dialog->open();
}

void MainWindow::chooseSessionToOpen() {
    auto* dialog = new QFileDialog(this, tr("Open session"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    dialog->setNameFilters({sessionFilter(), tr("All files (*)")});
    connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::openSession);
    dialog->open();
}

void MainWindow::chooseTheme(ThemeChoice choice) {
    themes_.choose(choice);
    if (remember_) QSettings().setValue(kThemeKey, themeKey(choice));
}

void MainWindow::chooseWheel(TimelineView::Wheel wheel) {
    wheel_ = wheel;
    timeline_->setWheel(wheel);
    plain_->view().setWheel(wheel);
    if (remember_) QSettings().setValue(kWheelKey, wheel == TimelineView::Wheel::Scrolls ? kWheelScrolls : kWheelZooms);
    emit wheelChosen(wheel);
}

void MainWindow::chooseNotePlace(NotePlace place) {
    notes_.setPlace(place);
    if (remember_) QSettings().setValue(kNotesKey, place == NotePlace::Beside ? kNotesBeside : kNotesApp);
    emit notePlaceChosen(place);
}

void MainWindow::copyPicture() {
    if (!state_.session()) return;
    QApplication::clipboard()->setImage(pictureOf(*timeline_, pictureFrame()));
    statusBar()->showMessage(tr("The picture is in the clipboard"), 4000);
}

PictureFrame MainWindow::pictureFrame() const {
    const int step = state_.session()->step(state_.step()).index;
    return {tr("%1, step %2").arg(tabs_.front().title).arg(step), summary_->text(), &summary_->legend(),
            &themes_.theme()};
}

void MainWindow::chooseLanguage(Language language) {
    if (remember_) QSettings().setValue(kLanguageKey, languageKey(language));
    languages_.choose(language);
}

// ---- Settings and events -------------------------------------------------------------------------

void MainWindow::restoreSettings() {
    if (!remember_) return;
    const QSettings settings;
    restoreGeometry(settings.value(kGeometryKey).toByteArray());
    docks_->restore(settings.value(kLayoutKey).toByteArray());
    state_.setRows(usualRows(settings));
    welcome_->setRecent(RecentFiles::load());
}

bool MainWindow::focusNextPrevChild(bool next) {
    QWidget* const widget = nextInFocusOrder(*this, next);
    if (widget == nullptr) return false;
    widget->setFocus(next ? Qt::TabFocusReason : Qt::BacktabFocusReason);
    return true;
}

void MainWindow::closeEvent(QCloseEvent* event) {
    tabs_.stopLoad();
    if (remember_) {
        QSettings settings;
        settings.setValue(kGeometryKey, saveGeometry());
        settings.setValue(kLayoutKey, docks_->arrangement());
        saveUsualRows(settings, state_.rows());
    }
    QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (!localPaths(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const QStringList paths = localPaths(*event->mimeData());
    if (paths.isEmpty()) return;
    event->acceptProposedAction();
    const bool any = state_.session() != nullptr;
    if (!any && paths.size() == 1) return open(paths);
    // The files may be the ranks of one run, or several runs; a second run may be meant for comparison.
    auto* menu = new QMenu(this);
    menu->setObjectName(QStringLiteral("dropMenu"));
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (paths.size() > 1) {
        menu->addAction(tr("Open together, as one run"), this, [this, paths] { openBeside(paths); });
        menu->addAction(tr("Open each in a tab"), this, [this, paths] { openEach(paths); });
    } else {
        menu->addAction(tr("Open in a tab"), this, [this, paths] { openBeside(paths); });
    }
    if (any) {
        menu->addAction(tr("Open instead"), this, [this, paths] { open(paths); });
        menu->addAction(tr("Compare with the open run"), this, [this, paths] { compareWith(paths); });
    }
    menu->popup(mapToGlobal(event->position().toPoint()));
}

} // namespace bubblescope::gui
