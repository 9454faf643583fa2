#include "app/gui/live/live_panel.h"

#include "app/gui/live/live_models.h"
#include "app/gui/models/anomaly_model.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/theme/theme.h"

#include <QHeaderView>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace bubblescope::gui {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// One mark per step, named after the most severe cause that starts there. The tooltip lists all causes.
std::vector<StepChart::Mark> marksOf(const LiveSnapshot& snapshot) {
    std::map<int, std::vector<const LiveAlert*>> by_step;
    for (const LiveCause& cause : causesOf(snapshot))
        by_step[cause.first].push_back(&cause.main());
    std::vector<StepChart::Mark> marks;
    for (std::size_t place = 0; place < snapshot.steps.size(); ++place) {
        const auto found = by_step.find(snapshot.steps[place].index);
        if (found == by_step.end()) continue;
        auto& alerts = found->second;
        std::ranges::stable_sort(alerts, std::greater(), [](const LiveAlert* alert) { return severityOf(*alert); });
        StepChart::Mark mark;
        mark.step = static_cast<int>(place);
        mark.text = shortAlertText(*alerts.front(), snapshot);
        if (alerts.size() > 1) mark.text += QStringLiteral(" +%1").arg(alerts.size() - 1);
        mark.severity = severityOf(*alerts.front());
        mark.bad = mark.severity != Severity::Notice;
        for (const LiveAlert* alert : alerts)
            mark.all << alertText(*alert, snapshot);
        marks.push_back(std::move(mark));
    }
    return marks;
}

} // namespace

LiveStepChart::LiveStepChart(LiveController& live, ViewState& state, ThemeManager& themes, QWidget* parent)
    : StepChart(themes, parent), live_(live), state_(state), fill_(new FillWhenVisible(*this, [this] { refresh(); })) {
    setObjectName(QStringLiteral("liveStrip"));
    setAccessibleName(tr("Steps of the run as they arrive"));
    connect(&live_, &LiveController::changed, fill_, &FillWhenVisible::markStale);
    connect(&live_, &LiveController::parkedChanged, fill_, &FillWhenVisible::markStale);
    connect(&state_, &ViewState::modelChanged, this, [this] {
        shown_.reset(); // because the curve for the same steps has changed
        fill_->markStale();
    });
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (!fill_->stale()) markCurrent();
    });
    connect(this, &StepChart::stepChosen, this, &LiveStepChart::choose);
    connect(this, &StepChart::rangeChosen, this, [this](int, int last) { choose(last); });
    refresh();
}

void LiveStepChart::refresh() {
    const LiveSnapshotPtr snapshot = live_.shown();
    if (!snapshot || snapshot->steps.empty()) {
        shown_ = snapshot;
        return setCurves({}, {}, {});
    }
    // Most snapshots contain new records but no new step.
    const bool same = shown_ && shown_->steps.size() == snapshot->steps.size() &&
                      shown_->steps.back().index == snapshot->steps.back().index &&
                      shown_->steps.back().wall == snapshot->steps.back().wall &&
                      shown_->alerts.size() == snapshot->alerts.size();
    shown_ = snapshot;
    if (same) return;
    Curve walls = timeCurve();
    Curve rates = bubbleRateCurve();
    std::vector<int> numbers;
    for (const live::LiveStep& step : snapshot->steps) {
        numbers.push_back(step.index);
        // An incomplete step has unknown values instead of zeros.
        walls.data.values.push_back(step.complete ? static_cast<double>(step.wall.count()) : kUnknown);
        rates.data.values.push_back(step.complete ? step.bubble_rate : kUnknown);
        rates.expected.push_back(step.complete ? step.expected_rate.value_or(kUnknown) : kUnknown);
    }
    std::vector<StepValues> stated;
    for (const live::LiveStep& step : snapshot->steps)
        stated.push_back(step.values);
    std::vector<Curve> curves = statedCurves(stated, walls.data.values);
    if (state_.modelUse()) curves.insert(curves.begin(), useCurve(*state_.modelUse(), walls.data.values));
    curves.insert(curves.begin(), {std::move(walls), std::move(rates)});
    setCurves(std::move(curves), std::move(numbers), marksOf(*snapshot));
    markCurrent();
}

void LiveStepChart::markCurrent() {
    if (!shown_ || !state_.pipeline() || state_.step() < 0) return setCurrent(-1);
    const auto& steps = shown_->steps;
    const auto at =
        std::ranges::lower_bound(steps, state_.pipeline()->step(state_.step()).index, {}, &live::LiveStep::index);
    const bool there = at != steps.end() && at->index == state_.pipeline()->step(state_.step()).index;
    setCurrent(there ? static_cast<int>(at - steps.begin()) : -1);
}

