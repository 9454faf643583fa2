#include "app/gui/dock_panels.h"

#include "app/gui/live/live_panel.h"
#include "app/gui/panels/aadiff_panel.h"
#include "app/gui/panels/accounting_panel.h"
#include "app/gui/panels/anomaly_panel.h"
#include "app/gui/panels/bubble_panel.h"
#include "app/gui/panels/compare_panel.h"
#include "app/gui/panels/details_panel.h"
#include "app/gui/panels/devices_panel.h"
#include "app/gui/panels/notes_panel.h"
#include "app/gui/panels/problems_panel.h"
#include "app/gui/panels/range_panel.h"
#include "app/gui/panels/replica_panel.h"
#include "app/gui/panels/sql_panel.h"
#include "app/gui/panels/stacks_panel.h"
#include "app/gui/panels/steps_panel.h"
#include "app/gui/panels/whatif_panel.h"

#include <QAction>
#include <QDockWidget>
#include <QMainWindow>

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

namespace {

/// Must be incremented when docks change, so that layouts of other versions are ignored.
constexpr int kLayoutVersion = 10;
constexpr int kLeastHeight = 270; ///< initial height in pixels of the panels below the timeline

} // namespace

DockPanels::DockPanels(QMainWindow& window) : QObject(&window), window_(window) {}

void DockPanels::bringUp(QDockWidget* dock) {
    dock->show();
    dock->raise();
}

/// The dock with this name, created if necessary.
QDockWidget* DockPanels::fill(const QString& name, const QString& title, QWidget* content) {
    auto* dock = window_.findChild<QDockWidget*>(name, Qt::FindDirectChildrenOnly);
    if (dock == nullptr) {
        dock = new QDockWidget(&window_);
        dock->setObjectName(name);
        window_.addDockWidget(Qt::BottomDockWidgetArea, dock);
    }
    dock->setWindowTitle(title);
    dock->setWidget(content);
    return dock;
}

void DockPanels::build(const Sources& sources) {
    auto& [loader, state, themes, notes_of, watched] = sources;
    const bool first = window_.findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly).isEmpty();
    const auto dock = [this](const char* name, const QString& title, QWidget* content) {
        return fill(QString::fromLatin1(name), title, content);
    };
    QDockWidget* bubbles = dock("bubblesDock", tr("Bubbles"), new BubblePanel(state, themes, &window_));
    details_ = dock("detailsDock", tr("Details"), new DetailsPanel(state, themes, &window_));
    device_times_ = new DevicesPanel(state, themes, &window_);
    devices_ = dock("devicesDock", tr("Devices"), device_times_);
    auto* anomalies = new AnomalyPanel(state, themes, &window_);
    findings_ = anomalies;
    anomalies_ = dock("anomaliesDock", tr("Anomalies"), anomalies);
    auto* what_if = new WhatIfPanel(state, themes, &window_);
    what_if_ = what_if;
    QDockWidget* what_if_dock = dock("whatifDock", tr("What if"), what_if);
    connect(anomalies, &AnomalyPanel::whatIfRequested, this, [what_if, what_if_dock](const QString& change) {
        bringUp(what_if_dock);
        what_if->askFor(change);
    });
    problems_ = dock("problemsDock", tr("Problems"), new ProblemsPanel(state, &window_));
    compare_ = new ComparePanel(state, loader, themes, &window_);
    auto* notes = new NotesPanel(state, notes_of, &window_);
    QDockWidget* notes_dock = dock("notesDock", tr("Notes"), notes);
    connect(&notes_of, &NoteStore::added, notes, [notes, notes_dock](int note) {
        bringUp(notes_dock);
        notes->edit(note);
    });
    auto* live = new LivePanel(watched, state, themes, &window_);
    connect(live, &LivePanel::note, this, [this](const QString& text) { emit message(text, 6000); });
    live_ = dock("liveDock", tr("Live"), live);
    range_ = dock("rangeDock", tr("Time range"), new RangePanel(state, &window_));
    QDockWidget* const compare = dock("compareDock", tr("Compare"), compare_);
    steps_ = dock("stepsDock", tr("Steps"), new StepsPanel(state, themes, &window_));
    of_pipelines_ = {bubbles,
                     anomalies_,
                     dock("accountingDock", tr("Accounting"), new AccountingPanel(state, themes, &window_)),
                     what_if_dock,
                     dock("replicasDock", tr("Stragglers"), new ReplicaPanel(state, themes, &window_)),
                     dock("aadiffDock", tr("A/A checks"), new AadiffPanel(state, themes, &window_))};
    std::vector<QDockWidget*> tabs{devices_, live_};
    tabs.insert(tabs.end(), of_pipelines_.begin() + 1, of_pipelines_.end());
    tabs.insert(tabs.begin() + 4, steps_);
    tabs.push_back(compare);
    stacks_ = dock("stacksDock", tr("Stacks"), new StacksPanel(state, themes, &window_));
    QDockWidget* const sql = dock("sqlDock", tr("SQL"), new SqlPanel(state, &window_));
    tabs.insert(tabs.end(), {notes_dock, range_, stacks_, sql, problems_});
    if (first) arrange(bubbles, tabs); // later calls keep the user's layout
    enableActions();
}

