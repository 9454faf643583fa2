#include "app/gui/panels/range_panel.h"

#include "app/gui/language/text.h"
#include "app/gui/models/notes.h"
#include "app/gui/models/rows.h"
#include "app/gui/panels/widgets.h"

#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

RangePanel::RangePanel(ViewState& state, QWidget* parent)
    : QWidget(parent), state_(state), model_(new RangeTableModel(this)), sorted_(new QSortFilterProxyModel(this)),
      table_(new QTableView(this)), groups_(new QComboBox(this)), ranks_(new QComboBox(this)), title_(new QLabel(this)),
      zoom_(new QToolButton(this)), save_(new QToolButton(this)),
      fill_(new FillWhenVisible(*this, [this] { fill(); })) {
    setObjectName(QStringLiteral("rangePanel"));
    named(groups_, "rangeGroups", tr("Sum by"));
    for (const QString& text : {tr("By kind"), tr("By op"), tr("By rank"), tr("By stage"), tr("By kernel or function")})
        groups_->addItem(text);
    named(ranks_, "rangeRanks", tr("Ranks included"));
    title_->setObjectName(QStringLiteral("rangeTitle"));
    title_->setWordWrap(true); // otherwise, it would be cut off in a narrow panel
    title_->setTextFormat(Qt::PlainText);
    title_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    zoom_->setText(tr("Zoom to it"));
    zoom_->setObjectName(QStringLiteral("rangeZoom"));
    save_->setText(tr("Save as CSV…"));
    save_->setObjectName(QStringLiteral("rangeSave"));
    auto* bar = spaced(new QHBoxLayout, {12, 6, 12, 6}, 10);
    addAll(*bar, {groups_, ranks_});
    bar->addWidget(title_, 1);
    addAll(*bar, {zoom_, save_});

    named(table_, "rangeTable", tr("Contents of the time range"));
    sorted_->setSourceModel(model_);
    sorted_->setSortRole(RangeTableModel::kSortRole);
    table_->setModel(sorted_);
    styleTable(*table_);
    table_->setSortingEnabled(true);
    QHeaderView& header = *table_->horizontalHeader();
    header.setSortIndicator(-1, Qt::AscendingOrder); // by total, descending
    const int digit = fontMetrics().horizontalAdvance(QLatin1Char('0'));
    for (int column = 0; column < model_->columnCount(); ++column)
        table_->setColumnWidth(column, std::max((column == RangeTableModel::NameColumn ? 22 : 14) * digit,
                                                header.sectionSizeHint(column)));
    QVBoxLayout* column = tightColumn(*this);
    column->addLayout(bar);
    column->addWidget(table_, 1);

    connect(&state_, &ViewState::sessionChanged, this, [this] {
        fillRanks();
        fill_->markStale();
    });
    connect(ranks_, &QComboBox::currentIndexChanged, fill_, &FillWhenVisible::markStale);
    connect(&state_, &ViewState::measuredChanged, fill_, &FillWhenVisible::markStale);
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (state_.measured().length() == TimeNs{0}) fill_->markStale();
    });
    connect(groups_, &QComboBox::currentIndexChanged, fill_, &FillWhenVisible::markStale);
    connect(table_, &QTableView::activated, this, &RangePanel::go);
    connect(table_, &QTableView::clicked, this, &RangePanel::go);
    connect(zoom_, &QToolButton::clicked, this, [this] { state_.range().show(padded(state_.measured(), 0.02)); });
    connect(save_, &QToolButton::clicked, table_,
            [this] { table_->findChild<QAction*>(QStringLiteral("saveTable"))->trigger(); });
    fillRanks();
    fill_->markStale();
}

/// The selected rank of a watched run is unchanged when its session changes.
void RangePanel::fillRanks() {
    const QSignalBlocker quiet(ranks_);
    const SessionPtr& session = state_.pipeline();
    const int lines = session ? static_cast<int>(session->lanes.lineCount()) : 0;
    if (ranks_->count() == lines + 1) return;
    ranks_->clear();
    ranks_->addItem(tr("All ranks"));
    for (int line = 0; line < lines; ++line)
        ranks_->addItem(lineName(*session, line));
}

std::optional<int> RangePanel::chosenLine() const {
    return state_.pipeline() && ranks_->currentIndex() > 0 ? std::optional(ranks_->currentIndex() - 1) : std::nullopt;
}

void RangePanel::fill() {
    const SessionPtr& session = state_.session();
    const bool steps = session && session->hasSteps();
    const bool measured = session && state_.measured().length() > TimeNs{0};
    // Without a pipeline there are only slices.
    groups_->setVisible(steps || !session);
    ranks_->setVisible(steps);
    const RangeGroup group = steps ? static_cast<RangeGroup>(groups_->currentIndex()) : RangeGroup::Kernel;
    table_->setColumnHidden(RangeTableModel::SelfColumn, group != RangeGroup::Kernel);
    zoom_->setEnabled(measured);
    save_->setEnabled(session != nullptr);
    if (!session) {
        job_.cancel();
        model_->show({}, TimeNs{0}, groups_->currentText());
        title_->clear();
        emit filled();
        return;
    }
    // If no range is selected, shows the step or the complete trace.
    const TimeRange range = measured ? state_.measured()
                            : steps  ? session->window(state_.step())
                                     : session->lanes.extent();
    job_.start([session, range, group, tracks = measured ? state_.measuredTracks() : std::vector<TrackId>(),
                only = chosenLine()](
                   JobControl& control) { return rangeTable(*session, range, group, tracks, control.stop, only); },
               [this, range, group](RangeTable table) { show(std::move(table), range, group); });
}

QString RangePanel::titleOf(const TimeRange& range) const {
    const Session& session = *state_.session();
    if (range == state_.measured())
        return tr("%1 from %2 on").arg(shortTime(range.length()), placeInTime(session, range.begin));
    if (session.hasSteps())
        return tr("Step %1, %2; drag on the ruler, or hold Shift and drag over the ops, for another time range")
            .arg(session.step(state_.step()).index)
            .arg(shortTime(range.length()));
    return session.isBeginning() ? tr("Beginning, %1").arg(shortTime(range.length()))
                                 : tr("Whole trace, %1").arg(shortTime(range.length()));
}

void RangePanel::show(RangeTable table, const TimeRange& range, RangeGroup group) {
    const Session& session = *state_.session();
    QString title = titleOf(range);
    const bool kernels = group == RangeGroup::Kernel;
    const auto lanes = static_cast<std::int64_t>(kernels        ? table.lanes
                                                 : chosenLine() ? std::size_t{1}
                                                                : session.lanes.lineCount());
    const TimeNs room = range.length() * std::max<std::int64_t>(1, lanes);
    if (kernels)
        title =
            tr("%1: %Ln slice(s) on %2, busy for %3 of the time", nullptr, static_cast<int>(table.slices))
                .arg(title, tr("%Ln lane(s)", nullptr, static_cast<int>(lanes)), percent(fractionOf(table.busy, room)));
    title_->setText(title);
    title_->setToolTip(title);
    model_->show(std::move(table.rows), room, session.hasSteps() ? groups_->currentText() : tr("Name"));
    emit filled();
}

void RangePanel::go(const QModelIndex& index) {
    const ItemRef item = model_->at(sorted_->mapToSource(index).row()).longest_item;
    if (!item) return;
    state_.select(item);
    state_.reveal(item);
}

} // namespace bubblescope::gui
