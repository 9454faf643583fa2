#include "app/gui/models/view_state.h"

#include "app/gui/jobs/application.h"

#include <QScopedValueRollback>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr std::size_t kHistoryDepth = 200;

TimeNs scaled(TimeNs length, double fraction) {
    return TimeNs{std::llround(static_cast<double>(length.count()) * fraction)};
}

} // namespace

void VisibleRange::setLimits(const TimeRange& limits) {
    limits_ = limits;
    if (limits_.length() < kMinLength) limits_.end = limits_.begin + kMinLength;
    history_.clear();
    in_gesture_ = false;
    range_ = limits_;
    emit historyChanged();
    emit changed();
}

void VisibleRange::reset(const TimeRange& range) {
    history_.clear();
    in_gesture_ = false;
    emit historyChanged();
    apply(clamped(range));
}

void VisibleRange::follow(const TimeRange& limits, const TimeRange& range) {
    limits_ = limits;
    if (limits_.length() < kMinLength) limits_.end = limits_.begin + kMinLength;
    in_gesture_ = false;
    apply(clamped(range));
}

void VisibleRange::show(const TimeRange& range) {
    const TimeRange target = clamped(range);
    if (target == range_) return;
    in_gesture_ = false;
    remember();
    apply(target);
}

void VisibleRange::zoomAt(double fraction, double factor) {
    const TimeNs length = range_.length();
    const TimeNs new_length = std::clamp(scaled(length, factor), kMinLength, limits_.length());
    const TimeNs anchor = range_.begin + scaled(length, fraction);
    const TimeNs begin = anchor - scaled(new_length, fraction);
    const TimeRange target = clamped({begin, begin + new_length});
    if (target == range_) return;
    if (!in_gesture_) remember();
    in_gesture_ = true;
    apply(target);
}

void VisibleRange::panBy(double fraction) {
    const TimeNs shift = scaled(range_.length(), fraction);
    const TimeRange target = clamped({range_.begin + shift, range_.end + shift});
    if (target == range_) return;
    if (!in_gesture_) remember();
    in_gesture_ = true;
    apply(target);
}

void VisibleRange::back() {
    if (history_.empty()) return;
    const TimeRange target = clamped(history_.back().range);
    history_.pop_back();
    in_gesture_ = false;
    apply(target);
    emit historyChanged();
}

TimeRange VisibleRange::clamped(TimeRange range) const {
    if (range.length() < kMinLength) {
        const TimeNs middle = range.begin + range.length() / 2;
        range = {middle - kMinLength / 2, middle - kMinLength / 2 + kMinLength};
    }
    if (range.length() >= limits_.length()) return limits_;
    if (range.begin < limits_.begin) return {limits_.begin, limits_.begin + range.length()};
    if (range.end > limits_.end) return {limits_.end - range.length(), limits_.end};
    return range;
}

void VisibleRange::remember() {
    if (history_.size() == kHistoryDepth) history_.erase(history_.begin());
    history_.push_back({range_, nextStamp()});
    emit historyChanged();
}

void VisibleRange::apply(const TimeRange& range) {
    if (range == range_) return;
    range_ = range;
    emit changed();
}

namespace {

constexpr double kStepPadding = 0.015;
constexpr double kTracePadding = 0.01;
constexpr std::size_t kMaxPastRows = 200;

Result<std::optional<ModelUse>> useOf(const Session& session, const ModelUseRequest& model) {
    return session.hasSteps() ? model.use(session.run) : model.use(session.run, session.activity);
}

} // namespace

ViewState::ViewState(QObject* parent) : QObject(parent) {
    connect(&range_, &VisibleRange::changed, this, &ViewState::followRange);
    connect(&range_, &VisibleRange::historyChanged, this, &ViewState::forgetUndone);
    connect(this, &ViewState::sessionChanged, this, [this] {
        diagnosis_job_.cancel();
        requested_diagnosis_.reset();
        awaited_diagnoses_.clear();
        updateDiagnoses();
    });
    for (const auto change : {&ViewState::stepChanged, &ViewState::selectionChanged}) {
        connect(this, change, this, [this] {
            requested_diagnosis_.reset();
            updateDiagnoses();
        });
    }
    connect(this, &ViewState::flowsChanged, this, &ViewState::updateDiagnoses);
}

