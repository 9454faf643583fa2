#include "app/gui/live/live_panel.h"

#include "app/gui/live/live_models.h"
#include "app/gui/live/live_strip.h"
#include "app/gui/live/live_text.h"
#include "app/gui/models/anomaly_target.h"
#include "app/gui/panels/fill_when_seen.h"
#include "app/gui/panels/table_style.h"
#include "app/gui/theme/chart_colours.h"

#include <QHeaderView>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>

namespace bubblescope::gui {

namespace {

/// Colours the words that say how bad something is.
class StateDelegate : public QStyledItemDelegate {
public:
    using Colour = std::function<std::optional<QColor>(const QModelIndex&)>;
    StateDelegate(Colour colour, QObject* parent) : QStyledItemDelegate(parent), colour_(std::move(colour)) {}

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        const std::optional<QColor> colour = colour_(index);
        if (!colour) return;
        option->palette.setColor(QPalette::Text, *colour);
        option->font.setBold(true);
    }

private:
    Colour colour_;
};

std::optional<QColor> rankColour(const Theme& theme, const QModelIndex& index) {
    if (index.column() != LiveRankModel::StateColumn) return std::nullopt;
    switch (static_cast<live::RankState>(index.data(LiveRankModel::kStateRole).toInt())) {
    case live::RankState::Late: return severityColour(theme, Severity::Warning);
    case live::RankState::Gone: return severityColour(theme, Severity::Serious);
    default: return std::nullopt;
    }
}

std::optional<QColor> alertColour(const Theme& theme, const QModelIndex& index) {
    if (index.column() != LiveAlertModel::SeverityColumn) return std::nullopt;
    return severityColour(theme, static_cast<Severity>(index.data(LiveAlertModel::kSeverityRole).toInt()));
}

} // namespace

LivePanel::LivePanel(LiveController& live, ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), live_(live), state_(state), strip_(new LiveStrip(live, state, themes, this)),
      alerts_(new LiveAlertModel(this)), ranks_(new LiveRankModel(this)), tabs_(new QTabWidget(this)),
      alert_table_(addTable("liveAlerts", tr("What happened"))), rank_table_(addTable("liveRanks", tr("Ranks"))),
      fill_(new FillWhenSeen(*this, [this] { refresh(); })) {
    setObjectName(QStringLiteral("livePanel"));
    alert_table_->setModel(alerts_);
    alert_table_->setItemDelegate(new StateDelegate(
        [&themes](const QModelIndex& index) { return alertColour(themes.theme(), index); }, alert_table_));
    rank_table_->setModel(ranks_);
    rank_table_->setItemDelegate(new StateDelegate(
        [&themes](const QModelIndex& index) { return rankColour(themes.theme(), index); }, rank_table_));
    for (QTableView* table : {alert_table_, rank_table_})
        table->horizontalHeader()->setStretchLastSection(true);
    const int digit = fontMetrics().horizontalAdvance(QLatin1Char('0'));
    alert_table_->setColumnWidth(LiveAlertModel::StepColumn, 7 * digit);
    alert_table_->setColumnWidth(LiveAlertModel::SeverityColumn, 10 * digit);
    for (const auto& [column, digits] : {std::pair(LiveRankModel::RankColumn, 18),
                                         {LiveRankModel::StateColumn, 11},
                                         {LiveRankModel::StepColumn, 9},
                                         {LiveRankModel::RecordsColumn, 12},
                                         {LiveRankModel::LostColumn, 8}})
        rank_table_->setColumnWidth(column, digits * digit);
    tabs_->setDocumentMode(true);
    tabs_->setUsesScrollButtons(false);
    tabs_->setElideMode(Qt::ElideRight);
    tabs_->addTab(alert_table_, {});
    tabs_->addTab(rank_table_, {});

    auto* splitter = new QSplitter(Qt::Horizontal, this);
    splitter->addWidget(strip_);
    splitter->addWidget(tabs_);
    splitter->setSizes({1000, 1000}); // shares; sentences need room, and curves can do with less
    splitter->setChildrenCollapsible(false);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(splitter);

    connect(&live_, &LiveController::changed, fill_, &FillWhenSeen::ask);
    connect(alert_table_, &QTableView::activated, this, [this](const QModelIndex& index) { goToAlert(index.row()); });
    connect(strip_, &LiveStrip::stepGone, this,
            [this](int number) { emit note(tr("Of step %1 only time and bubbles are kept").arg(number)); });
    refresh();
}

QTableView* LivePanel::addTable(const char* name, const QString& accessible) {
    auto* table = new QTableView(this);
    table->setObjectName(QString::fromLatin1(name));
    table->setAccessibleName(accessible);
    styleTable(*table);
    return table;
}

void LivePanel::refresh() {
    const LiveSnapshotPtr& picture = live_.picture();
    alerts_->show(picture);
    ranks_->show(picture);
    tabs_->setTabText(0, tr("Alerts: %1").arg(alerts_->rowCount()));
    tabs_->setTabText(1, picture && !picture->ranks.empty() ? tr("Ranks: %1").arg(ranksText(*picture)) : tr("Ranks"));
}

void LivePanel::goToAlert(int row) {
    const LiveAlert& alert = alerts_->at(row);
    const int step = beganAt(alert);
    if (!live_.showStep(step)) return emit note(tr("Of step %1 only time and bubbles are kept").arg(step));
    if (alert.anomaly) goTo(state_, *alert.anomaly);
}

} // namespace bubblescope::gui
