#include "app/gui/panels/details_panel.h"

#include "app/gui/models/item_text.h"
#include "app/gui/models/step_text.h"
#include "app/gui/panels/widgets.h"

#include <QGridLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

DetailsPanel::DetailsPanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QScrollArea(parent), state_(state), themes_(themes), title_(new QLabel(this)), note_(new QLabel(this)),
      grid_(new QGridLayout), more_(new QToolButton(this)) {
    setObjectName(QStringLiteral("detailsPanel"));
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    auto* content = new QWidget(this);
    auto* column = spaced(new QVBoxLayout(content), {12, 10, 12, 10}, 8);
    QFont bold = font();
    bold.setBold(true);
    title_->setFont(bold);
    title_->setWordWrap(true);
    note_->setWordWrap(true);
    grid_->setHorizontalSpacing(16);
    grid_->setVerticalSpacing(3);
    grid_->setColumnStretch(1, 1);
    column->addWidget(title_);
    more_->setObjectName(QStringLiteral("detailsMore"));
    more_->setText(tr("More"));
    more_->setCheckable(true);
    more_->setAutoRaise(true);
    more_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    column->addLayout(grid_);
    addAll(*column, {note_, more_});
    column->addStretch(1);
    setWidget(content);

    connect(more_, &QToolButton::toggled, this, &DetailsPanel::refresh);
    connect(&state_, &ViewState::sessionChanged, this, &DetailsPanel::refresh);
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (!state_.selection()) refresh();
    });
    connect(&state_, &ViewState::selectionChanged, this, &DetailsPanel::refresh);
    connect(&state_, &ViewState::diagnosisMade, this, [this](int step) {
        if (state_.selection().step == step) refresh();
    });
    connect(&themes_, &ThemeManager::changed, this, &DetailsPanel::applyTheme);
    refresh();
}

void DetailsPanel::refresh() {
    const SessionPtr& session = state_.session();
    ItemDescription text;
    if (session)
        text = state_.selection() ? describe(*session, state_.selection()) : describeStep(*session, state_.step());
    title_->setText(text.title);
    title_->setVisible(!text.title.isEmpty());
    note_->setText(text.note);
    note_->setVisible(!text.note.isEmpty());
    // Details come last, below the note.
    std::stable_partition(text.facts.begin(), text.facts.end(), [](const Fact& fact) { return !fact.detail; });
    for (std::size_t row = 0; row < std::max(rows_.size(), text.facts.size()); ++row)
        showFact(row, row < text.facts.size() ? text.facts[row] : Fact());
    more_->setVisible(!text.facts.empty() && text.facts.back().detail);
    more_->setArrowType(more_->isChecked() ? Qt::DownArrow : Qt::RightArrow);
    applyTheme();
}

/// An empty fact hides the row.
void DetailsPanel::showFact(std::size_t row, const Fact& fact) {
    if (row == rows_.size()) {
        auto* name = new QLabel(widget());
        auto* value = new QLabel(widget());
        value->setTextInteractionFlags(Qt::TextSelectableByMouse);
        value->setWordWrap(true);
        name->setAlignment(Qt::AlignLeft | Qt::AlignTop);
        grid_->addWidget(name, static_cast<int>(row), 0);
        grid_->addWidget(value, static_cast<int>(row), 1);
        rows_.emplace_back(name, value);
    }
    const auto [name, value] = rows_[row];
    name->setText(fact.name);
    value->setText(fact.value);
    const bool shown = !fact.name.isEmpty() && (!fact.detail || more_->isChecked());
    for (QLabel* label : {name, value}) {
        label->setToolTip(fact.explanation);
        label->setVisible(shown);
    }
}

void DetailsPanel::applyTheme() {
    QPalette base = themes_.theme().palette;
    base.setColor(QPalette::Window, base.color(QPalette::Base));
    widget()->setPalette(base);
    QPalette dim = base;
    dim.setColor(QPalette::WindowText, themes_.theme().text_dim);
    for (const auto& [name, value] : rows_)
        name->setPalette(dim);
    note_->setPalette(dim);
}

QString DetailsPanel::title() const {
    return title_->text();
}

QString DetailsPanel::value(const QString& name) const {
    for (const auto& [label, value] : rows_) {
        if (label->text() == name) return value->text();
    }
    return {};
}

} // namespace bubblescope::gui