const SessionPtr& ViewState::pipeline() const {
    static const SessionPtr none;
    return session_ && session_->hasSteps() ? session_ : none;
}

/// The typical step. If the second step has the same duration, it is preferred to the first, which often includes
/// warm-up.
int ViewState::firstStep() const {
    int first = session_->hasSteps() ? 0 : -1;
    for (int seen = 0; const SelectedStep& step : session_->report.selection.steps()) {
        if (!step.taken()) continue;
        first = static_cast<int>(step.timelines.front()); // its first replica
        if (++seen == 2) break;
    }
    if (session_->report.selection.steps().empty()) return first;
    if (step_shown_first_ == StepShownFirst::First) return 0;
    if (step_shown_first_ == StepShownFirst::Last) return session_->stepCount() - 1;
    const auto typical = static_cast<int>(session_->report.typicalStep());
    return session_->step(typical).wall() == session_->step(first).wall() ? first : typical;
}

void ViewState::setSession(SessionPtr session) {
    const bool had_steps = !session_ || session_->hasSteps();
    session_ = std::move(session);
    selection_ = {};
    step_ = -1;
    highlight({});
    mark({});
    setReference(nullptr);
    measure({});
    model_ = {};
    model_use_.reset();
    resetRows(had_steps);
    if (session_) {
        // The step is set before the range, because a change of the range can change the step.
        step_ = firstStep();
        range_.setLimits(limits());
        if (session_->hasSteps()) range_.reset(stepView(step_));
    } else {
        range_.setLimits({});
    }
    emit sessionChanged();
    emit stepChanged();
    emit selectionChanged();
}

/// Another run has different lines. The visible kinds of lanes are a preference and do not change. Without a pipeline,
/// only tracks can be shown.
void ViewState::resetRows(bool had_steps) {
    RowChoice rows;
    rows.hidden = rows_.hidden;
    if (had_steps) wants_counters_ = rows_.counters;
    const bool tracks_alone = session_ && !session_->hasSteps();
    rows.counters = tracks_alone || wants_counters_;
    for (int line = 0; tracks_alone && line < static_cast<int>(session_->lanes.lineCount()); ++line)
        rows.unfolded.push_back(line);
    past_rows_.clear();
    if (rows == rows_) return;
    rows_ = std::move(rows);
    emit rowsChanged();
}

RowChoice ViewState::rowPreferences() const {
    RowChoice rows = rows_;
    if (session_ && !session_->hasSteps()) rows.counters = wants_counters_;
    return rows;
}

void ViewState::setRows(RowChoice rows) {
    if (rows == rows_) return;
    if (past_rows_.size() == kMaxPastRows) past_rows_.erase(past_rows_.begin());
    past_rows_.push_back({std::move(rows_), range_.nextStamp()});
    rows_ = std::move(rows);
    range_.endGesture();
    emit rowsChanged();
    forgetUndone();
}

Status ViewState::setModel(const ModelUseRequest& model) {
    if (!session_ || model == model_) return {};
    BUBBLESCOPE_ASSIGN(model_use_, useOf(*session_, model));
    model_ = model;
    emit modelChanged();
    return {};
}

void ViewState::forgetUndone() {
    if (!undoing_) undone_.clear();
    emit historyChanged();
}

void ViewState::undo() {
    if (!canUndo()) return;
    const QScopedValueRollback guard(undoing_, true);
    undone_.push_back({range_.range(), rows_});
    if (past_rows_.empty() || past_rows_.back().stamp < range_.lastStamp()) return range_.back();
    rows_ = std::move(past_rows_.back().rows);
    past_rows_.pop_back();
    emit rowsChanged();
    emit historyChanged();
}

