#include "app/gui/plain/plain_page.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/answer_bar.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/plain/plain_menu.h"
#include "app/gui/plain/teach_panel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTableView>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

namespace {

constexpr int kAreaDelayMs = 60;

QToolButton* textButton(const char* name, const QString& text, QWidget* parent) {
    auto* button = new QToolButton(parent);
    button->setObjectName(QString::fromLatin1(name));
    button->setText(text);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::TabFocus);
    return button;
}

/// What was damaged, lost or guessed while loading, one paragraph each.
QString problemsText(const PlainTrace& trace) {
    constexpr std::size_t kShown = 6;
    QString html;
    for (std::size_t i = 0; i < std::min(kShown, trace.run().problems.size()); ++i) {
        const Diagnostic& problem = trace.run().problems[i];
        html += QStringLiteral("<p>%1: %2</p>")
                    .arg(translated(problem.where).toHtmlEscaped(), translated(problem.message).toHtmlEscaped());
    }
    return html;
}

} // namespace

PlainPage::PlainPage(ThemeManager& themes, QWidget* parent) : QWidget(parent), themes_(themes) {
    setObjectName(QStringLiteral("plainPage"));
    view_ = new PlainView(themes, this);
    teach_ = new TeachPanel(this);
    teach_->hide();
    auto* top = new QSplitter(Qt::Horizontal, this);
    top->addWidget(view_);
    top->addWidget(teach_);
    top->setStretchFactor(0, 1);
    top->setSizes({900, 300});
    auto* all = new QSplitter(Qt::Vertical, this);
    all->addWidget(top);
    all->addWidget(makeDetails());
    all->setStretchFactor(0, 1);
    all->setSizes({520, 190});
    QVBoxLayout* column = tightColumn(*this);
    answer_ = new AnswerBar(themes, this);
    column->addWidget(answer_);
    column->addWidget(makeBar());
    column->addWidget(makeTools());
    column->addWidget(all, 1);

    area_later_.setSingleShot(true);
    area_later_.setInterval(kAreaDelayMs);
    connect(&area_later_, &QTimer::timeout, this, &PlainPage::showArea);
    connect(view_, &PlainView::selectionChanged, this, &PlainPage::showSelection);
    connect(view_, &PlainView::areaChanged, &area_later_, qOverload<>(&QTimer::start));
    connect(view_, &PlainView::searchRequested, this, &PlainPage::openSearch);
    connect(view_, &PlainView::hovered, this, &PlainPage::hovered);
    connect(view_, &PlainView::menuRequested, this, [this](const PlainTarget& target, const QPoint& where) {
        const auto teach_by = [this](SliceId example) {
            teach(false);
            teach_->setExample(example);
        };
        menu_ = makePlainMenu({*view_, [this](const QString& name) { find(name); }, teach_by}, target, this);
        menu_->popup(where);
    });
    connect(teach_, &TeachPanel::matched, this, [this] {
        marking_ = Marking::Matches;
        showMarks();
    });
    connect(teach_, &TeachPanel::closed, this, [this] {
        showMarks();
        view_->setFocus();
    });
    connect(teach_, &TeachPanel::reopenRequested, this, &PlainPage::reopenRequested);
}

QWidget* PlainPage::makeBar() {
    auto* bar = new QFrame(this);
    bar->setObjectName(QStringLiteral("plainBar"));
    bar->setAutoFillBackground(true);
    reason_ = new ElidedLabel(tr("No pipeline was found in this trace. It is shown as it was recorded."), bar);
    reason_->setObjectName(QStringLiteral("plainReason"));
    reason_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    teach_names_ = textButton("plainTeach", tr("Teach the names of ops…"), bar);
    teach_schedule_ = textButton("plainSchedule", tr("State the schedule…"), bar);
    connect(teach_names_, &QToolButton::clicked, this, [this] { teach(false); });
    connect(teach_schedule_, &QToolButton::clicked, this, [this] { teach(true); });
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(12, 5, 12, 5);
    row->addWidget(reason_, 1);
    for (QToolButton* button : {teach_names_, teach_schedule_}) {
        QSizePolicy stays = button->sizePolicy(); // nothing moves when the rest of a trace is there
        stays.setRetainSizeWhenHidden(true);
        button->setSizePolicy(stays);
        row->addWidget(button);
    }
    return bar;
}

