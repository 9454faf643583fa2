#include "app/gui/dock_panels.h"

#include "app/gui/live/live_panel.h"
#include "app/gui/panels/aadiff_panel.h"
#include "app/gui/panels/accounting_panel.h"
#include "app/gui/panels/anomaly_panel.h"
#include "app/gui/panels/bubble_panel.h"
#include "app/gui/panels/compare_panel.h"
#include "app/gui/panels/details_panel.h"
#include "app/gui/panels/notes_panel.h"
#include "app/gui/panels/problems_panel.h"
#include "app/gui/panels/range_panel.h"
#include "app/gui/panels/replica_panel.h"
#include "app/gui/panels/steps_panel.h"
#include "app/gui/panels/whatif_panel.h"

#include <QAction>
#include <QDockWidget>
#include <QMainWindow>

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

namespace {

/// Increment when docks change, so that arrangements of other versions are ignored.
constexpr int kLayoutVersion = 8;
constexpr int kLeastHeight = 270; ///< pixels, of the panels below the timeline as a new installation arranges them

} // namespace

DockPanels::DockPanels(QMainWindow& window) : QObject(&window), window_(window) {}

void DockPanels::bringUp(QDockWidget* dock) {
    dock->show();
    dock->raise();
}

/// The dock of that name, created if necessary.
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
    QDockWidget* details = dock("detailsDock", tr("Details"), new DetailsPanel(state, themes, &window_));
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
    compare_ = new ComparePanel(state, loader, &window_);
    connect(compare_, &ComparePanel::fileRequested, this, &DockPanels::comparisonRequested);
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
    const std::vector<QDockWidget*> others{
        live_,
        anomalies_,
        dock("accountingDock", tr("Accounting"), new AccountingPanel(state, themes, &window_)),
        dock("stepsDock", tr("Steps"), new StepsPanel(state, themes, &window_)),
        what_if_dock,
        dock("replicasDock", tr("Replicas"), new ReplicaPanel(state, themes, &window_)),
        dock("aadiffDock", tr("A/A checks"), new AadiffPanel(state, themes, &window_)),
        dock("compareDock", tr("Compare"), compare_),
        notes_dock,
        range_,
        problems_};
    if (first) arrange(bubbles, details, others); // afterwards the user's arrangement is kept
}

void DockPanels::arrange(QDockWidget* bubbles, QDockWidget* details, const std::vector<QDockWidget*>& others) {
    window_.splitDockWidget(bubbles, details, Qt::Horizontal);
    QDockWidget* last = bubbles;
    for (QDockWidget* dock : others) {
        window_.tabifyDockWidget(last, dock);
        last = dock;
    }
    // Opened by its button; most traces have no problems.
    problems_->hide();
    live_->hide(); // shown while a run is watched
    bubbles->raise();
    window_.resizeDocks({bubbles, details}, {930, 350}, Qt::Horizontal);
    window_.resizeDocks({bubbles}, {kLeastHeight}, Qt::Vertical);
    default_ = window_.saveState(kLayoutVersion);
}

/// A large window has room for more of a panel than a small one.
void DockPanels::fitHeight() {
    constexpr int kShare = 28; // percent
    auto* const bubbles = window_.findChild<QDockWidget*>(QStringLiteral("bubblesDock"), Qt::FindDirectChildrenOnly);
    window_.resizeDocks({bubbles}, {std::max(kLeastHeight, window_.height() * kShare / 100)}, Qt::Vertical);
}

void DockPanels::reset() {
    window_.restoreState(default_, kLayoutVersion);
    fitHeight();
}

void DockPanels::clear() {
    for (QDockWidget* dock : window_.findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly))
        delete dock->widget();
}

void DockPanels::showStatement(const Statement& statement) {
    if (statement.finding) {
        showAnomalies();
        findings_->choose(*statement.finding);
    } else if (statement.concern == Concern::Data) {
        showProblems();
    } else if (!statement.change.empty()) {
        show(QStringLiteral("whatif"));
        what_if_->askFor(QString::fromStdString(statement.change));
    } else {
        show(QStringLiteral("accounting"));
    }
}

bool DockPanels::show(const QString& name) {
    auto* dock = window_.findChild<QDockWidget*>(name + QStringLiteral("Dock"));
    // Without a pipeline there is nothing to show, but for a run that is watched.
    if (dock != nullptr && (hidden_.isEmpty() || dock == live_)) bringUp(dock);
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

bool DockPanels::setShown(bool shown) {
    if (!shown && hidden_.isEmpty()) {
        hidden_ = window_.saveState(kLayoutVersion);
        for (QDockWidget* dock : window_.findChildren<QDockWidget*>())
            dock->hide();
    } else if (shown && !hidden_.isEmpty()) {
        window_.restoreState(hidden_, kLayoutVersion);
        hidden_.clear();
        if (!std::exchange(arranged_, true)) fitHeight();
        return true;
    }
    return false;
}

QByteArray DockPanels::arrangement() const {
    return hidden_.isEmpty() ? window_.saveState(kLayoutVersion) : hidden_;
}

void DockPanels::restore(const QByteArray& arrangement) {
    arranged_ = window_.restoreState(arrangement, kLayoutVersion) || arranged_;
}

} // namespace bubblescope::gui
