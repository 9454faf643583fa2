#include "app/gui/panels/compare_panel.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/dropped_files.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/timeline/extra_painters.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDropEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <initializer_list>

namespace bubblescope::gui {

ComparePanel::ComparePanel(ViewState& state, RunLoader loader, const ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), themes_(themes), loader_(std::move(loader)), model_(new ComparisonModel(this)),
      sorted_(new SortedChanges(*model_, this)), activity_(new ReportTableModel(this)), table_(new QTableView(this)),
      headline_(new QLabel(this)), choose_(new QPushButton(tr("Compare with…"), this)),
      below_(new QCheckBox(tr("Show the other run below"), this)),
      align_(new QCheckBox(tr("Align at the selected op"), this)), kinds_(new QComboBox(this)),
      words_(new QLineEdit(this)), beyond_(new QCheckBox(tr("Significant changes only"), this)),
      differences_(new QLabel(this)) {
    setObjectName(QStringLiteral("comparePanel"));
    setAcceptDrops(true);
    headline_->setObjectName(QStringLiteral("compareHeadline"));
    headline_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    headline_->setWordWrap(true);
    headline_->setTextFormat(Qt::PlainText);
    choose_->setObjectName(QStringLiteral("compareChoose"));
    below_->setObjectName(QStringLiteral("compareBelow"));
    below_->setToolTip(tr("Below each visible step, shows the other run's step with the same number, rank by rank, or "
                          "its typical step if there is none"));
    align_->setObjectName(QStringLiteral("compareAlign"));
    align_->setToolTip(tr("Move the step below so that the selected op begins at the same time in both runs"));
    choose_->setMenu(new QMenu(choose_));
    connect(choose_->menu(), &QMenu::aboutToShow, this, &ComparePanel::fillChoices);
    named(table_, "compareTable", tr("Changes"));
    table_->setModel(sorted_);
    table_->setTextElideMode(Qt::ElideMiddle); // names may differ at both ends
    named(kinds_, "compareKinds", tr("Kind of change"));
    // The order is that of ChangeFilter::Kind.
    kinds_->addItems({tr("All changes"), tr("Ops"), tr("Transfers"), tr("Idle time"), tr("Stages")});
    named(words_, "compareWords", tr("Filter"));
    words_->setPlaceholderText(tr("Filter, such as B rank=2 steady"));
    words_->setClearButtonEnabled(true);
    beyond_->setObjectName(QStringLiteral("compareBeyond"));
    beyond_->setToolTip(tr("Show only significant changes"));
    differences_->setObjectName(QStringLiteral("compareDifferences"));
    differences_->setTextFormat(Qt::RichText);
    differences_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    styleTable(*table_);
    table_->setSortingEnabled(true);
    table_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder); // the step time first, then by cost
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    // If the panel is narrow, the last columns are reached by scrolling, and the names are shown in full.
    table_->horizontalHeader()->setSectionResizeMode(ComparisonModel::What, QHeaderView::Interactive);
    table_->setColumnWidth(ComparisonModel::What, fontMetrics().horizontalAdvance(QLatin1Char('0')) * 34);
    table_->horizontalHeader()->setStretchLastSection(true);
    auto* bar = spaced(new QHBoxLayout, {12, 6, 12, 6}, 12);
    addAll(*bar, {choose_, below_, align_});
    bar->addWidget(headline_, 1);
    auto* filters = spaced(new QHBoxLayout, {12, 0, 12, 6}, 12);
    filters->addWidget(kinds_);
    filters->addWidget(words_, 1);
    filters->addWidget(beyond_);
    filters->addWidget(differences_, 2);
    QVBoxLayout* column = tightColumn(*this);
    column->addLayout(bar);
    column->addLayout(filters);
    column->addWidget(table_, 1);