QWidget* PlainPage::makeTools() {
    auto* tools = new QWidget(this);
    line_ = new QLineEdit(tools);
    line_->setObjectName(QStringLiteral("plainSearch"));
    line_->setAccessibleName(tr("Search names"));
    line_->setPlaceholderText(tr("Search names"));
    line_->setClearButtonEnabled(true);
    line_->setMaximumWidth(360);
    hit_ = new QLabel(tools);
    hit_->setObjectName(QStringLiteral("plainHit"));
    auto* previous = new QToolButton(tools);
    previous->setArrowType(Qt::UpArrow);
    previous->setAutoRaise(true);
    previous->setToolTip(tr("Previous hit (Shift+F3)"));
    auto* next = new QToolButton(tools);
    next->setArrowType(Qt::DownArrow);
    next->setAutoRaise(true);
    next->setToolTip(tr("Next hit (F3)"));
    auto* flows = textButton("plainFlows", tr("Arrows"), tools);
    flows->setCheckable(true);
    flows->setToolTip(tr("Draw the arrows of all flows in sight; those of the selected slice are always drawn"));
    auto* fit = textButton("plainFit", tr("Whole trace"), tools);
    auto* hint =
        new ElidedLabel(tr("Wheel zooms, drag moves, click selects. Drag on the ruler, or Shift+drag on lanes, "
                           "selects an area."),
                        tools);
    hint->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    hint->setEnabled(false);
    connect(line_, &QLineEdit::textChanged, this, &PlainPage::search);
    connect(line_, &QLineEdit::returnPressed, this, [this] { stepHit(1); });
    connect(previous, &QToolButton::clicked, this, [this] { stepHit(-1); });
    connect(next, &QToolButton::clicked, this, [this] { stepHit(1); });
    connect(flows, &QToolButton::toggled, view_, &PlainView::showFlows);
    connect(fit, &QToolButton::clicked, this, [this] { view_->run(Command::FitAll); });
    auto* row = new QHBoxLayout(tools);
    row->setContentsMargins(12, 3, 12, 3);
    row->addWidget(line_, 2);
    row->addWidget(previous);
    row->addWidget(next);
    row->addWidget(hit_);
    row->addWidget(flows);
    row->addWidget(fit);
    row->addWidget(hint, 3);
    return tools;
}

QWidget* PlainPage::makeDetails() {
    facts_ = new QTreeWidget(this);
    facts_->setObjectName(QStringLiteral("plainFacts"));
    facts_->setAccessibleName(tr("Selected slice"));
    facts_->setHeaderHidden(true);
    facts_->setRootIsDecorated(false);
    facts_->setColumnCount(2);
    facts_->setFrameShape(QFrame::NoFrame);
    auto* right = new QWidget(this);
    area_caption_ = new ElidedLabel(right);
    area_caption_->setObjectName(QStringLiteral("areaCaption"));
    area_caption_->setContentsMargins(12, 4, 12, 4);
    area_caption_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    area_model_ = new AreaModel(this);
    sorted_ = new QSortFilterProxyModel(this);
    sorted_->setSourceModel(area_model_);
    sorted_->setSortRole(AreaModel::kSortRole);
    area_table_ = new QTableView(right);
    area_table_->setObjectName(QStringLiteral("areaTable"));
    area_table_->setAccessibleName(tr("Names in the area"));
    area_table_->setModel(sorted_);
    styleTable(*area_table_);
    addTableExport(*area_table_);
    area_table_->setSortingEnabled(true);
    area_table_->horizontalHeader()->setSortIndicator(AreaModel::TotalColumn, Qt::DescendingOrder);
    area_table_->horizontalHeader()->setSectionResizeMode(AreaModel::NameColumn, QHeaderView::Stretch);
    area_table_->setTextElideMode(Qt::ElideMiddle);
    const auto go = [this](const QModelIndex& index) {
        const QModelIndex source = sorted_->mapToSource(index);
        if (source.isValid()) view_->goTo(area_model_->at(source.row()).longest_slice);
    };
    connect(area_table_, &QTableView::doubleClicked, this, go);
    connect(area_table_, &QTableView::activated, this, go);
    area_table_->setToolTip(tr("A double click goes to the longest slice of the name"));
    QVBoxLayout* column = tightColumn(*right);
    column->addWidget(area_caption_);
    column->addWidget(area_table_, 1);
    auto* both = new QSplitter(Qt::Horizontal, this);
    both->addWidget(facts_);
    both->addWidget(right);
    both->setStretchFactor(1, 1);
    both->setSizes({360, 700});
    return both;
}

