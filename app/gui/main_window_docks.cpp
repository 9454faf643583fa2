#include "app/gui/explorer/schedule_explorer.h"
#include "app/gui/help/manual_window.h"
#include "app/gui/live/live_panel.h"
#include "app/gui/main_window.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/panels/aadiff_panel.h"
#include "app/gui/panels/accounting_panel.h"
#include "app/gui/panels/anomaly_panel.h"
#include "app/gui/panels/bubble_panel.h"
#include "app/gui/panels/compare_panel.h"
#include "app/gui/panels/details_panel.h"
#include "app/gui/panels/notes_panel.h"
#include "app/gui/panels/problems_panel.h"
#include "app/gui/panels/steps_panel.h"
#include "app/gui/panels/whatif_panel.h"

#include <QDockWidget>
#include <QStatusBar>

namespace bubblescope::gui {

/// Fills the dock of that name, which is made where there is none yet.
QDockWidget* MainWindow::addDock(const QString& name, const QString& title, QWidget* content, Qt::DockWidgetArea area) {
    auto* dock = findChild<QDockWidget*>(name, Qt::FindDirectChildrenOnly);
    if (dock == nullptr) {
        dock = new QDockWidget(this);
        dock->setObjectName(name);
        addDockWidget(area, dock);
    }
    dock->setWindowTitle(title);
    dock->setWidget(content);
    return dock;
}

void MainWindow::showDock(QDockWidget* dock) {
    dock->show();
    dock->raise();
}

ScheduleExplorer& MainWindow::openExplorer() {
    if (explorer_ == nullptr) {
        explorer_ = new ScheduleExplorer(themes_, this);
        if (state_.session()) explorer_->startFrom(*state_.session(), state_.step());
    }
    explorer_->show();
    explorer_->raise();
    explorer_->activateWindow();
    return *explorer_;
}

ManualWindow& MainWindow::openManual() {
    if (manual_ == nullptr) manual_ = new ManualWindow(themes_, languages_.current(), this);
    manual_->show();
    manual_->raise();
    manual_->activateWindow();
    return *manual_;
}

void MainWindow::showIdeal(bool on) {
    ideal_->setOn(on);
}

bool MainWindow::showPanel(const QString& name) {
    auto* dock = findChild<QDockWidget*>(name + QStringLiteral("Dock"));
    if (dock != nullptr) showDock(dock);
    return dock != nullptr;
}

void MainWindow::buildDocks() {
    const bool first = findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly).isEmpty();
    const auto below = [this](const char* name, const QString& title, QWidget* content) {
        return addDock(QString::fromLatin1(name), title, content, Qt::BottomDockWidgetArea);
    };
    QDockWidget* bubbles = below("bubblesDock", tr("Bubbles"), new BubblePanel(state_, themes_, this));
    QDockWidget* details = below("detailsDock", tr("Details"), new DetailsPanel(state_, themes_, this));
    auto* anomalies = new AnomalyPanel(state_, themes_, this);
    anomalies_dock_ = below("anomaliesDock", tr("Anomalies"), anomalies);
    auto* what_if = new WhatIfPanel(state_, themes_, this);
    QDockWidget* what_if_dock = below("whatifDock", tr("What if"), what_if);
    connect(anomalies, &AnomalyPanel::changeAsked, this, [what_if, what_if_dock](const QString& change) {
        showDock(what_if_dock);
        what_if->askFor(change);
    });
    problems_dock_ = below("problemsDock", tr("Problems"), new ProblemsPanel(state_, this));
    compare_ = new ComparePanel(state_, loader_, this);
    connect(compare_, &ComparePanel::fileRequested, this, &MainWindow::chooseComparison);
    auto* notes = new NotesPanel(state_, note_store_, this);
    QDockWidget* notes_dock = below("notesDock", tr("Notes"), notes);
    connect(&note_store_, &NoteStore::added, notes, [notes, notes_dock](int note) {
        showDock(notes_dock);
        notes->edit(note);
    });
    auto* live = new LivePanel(live_, state_, themes_, this);
    connect(live, &LivePanel::note, this, [this](const QString& text) { statusBar()->showMessage(text, 6000); });
    live_dock_ = below("liveDock", tr("Live"), live);
    interactions_.setExcept(live_dock_);
    const QList<QDockWidget*> others{
        live_dock_,
        anomalies_dock_,
        below("accountingDock", tr("Accounting"), new AccountingPanel(state_, themes_, this)),
        below("stepsDock", tr("Steps"), new StepsPanel(state_, themes_, this)),
        what_if_dock,
        below("aadiffDock", tr("A/A checks"), new AadiffPanel(state_, themes_, this)),
        below("compareDock", tr("Compare"), compare_),
        notes_dock,
        problems_dock_};
    if (!first) return; // they lie where the user wants them
    splitDockWidget(bubbles, details, Qt::Horizontal);
    QDockWidget* last = bubbles;
    for (QDockWidget* dock : others) {
        tabifyDockWidget(last, dock);
        last = dock;
    }
    // Opened by its button; most traces have nothing to say there.
    problems_dock_->hide();
    live_dock_->hide(); // comes with a run that is watched
    bubbles->raise();
    resizeDocks({bubbles, details}, {930, 350}, Qt::Horizontal);
    resizeDocks({bubbles}, {270}, Qt::Vertical);
}

} // namespace bubblescope::gui