    connect(&state_, &ViewState::sessionChanged, this, &ComparePanel::clear);
    connect(&state_, &ViewState::stepChanged, this, &ComparePanel::updateReference);
    connect(&state_.range(), &VisibleRange::changed, this, &ComparePanel::followRange);
    // Another reference replaces this one.
    connect(&state_, &ViewState::referenceChanged, this, [this] {
        if (comparison_ && (!state_.reference() || state_.reference()->name != comparison_->after_name))
            below_->setChecked(false);
    });
    connect(align_, &QCheckBox::toggled, this, &ComparePanel::updateReference);
    connect(&state_, &ViewState::selectionChanged, this, [this] {
        if (align_->isChecked()) updateReference();
    });
    connect(below_, &QCheckBox::toggled, this, &ComparePanel::showOther);
    connect(kinds_, &QComboBox::currentIndexChanged, this, &ComparePanel::showFilter);
    connect(words_, &QLineEdit::textChanged, this, &ComparePanel::showFilter);
    connect(beyond_, &QCheckBox::toggled, this, &ComparePanel::showFilter);
    connect(table_, &QTableView::clicked, this, &ComparePanel::goTo);
    connect(table_, &QTableView::activated, this, &ComparePanel::goTo);
    clear();
}

void ComparePanel::choose() {
    choose_->menu()->popup(choose_->mapToGlobal(choose_->rect().bottomLeft()));
}

void ComparePanel::fillChoices() {
    QMenu& menu = *choose_->menu();
    menu.clear();
    menu.setToolTipsVisible(true);
    const Choices choices = choices_ ? choices_() : Choices();
    const auto add = [&](const QString& title, const QList<Choice>& runs) {
        if (runs.isEmpty()) return;
        menu.addSection(title);
        for (const Choice& run : runs) {
            QString name = run.name;
            menu.addAction(name.replace(QLatin1Char('&'), QStringLiteral("&&")), this,
                           [this, paths = run.paths] { compareWith(paths); })
                ->setToolTip(run.paths.join(QLatin1Char('\n')));
        }
    };
    add(tr("Open tabs"), choices.open);
    add(tr("Recently opened"), choices.recent);
    menu.addSeparator();
    menu.addAction(tr("&Files…"), this, &ComparePanel::fileRequested)->setObjectName(QStringLiteral("compareFiles"));
    menu.addAction(tr("F&older…"), this, &ComparePanel::folderRequested)
        ->setObjectName(QStringLiteral("compareFolder"));
}

void ComparePanel::clear() {
    // After a change of language, the same session is shown again, and the comparison remains valid.
    if (comparison_ && comparison_->before == state_.pipeline()) return;
    job_.cancel();
    paths_.clear();
    comparison_.reset();
    parts_.clear();
    model_->show(nullptr);
    below_->setChecked(false);
    below_->setEnabled(false);
    for (QWidget* filter : std::initializer_list<QWidget*>{kinds_, words_, beyond_})
        filter->setEnabled(false);
    align_->setEnabled(state_.pipeline() != nullptr);
    activity_->show(report::Table({}, {}));
    table_->setModel(sorted_);
    choose_->setEnabled(state_.session() != nullptr);
    headline_->setText(tr("Compare with another run: drop its trace here, or choose it."));
    headline_->setToolTip({});
}

void ComparePanel::compareWith(const QStringList& paths) {
    if (!state_.session() || paths.isEmpty()) return;
    std::vector<std::filesystem::path> files;
    for (const QString& path : paths)
        files.emplace_back(path.toStdString());
    paths_ = paths;
    headline_->setText(tr("Comparing …"));
    if (!state_.pipeline())
        return job_.start([session = state_.session(), loader = loader_,
                           files](JobControl& control) { return compareActivityWith(session, loader, files, control); },
                          [this](Result<ActivityComparisonPtr> result) { showActivity(std::move(result)); });
    job_.start([session = state_.pipeline(), loader = loader_,
                files](JobControl& control) { return gui::compareWith(session, loader, files, control); },
               [this](Result<ComparisonPtr> result) { finish(std::move(result)); });
}

void ComparePanel::refuse(const Error& error) {
    if (error.kind == ErrorKind::Cancelled) return;
    headline_->setText(sentence(errorText(error)));
    headline_->setToolTip(headline_->text());
    if (comparison_ == nullptr) paths_.clear();
    emit failed(error);
}

/// Traces without a pipeline have nothing to filter or to draw below.
void ComparePanel::showActivity(Result<ActivityComparisonPtr> result) {
    if (!result.ok()) return refuse(result.error());
    const ActivityComparison& comparison = *result.value();
    activity_->show(activityTable(comparison));
    table_->setModel(activity_);
    headline_->setText(activityText(comparison));
    headline_->setToolTip(headline_->text());
    emit compared();
}

