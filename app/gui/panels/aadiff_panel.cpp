#include "app/gui/panels/aadiff_panel.h"

#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/panels/widgets.h"
#include "core/aadiff/mismatch.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QScrollArea>
#include <QSpinBox>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

namespace {

enum ResultColumn : int { VerdictResult, RankResult, StepResult, OpResult, LayerResult, TensorResult, WhatResult };
constexpr std::size_t kMaxResults = 2000; ///< limit, because a longer list would not be more useful

} // namespace

CheckResults::CheckResults(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), map_(new HeatMap(themes, this)), table_(new QTableWidget(0, 7, this)),
      fill_(new FillWhenVisible(*this, [this] { refresh(); })) {
    named(map_, "checkCoverage", tr("Coverage of the run's checks, by rank and kind of op"));
    named(table_, "checkMismatches", tr("Mismatches"));
    table_->setHorizontalHeaderLabels(
        {tr("Verdict"), tr("Rank"), tr("Step"), tr("Op"), tr("Layer"), tr("Tensor"), tr("Difference")});
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    styleTable(*table_);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table_->horizontalHeader()->setStretchLastSection(true);
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    auto* splitter = new QSplitter(Qt::Horizontal, this);
    addAll(*splitter, {map_, table_});
    splitter->setStretchFactor(0, 2);
    splitter->setStretchFactor(1, 3);
    auto* row = spaced(new QHBoxLayout(this), {0, 0, 0, 0});
    row->addWidget(splitter);

    connect(&state_, &ViewState::sessionChanged, fill_, &FillWhenVisible::markStale);
    connect(map_, &HeatMap::clicked, this, &CheckResults::goToCell);
    const auto choose = [this](int at) {
        if (at >= 0 && static_cast<std::size_t>(at) < mismatches_.size())
            goTo(checkItem(*state_.pipeline(), mismatches_[static_cast<std::size_t>(at)]));
    };
    connect(table_, &QTableWidget::cellClicked, this, choose);
    connect(table_, &QTableWidget::cellActivated, this, choose);
    refresh();
}

bool CheckResults::any() const {
    return state_.pipeline() && state_.pipeline()->report.coverage;
}

QString CheckResults::headline() const {
    if (!any()) return {};
    const CheckCoverage& coverage = *state_.pipeline()->report.coverage;
    const CheckCounts all = coverage.all();
    const auto units = static_cast<int>(coverage.units.size());
    const auto covered = static_cast<int>(coverage.unitsThatAre(Covered::Yes));
    const QString found = all.mismatched == 0
                              ? tr("%1 checks, all equal.").arg(all.done())
                              : tr("%1 checks, %2 with a difference.").arg(all.done()).arg(all.mismatched);
    QString out = found + QLatin1Char(' ') +
                  tr("%1 of %2 work units are covered; %3 of the work was repeated.")
                      .arg(covered)
                      .arg(units)
                      .arg(percent(coverage.replayedFraction()));
    if (covered < units) out += QLatin1Char(' ') + tr("The other %1 are unknown.").arg(units - covered);
    return out;
}

void CheckResults::refresh() {
    cells_ = any() ? coverageMap(*state_.pipeline()->report.coverage) : CoverageMap();
    showMap();
    showMismatches();
}

HeatMap::Cell CheckResults::cellOf(const CoverageMap::Cell& cell) {
    if (cell.units == 0) return {};
    const QString counts = tr("%1 of %2 layers covered, %3 not yet, %4 never planned; checks: %5 equal, %6 mismatched, "
                              "%7 abandoned, %8 skipped.")
                               .arg(cell.covered)
                               .arg(cell.units)
                               .arg(cell.not_yet)
                               .arg(cell.never)
                               .arg(cell.counts.equal)
                               .arg(cell.counts.mismatched)
                               .arg(cell.counts.aborted)
                               .arg(cell.counts.skipped);
    if (cell.counts.mismatched > 0)
        return {HeatMap::Cell::State::Bad, 0, QStringLiteral("≠ %1").arg(cell.counts.mismatched), counts};
    if (cell.covered == 0)
        return {HeatMap::Cell::State::Empty, 0, cell.not_yet > 0 ? tr("not yet") : tr("never"),
                tr("Not verified: no part of it was checked.") + QLatin1Char(' ') + counts};
    const double fraction = static_cast<double>(cell.covered) / cell.units;
    return {HeatMap::Cell::State::Value, 1 - fraction, QStringLiteral("%1/%2").arg(cell.covered).arg(cell.units),
            counts};
}

