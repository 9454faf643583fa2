#include "app/gui/panels/search_bar.h"

#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

namespace {

constexpr std::size_t kMaxHits = 200;
constexpr int kWidth = 460;
constexpr int kMaxRows = 10;

} // namespace

SearchBar::SearchBar(ViewState& state, QWidget* parent)
    : QFrame(parent), state_(state), line_(new QLineEdit(this)), list_(new QListWidget(this)), hint_(new QLabel(this)) {
    setObjectName(QStringLiteral("searchBar"));
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    line_->setObjectName(QStringLiteral("searchLine"));
    line_->setAccessibleName(tr("Search"));
    line_->setPlaceholderText(tr("F3.1, rank 2, step 7, an anomaly, a name …"));
    line_->setClearButtonEnabled(true);
    line_->installEventFilter(this);
    list_->setObjectName(QStringLiteral("searchHits"));
    list_->setAccessibleName(tr("What was found"));
    list_->setFrameShape(QFrame::NoFrame);
    list_->setTextElideMode(Qt::ElideMiddle);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    list_->setUniformItemSizes(true);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(6, 6, 6, 6);
    column->setSpacing(4);
    column->addWidget(line_);
    column->addWidget(hint_);
    column->addWidget(list_);
    hide();
    connect(line_, &QLineEdit::textChanged, this, &SearchBar::start);
    connect(list_, &QListWidget::itemClicked, this, &SearchBar::choose);
    connect(&state_, &ViewState::sessionChanged, this, &SearchBar::dismiss);
}

void SearchBar::open() {
    if (!state_.session()) return;
    const int width = std::min(kWidth, parentWidget()->width() - 20);
    show();
    raise();
    resize(width, sizeHint().height());
    move(parentWidget()->width() - width - 12, 6);
    line_->selectAll();
    line_->setFocus();
    start();
}

void SearchBar::dismiss() {
    if (!isVisible()) return;
    job_.cancel();
    hide();
    emit closed();
}

void SearchBar::start() {
    if (!state_.session()) return;
    job_.start([session = state_.session(), text = line_->text(), step = state_.step()](
                   JobControl& control) { return search(*session, text, step, kMaxHits, control.stop); },
               [this](std::vector<SearchHit> hits) { finish(std::move(hits)); });
}

void SearchBar::finish(std::vector<SearchHit> hits) {
    hits_ = std::move(hits);
    list_->clear();
    for (const SearchHit& hit : hits_) {
        auto* item = new QListWidgetItem(hit.detail.isEmpty() ? hit.title : tr("%1  –  %2").arg(hit.title, hit.detail));
        item->setToolTip(hit.detail);
        list_->addItem(item);
    }
    if (!hits_.empty()) list_->setCurrentRow(0);
    const bool asked = !line_->text().isEmpty();
    hint_->setVisible(!asked || hits_.empty());
    hint_->setText(asked ? tr("Nothing found") : tr("Return goes there, Esc closes"));
    list_->setVisible(!hits_.empty());
    const int rows = std::min(kMaxRows, static_cast<int>(hits_.size()));
    list_->setFixedHeight(rows * std::max(list_->sizeHintForRow(0), fontMetrics().height() + 4) + 4);
    resize(width(), sizeHint().height());
    emit searched();
}

void SearchBar::choose() {
    const int row = list_->currentRow();
    if (row >= 0 && row < static_cast<int>(hits_.size())) goTo(state_, hits_[static_cast<std::size_t>(row)]);
}

bool SearchBar::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::KeyPress) return QFrame::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    const int last = list_->count() - 1;
    switch (key->key()) {
    case Qt::Key_Escape: dismiss(); return true;
    case Qt::Key_Return:
    case Qt::Key_Enter: choose(); return true;
    case Qt::Key_Down: list_->setCurrentRow(std::min(last, list_->currentRow() + 1)); return true;
    case Qt::Key_Up: list_->setCurrentRow(std::max(0, list_->currentRow() - 1)); return true;
    default: return QFrame::eventFilter(watched, event);
    }
}

} // namespace bubblescope::gui
