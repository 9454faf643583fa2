#include "app/gui/panels/details_panel.h"

#include "app/gui/models/item_text.h"

#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace bubblescope::gui {

DetailsPanel::DetailsPanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QScrollArea(parent), state_(state), themes_(themes), title_(new QLabel(this)), note_(new QLabel(this)),
      grid_(new QGridLayout) {
    setObjectName(QStringLiteral("detailsPanel"));
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    auto* content = new QWidget(this);
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(12, 10, 12, 10);
    column->setSpacing(8);
    QFont bold = font();
    bold.setBold(true);
    title_->setFont(bold);
    title_->setWordWrap(true);
    note_->setWordWrap(true);
    grid_->setHorizontalSpacing(16);
    grid_->setVerticalSpacing(3);
    grid_->setColumnStretch(1, 1);
    column->addWidget(title_);
    column->addLayout(grid_);
    column->addWidget(note_);
    column->addStretch(1);
    setWidget(content);

    connect(&state_, &ViewState::selectionChanged, this, &DetailsPanel::refresh);
    connect(&state_, &ViewState::diagnosisMade, this, [this](int step) {
        if (state_.selection().step == step) refresh();
    });
    connect(&themes_, &ThemeManager::changed, this, &DetailsPanel::applyTheme);
    refresh();
}

void DetailsPanel::refresh() {
    ItemDescription text;
    if (state_.session() && state_.selection()) {
        text = describe(*state_.session(), state_.selection());
    } else {
        text.note = tr("Click an op, a bubble or a transfer to see its details here.");
    }
    title_->setText(text.title);
    title_->setVisible(!text.title.isEmpty());
    note_->setText(text.note);
    note_->setVisible(!text.note.isEmpty());
    while (rows_.size() < text.facts.size()) {
        auto* name = new QLabel(widget());
        auto* value = new QLabel(widget());
        value->setTextInteractionFlags(Qt::TextSelectableByMouse);
        value->setWordWrap(true);
        name->setAlignment(Qt::AlignLeft | Qt::AlignTop);
        const int row = static_cast<int>(rows_.size());
        grid_->addWidget(name, row, 0);
        grid_->addWidget(value, row, 1);
        rows_.emplace_back(name, value);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const auto [name, value] = rows_[i];
        const bool used = i < text.facts.size();
        name->setText(used ? text.facts[i].name : QString());
        value->setText(used ? text.facts[i].value : QString());
        for (QLabel* label : {name, value}) {
            label->setToolTip(used ? text.facts[i].explanation : QString());
            label->setVisible(used);
        }
    }
    applyTheme();
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
