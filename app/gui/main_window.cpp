#include "app/gui/main_window.h"

#include "app/gui/explorer/schedule_explorer.h"
#include "app/gui/export_view.h"
#include "app/gui/help/manual_window.h"
#include "app/gui/language/format.h"
#include "app/gui/models/demo_files.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/recent_files.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/panels/compare_panel.h"
#include "app/gui/panels/load_indicator.h"
#include "app/gui/panels/message_bar.h"
#include "app/gui/panels/reference_bar.h"
#include "app/gui/panels/rows_bar.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/panels/welcome_panel.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/timeline/load_preview.h"
#include "app/gui/timeline/overview_strip.h"
#include "app/gui/timeline/timeline_view.h"
#include "app/gui/tour/tour.h"

#include <QCloseEvent>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

namespace bubblescope::gui {

namespace {

const QString kGeometryKey = QStringLiteral("window/geometry");
const QString kLayoutKey = QStringLiteral("window/layout");
const QString kThemeKey = QStringLiteral("theme");
const QString kLanguageKey = QStringLiteral("language");
const QString kHiddenLanesKey = QStringLiteral("rows/hidden");
const QString kCountersKey = QStringLiteral("rows/counters");
const QString kCentre = QStringLiteral("centre"); ///< the part of the central widget that is made anew

QStringList localPaths(const QMimeData& data) {
    QStringList paths;
    for (const QUrl& url : data.urls()) {
        if (url.isLocalFile()) paths << url.toLocalFile();
    }
    return paths;
}

/// What kinds of lanes rows show is a matter of taste, not of the trace.
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

} // namespace

MainWindow::MainWindow(RunLoader loader, bool remember, QWidget* parent)
    : QMainWindow(parent), loader_(withDemos(std::move(loader))), remember_(remember) {
    setAcceptDrops(true);
    setDockOptions(AnimatedDocks | AllowNestedDocks | AllowTabbedDocks);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    if (remember_)
        languages_.choose(languageFromKey(QSettings().value(kLanguageKey).toString()).value_or(Language::System));
    build();
    connect(&state_, &ViewState::sessionChanged, this, &MainWindow::showSession);
    connect(&job_, &BackgroundJob::progress, this, &MainWindow::showPreview);
    connect(&job_, &BackgroundJob::runningChanged, this, [this](bool running) {
        if (!running) showCentre();
    });
    connectLive();
    connect(&themes_, &ThemeManager::changed, this, [this] { message_->setTheme(themes_.theme()); });
    connect(&note_store_, &NoteStore::failed, this, [this](const Error& error) { message_->showError(error); });
    // Not from within a menu that the rebuilding deletes.
    connect(&languages_, &LanguageManager::changed, this, &MainWindow::rebuild, Qt::QueuedConnection);
    resize(1280, 800);
    restoreSettings();
    showSession();
}

MainWindow::~MainWindow() {
    // The views use the members; left to QObject they would outlive them.
    clear();
    delete manual_;
}

void MainWindow::build() {
    buildCentre();
    buildDocks();
    buildStatusBar();
    buildMenus();
    message_->setTheme(themes_.theme());
    if (!languages_.hasFont())
        message_->showError(
            runError("No font here has Chinese letters",
                     "install one, such as Noto Sans CJK (Debian's package fonts-noto-cjk), and start again"));
}

/// All that build() makes. Docks and the centre are emptied and stay, so that nothing moves.
void MainWindow::clear() {
    for (QDockWidget* dock : findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly))
        delete dock->widget();
    delete centralWidget()->findChild<QWidget*>(kCentre, Qt::FindDirectChildrenOnly);
    setMenuBar(nullptr); // deletes the old one
    setStatusBar(nullptr);
    delete explorer_;
    delete ideal_;
    ideal_ = nullptr;
    explorer_ = nullptr;
    theme_actions_.clear();
}