void DockPanels::arrange(QDockWidget* bubbles, const std::vector<QDockWidget*>& others) {
    window_.splitDockWidget(bubbles, details_, Qt::Horizontal);
    QDockWidget* last = bubbles;
    for (QDockWidget* dock : others) {
        window_.tabifyDockWidget(last, dock);
        last = dock;
    }
    // Hidden until its button is clicked, because most traces have no problems.
    problems_->hide();
    live_->hide(); // shown only while a run is watched
    devices_->hide();
    bubbles->raise();
    window_.resizeDocks({bubbles, details_}, {930, 350}, Qt::Horizontal);
    window_.resizeDocks({bubbles}, {kLeastHeight}, Qt::Vertical);
    default_ = window_.saveState(kLayoutVersion);
}

/// Makes panels higher in large windows.
void DockPanels::fitHeight() {
    constexpr int kShare = 28; // percent
    QDockWidget* const lower = content_ == Content::Trace ? devices_ : of_pipelines_.front();
    window_.resizeDocks({lower}, {std::max(kLeastHeight, window_.height() * kShare / 100)}, Qt::Vertical);
}

void DockPanels::reset() {
    window_.restoreState(default_, kLayoutVersion);
    if (content_ == Content::Trace) showThoseOfTraces();
    fitHeight();
}

void DockPanels::clear() {
    for (QDockWidget* dock : window_.findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly))
        delete dock->widget();
}

void DockPanels::showStatement(const Statement& statement) {
    if (statement.concern == Concern::Data) {
        showProblems();
    } else if (content_ == Content::Trace) {
        bringUp(devices_);
        if (statement.where.global_rank) device_times_->goToRank(*statement.where.global_rank);
    } else if (statement.finding) {
        showAnomalies();
        findings_->choose(*statement.finding);
    } else if (!statement.change.empty()) {
        show(QStringLiteral("whatif"));
        what_if_->askFor(QString::fromStdString(statement.change));
    } else {
        show(QStringLiteral("accounting"));
    }
}

bool DockPanels::show(const QString& name) {
    auto* dock = window_.findChild<QDockWidget*>(name + QStringLiteral("Dock"));
    // Without a pipeline, fewer panels are needed, unless a run is watched.
    const bool there =
        content_ == Content::Pipeline ? dock != devices_ : content_ == Content::Trace && !isOfPipelines(dock);
    if (dock != nullptr && (there || dock == live_)) bringUp(dock);
    return dock != nullptr;
}

void DockPanels::followLive(const LiveController& live, bool any_steps) {
    const bool returns = live_parked_ && !live.parked() && live_panel_open_;
    if (!live_parked_ && live.parked()) live_panel_open_ = !live_->isHidden();
    live_parked_ = live.parked();
    const LiveSnapshotPtr snapshot = live.shown();
    if (!snapshot) return live_->hide();
    if (returns || (snapshot->info && live_->isHidden() && !any_steps)) showLive();
}

std::vector<QAction*> DockPanels::actions() const {
    std::vector<QAction*> out;
    for (QDockWidget* dock : window_.findChildren<QDockWidget*>())
        out.push_back(dock->toggleViewAction());
    return out;
}

bool DockPanels::show(Content content) {
    if (content == content_) return false;
    const Content before = std::exchange(content_, content);
    if (before == Content::Pipeline) for_pipeline_ = window_.saveState(kLayoutVersion);
    if (before == Content::Trace) for_trace_ = window_.saveState(kLayoutVersion);
    if (content == Content::Pipeline) {
        window_.restoreState(for_pipeline_, kLayoutVersion);
        devices_->hide();
    } else if (content == Content::Trace && !for_trace_.isEmpty()) {
        window_.restoreState(for_trace_, kLayoutVersion);
    } else if (content == Content::Trace) {
        window_.restoreState(for_pipeline_, kLayoutVersion);
        showThoseOfTraces();
    } else {
        for (QDockWidget* dock : window_.findChildren<QDockWidget*>())
            dock->hide();
    }
    enableActions();
    if (content != Content::Nothing && !std::exchange(arranged_, true)) fitHeight();
    return before == Content::Nothing;
}

void DockPanels::showThoseOfTraces() {
    for (QDockWidget* dock : of_pipelines_)
        dock->hide();
    for (QDockWidget* dock : {devices_, steps_, range_, stacks_, details_})
        dock->show();
    devices_->raise();
}

bool DockPanels::isOfPipelines(const QDockWidget* dock) const {
    return std::ranges::find(of_pipelines_, dock) != of_pipelines_.end();
}

void DockPanels::enableActions() {
    for (QDockWidget* dock : of_pipelines_)
        dock->toggleViewAction()->setEnabled(content_ == Content::Pipeline);
    devices_->toggleViewAction()->setEnabled(content_ == Content::Trace);
}

QByteArray DockPanels::arrangement() const {
    return content_ == Content::Pipeline ? window_.saveState(kLayoutVersion) : for_pipeline_;
}

void DockPanels::restore(const QByteArray& arrangement) {
    if (content_ != Content::Pipeline) {
        if (!arrangement.isEmpty()) for_pipeline_ = arrangement;
        return;
    }
    arranged_ = window_.restoreState(arrangement, kLayoutVersion) || arranged_;
    devices_->hide();
}

} // namespace bubblescope::gui