void ComparePanel::finish(Result<ComparisonPtr> result) {
    if (!result.ok()) return refuse(result.error());
    take(std::move(result).value(), true);
    emit compared();
}

SavedComparison ComparePanel::state() const {
    return {paths_, job_.running() ? nullptr : comparison_, below_->isChecked()};
}

void ComparePanel::restore(const SavedComparison& saved) {
    comparison_.reset();
    parts_.clear();
    clear();
    if (saved.paths.isEmpty() || !state_.session()) return;
    if (!state_.pipeline() || !saved.comparison || saved.comparison->before != state_.pipeline())
        return compareWith(saved.paths);
    paths_ = saved.paths;
    take(saved.comparison, saved.below);
}

void ComparePanel::take(ComparisonPtr comparison, bool below) {
    comparison_ = std::move(comparison);
    parts_.clear();
    model_->show(comparison_);
    headline_->setText(headline());
    headline_->setToolTip(headline_->text() + QLatin1Char('\n') + notes());
    below_->setEnabled(true);
    for (QWidget* filter : std::initializer_list<QWidget*>{kinds_, words_, beyond_})
        filter->setEnabled(true);
    below_->setChecked(below);
    updateReference();
}

namespace {

/// Name of a schedule, including its flavour.
QString scheduleText(const Run& run) {
    const std::string& name = run.schedule.name == "custom" && !run.closest.empty() ? run.closest : run.schedule.name;
    QString text = fromUtf8(name);
    if (!run.schedule.flavor.empty()) text += QStringLiteral(" (%1)").arg(fromUtf8(run.schedule.flavor));
    return run.schedule.name == "custom" && !run.closest.empty() ? tr("similar to %1").arg(text) : text;
}

/// Describes the differences, starting with causes: first the schedule, its sizes and the order of ops; then ops and
/// transfers; then idle time.
QString whatChanged(const Comparison& comparison) {
    const Run& a = comparison.before->run;
    const Run& b = *comparison.after;
    const RunComparison& result = comparison.result;
    QStringList out;
    if (scheduleText(a) != scheduleText(b))
        out << tr("The schedule is %2 instead of %1.").arg(scheduleText(a), scheduleText(b));
    const auto sizes = [](const Schedule& one) {
        return QStringLiteral("p %1 · m %2 · v %3").arg(one.pp).arg(one.microbatches).arg(one.vpp);
    };
    if (sizes(a.schedule) != sizes(b.schedule))
        out << tr("The sizes are %2 instead of %1.").arg(sizes(a.schedule), sizes(b.schedule));
    if (!result.order_changes.empty()) {
        const OrderChange& first = result.order_changes.front();
        const auto name = [](const std::optional<Op>& op) { return op ? fromUtf8(opName(*op)) : tr("nothing"); };
        out << tr("The order of ops changed on %Ln rank(s): op %4 of rank %1 is %3; it was %2.", nullptr,
                  static_cast<int>(result.order_changes.size()))
                   .arg(first.rank.value)
                   .arg(name(first.a), name(first.b))
                   .arg(first.index + 1);
    }
    const auto largest = [&](const std::vector<Change>& changes, bool idle) -> const Change* {
        const Change* most = nullptr;
        for (const Change& change : changes) {
            const Subject subject = change.key.subject;
            const bool is_idle = subject == Subject::RankBubble || subject == Subject::Bubble;
            if (is_idle != idle || subject == Subject::Step) continue;
            if (most == nullptr || std::chrono::abs(change.per_step) > std::chrono::abs(most->per_step)) most = &change;
        }
        return most;
    };
    const Change* const group = largest(result.changes, false);
    const Change* const single = largest(result.ops, false);
    if (const QString cause = causeText(result); !cause.isEmpty()) {
        out << cause;
        return out.join(QLatin1Char(' '));
    }
    const bool by_group = group != nullptr && (single == nullptr ||
                                               std::chrono::abs(group->per_step) >= std::chrono::abs(single->per_step));
    if (const Change* const op = by_group ? group : single)
        out << tr("Largest change: %1, %2 per step.").arg(measureText(op->key), timeDelta(op->per_step));
    if (const Change* const idle = largest(result.changes, true))
        out << tr("Largest change in idle time: %1, %2 per step.")
                   .arg(measureText(idle->key), timeDelta(idle->per_step));
    return out.isEmpty() ? tr("Nothing else differs significantly.") : out.join(QLatin1Char(' '));
}

} // namespace

