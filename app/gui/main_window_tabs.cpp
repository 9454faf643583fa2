#include "app/gui/main_window.h"
#include "app/gui/models/demo_files.h"
#include "app/gui/models/recent_files.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/models/session_file.h"
#include "app/gui/panels/load_indicator.h"
#include "app/gui/panels/message_bar.h"
#include "app/gui/panels/welcome_panel.h"
#include "app/gui/timeline/timeline_view.h"

#include <QDir>
#include <QFileInfo>
#include <QSignalBlocker>
#include <QStatusBar>
#include <QTabBar>

namespace bubblescope::gui {

namespace {

QString nameOfTrace(const QStringList& paths) {
    const QString name = QFileInfo(paths.front()).fileName();
    return name.isEmpty() ? paths.front() : name;
}

std::vector<std::filesystem::path> filesOf(const QStringList& paths) {
    std::vector<std::filesystem::path> out;
    for (const QString& path : paths)
        out.emplace_back(path.toStdString());
    return out;
}

} // namespace

QWidget* MainWindow::buildTabBar(QWidget* parent) {
    tab_bar_ = new QTabBar(parent);
    tab_bar_->setObjectName(QStringLiteral("traceTabs"));
    tab_bar_->setAccessibleName(tr("Open traces"));
    tab_bar_->setDocumentMode(true);
    tab_bar_->setTabsClosable(true);
    tab_bar_->setExpanding(false);
    tab_bar_->setElideMode(Qt::ElideMiddle);
    tab_bar_->setFocusPolicy(Qt::NoFocus); // Ctrl+Tab changes; keys stay with the timeline
    showTabs();
    connect(tab_bar_, &QTabBar::currentChanged, this, &MainWindow::showTab);
    connect(tab_bar_, &QTabBar::tabCloseRequested, this, &MainWindow::closeTab);
    return tab_bar_;
}

/// Their names, as one alone needs no tab.
void MainWindow::showTabs() {
    const QSignalBlocker quiet(tab_bar_);
    while (tab_bar_->count() > static_cast<int>(tabs_.size()))
        tab_bar_->removeTab(tab_bar_->count() - 1);
    while (tab_bar_->count() < static_cast<int>(tabs_.size()))
        tab_bar_->addTab({});
    for (int tab = 0; tab < tab_bar_->count(); ++tab) {
        const TraceTab& trace = tabs_[static_cast<std::size_t>(tab)];
        QString text = trace.empty() ? tr("Nothing open yet") : trace.title;
        tab_bar_->setTabText(tab, text.replace(QLatin1Char('&'), QStringLiteral("&&")));
        QStringList tips;
        for (const QString& path : trace.paths)
            tips << QDir::toNativeSeparators(path);
        tab_bar_->setTabToolTip(tab, tips.join(QLatin1Char('\n')));
    }
    tab_bar_->setCurrentIndex(tab_);
    tab_bar_->setVisible(tabs_.size() > 1);
    setWindowTitle(tabInFront().empty() ? tr("Bubblescope") : tr("%1 – Bubblescope").arg(tabInFront().title));
}

/// Writes down what the views show of the tab in front.
void MainWindow::keepTab() {
    TraceTab& tab = tabInFront();
    tab.session = state_.session();
    tab.view = state_.snapshot();
    tab.comparison = compare_->keep();
    tab.ideal = ideal_->on();
    // These come back by themselves.
    if (tab.ideal || tab.comparison.below) tab.view.reference = nullptr;
}

void MainWindow::showTab(int tab) {
    if (tab == tab_ || tab < 0 || tab >= static_cast<int>(tabs_.size())) return;
    keepTab();
    if (tabInFront().live) live_.setParked(true);
    tab_ = tab;
    bringTab();
}

void MainWindow::bringTab() {
    const TraceTab tab = tabInFront();
    ideal_->setOn(false);
    compare_->restore({});
    state_.restore(tab.session, tab.view);
    if (tab.live) live_.setParked(false);
    compare_->restore(tab.comparison);
    ideal_->setOn(tab.ideal);
    if (!tab.paths.isEmpty()) note_store_.open(tab.paths.front().toStdString());
    showTabs();
    if (tab.session) timeline_->setFocus();
}

void MainWindow::closeTab(int tab) {
    if (tab < 0 || tab >= static_cast<int>(tabs_.size())) return;
    if (tabs_[static_cast<std::size_t>(tab)].live) {
        live_.stop();
        live_.setParked(false);
    }
    if (tabs_.size() == 1) {
        // The window goes back to its beginning.
        if (loading()) cancelLoad();
        tabs_.front() = {};
        return bringTab();
    }
    const bool front = tab == tab_;
    tabs_.erase(tabs_.begin() + tab);
    if (tab < tab_ || tab_ == static_cast<int>(tabs_.size())) --tab_;
    if (front) return bringTab();
    showTabs();
}

void MainWindow::turnTab(int by) {
    const int count = static_cast<int>(tabs_.size());
    if (count > 1) showTab((tab_ + by + count) % count);
}

void MainWindow::open(const QStringList& paths) {
    if (paths.size() == 1 && isSessionFile(paths.front().toStdString())) return openSession(paths.front());
    waiting_.clear();
    load({paths, false, std::nullopt, {}, false});
}

void MainWindow::openBeside(const QStringList& paths) {
    if (paths.isEmpty()) return;
    if (tabInFront().empty() && !loading()) return open(paths);
    if (paths.size() == 1 && isSessionFile(paths.front().toStdString())) return openSession(paths.front());
    waiting_.push_back({paths, true, std::nullopt, {}, false});
    if (!loading()) loadNext();
}

void MainWindow::openEach(const QStringList& paths) {
    for (const QString& path : paths)
        openBeside({path});
}

void MainWindow::loadNext() {
    if (waiting_.empty()) return;
    const TraceRequest next = waiting_.front();
    waiting_.pop_front();
    load(next);
}

void MainWindow::load(const TraceRequest& request) {
    if (request.paths.isEmpty()) return;
    load_->setName(nameOfTrace(request.paths));
    message_->hide();
    const auto sketch = std::make_shared<LoadSketch>();
    sketch_ = sketch;
    job_.start(
        [loader = loader_, files = filesOf(request.paths), sketch](JobControl& control) {
            control.sketch = sketch.get();
            return loadSession(loader, files, control);
        },
        [this, request](Result<SessionPtr> result) { finishLoad(request, std::move(result)); });
}

void MainWindow::cancelLoad() {
    waiting_.clear();
    job_.cancel();
    delete tour_waits_;
    statusBar()->showMessage(tr("Loading was cancelled"), 4000);
}

void MainWindow::finishLoad(const TraceRequest& request, Result<SessionPtr> result) {
    if (!result.ok()) {
        if (result.error().kind == ErrorKind::Cancelled) return;
        message_->showError(result.error());
        emit failed(result.error());
        if (waiting_.empty()) finishSession();
        return loadNext();
    }
    if (request.own_tab && !tabInFront().empty()) {
        keepTab();
        if (tabInFront().live) live_.setParked(true);
        ideal_->setOn(false);
        compare_->restore({});
        tabs_.emplace_back();
        tab_ = static_cast<int>(tabs_.size()) - 1;
    }
    TraceTab& tab = tabInFront();
    tab = {};
    tab.paths = request.paths;
    const QString name = nameOfTrace(request.paths);
    tab.title = request.paths.size() > 1 ? tr("%1 and more").arg(name) : name;
    tab.session = std::move(result).value();
    if (request.view) {
        state_.restore(tab.session, *request.view);
    } else {
        state_.setSession(tab.session);
    }
    showTabs();
    if (remember_ && !isDemo(request.paths)) {
        RecentFiles::add(request.paths);
        welcome_->setRecent(RecentFiles::load());
    }
    timeline_->setFocus();
    note_store_.open(request.paths.front().toStdString());
    ideal_->setOn(request.ideal);
    if (!request.compare.isEmpty()) compare_->compareWith(request.compare);
    if (!waiting_.empty()) return loadNext();
    finishSession();
    emit loaded();
}

} // namespace bubblescope::gui