void CheckResults::showMap() {
    QStringList rows;
    QStringList columns;
    std::vector<HeatMap::Cell> cells;
    const bool chunks = any() && state_.pipeline()->run.schedule.vpp > 1;
    for (const CoverageMap::Column& column : cells_.columns) {
        const QChar letter = QChar::fromLatin1(opLetter(column.kind));
        columns << (chunks ? QStringLiteral("%1·%2").arg(letter).arg(column.chunk.value) : QString(letter));
    }
    for (const CheckPlace& place : cells_.rows) {
        QString name = tr("Rank %1").arg(place.rank.value);
        if (place.tensor_rank > 0) name += QStringLiteral(" tp%1").arg(place.tensor_rank);
        if (place.replica > 0) name += QStringLiteral(" dp%1").arg(place.replica);
        rows << name;
    }
    for (const CoverageMap::Cell& cell : cells_.cells)
        cells.push_back(cellOf(cell));
    map_->setCells(std::move(rows), std::move(columns), std::move(cells));
}

void CheckResults::showMismatches() {
    mismatches_.clear();
    table_->setRowCount(0);
    if (!any()) return;
    const auto& checks = state_.pipeline()->run.checks.checks;
    for (std::size_t i = 0; i < checks.size() && mismatches_.size() < kMaxResults; ++i) {
        if (checks[i].outcome == CheckOutcome::Mismatch) mismatches_.push_back(i);
    }
    table_->setRowCount(static_cast<int>(mismatches_.size()));
    for (int row = 0; row < table_->rowCount(); ++row) {
        const CheckRecord& check = checks[mismatches_[static_cast<std::size_t>(row)]];
        const QStringList texts{checkVerdictText(check.verdict),  QString::number(check.rank.value),
                                QString::number(check.step),      fromUtf8(opName(check.op)),
                                QString::number(check.layer),     fromUtf8(check.tensor),
                                translated(differenceText(check))};
        for (int column = 0; column < texts.size(); ++column) {
            auto* item = new QTableWidgetItem(texts[column]);
            item->setToolTip(column == VerdictResult ? sentence(translated(verdictText(check))) : texts[column]);
            table_->setItem(row, column, item);
        }
    }
}

void CheckResults::goTo(const ItemRef& item) {
    if (!item) return;
    if (item.step != state_.step()) state_.showStep(item.step);
    state_.select(item);
    state_.zoomTo(item);
}

void CheckResults::goToCell(int row, int column) {
    goTo(checkOf(*state_.pipeline(), cells_.rows[static_cast<std::size_t>(row)],
                 cells_.columns[static_cast<std::size_t>(column)]));
}

namespace {

/// Indices in the combo box and the stack.
enum View : int { kResults, kPlan };
enum Column : int { RankColumn, PositionColumn, StartColumn, LengthColumn, ChecksColumn, ColumnCount };

} // namespace

