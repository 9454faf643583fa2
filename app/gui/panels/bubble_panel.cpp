#include "app/gui/panels/bubble_panel.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QScopedValueRollback>
#include <QSpinBox>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

namespace bubblescope::gui {

namespace {

/// Gives totals a different background, and colours differences by sign.
class BubbleDelegate : public QStyledItemDelegate {
public:
    BubbleDelegate(ThemeManager& themes, QObject* parent) : QStyledItemDelegate(parent), themes_(themes) {}

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        const Theme& theme = themes_.theme();
        if (index.data(BubbleTableModel::kTotalRole).toBool()) option->backgroundBrush = theme.header;
        if (index.column() != BubbleTableModel::Difference && index.column() != BubbleTableModel::Percent) return;
        // A difference of up to one percent from the closed form counts as equal, because its inputs are medians.
        const QVariant fraction = index.siblingAtColumn(BubbleTableModel::Percent).data(BubbleTableModel::kSortRole);
        if (!fraction.isValid()) return;
        constexpr double kSame = 0.01;
        const double value = fraction.toDouble();
        option->palette.setColor(QPalette::Text, value > kSame ? theme.bad : value < -kSame ? theme.good : theme.text);
    }

private:
    ThemeManager& themes_;
};

} // namespace

BubblePanel::BubblePanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), model_(new BubbleTableModel(this)), table_(new QTableView(this)),
      step_(new QSpinBox(this)), step_count_(new QLabel(this)), note_(new QLabel(this)),
      previous_(new QToolButton(this)), next_(new QToolButton(this)),
      fill_(new FillWhenVisible(*this, [this] { refresh(); })) {
    setObjectName(QStringLiteral("bubblePanel"));
    named(step_, "stepSelector", tr("Step"));
    step_->setKeyboardTracking(false);
    step_->setButtonSymbols(QAbstractSpinBox::NoButtons);
    step_->setAlignment(Qt::AlignCenter);
    previous_->setArrowType(Qt::LeftArrow);
    previous_->setToolTip(tr("Previous step"));
    next_->setArrowType(Qt::RightArrow);
    next_->setToolTip(tr("Next step"));
    note_->setTextFormat(Qt::PlainText);

    auto* bar = spaced(new QHBoxLayout, {12, 6, 12, 6}, 4);
    bar->addWidget(new QLabel(tr("Step"), this));
    bar->addSpacing(4);
    addAll(*bar, {previous_, step_, next_});
    bar->addSpacing(4);
    bar->addWidget(step_count_);
    bar->addSpacing(20);
    bar->addWidget(note_, 1);

    named(table_, "bubbleTable", tr("Bubbles by rank and position"));
    table_->setModel(model_);
    table_->setItemDelegate(new BubbleDelegate(themes, table_));
    styleTable(*table_);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table_->horizontalHeader()->setStretchLastSection(true);

    QVBoxLayout* column = tightColumn(*this);
    column->addLayout(bar);
    column->addWidget(table_, 1);

    connect(&state_, &ViewState::sessionChanged, fill_, &FillWhenVisible::markStale);
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (!model_->shows(state_.pipeline(), state_.step())) fill_->markStale();
    });
    connect(&state_, &ViewState::selectionChanged, this, [this] {
        if (!fill_->stale()) followSelection();
    });
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& current) {
                if (!following_ && current.isValid()) showRow(current.row());
            });
    // A click on the current row scrolls the view back to it.
    connect(table_, &QTableView::clicked, this, [this](const QModelIndex& index) { showRow(index.row()); });
    connect(step_, &QSpinBox::valueChanged, this, [this](int number) {
        const auto& session = state_.pipeline();
        if (session) showNumber(number);
    });
    connect(previous_, &QToolButton::clicked, this, [this] { stepBy(-1); });
    connect(next_, &QToolButton::clicked, this, [this] { stepBy(1); });
    refresh();
}

/// Shows the step with the next number, on the same replica.
void BubblePanel::stepBy(int direction) {
    const SessionPtr& session = state_.pipeline();
    if (!session) return;
    const int number = session->step(state_.step()).index;
    for (int i = state_.step(); i >= 0 && i < session->stepCount(); i += direction) {
        if (session->step(i).index != number) return showNumber(session->step(i).index);
    }
}

/// Shows a step on the current replica, or on another replica if the current one did not run the step.
void BubblePanel::showNumber(int number) {
    const Session& session = *state_.pipeline();
    const int replica = session.step(state_.step()).replica;
    int any = -1;
    for (int i = 0; i < session.stepCount(); ++i) {
        if (session.step(i).index != number) continue;
        if (any < 0) any = i;
        if (session.step(i).replica == replica) return state_.showStep(i);
    }
    if (any >= 0) state_.showStep(any);
}

QTableView& BubblePanel::table() {
    fill_->fillNow();
    return *table_;
}

const BubbleTableModel& BubblePanel::model() {
    fill_->fillNow();
    return *model_;
}

void BubblePanel::refresh() {
    const QScopedValueRollback guard(following_, true);
    const SessionPtr& session = state_.pipeline();
    model_->show(session, state_.step());
    setEnabled(session != nullptr);
    if (!session) {
        note_->clear();
        step_count_->clear();
        return;
    }
    const QSignalBlocker quiet(step_);
    step_->setRange(session->step(0).index, session->step(session->stepCount() - 1).index);
    step_->setValue(session->step(state_.step()).index);
    QString count = tr("of %1 to %2").arg(step_->minimum()).arg(step_->maximum());
    if (session->lanes.replicas().size() > 1) count += tr(", replica %1").arg(session->step(state_.step()).replica);
    step_count_->setText(count);
    previous_->setEnabled(step_->value() > step_->minimum());
    next_->setEnabled(step_->value() < step_->maximum());
    const StepAnalysis& analysis = session->analysis(state_.step());
    note_->setText(analysis.form ? tr("Closed form from this step's typical op times. Select a row to see its bubbles.")
                                 : tr("No closed form: %1.").arg(translatedText(analysis.form_note)));
    note_->setToolTip(note_->text());
    followSelection();
}

void BubblePanel::followSelection() {
    const QScopedValueRollback guard(following_, true);
    const int row = state_.pipeline() ? model_->rowOf(state_.selection()) : -1;
    if (row >= 0) {
        table_->setCurrentIndex(model_->index(row, BubbleTableModel::PositionColumn));
        table_->scrollTo(model_->index(row, 0));
    } else if (state_.selection().kind != ItemKind::None || !table_->currentIndex().isValid() ||
               !model_->data(table_->currentIndex(), BubbleTableModel::kTotalRole).toBool()) {
        table_->setCurrentIndex({});
    }
}

void BubblePanel::showRow(int row) {
    // Showing the row may change the step and the selection, which must not select another row.
    const ItemRef bubble = model_->longestBubble(row);
    const TimeRange extent = model_->extent(row);
    const int rank = model_->rankOf(row);
    state_.select(bubble);
    if (bubble) {
        state_.zoomTo(extent);
    } else {
        state_.showStep(state_.step());
    }
    emit state_.rankRequested(rank);
}

} // namespace bubblescope::gui