/// All widgets anew, in the language that is now chosen; what they show lives in the state and stays.
void MainWindow::rebuild() {
    keepTab();
    state_.setReference(nullptr);
    clear();
    build();
    if (manual_ != nullptr) manual_->setLanguage(languages_.current());
    if (remember_) welcome_->setRecent(RecentFiles::load());
    if (state_.session()) emit state_.sessionChanged(); // the new views have not heard of it
    compare_->restore(tabInFront().comparison);
    ideal_->setOn(tabInFront().ideal);
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
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    message_ = new MessageBar(centre);
    auto* summary = new SummaryBar(state_, themes_, centre);
    connect(summary, &SummaryBar::findingChosen, this, [this] { showDock(anomalies_dock_); });
    stack_ = new QStackedWidget(centre);
    welcome_ = new WelcomePanel(stack_);
    timeline_ = new TimelineView(state_, themes_, stack_);
    timeline_->setNoteStore(&note_store_);
    overview_ = new OverviewStrip(state_, themes_, centre);
    search_ = new SearchBar(state_, timeline_);
    ideal_ = new IdealOverlay(state_, this);
    stack_->addWidget(welcome_);
    stack_->addWidget(timeline_);
    preview_ = new LoadPreview(themes_, stack_);
    stack_->addWidget(preview_);
    live_waiting_ = new QLabel(stack_);
    live_waiting_->setObjectName(QStringLiteral("liveWaiting"));
    live_waiting_->setAlignment(Qt::AlignCenter);
    live_waiting_->setWordWrap(true);
    stack_->addWidget(live_waiting_);
    column->addWidget(buildTabBar(centre));
    column->addWidget(message_);
    column->addWidget(buildLiveBar(centre));
    column->addWidget(summary);
    column->addWidget(overview_);
    column->addWidget(new ReferenceBar(state_, centre));
    auto* rows = new RowsBar(state_, centre);
    column->addWidget(rows);
    column->addWidget(stack_, 1);

    connect(welcome_, &WelcomePanel::openFilesRequested, this, &MainWindow::chooseFiles);
    connect(welcome_, &WelcomePanel::openDirectoryRequested, this, &MainWindow::chooseDirectory);
    connect(welcome_, &WelcomePanel::watchRequested, this, &MainWindow::chooseLive);
    connect(welcome_, &WelcomePanel::runRequested, this, &MainWindow::chooseRun);
    connect(welcome_, &WelcomePanel::recentChosen, this, &MainWindow::openBeside);
    connect(welcome_, &WelcomePanel::demoChosen, this, &MainWindow::openDemo);
    connect(welcome_, &WelcomePanel::tourRequested, this, [this] { startTour(); });
    connect(timeline_, &TimelineView::searchRequested, search_, &SearchBar::open);
    connect(timeline_, &TimelineView::idealRequested, this, [this] { ideal_->setOn(!ideal_->on()); });
    connect(timeline_, &TimelineView::filterRequested, rows, &RowsBar::open);
    connect(rows, &RowsBar::closed, timeline_, qOverload<>(&QWidget::setFocus));
    connect(search_, &SearchBar::closed, timeline_, qOverload<>(&QWidget::setFocus));
    connect(timeline_, &TimelineView::hovered, this, &MainWindow::showHovered);
}

void MainWindow::buildStatusBar() {
    hover_ = new ElidedLabel(this);
    hover_->setObjectName(QStringLiteral("hoverLine"));
    hover_->setTextFormat(Qt::PlainText);
    hover_->setContentsMargins(8, 0, 8, 0);
    // A long line must not force the window to be as wide.
    hover_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    statusBar()->addWidget(hover_, 1);
    load_ = new LoadIndicator(job_, this);
    statusBar()->addPermanentWidget(load_);
    problems_button_ = new QToolButton(this);
    problems_button_->setObjectName(QStringLiteral("problemsButton"));
    problems_button_->setAutoRaise(true);
    statusBar()->addPermanentWidget(problems_button_);
    // A message has the room to itself. The bar hides for it only what is in view already, which is nothing right after
    // the window was made anew.
    const auto make_room = [this](const QString& message) { hover_->setVisible(message.isEmpty()); };
    connect(statusBar(), &QStatusBar::messageChanged, hover_, make_room);
    make_room(statusBar()->currentMessage());
    connect(load_, &LoadIndicator::cancelRequested, this, &MainWindow::cancelLoad);
    connect(problems_button_, &QToolButton::clicked, this, [this] { showDock(problems_dock_); });
}

