#include "app/gui/panels/check_results.h"

#include "app/gui/language/format.h"
#include "app/gui/language/sentence_text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/panels/fill_when_seen.h"
#include "app/gui/panels/table_style.h"
#include "core/aadiff/mismatch.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QTableWidget>

namespace bubblescope::gui {

namespace {

enum ResultColumn : int { VerdictResult, RankResult, StepResult, OpResult, LayerResult, TensorResult, WhatResult };
constexpr std::size_t kMaxResults = 2000; ///< a run that departs everywhere says no more with more of them

} // namespace

CheckResults::CheckResults(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), map_(new HeatMap(themes, this)), table_(new QTableWidget(0, 7, this)),
      fill_(new FillWhenSeen(*this, [this] { refresh(); })) {
    map_->setObjectName(QStringLiteral("checkCoverage"));
    map_->setAccessibleName(tr("What the run's checks covered, by rank and kind of op"));
    table_->setObjectName(QStringLiteral("checkMismatches"));
    table_->setAccessibleName(tr("Mismatches"));
    table_->setHorizontalHeaderLabels(
        {tr("Verdict"), tr("Rank"), tr("Step"), tr("Op"), tr("Layer"), tr("Tensor"), tr("Difference")});
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    styleTable(*table_);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table_->horizontalHeader()->setStretchLastSection(true);
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    auto* splitter = new QSplitter(Qt::Horizontal, this);
    splitter->addWidget(map_);
    splitter->addWidget(table_);
    splitter->setStretchFactor(0, 2);
    splitter->setStretchFactor(1, 3);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(splitter);

    connect(&state_, &ViewState::sessionChanged, fill_, &FillWhenSeen::ask);
    connect(map_, &HeatMap::clicked, this, &CheckResults::goToCell);
    const auto choose = [this](int at) {
        if (at >= 0 && static_cast<std::size_t>(at) < mismatches_.size())
            goTo(checkItem(*state_.session(), mismatches_[static_cast<std::size_t>(at)]));
    };
    connect(table_, &QTableWidget::cellClicked, this, choose);
    connect(table_, &QTableWidget::cellActivated, this, choose);
    refresh();
}

bool CheckResults::any() const {
    return state_.session() && state_.session()->report.coverage;
}

QString CheckResults::headline() const {
    if (!any()) return {};
    const CheckCoverage& coverage = *state_.session()->report.coverage;
    const CheckCounts all = coverage.all();
    const auto units = static_cast<int>(coverage.units.size());
    const auto covered = static_cast<int>(coverage.unitsThatAre(Covered::Yes));
    const QString found = all.mismatched == 0
                              ? tr("%1 checks, all equal.").arg(all.done())
                              : tr("%1 checks, %2 of them found a difference.").arg(all.done()).arg(all.mismatched);
    QString out = found + QLatin1Char(' ') +
                  tr("%1 of %2 units of work are covered, %3 of the work was run again.")
                      .arg(covered)
                      .arg(units)
                      .arg(percent(coverage.replayedFraction()));
    if (covered < units) out += QLatin1Char(' ') + tr("Of the other %1 nothing is known.").arg(units - covered);
    return out;
}

void CheckResults::refresh() {
    cells_ = any() ? checkMap(*state_.session()->report.coverage) : CheckMap();
    showMap();
    showMismatches();
}

HeatMap::Cell CheckResults::cellOf(const CheckMap::Cell& cell) {
    if (cell.units == 0) return {};
    const QString counts = tr("%1 of %2 layers covered, %3 not yet, %4 never planned; checks: %5 equal, %6 mismatched, "
                              "%7 given up, %8 skipped.")
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
                tr("Unknown, not fine: nothing of it was checked.") + QLatin1Char(' ') + counts};
    const double share = static_cast<double>(cell.covered) / cell.units;
    return {HeatMap::Cell::State::Value, 1 - share, QStringLiteral("%1/%2").arg(cell.covered).arg(cell.units), counts};
}

void CheckResults::showMap() {
    QStringList rows;
    QStringList columns;
    std::vector<HeatMap::Cell> cells;
    const bool chunks = any() && state_.session()->run.schedule.vpp > 1;
    for (const CheckMap::Column& column : cells_.columns) {
        const QChar letter = QChar::fromLatin1(opLetter(column.kind));
        columns << (chunks ? QStringLiteral("%1·%2").arg(letter).arg(column.chunk.value) : QString(letter));
    }
    for (const CheckPlace& place : cells_.rows) {
        QString name = tr("Rank %1").arg(place.rank.value);
        if (place.tensor_rank > 0) name += QStringLiteral(" tp%1").arg(place.tensor_rank);
        if (place.replica > 0) name += QStringLiteral(" dp%1").arg(place.replica);
        rows << name;
    }
    for (const CheckMap::Cell& cell : cells_.cells)
        cells.push_back(cellOf(cell));
    map_->setCells(std::move(rows), std::move(columns), std::move(cells));
}

void CheckResults::showMismatches() {
    mismatches_.clear();
    table_->setRowCount(0);
    if (!any()) return;
    const auto& checks = state_.session()->run.checks.checks;
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
    goTo(checkOf(*state_.session(), cells_.rows[static_cast<std::size_t>(row)],
                 cells_.columns[static_cast<std::size_t>(column)]));
}

} // namespace bubblescope::gui