QString ComparePanel::headline() const {
    const RunComparison& result = comparison_->result;
    const QString times = tr("%1: step %2 → %3 (%4)")
                              .arg(comparison_->after_name, shortTime(result.step.a), shortTime(result.step.b),
                                   timeDelta(result.step.shift));
    const QString judged = !result.tested        ? tr("too few steps to test")
                           : result.step_changed ? tr("significant")
                                                 : tr("no significant change");
    return tr("%1 %2, %3.").arg(whatChanged(*comparison_), times, judged);
}

QString ComparePanel::notes() const {
    const RunComparison& result = comparison_->result;
    QStringList out{tr("Compared steps: %L1 and %L2; groups of ops, links and idle times: %L3; single ops: %L4.")
                        .arg(result.steps_a)
                        .arg(result.steps_b)
                        .arg(result.compared_groups)
                        .arg(result.compared_ops)};
    if (!result.matching_note.empty()) out << sentence(translated(result.matching_note));
    if (!result.order_changes.empty())
        out << tr("The order of ops differs on %Ln rank(s).", nullptr, static_cast<int>(result.order_changes.size()));
    return out.join(QLatin1Char('\n'));
}

void ComparePanel::showFilter() {
    sorted_->show({static_cast<ChangeFilter::Kind>(kinds_->currentIndex()), words_->text(), beyond_->isChecked()});
}

void ComparePanel::showOther(bool on) {
    differences_->clear();
    if (on) return updateReference();
    if (comparison_ && state_.reference() && state_.reference()->name == comparison_->after_name)
        state_.setReference(nullptr);
}

/// The other run's step with the same number, on the same replica if it exists there; otherwise its typical step.
/// Shifted to the start of the open run's step. Cached because the user may return to the step.
const std::shared_ptr<const ReferenceStep>& ComparePanel::partOf(int step) {
    std::shared_ptr<const ReferenceStep>& part = parts_[step];
    if (part) return part;
    const StepTimeline& shown = state_.pipeline()->step(step);
    const std::vector<StepTimeline>& steps = comparison_->after->steps;
    const StepTimeline* same = nullptr;
    for (const StepTimeline& other : steps) {
        if (other.index != shown.index || (same != nullptr && other.replica != shown.replica)) continue;
        same = &other;
        if (other.replica == shown.replica) break;
    }
    if (same == nullptr) same = &steps[static_cast<std::size_t>(comparison_->typical_after)];
    ReferenceStep made{step, *same};
    made.timeline.comm.clear(); // not drawn
    moveTo(made.timeline, state_.pipeline()->window(step).begin);
    // Ops can be matched only in this case.
    if (comparison_->result.matching == Matching::ByRank)
        made.changes = std::make_shared<const OpChanges>(shown, *same);
    part = std::make_shared<const ReferenceStep>(std::move(made));
    return part;
}

/// The other run's steps below all visible steps except the current one. None if a step is too narrow for a comparison.
std::vector<std::shared_ptr<const ReferenceStep>> ComparePanel::partsAround() {
    constexpr std::size_t kMost = 64;
    std::vector<int> seen;
    for (int step = 0; step < state_.pipeline()->stepCount() && seen.size() <= kMost; ++step) {
        if (step != state_.step() && overlap(state_.pipeline()->window(step), state_.range().range()) > TimeNs{0})
            seen.push_back(step);
    }
    std::vector<std::shared_ptr<const ReferenceStep>> out;
    if (seen.size() > kMost) return out;
    for (const int step : seen)
        out.push_back(partOf(step));
    return out;
}

