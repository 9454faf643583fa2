#include "app/gui/panels/range_panel.h"

#include "app/gui/language/text.h"
#include "app/gui/models/notes.h"
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
      table_(new QTableView(this)), groups_(new QComboBox(this)), title_(new QLabel(this)),
      zoom_(new QToolButton(this)), save_(new QToolButton(this)),
      fill_(new FillWhenVisible(*this, [this] { fill(); })) {
    setObjectName(QStringLiteral("rangePanel"));
    groups_->setObjectName(QStringLiteral("rangeGroups"));
    groups_->setAccessibleName(tr("Add up by"));
    for (const QString& text : {tr("By kind"), tr("By op"), tr("By rank"), tr("By stage"), tr("By kernel or function")})
        groups_->addItem(text);
    title_->setObjectName(QStringLiteral("rangeTitle"));
    title_->setWordWrap(true); // it would be cut in a narrow panel
    title_->setTextFormat(Qt::PlainText);
    title_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    zoom_->setText(tr("Zoom to it"));
    zoom_->setObjectName(QStringLiteral("rangeZoom"));
    save_->setText(tr("Save as CSV…"));
    save_->setObjectName(QStringLiteral("rangeSave"));
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(12, 6, 12, 6);
    bar->setSpacing(10);
    bar->addWidget(groups_);
    bar->addWidget(title_, 1);
    bar->addWidget(zoom_);
    bar->addWidget(save_);

    table_->setObjectName(QStringLiteral("rangeTable"));
    table_->setAccessibleName(tr("Content of the time range"));
    sorted_->setSourceModel(model_);
    sorted_->setSortRole(RangeTableModel::kSortRole);
    table_->setModel(sorted_);
    styleTable(*table_);
    table_->setSortingEnabled(true);
    QHeaderView& header = *table_->horizontalHeader();
    header.setSortIndicator(-1, Qt::AscendingOrder); // by total, descending
    header.setStretchLastSection(true);
    const int digit = fontMetrics().horizontalAdvance(QLatin1Char('0'));
    for (int column = 0; column < RangeTableModel::ColumnCount; ++column)
        table_->setColumnWidth(column, std::max((column == RangeTableModel::NameColumn ? 22 : 14) * digit,
                                                header.sectionSizeHint(column)));
    QVBoxLayout* column = tightColumn(*this);
    column->addLayout(bar);
    column->addWidget(table_, 1);

    connect(&state_, &ViewState::sessionChanged, fill_, &FillWhenVisible::markStale);
    connect(&state_, &ViewState::measuredChanged, fill_, &FillWhenVisible::markStale);
    connect(groups_, &QComboBox::currentIndexChanged, fill_, &FillWhenVisible::markStale);
    connect(table_, &QTableView::activated, this, &RangePanel::go);
    connect(table_, &QTableView::clicked, this, &RangePanel::go);
    connect(zoom_, &QToolButton::clicked, this, [this] { state_.range().show(padded(state_.measured(), 0.02)); });
    connect(save_, &QToolButton::clicked, table_,
            [this] { table_->findChild<QAction*>(QStringLiteral("saveTable"))->trigger(); });
    fill_->markStale();
}

void RangePanel::fill() {
    const TimeRange range = state_.measured();
    const bool any = state_.session() && range.length() > TimeNs{0};
    zoom_->setEnabled(any);
    save_->setEnabled(any);
    if (!any) {
        job_.cancel();
        model_->show({}, TimeNs{0}, groups_->currentText());
        title_->setText(tr("Drag on the ruler to select a time range, or with Shift over the ops"));
        emit filled();
        return;
    }
    job_.start([session = state_.session(), range, group = static_cast<RangeGroup>(groups_->currentIndex())](
                   JobControl& control) { return rangeTable(*session, range, group, control.stop); },
               [this](std::vector<RangeRow> rows) { show(std::move(rows)); });
}

void RangePanel::show(std::vector<RangeRow> rows) {
    const TimeNs length = state_.measured().length();
    title_->setText(
        tr("%1 from %2 on").arg(exactTime(length), placeInTime(*state_.session(), state_.measured().begin)));
    title_->setToolTip(title_->text());
    const auto lines = static_cast<std::int64_t>(state_.session()->lanes.lineCount());
    model_->show(std::move(rows), length * lines, groups_->currentText());
    emit filled();
}

void RangePanel::go(const QModelIndex& index) {
    const ItemRef item = model_->at(sorted_->mapToSource(index).row()).longest_item;
    if (!item) return;
    state_.select(item);
    state_.reveal(item);
}

} // namespace bubblescope::gui