void LiveStepChart::choose(int place) {
    if (!shown_ || place >= static_cast<int>(shown_->steps.size())) return;
    const int number = shown_->steps[static_cast<std::size_t>(place)].index;
    if (!live_.showStep(number)) emit stepGone(number);
}

namespace {

/// Colours the cells that contain a severity.
class StateDelegate : public QStyledItemDelegate {
public:
    using Colour = std::function<std::optional<QColor>(const QModelIndex&)>;
    StateDelegate(Colour colour, QObject* parent) : QStyledItemDelegate(parent), colour_(std::move(colour)) {}

    /// Adds a gap between rows with wrapped texts, so that they are not read as one text.
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        constexpr int kGap = 10;
        return QStyledItemDelegate::sizeHint(option, index) + QSize(0, kGap);
    }

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
    if (index.column() != LiveCauseModel::SeverityColumn) return std::nullopt;
    const QVariant severity = index.data(LiveCauseModel::kSeverityRole);
    if (!severity.isValid()) return theme.text_dim; // the alert has ended
    return severityColour(theme, static_cast<Severity>(severity.toInt()));
}

} // namespace

LivePanel::LivePanel(LiveController& live, ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), live_(live), state_(state), strip_(new LiveStepChart(live, state, themes, this)),
      causes_(new LiveCauseModel(this)), ranks_(new LiveRankModel(this)), tabs_(new QTabWidget(this)),
      alert_table_(addTable("liveAlerts", tr("What happened"))), rank_table_(addTable("liveRanks", tr("Ranks"))),
      fill_(new FillWhenVisible(*this, [this] { refresh(); })) {
    setObjectName(QStringLiteral("livePanel"));
    alert_table_->setModel(causes_);
    alert_table_->setItemDelegate(new StateDelegate(
        [&themes](const QModelIndex& index) { return alertColour(themes.theme(), index); }, alert_table_));
    rank_table_->setModel(ranks_);
    rank_table_->setItemDelegate(new StateDelegate(
        [&themes](const QModelIndex& index) { return rankColour(themes.theme(), index); }, rank_table_));
    for (QTableView* table : {alert_table_, rank_table_})
        table->horizontalHeader()->setStretchLastSection(true);
    const int digit = fontMetrics().horizontalAdvance(QLatin1Char('0'));
    alert_table_->setWordWrap(true);
    alert_table_->setColumnWidth(LiveCauseModel::StepsColumn, 11 * digit);
    alert_table_->setColumnWidth(LiveCauseModel::CountColumn, 7 * digit);
    alert_table_->setColumnWidth(LiveCauseModel::SeverityColumn, 10 * digit);
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
    addAll(*splitter, {strip_, tabs_});
    splitter->setSizes({1000, 1000}); // relative widths; sentences need more space than curves
    splitter->setChildrenCollapsible(false);
    auto* column = spaced(new QVBoxLayout(this), {0, 0, 0, 0});
    column->addWidget(splitter);

    connect(&live_, &LiveController::changed, fill_, &FillWhenVisible::markStale);
    connect(&live_, &LiveController::parkedChanged, fill_, &FillWhenVisible::markStale);
    connect(alert_table_, &QTableView::activated, this, [this](const QModelIndex& index) { goToCause(index.row()); });
    connect(strip_, &LiveStepChart::stepGone, this,
            [this](int number) { emit note(tr("Only the times and bubbles of step %1 are stored").arg(number)); });
    refresh();
}

QTableView* LivePanel::addTable(const char* name, const QString& accessible) {
    auto* table = named(new QTableView(this), name);
    table->setAccessibleName(accessible);
    styleTable(*table);
    return table;
}

void LivePanel::refresh() {
    const LiveSnapshotPtr snapshot = live_.shown();
    causes_->show(snapshot);
    ranks_->show(snapshot);
    // Sentences wrap only if there are few rows, because measuring thousands of rows several times per second would use
    // all the CPU time.
    constexpr int kMostWrapped = 100;
    if (causes_->rowCount() <= kMostWrapped) alert_table_->resizeRowsToContents();
    tabs_->setTabText(0, tr("Alerts: %1").arg(snapshot ? snapshot->alerts.size() : 0));
    tabs_->setTabText(1,
                      snapshot && !snapshot->ranks.empty() ? tr("Ranks: %1").arg(ranksText(*snapshot)) : tr("Ranks"));
}

void LivePanel::goToCause(int row) {
    const LiveAlert& alert = causes_->at(row).main();
    const int step = beganAt(alert);
    if (!live_.showStep(step)) return emit note(tr("Only the times and bubbles of step %1 are stored").arg(step));
    if (alert.anomaly) goTo(state_, *alert.anomaly);
}

} // namespace bubblescope::gui