void ComparePanel::updateReference() {
    if (!comparison_ || !below_->isChecked() || !state_.pipeline() || state_.step() < 0) return;
    std::shared_ptr<const ReferenceStep> part = partOf(state_.step());
    if (const std::optional<TimeNs> shift = align_->isChecked() ? shiftToSelection(*part) : std::nullopt) {
        ReferenceStep moved = *part;
        moveTo(moved.timeline, moved.timeline.begin + *shift);
        part = std::make_shared<const ReferenceStep>(std::move(moved));
    }
    const ReferenceStep& current = *part;
    const StepTimeline& shown = state_.pipeline()->step(state_.step());
    const bool found = current.timeline.index == shown.index;
    QStringList legend;
    if (current.changes) {
        const auto add = [&](OpChange change, const QString& name) {
            if (const int count = current.changes->count(change); count > 0)
                legend << QStringLiteral("<span style='color:%1'>■</span> %2 %3")
                              .arg(opChangeColour(themes_.theme(), change).name(), opChangeSign(change),
                                   name.arg(QLocale().toString(count)));
        };
        add(OpChange::Longer, tr("%1 longer"));
        add(OpChange::Shorter, tr("%1 shorter"));
        add(OpChange::Moved, tr("%1 reordered"));
        add(OpChange::Added, tr("%1 only in the other run"));
        if (legend.isEmpty()) legend << tr("no op differs by 10 % or more");
    }
    differences_->setText(legend.isEmpty() ? QString() : tr("Step %1: %2").arg(shown.index).arg(legend.join(tr(", "))));
    differences_->setToolTip(tr("Ops below that differ by 10 % or more from the open run are coloured."));
    ReferenceOverlay overlay{comparison_->after_name,
                             found ? tr("The other run's step %1.").arg(current.timeline.index)
                                   : tr("The other run's typical step."),
                             state_.step(),
                             current.timeline,
                             current.changes,
                             partsAround()};
    // If only this step is shown, a longer step must not extend beyond the view.
    const TimeRange window = state_.pipeline()->window(state_.step());
    const TimeRange seen = state_.range().range();
    const TimeRange alone = padded(window, 0.1);
    const TimeNs end = overlay.timeline.end;
    state_.setReference(std::make_shared<const ReferenceOverlay>(std::move(overlay)));
    const bool whole = seen.begin <= window.begin && seen.end >= window.end;
    if (whole && seen.begin >= alone.begin && seen.end <= alone.end && seen.end < end)
        state_.range().show(padded({window.begin, end}, 0.02));
}

/// Shift of the lower step that makes the selected op start at the same time in both runs. None if the lower step does
/// not contain the op.
std::optional<TimeNs> ComparePanel::shiftToSelection(const ReferenceStep& part) const {
    const ItemRef item = state_.selection();
    if (item.kind != ItemKind::Op || item.step != part.step) return std::nullopt;
    const TimelineOp& selected = state_.pipeline()->op(item);
    const auto rank = static_cast<std::size_t>(item.rank);
    if (rank >= part.timeline.ranks.size()) return std::nullopt;
    const std::vector<TimelineOp>& ops = part.timeline.ranks[rank];
    const auto same = std::ranges::find(ops, selected.op, &TimelineOp::op);
    return same == ops.end() ? std::nullopt : std::optional(selected.start - same->start);
}

/// Updates the reference when different steps have become visible.
void ComparePanel::followRange() {
    const ReferenceOverlayPtr& reference = state_.reference();
    if (!comparison_ || !below_->isChecked() || !state_.pipeline() || !reference ||
        reference->name != comparison_->after_name || reference->step != state_.step())
        return;
    std::vector<std::shared_ptr<const ReferenceStep>> around = partsAround();
    if (around == reference->around) return;
    ReferenceOverlay moved = *reference;
    moved.around = std::move(around);
    state_.setReference(std::make_shared<const ReferenceOverlay>(std::move(moved)));
}

void ComparePanel::goTo(const QModelIndex& index) {
    if (table_->model() != sorted_) return;
    const QModelIndex source = sorted_->mapToSource(index);
    if (!source.isValid() || !state_.pipeline()) return;
    const MeasureKey& key = model_->at(source.row()).key;
    const std::vector<Highlight> places = placesOf(*state_.pipeline(), state_.step(), key);
    state_.highlight(places);
    if (!places.empty()) emit state_.rankRequested(places.front().rank);
}

void ComparePanel::dragEnterEvent(QDragEnterEvent* event) {
    if (state_.session() && !localPaths(*event->mimeData()).isEmpty()) acceptAsCopy(*event);
}

void ComparePanel::dropEvent(QDropEvent* event) {
    acceptAsCopy(*event);
    compareWith(localPaths(*event->mimeData()));
}

} // namespace bubblescope::gui
