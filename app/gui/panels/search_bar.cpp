#include "app/gui/panels/search_bar.h"

#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/rows.h"
#include "app/gui/panels/widgets.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <iterator>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr std::size_t kMaxHits = 200; ///< maximum length of the list
constexpr int kWidth = 520;
constexpr int kMaxRows = 10;

SearchHit hitOf(const Session& session, const ItemRef& item) {
    const ItemDescription text = describe(session, item);
    const TimeRange range = session.range(item);
    if (!session.hasSteps())
        return {
            text.title,
            tr("%1 · %2 at %3")
                .arg(lineName(session, session.lanes.lineOf(item)), shortTime(range.length()), shortTime(range.begin)),
            item,
            -1,
            item.rank,
            -1};
    return {
        text.title,
        tr("rank %1 · step %2 · %3").arg(item.rank).arg(session.step(item.step).index).arg(shortTime(range.length())),
        item,
        item.step,
        item.rank,
        -1};
}

} // namespace

SearchBar::SearchBar(ViewState& state, QWidget* parent)
    : QFrame(parent), state_(state), line_(new QLineEdit(this)), counter_(new QLabel(this)),
      previous_(new QToolButton(this)), next_(new QToolButton(this)), list_(new QListWidget(this)),
      hint_(new QLabel(this)) {
    setObjectName(QStringLiteral("searchBar"));
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    named(line_, "searchLine", tr("Search"));
    line_->setClearButtonEnabled(true);
    line_->installEventFilter(this);
    counter_->setObjectName(QStringLiteral("searchCounter"));
    for (const auto& [button, name, arrow, tip, direction] :
         {std::tuple(previous_, "searchPrevious", Qt::UpArrow, tr("Previous result (Shift+F3)"), -1),
          std::tuple(next_, "searchNext", Qt::DownArrow, tr("Next result (F3)"), 1)}) {
        button->setObjectName(QString::fromLatin1(name));
        button->setArrowType(arrow);
        button->setAutoRaise(true);
        button->setToolTip(tip);
        button->setAccessibleName(tip);
        connect(button, &QToolButton::clicked, this, [this, by = direction] { step(by); });
    }
    named(list_, "searchHits", tr("Results"));
    list_->setFrameShape(QFrame::NoFrame);
    list_->setTextElideMode(Qt::ElideMiddle);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    list_->setUniformItemSizes(true);
    hint_->setObjectName(QStringLiteral("searchHint"));
    hint_->setTextFormat(Qt::PlainText);
    hint_->setWordWrap(true);
    auto* row = new QHBoxLayout;
    row->setSpacing(4);
    row->addWidget(line_, 1);
    addAll(*row, {counter_, previous_, next_});
    auto* column = spaced(new QVBoxLayout(this), {6, 6, 6, 6}, 4);
    column->addLayout(row);
    addAll(*column, {hint_, list_});
    hide();
    connect(line_, &QLineEdit::textChanged, this, &SearchBar::start);
    connect(list_, &QListWidget::itemClicked, this, &SearchBar::choose);
    connect(&state_, &ViewState::sessionChanged, this, &SearchBar::showSession);
    showSession();
}