void ViewState::redo() {
    if (undone_.empty()) return;
    const QScopedValueRollback guard(undoing_, true);
    const Undone next = std::move(undone_.back());
    undone_.pop_back();
    setRows(next.rows);
    range_.show(next.range);
    emit historyChanged();
}

ViewSnapshot ViewState::snapshot() const {
    return {range_.range(), step_,     selection_, highlights_,      reference_, reference_blend_,
            flows_,         measured_, rows_,      measured_tracks_, model_};
}

bool ViewState::holds(const ItemRef& item) const {
    if (!item || !session_ || item.step < 0 || item.step >= session_->stepCount() || item.index < 0) return false;
    const auto has = [&](const auto& ranks) {
        const auto rank = static_cast<std::size_t>(item.rank);
        return item.rank >= 0 && rank < ranks.size() && static_cast<std::size_t>(item.index) < ranks[rank].size();
    };
    switch (item.kind) {
    case ItemKind::Op: return has(session_->step(item.step).ranks);
    case ItemKind::Comm: return has(session_->step(item.step).comm);
    case ItemKind::Bubble: return has(session_->analysis(item.step).bubbles);
    case ItemKind::Slice:
        return session_->run.trace && session_->lanes.lineOf(item) >= 0 &&
               static_cast<std::size_t>(item.index) < session_->run.trace->sliceTracks().size();
    case ItemKind::Check: return static_cast<std::size_t>(item.index) < session_->run.checks.checks.size();
    case ItemKind::ReplicaWait:
        return item.index == 0 && session_->lanes.lineOf(item) >= 0 && session_->range(item).length() > TimeNs{0};
    case ItemKind::None: break;
    }
    return false;
}

void ViewState::restore(SessionPtr session, const ViewSnapshot& snapshot) {
    setSession(std::move(session));
    (void)setModel(snapshot.model);
    if (!session_ || snapshot.range.length() <= TimeNs{0}) return;
    const auto show_step = [&] {
        if (snapshot.step >= 0 && session_->hasSteps()) setStep(std::min(snapshot.step, session_->stepCount() - 1));
    };
    show_step();
    range_.reset(snapshot.range);
    show_step(); // the change of range may have changed the step
    if (holds(snapshot.selection)) select(snapshot.selection);
    highlight(snapshot.highlights);
    if (!snapshot.reference || snapshot.reference->step < session_->stepCount()) setReference(snapshot.reference);
    setReferenceBlend(snapshot.reference_blend);
    for (std::size_t flow = 0; flow < kFlowOverlayCount; ++flow)
        showFlow(static_cast<FlowOverlay>(flow), snapshot.flows[flow]);
    measure(snapshot.measured, snapshot.measured_tracks);
    if (!snapshot.rows || rows_ == *snapshot.rows) return;
    rows_ = *snapshot.rows;
    emit rowsChanged();
}

TimeRange ViewState::limits() const {
    const TimeRange all = padded(session_->lanes.extent(), kTracePadding);
    if (!session_->hasSteps()) return all;
    const TimeRange first = stepView(0);
    const TimeRange last = stepView(session_->stepCount() - 1);
    return {std::min(all.begin, first.begin), std::max(all.end, last.end)};
}

/// Steps have different indices in a run that has grown.
ItemRef ViewState::sameItem(const Session& later) const {
    if (!selection_ || !session_ || selection_.kind == ItemKind::Slice || selection_.kind == ItemKind::Check) return {};
    const StepTimeline& step = session_->step(selection_.step);
    ItemRef item = selection_;
    item.step = later.indexOf(step);
    return item.step >= 0 && later.step(item.step).begin == step.begin ? item : ItemRef{};
}

void ViewState::followSession(SessionPtr session, const TimeRange& visible) {
    const int newest = session->stepCount() - 1;
    showLater(std::move(session), newest, visible, true);
}