AadiffPanel::AadiffPanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), what_(new QComboBox(this)), pages_(new QStackedWidget(this)),
      results_(new CheckResults(state, themes, this)), fill_(new FillWhenVisible(*this, [this] { chooseView(); })),
      margin_(new QSpinBox(this)), headline_(new ElidedLabel(this)), map_(new HeatMap(themes, this)),
      table_(new QTableWidget(0, ColumnCount, this)) {
    setObjectName(QStringLiteral("aadiffPanel"));
    headline_->setObjectName(QStringLiteral("aadiffHeadline"));
    headline_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    named(what_, "aadiffView", tr("What to show"));
    what_->addItems({tr("Checks of this run"), tr("Checks that fit into its bubbles")});
    named(margin_, "aadiffMargin", tr("Margin"));
    margin_->setRange(0, 200);
    margin_->setValue(10);
    margin_->setSuffix(tr(" % margin"));
    margin_->setToolTip(tr("Extra time that a check may take beyond its op without delaying the step"));
    named(map_, "aadiffCoverage", tr("Steps until each op is checked, by rank"));
    named(table_, "aadiffSlots", tr("Slots"));
    table_->setHorizontalHeaderLabels({tr("Rank"), tr("Position"), tr("Start in step"), tr("Length"), tr("Checks")});
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    styleTable(*table_);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table_->horizontalHeader()->setSectionResizeMode(ChecksColumn, QHeaderView::Stretch);
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    auto* bar = spaced(new QHBoxLayout, {12, 6, 12, 6}, 12);
    addAll(*bar, {what_, margin_});
    bar->addWidget(headline_, 1);
    auto* splitter = new QSplitter(Qt::Horizontal, pages_);
    // With many ranks, the map is higher than the window.
    auto* scroll = new QScrollArea(splitter);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setWidget(map_);
    addAll(*splitter, {scroll, table_});
    splitter->setStretchFactor(0, 2);
    splitter->setStretchFactor(1, 3);
    QVBoxLayout* column = tightColumn(*this);
    column->addLayout(bar);
    addAll(*pages_, {results_, splitter});
    column->addWidget(pages_, 1);

    connect(&state_, &ViewState::sessionChanged, this, [this] {
        job_.cancel();
        plan_.reset(); // the plan belongs to another run, even if the hidden table still shows it
        fill_->markStale();
    });
    connect(what_, &QComboBox::currentIndexChanged, this, &AadiffPanel::showView);
    connect(margin_, &QSpinBox::valueChanged, this, &AadiffPanel::refresh);
    connect(table_, &QTableWidget::cellClicked, this, &AadiffPanel::goToSlot);
    connect(table_, &QTableWidget::cellActivated, this, &AadiffPanel::goToSlot);
    connect(map_, &HeatMap::clicked, this, &AadiffPanel::goToUnit);
    fill_->markStale();
}

/// Shows the results of a new run if it has any checks.
void AadiffPanel::chooseView() {
    what_->setVisible(results_->any());
    what_->setCurrentIndex(results_->any() ? kResults : kPlan);
    showView();
}

void AadiffPanel::showView() {
    const bool results = what_->currentIndex() == kResults;
    pages_->setCurrentIndex(what_->currentIndex());
    margin_->setVisible(!results);
    refresh();
}

void AadiffPanel::refresh() {
    plan_.reset();
    job_.cancel();
    showSlots();
    showCoverage();
    headline_->clear();
    headline_->setToolTip({});
    if (!state_.pipeline()) return;
    if (what_->currentIndex() == kResults) {
        headline_->setText(results_->headline());
        headline_->setToolTip(headline_->text());
        return;
    }
    headline_->setText(tr("Planning …"));
    job_.start([session = state_.pipeline(),
                margin = margin_->value() / 100.0](JobControl&) { return planChecksOfRun(session->run.steps, margin); },
               [this](Result<CheckPlan> plan) { finish(std::move(plan)); });
}

void AadiffPanel::finish(Result<CheckPlan> plan) {
    if (!plan.ok()) {
        headline_->setText(sentence(errorText(plan.error())));
    } else {
        plan_ = std::move(plan).value();
        const QString soon = plan_->full ? tr("all within %1 steps").arg(*plan_->full)
                                         : tr("at most %1 of them").arg(percent(plan_->coverable));
        const QString could =
            tr("Checks can use %2 of the %1 of idle time per step. Coverage of each op of each chunk: %3.")
                .arg(shortTime(plan_->idle), shortTime(plan_->checked), soon);
        headline_->setText(results_->any() ? could : tr("No op of this run was checked.") + QLatin1Char(' ') + could);
        headline_->setToolTip(headline_->text());
    }
    showSlots();
    showCoverage();
    emit planned();
}