void PlainPage::setTrace(PlainTracePtr trace) {
    if (trace == trace_) return;
    std::erase_if(snapshots_, [](const auto& one) { return one.first.expired(); });
    if (trace_) snapshots_[trace_] = view_->snapshot();
    search_job_.cancel();
    area_job_.cancel();
    likes_job_.cancel();
    PlainSnapshot view;
    if (const auto known = trace ? snapshots_.find(trace) : snapshots_.end(); known != snapshots_.end()) {
        view = known->second;
    } else if (const auto seen = seenOfBeginning(); seen && trace && trace_->run().files == trace->run().files) {
        view.range = rangeInWhole(*seen, trace->trace()).value_or(TimeRange{});
    }
    trace_ = trace;
    hits_.clear();
    hits_in_time_.clear();
    current_hit_.reset();
    if (menu_) menu_->close(); // of what was shown
    teach_->setTrace(trace);   // before a slice is selected, which may be its example
    view_->setTrace(trace, view);
    if (trace)
        answer_->show(trace->answer());
    else
        answer_->clear();
    showReason();
    area_model_->show(nullptr, {});
    area_caption_->clear();
    showHit();
    if (!trace) return;
    search();
    showArea();
}

std::optional<TimeRange> PlainPage::seenOfBeginning() const {
    if (!trace_ || !trace_->isBeginning()) return std::nullopt;
    const VisibleRange& shown = view_->range();
    if (shown.range() == shown.limits()) return std::nullopt;
    const TimeNs origin = trace_->trace().originInFile();
    return TimeRange{shown.range().begin + origin, shown.range().end + origin};
}

/// Why this page is shown. Nothing is taught about a trace before all of it is known.
void PlainPage::showReason() {
    const bool is_beginning = trace_ && trace_->isBeginning();
    teach_names_->setVisible(!is_beginning);
    teach_schedule_->setVisible(!is_beginning);
    if (is_beginning) {
        teach_->hide();
        reason_->setToolTip({});
        return reason_->setText(
            tr("This is the beginning of the trace, as it was recorded. The rest is being loaded."));
    }
    QString text = tr("No pipeline was found in this trace. It is shown as it was recorded.");
    QString tip;
    if (trace_) {
        tip = QStringLiteral("<p>%1</p>").arg(sentence(errorText(*trace_->reason())).toHtmlEscaped()) +
              problemsText(*trace_);
        const std::size_t problems = trace_->run().problems.size();
        if (problems > 0)
            text += QLatin1Char(' ') + tr("%Ln problem(s) while loading.", nullptr, static_cast<int>(problems));
    }
    reason_->setText(text);
    reason_->setToolTip(tip);
}

PlainSnapshots PlainPage::snapshots() const {
    PlainSnapshots all = snapshots_;
    if (trace_) all[trace_] = view_->snapshot();
    return all;
}

void PlainPage::teach(bool by_schedule) {
    const bool already = teach_->isVisible();
    teach_->show();
    if (by_schedule) {
        teach_->showSchedule();
    } else {
        teach_->showNames();
    }
    if (!already && view_->selection() != kNoId) teach_->setExample(view_->selection());
}

void PlainPage::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_F3) return stepHit(event->modifiers().testFlag(Qt::ShiftModifier) ? -1 : 1);
    if (event->matches(QKeySequence::Find)) return openSearch();
    QWidget::keyPressEvent(event);
}

void PlainPage::openSearch() {
    line_->setFocus();
    line_->selectAll();
}

void PlainPage::find(const QString& text) {
    if (line_->text() == text) return search();
    line_->setText(text);
}

// ---- Search --------------------------------------------------------------------------------------

void PlainPage::search() {
    if (!trace_) return;
    if (line_->text().trimmed().isEmpty()) {
        search_job_.cancel();
        marking_ = Marking::Matches;
        return takeHits({});
    }
    marking_ = Marking::Hits;
    search_job_.start(
        [trace = trace_, text = line_->text()](JobControl& control) { return slicesNamed(*trace, text, control); },
        [this](Result<std::vector<SliceId>> found) {
            if (found.ok()) takeHits(std::move(found).value());
        });
}

void PlainPage::takeHits(std::vector<SliceId> hits) {
    hits_ = std::move(hits);
    hits_in_time_ = hits_;
    std::ranges::stable_sort(hits_in_time_, {}, [this](SliceId slice) { return trace_->trace().start(slice); });
    current_hit_.reset();
    if (const auto at = std::ranges::find(hits_in_time_, view_->selection()); at != hits_in_time_.end())
        current_hit_ = static_cast<std::size_t>(at - hits_in_time_.begin());
    showMarks();
    showHit();
    emit computed();
}