void ViewState::completeSession(SessionPtr session) {
    const int same = std::max(0, session->indexOf(session_->step(step_)));
    const bool has_same_lines = session->lanes.rankCount() == session_->lanes.rankCount() &&
                                session->lanes.replicas() == session_->lanes.replicas();
    showLater(std::move(session), same, range_.range(), has_same_lines);
}

/// Views are notified only after both the session and the range have been set.
void ViewState::showLater(SessionPtr session, int step, const TimeRange& visible, bool keeps_rows) {
    const bool had_steps = !session_ || session_->hasSteps();
    const bool selected = static_cast<bool>(selection_); // its data is new even if its position is the same
    selection_ = sameItem(*session);
    session_ = std::move(session);
    step_ = step;
    const Result<std::optional<ModelUse>> use = useOf(*session_, model_);
    model_use_ = use.ok() ? use.value() : std::nullopt;
    if (!keeps_rows) resetRows(had_steps);
    highlight({});
    mark({});
    setReference(nullptr);
    {
        const QSignalBlocker quiet(range_);
        range_.follow(limits(), visible);
    }
    if (measured_.begin < range_.limits().begin) measure({});
    emit sessionChanged();
    emit range_.changed();
    emit stepChanged();
    if (selected) emit selectionChanged();
}

TimeRange ViewState::stepView(int step) const {
    TimeRange window = session_->window(step);
    // Replicas run a step concurrently, so the complete step is shown.
    if (session_->lanes.replicas().size() > 1) {
        for (const StepTimeline& other : session_->run.steps) {
            if (other.index != session_->step(step).index) continue;
            window.begin = std::min(window.begin, other.begin);
            window.end = std::max(window.end, other.end);
        }
    }
    return padded(window, kStepPadding);
}

void ViewState::showStep(int step) {
    if (!session_ || step < 0 || step >= session_->stepCount()) return;
    setStep(step);
    range_.show(stepView(step));
}

void ViewState::setStep(int step) {
    if (step == step_) return;
    step_ = step;
    emit stepChanged();
}

void ViewState::select(const ItemRef& item) {
    if (item == selection_) return;
    selection_ = item;
    if (item && pipeline()) setStep(item.step);
    emit selectionChanged();
}

void ViewState::highlight(std::vector<Highlight> stretches) {
    if (stretches == highlights_) return;
    highlights_ = std::move(stretches);
    emit highlightsChanged();
}

void ViewState::setReference(ReferenceOverlayPtr reference) {
    if (reference == reference_) return;
    reference_ = std::move(reference);
    moveReference();
    emit referenceChanged();
}

void ViewState::setReferenceBlend(double blend) {
    blend = std::clamp(blend, 0.0, 1.0);
    if (blend == reference_blend_) return;
    reference_blend_ = blend;
    moveReference();
    emit referenceMoved();
}

void ViewState::moveReference() {
    const bool there = !reference_ || !session_ || reference_blend_ >= 1 || reference_->step >= session_->stepCount();
    shown_reference_ =
        there ? reference_ : std::make_shared<const ReferenceOverlay>(reference_->partWay(*session_, reference_blend_));
}

void ViewState::showFlow(FlowOverlay flow, bool on) {
    bool& shown = flows_[static_cast<std::size_t>(flow)];
    if (shown == on) return;
    shown = on;
    emit flowsChanged();
}

/// Steps whose diagnosis is missing but visible or requested, the most urgent first.
std::vector<int> ViewState::neededDiagnoses() const {
    std::vector<int> steps;
    if (!session_) return steps;
    const auto add = [&](int step) {
        if (session_->lacksDiagnosis(step) && std::ranges::find(steps, step) == steps.end()) steps.push_back(step);
    };
    // The step of the selection need not be the current step.
    if (selection_.kind == ItemKind::Bubble) add(selection_.step);
    if (shows(FlowOverlay::CriticalPath)) add(step_);
    if (requested_diagnosis_) add(*requested_diagnosis_);
    return steps;
}