void AadiffPanel::showSlots() {
    table_->setRowCount(0);
    if (!plan_) return;
    const StepAnalysis& analysis = state_.pipeline()->analysis(plan_->step);
    const TimeNs begin = state_.pipeline()->window(plan_->step).begin;
    table_->setRowCount(static_cast<int>(plan_->places.size()));
    for (int row = 0; row < table_->rowCount(); ++row) {
        const CheckPlan::Place& place = plan_->places[static_cast<std::size_t>(row)];
        QStringList checks;
        for (const Op& op : place.checks)
            checks << fromUtf8(opName(op));
        const QStringList texts{QString::number(place.rank.value), positionText(analysis, place.position),
                                shortTime(place.when.start - begin), shortTime(place.when.end - place.when.start),
                                checks.join(QStringLiteral(", "))};
        for (int column = 0; column < texts.size(); ++column) {
            auto* item = new QTableWidgetItem(texts[column]);
            if (column == StartColumn || column == LengthColumn)
                item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
            if (column == ChecksColumn) item->setToolTip(texts[column]); // many texts are longer than the column
            table_->setItem(row, column, item);
        }
    }
}

HeatMap::Cell AadiffPanel::cellOf(const CheckPlan::Unit& unit, int latest) {
    if (!unit.exists) return {};
    if (unit.first_step == 0)
        return {HeatMap::Cell::State::Bad, 0, tr("never"),
                tr("The check does not fit into any bubble in which its inputs are still available.")};
    const double value = latest > 1 ? static_cast<double>(unit.first_step - 1) / (latest - 1) : 0;
    return {HeatMap::Cell::State::Value, value, QString::number(unit.first_step),
            tr("First checked in step %1 of the plan.").arg(unit.first_step)};
}

void AadiffPanel::showCoverage() {
    QStringList rows;
    QStringList columns;
    std::vector<HeatMap::Cell> cells;
    if (plan_) {
        const int vpp = state_.pipeline()->run.schedule.vpp;
        for (const CheckPlan::Column& column : plan_->columns) {
            const QChar letter = QChar::fromLatin1(opLetter(column.kind));
            columns << (vpp > 1 ? QStringLiteral("%1·%2").arg(letter).arg(column.chunk.value) : QString(letter));
        }
        int latest = 1;
        for (const CheckPlan::Unit& unit : plan_->units)
            latest = std::max(latest, unit.first_step);
        for (std::size_t rank = 0; rank < plan_->ranks; ++rank)
            rows << tr("Rank %1").arg(rank);
        for (const CheckPlan::Unit& unit : plan_->units)
            cells.push_back(cellOf(unit, latest));
    }
    map_->setCells(std::move(rows), std::move(columns), std::move(cells));
}

void AadiffPanel::highlightChecks(const std::vector<Highlight>& stretches) {
    if (state_.step() != plan_->step) state_.showStep(plan_->step);
    state_.highlight(stretches);
    if (!stretches.empty()) emit state_.rankRequested(stretches.front().rank);
}

void AadiffPanel::goToSlot(int row) {
    if (!plan_ || row < 0 || row >= static_cast<int>(plan_->places.size())) return;
    const CheckPlan::Place& place = plan_->places[static_cast<std::size_t>(row)];
    highlightChecks({{place.rank.value, {place.when.start, place.when.end}}});
}

void AadiffPanel::goToUnit(int rank, int column) {
    if (!plan_) return;
    std::vector<Highlight> stretches;
    for (const TimeInterval& check :
         plan_->unit(static_cast<std::size_t>(rank), static_cast<std::size_t>(column)).checks)
        stretches.push_back({rank, {check.start, check.end}});
    highlightChecks(stretches);
}

} // namespace bubblescope::gui