/// If a preview was searched, the search continues in the complete trace.
void SearchBar::showSession() {
    const SessionPtr& session = state_.session();
    const std::vector<std::filesystem::path> before =
        std::exchange(files_, session ? session->run.files : std::vector<std::filesystem::path>());
    line_->setPlaceholderText(state_.pipeline() ? tr("F3.1, rank 2, step 7, a name, or a query: B rank=3 dur>20ms")
                                                : tr("A name, rank 2, or a query: nccl dur>1ms rank=2"));
    job_.cancel();
    found_ = {};
    at_ = -1;
    marked_ = false;
    if (session && before == files_ && isVisible()) return start();
    dismiss();
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

void SearchBar::find(const QString& text) {
    line_->setText(text);
    open();
    line_->deselect();
}

void SearchBar::dismiss() {
    if (!isVisible()) return;
    hide();
    emit closed();
}

SearchBar::Found SearchBar::lookFor(const Session& session, const QString& text, int step, std::stop_token stop) {
    Found found;
    const std::string query = text.toStdString();
    const bool steps = session.hasSteps();
    if (steps ? !looksLikeQuery(query) : query.empty()) {
        found.hits = search(session, text, step, kMaxHits, std::move(stop));
        return found;
    }
    const Result<OpQuery> parsed = parseOpQuery(query, steps ? QueryScope::All : QueryScope::Slices);
    if (!parsed.ok()) {
        found.error = parsed.error();
        return found;
    }
    found.query = runQuery(session, parsed.value(), kMaxItems, stop);
    std::vector<SearchHit> counters;
    if (parsed.value().wants(QueryKind::Slice) && !parsed.value().words.empty())
        counters = countersNamed(session, parsed.value().words, parsed.value().rank);
    for (const ItemRef& item : found.query.items) {
        if (found.hits.size() + counters.size() >= kMaxHits) break;
        found.hits.push_back(hitOf(session, item));
    }
    std::ranges::move(counters, std::back_inserter(found.hits));
    // A word such as "wait" may also be part of a name, and "rank 2" may be a location.
    if (!steps && !found.hits.empty()) return found;
    if (query.find_first_of(steps ? "<>= " : "<>=") == std::string::npos && query.size() > 1) {
        for (SearchHit& hit : search(session, text, step, kMaxHits - found.hits.size(), std::move(stop)))
            found.hits.push_back(std::move(hit));
    }
    return found;
}

void SearchBar::start() {
    if (!state_.session()) return;
    job_.start([session = state_.session(), text = line_->text().simplified(),
                step = state_.step()](JobControl& control) { return lookFor(*session, text, step, control.stop); },
               [this](Found found) { finish(std::move(found)); });
}

void SearchBar::finish(Found found) {
    found_ = std::move(found);
    at_ = -1;
    list_->clear();
    for (const SearchHit& hit : found_.hits) {
        auto* item = new QListWidgetItem(hit.detail.isEmpty() ? hit.title : tr("%1  –  %2").arg(hit.title, hit.detail));
        item->setToolTip(hit.detail);
        list_->addItem(item);
    }
    if (!found_.hits.empty()) list_->setCurrentRow(0);
    const bool asked = !line_->text().isEmpty();
    hint_->setVisible(!asked || found_.hits.empty());
    hint_->setText(found_.error ? tr("%1: %2").arg(sentence(translatedText(found_.error->message)),
                                                   translatedText(found_.error->hint))
                   : asked      ? tr("Nothing found")
                   : !state_.pipeline()
                       ? tr("Enter jumps, Esc closes. Queries: parts of a name, rank= dur>20ms start<1s; longest first")
                       : tr("Enter jumps, Esc closes. Queries: F B I W bubble send receive wait, rank= step= stage= "
                            "mb= replica=, dur>20ms, name=gemm; longest first"));
    mark();
    showCounter();
    fitHeight();
    emit searched();
}

void SearchBar::fitHeight() {
    list_->setVisible(list_->count() > 0);
    const int rows = std::min(kMaxRows, list_->count());
    list_->setFixedHeight(rows * std::max(list_->sizeHintForRow(0), fontMetrics().height() + 4) + 4);
    const int height = hint_->isHidden() ? sizeHint().height() : std::max(sizeHint().height(), heightForWidth(width()));
    resize(width(), height);
}

/// Marks all results of a query. Other searches do not change the marks of other panels.
void SearchBar::mark() {
    if (!state_.session()) return;
    if (found_.query.items.empty()) {
        if (std::exchange(marked_, false)) {
            state_.highlight({});
            state_.mark({});
            emit unmarked();
        }
        return;
    }
    marked_ = true;
    state_.mark(found_.query.slices);
    std::vector<Highlight> marks;
    marks.reserve(found_.query.items.size());
    for (const ItemRef& item : found_.query.items) {
        if (item.kind != ItemKind::Slice) marks.push_back({item.rank, state_.session()->range(item), item.step});
    }
    state_.highlight(std::move(marks));
}

void SearchBar::choose() {
    const int row = list_->currentRow();
    if (row < 0 || row >= static_cast<int>(found_.hits.size())) return;
    at_ = row;
    goTo(state_, found_.hits[static_cast<std::size_t>(row)]);
    showCounter();
}

void SearchBar::step(int direction) {
    const std::vector<ItemRef>& items = found_.query.items;
    const auto count = static_cast<int>(items.empty() ? found_.hits.size() : items.size());
    if (count == 0) return open();
    at_ = at_ < 0 ? (direction > 0 ? 0 : count - 1) : (at_ + direction + count) % count;
    if (at_ < list_->count()) list_->setCurrentRow(at_);
    // The list would cover the result; the arrow keys show it again.
    list_->hide();
    resize(width(), sizeHint().height());
    if (items.empty()) {
        goTo(state_, found_.hits[static_cast<std::size_t>(at_)]);
    } else {
        const ItemRef& item = items[static_cast<std::size_t>(at_)];
        state_.select(item);
        state_.reveal(item);
    }
    showCounter();
    emit stepped(counter());
}

QString SearchBar::counter() const {
    const std::size_t count = found_.query.items.empty() ? found_.hits.size() : found_.query.count;
    if (count == 0) return {};
    const QString all = QLocale().toString(static_cast<qulonglong>(count));
    return at_ < 0 ? all : tr("%1 of %2").arg(QLocale().toString(at_ + 1), all);
}

void SearchBar::showCounter() {
    QString text = counter();
    if (!found_.query.items.empty()) text += QStringLiteral(" · ") + shortTime(found_.query.total);
    counter_->setText(text);
    counter_->setToolTip(tr("Number of matches and their total time"));
    for (QToolButton* button : {previous_, next_})
        button->setEnabled(!found_.hits.empty());
}

bool SearchBar::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::KeyPress) return QFrame::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    const int last = list_->count() - 1;
    switch (key->key()) {
    case Qt::Key_Escape: dismiss(); return true;
    case Qt::Key_F3: step(key->modifiers().testFlag(Qt::ShiftModifier) ? -1 : 1); return true;
    case Qt::Key_Return:
    case Qt::Key_Enter: choose(); return true;
    case Qt::Key_Down:
    case Qt::Key_Up: {
        const int by = key->key() == Qt::Key_Down ? 1 : -1;
        list_->setCurrentRow(std::clamp(list_->currentRow() + by, 0, std::max(0, last)));
        fitHeight();
        return true;
    }
    default: return QFrame::eventFilter(watched, event);
    }
}

} // namespace bubblescope::gui