void ViewState::diagnose(int step) {
    requested_diagnosis_ = step;
    updateDiagnoses();
}

/// Starts the most urgent diagnosis, unless another one is in progress, which cannot be stopped.
void ViewState::updateDiagnoses() {
    const std::vector<int> needed = neededDiagnoses();
    if (needed.empty()) return;
    awaited_diagnoses_.insert(needed.begin(), needed.end());
    if (diagnosis_job_.running()) return;
    diagnosis_job_.start(
        [session = session_, step = needed.front()](JobControl& control) {
            std::pair<int, std::exception_ptr> result{step, nullptr};
            if (control.stopRequested()) return result;
            try {
                (void)session->diagnosis(step);
            } catch (...) {
                result.second = std::current_exception();
            }
            return result;
        },
        [this](const std::pair<int, std::exception_ptr>& result) {
            finishDiagnosis(result.first);
            if (result.second) reportUnexpected(result.second);
        });
}

void ViewState::finishDiagnosis(int step) {
    std::set<int> made = std::exchange(awaited_diagnoses_, {});
    made.insert(step); // even if the diagnosis is no longer needed
    // An export or a copy may have computed other missing diagnoses.
    std::erase_if(made, [&](int each) { return session_->lacksDiagnosis(each); });
    updateDiagnoses();
    for (const int each : made)
        emit diagnosisMade(each);
}

void ViewState::measure(const TimeRange& range, std::vector<TrackId> tracks) {
    if (range == measured_ && tracks == measured_tracks_) return;
    measured_ = range;
    measured_tracks_ = std::move(tracks);
    emit measuredChanged();
}

void ViewState::mark(std::vector<SliceId> slices) {
    if (slices == marked_) return;
    marked_ = std::move(slices);
    marked_names_.clear();
    if (!marked_.empty()) marked_names_.resize(session_->run.trace->strings().size());
    for (const SliceId slice : marked_)
        marked_names_[session_->run.trace->sliceNames()[slice]] = true;
    emit marksChanged();
}

void ViewState::showSteps(int first, int last) {
    if (!session_ || first < 0 || last >= session_->stepCount() || first > last) return;
    range_.show({stepView(first).begin, stepView(last).end});
}

void ViewState::zoomTo(const ItemRef& item) {
    if (!session_ || !item) return;
    zoomTo(session_->range(item));
    emit rankRequested(item.rank);
}

void ViewState::zoomTo(const TimeRange& range) {
    range_.show(padded(range, 1.0));
}

void ViewState::reveal(const ItemRef& item) {
    if (!session_ || !item) return;
    const TimeRange target = session_->range(item);
    const TimeRange now = range_.range();
    constexpr std::int64_t kInvisible = 400; // slices that are this much shorter than the view are about a pixel wide
    if (item.kind == ItemKind::Slice && target.length() * kInvisible < now.length()) return zoomTo(item);
    if (target.begin < now.begin || target.end > now.end) {
        const TimeNs length = std::max(now.length(), target.length());
        const TimeNs begin = target.begin + target.length() / 2 - length / 2;
        range_.show({begin, begin + length});
    }
    emit rankRequested(item.rank);
}

void ViewState::followRange() {
    if (!session_ || step_ < 0) return;
    const TimeRange visible = range_.range();
    // The current step does not change while half of it is visible or it fills half of the view, so that tables do not
    // change when the view is zoomed out or panned slightly.
    const TimeRange current = session_->window(step_);
    const TimeNs shared = overlap(current, visible);
    if (shared * 2 >= current.length() || shared * 2 >= visible.length()) return;

    int best = step_;
    TimeNs most = shared;
    for (int i = 0; i < session_->stepCount(); ++i) {
        const TimeNs seen = overlap(session_->window(i), visible);
        if (seen > most) {
            best = i;
            most = seen;
        }
    }
    setStep(best);
}

} // namespace bubblescope::gui