void MainWindow::showSession() {
    const bool any = state_.session() != nullptr;
    overview_->setVisible(any);
    showCentre();
    showPanels(any);
    showHovered({});
    const std::size_t problems = any ? state_.session()->run.problems.size() : 0;
    problems_button_->setText(problems == 0 ? tr("No problems") : tr("Problems: %1").arg(problems));
    problems_button_->setToolTip(tr("What was damaged, lost or guessed while loading"));
    problems_button_->setVisible(any);
}

void MainWindow::showCentre() {
    const bool waiting = live_.active() || (live_.snapshot() && live_.snapshot()->info);
    stack_->setCurrentWidget(state_.session() != nullptr ? static_cast<QWidget*>(timeline_)
                             : waiting                   ? static_cast<QWidget*>(live_waiting_)
                                                         : welcome_);
}

/// A trace that is open stays in view until the next one is there.
void MainWindow::showPreview() {
    if (state_.session() != nullptr || !job_.running()) return;
    LoadSketch::Picture snapshot = sketch_->snapshot(preview_->columns());
    if (snapshot.empty()) return;
    preview_->setPicture(std::move(snapshot));
    stack_->setCurrentWidget(preview_);
}

void MainWindow::showPanels(bool any) {
    // Empty tables tell a newcomer nothing, so the panels come with the first trace.
    if (!any && layout_.isEmpty()) {
        layout_ = saveState(kLayoutVersion);
        for (QDockWidget* dock : findChildren<QDockWidget*>())
            dock->hide();
    } else if (any && !layout_.isEmpty()) {
        restoreState(layout_, kLayoutVersion);
        layout_.clear();
        if (live_.active()) showDock(live_dock_);
    }
}

void MainWindow::showHovered(const ItemRef& item) {
    const bool any = state_.session() != nullptr;
    const QString text = any && item ? oneLine(*state_.session(), item)
                         : any       ? tr("Wheel zooms, drag moves, click selects; ? shows all keys")
                                     : QString();
    // The details panel has what does not fit the window's width.
    hover_->setText(text);
}

void MainWindow::chooseFiles() {
    auto* dialog = new QFileDialog(this, tr("Open traces"));
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
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->setNameFilters({tr("Traces (*.pftrace *.perfetto-trace *.json *.json.gz *.gz)"), tr("All files (*)")});
    connect(dialog, &QFileDialog::filesSelected, this, &MainWindow::compareWith);
    dialog->open();
}

void MainWindow::chooseExport() {
    auto* dialog = new QFileDialog(this, tr("Export the timeline"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("png"));
    dialog->setNameFilters({tr("Pictures (*.png *.svg *.pdf)")});
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& file) {
        const Status written = exportView(*timeline_, file);
        if (!written.ok()) return message_->showError(written.error());
        statusBar()->showMessage(tr("Written: %1").arg(file), 4000);
    });
    dialog->open();
}

void MainWindow::compareWith(const QStringList& paths) {
    showPanel(QStringLiteral("compare"));
    compare_->compareWith(paths);
}

void MainWindow::chooseTheme(ThemeChoice choice) {
    themes_.choose(choice);
    if (remember_) QSettings().setValue(kThemeKey, themeKey(choice));
}

void MainWindow::chooseLanguage(Language language) {
    if (remember_) QSettings().setValue(kLanguageKey, languageKey(language));
    languages_.choose(language);
}

void MainWindow::restoreSettings() {
    if (!remember_) return;
    const QSettings settings;
    themes_.choose(themeFromKey(settings.value(kThemeKey).toString()).value_or(ThemeChoice::System));
    theme_actions_[static_cast<qsizetype>(themes_.choice())]->setChecked(true);
    restoreGeometry(settings.value(kGeometryKey).toByteArray());
    restoreState(settings.value(kLayoutKey).toByteArray(), kLayoutVersion);
    state_.setRows(usualRows(settings));
    welcome_->setRecent(RecentFiles::load());
    welcome_->setNewcomer(!Tour::seen());
}

void MainWindow::closeEvent(QCloseEvent* event) {
    job_.cancel();
    if (remember_) {
        QSettings settings;
        settings.setValue(kGeometryKey, saveGeometry());
        settings.setValue(kLayoutKey, layout_.isEmpty() ? saveState(kLayoutVersion) : layout_);
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
    // Several may be the ranks of one run, or several runs; a second run may be meant to be set beside the first.
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