void PlainPage::showMarks() {
    const bool teaches = teach_->isVisible() && marking_ == Marking::Matches;
    view_->mark(teaches ? teach_->allMatches() : hits_);
}

void PlainPage::stepHit(int direction) {
    if (hits_in_time_.empty()) return;
    const std::size_t count = hits_in_time_.size();
    if (!current_hit_) {
        // The first one in sight, or behind it.
        const TimeNs from = view_->range().range().begin;
        const auto at = std::ranges::lower_bound(hits_in_time_, from, {},
                                                 [this](SliceId slice) { return trace_->trace().start(slice); });
        const auto next = static_cast<std::size_t>(at - hits_in_time_.begin()) % count;
        current_hit_ = direction > 0 ? next : (next + count - 1) % count;
    } else {
        current_hit_ = direction > 0 ? (*current_hit_ + 1) % count : (*current_hit_ + count - 1) % count;
    }
    view_->goTo(hits_in_time_[*current_hit_]);
    showHit();
}

void PlainPage::showHit() {
    if (line_->text().trimmed().isEmpty()) return hit_->clear();
    if (hits_.empty()) return hit_->setText(trace_ && trace_->isBeginning() ? tr("nothing yet") : tr("nothing"));
    hit_->setText(current_hit_ ? tr("%1 of %2").arg(*current_hit_ + 1).arg(hits_.size())
                               : tr("%Ln hit(s)", nullptr, static_cast<int>(hits_.size())));
}

// ---- Selection and area --------------------------------------------------------------------------

void PlainPage::showSelection() {
    likes_job_.cancel();
    facts_->clear();
    const SliceId slice = view_->selection();
    const auto add = [this](const QString& name, const QString& value) {
        auto* item = new QTreeWidgetItem(facts_, {name, value});
        item->setToolTip(1, value);
    };
    if (!trace_ || slice == kNoId) {
        add(tr("Click a slice to see what is known of it."), {});
        facts_->setFirstColumnSpanned(0, {}, true);
        return;
    }
    for (const PlainFact& fact : factsOf(*trace_, slice))
        add(fact.name, fact.value);
    facts_->resizeColumnToContents(0);
    if (teach_->isVisible()) teach_->setExample(slice);
    likes_job_.start(
        [trace = trace_, slice](JobControl& control) { return likesOf(*trace, slice, control); },
        [this, add, slice](const Result<SliceLikes>& likes) {
            if (!likes.ok()) return;
            const SliceLikes& of = likes.value();
            const TimeNs own = trace_->trace().end(slice) - trace_->trace().start(slice);
            if (of.count > 1 && of.median > TimeNs{0})
                add(tr("Of its name"),
                    tr("%1 × the median of %2; p99 %3, longest %4, %Ln slice(s)", nullptr, static_cast<int>(of.count))
                        .arg(ratioText(static_cast<double>(own.count()) / static_cast<double>(of.median.count())),
                             shortTime(of.median), shortTime(of.p99), shortTime(of.longest)));
            emit computed();
        });
}

/// Of the whole trace, if no area is selected.
void PlainPage::showArea() {
    if (!trace_) return;
    PlainArea area = view_->area();
    if (area.empty()) area = {trace_->extent(), 0, static_cast<int>(trace_->lanes().size())};
    area_job_.start([trace = trace_, area](JobControl& control) { return tableOf(*trace, area, control); },
                    [this](Result<AreaTable> table) {
                        if (table.ok()) takeArea(std::move(table).value());
                    });
}

void PlainPage::takeArea(AreaTable table) {
    const bool whole = view_->area().empty();
    const TimeNs room = table.area.range.length() * std::max(1, table.lanes);
    const QString busy = percent(static_cast<double>(table.busy.count()) / static_cast<double>(room.count()));
    const QString what = !whole                  ? tr("Area of %1").arg(exactTime(table.area.range.length()))
                         : trace_->isBeginning() ? tr("Beginning, %1").arg(shortTime(table.area.range.length()))
                                                 : tr("Whole trace, %1").arg(shortTime(table.area.range.length()));
    area_caption_->setText(
        tr("%1: %Ln slice(s) on %2, busy for %3 of the time", nullptr, static_cast<int>(table.slices))
            .arg(what, tr("%Ln lane(s)", nullptr, table.lanes), busy));
    area_model_->show(trace_, std::move(table));
    area_table_->resizeColumnsToContents();
    emit computed();
}

} // namespace bubblescope::gui
