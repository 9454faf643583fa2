#include "app/gui/trace_tabs.h"

#include "app/gui/first_steps.h"
#include "app/gui/language/text.h"
#include "app/gui/live/live_controller.h"
#include "app/gui/models/notes.h"
#include "app/gui/models/recent_files.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/models/session_file.h"
#include "app/gui/panels/widgets.h"

#include <QDir>
#include <QSignalBlocker>
#include <QTabBar>
#include <QTimer>

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

namespace {

/// View for a trace after a preview of its first slices; empty if the preview contained all slices.
ViewSnapshot viewOfSeen(const std::optional<TimeRange>& seen, const Session& whole) {
    ViewSnapshot view;
    if (seen && whole.run.trace) view.range = rangeInWhole(*seen, *whole.run.trace).value_or(TimeRange{});
    return view;
}

bool isSameView(const ViewSnapshot& a, const ViewSnapshot& b) {
    return a.range == b.range && a.step == b.step && a.selection == b.selection && a.rows == b.rows &&
           a.flows == b.flows && a.measured == b.measured && a.highlights == b.highlights;
}

bool isSession(const QStringList& paths) {
    return paths.size() == 1 && isSessionFile(paths.front().toStdString());
}

} // namespace

TraceTabs::TraceTabs(RunLoader loader, ViewState& state, LiveController& live, NoteStore& notes, QObject* parent)
    : QObject(parent), loader_(std::move(loader)), state_(state), live_(live), notes_(notes) {
    // A load that threw an exception has no result.
    connect(&job_, &BackgroundJob::runningChanged, this, [this](bool running) {
        if (running) return;
        QTimer::singleShot(0, this, [this] {
            if (!job_.running()) dropFirstSteps();
        });
    });
}

void TraceTabs::setViews(ComparePanel& compare, IdealOverlay& ideal) {
    compare_ = &compare;
    ideal_ = &ideal;
}

QTabBar* TraceTabs::makeBar(QWidget* parent) {
    bar_ = named(new QTabBar(parent), "traceTabs", tr("Open traces"));
    bar_->setDocumentMode(true);
    bar_->setTabsClosable(true);
    bar_->setExpanding(false);
    bar_->setElideMode(Qt::ElideMiddle);
    bar_->setFocusPolicy(Qt::NoFocus); // Ctrl+Tab switches tabs; the keyboard focus stays with the timeline
    updateBar();
    connect(bar_, &QTabBar::currentChanged, this, &TraceTabs::show);
    connect(bar_, &QTabBar::tabCloseRequested, this, &TraceTabs::close);
    return bar_;
}

/// Hides the bar if there is only one tab.
void TraceTabs::updateBar() {
    const QSignalBlocker quiet(bar_);
    while (bar_->count() > count())
        bar_->removeTab(bar_->count() - 1);
    while (bar_->count() < count())
        bar_->addTab({});
    for (int tab = 0; tab < bar_->count(); ++tab) {
        const TraceTab& trace = tabs_[static_cast<std::size_t>(tab)];
        QString text = trace.empty() ? tr("Nothing open yet") : titleOf(trace);
        if (!trace.alert.isEmpty()) text = tr("⚠ %1").arg(text);
        bar_->setTabText(tab, text.replace(QLatin1Char('&'), QStringLiteral("&&")));
        QStringList tips;
        for (const QString& path : trace.paths)
            tips << QDir::toNativeSeparators(path);
        if (!trace.alert.isEmpty()) tips << trace.alert;
        bar_->setTabToolTip(tab, tips.join(QLatin1Char('\n')));
    }
    bar_->setCurrentIndex(current_);
    bar_->setVisible(count() > 1);
    emit titleChanged(front().empty() ? QString() : titleOf(front()));
}

// ---- Content of the views ------------------------------------------------------------------------

void TraceTabs::saveViews() {
    TraceTab& tab = inFront();
    if (tab.failure) return; // the tab keeps its saved content
    tab.session = state_.session();
    tab.view = state_.session() ? state_.snapshot() : ViewSnapshot{};
    tab.seen = seenOfBeginning();
    tab.comparison = compare_->state();
    tab.ideal = ideal_->on();
    // These are restored separately.
    if (tab.ideal || tab.comparison.below) tab.view.reference = nullptr;
}

void TraceTabs::restoreViews() {
    if (front().failure) return;
    compare_->restore(front().comparison);
    ideal_->setOn(front().ideal);
}

void TraceTabs::showFront() {
    const TraceTab tab = front();
    ideal_->setOn(false);
    compare_->restore({});
    state_.restore(tab.session, tab.view);
    if (tab.live) live_.setParked(false);
    if (!tab.failure) {
        compare_->restore(tab.comparison);
        ideal_->setOn(tab.ideal);
    }
    if (!tab.paths.isEmpty()) notes_.open(tab.paths.front().toStdString());
    updateBar();
    if (tab.session || tab.failure) emit switched();
}

void TraceTabs::show(int tab) {
    if (tab == current_ || tab < 0 || tab >= count()) return;
    saveViews();
    if (front().live) live_.setParked(true);
    current_ = tab;
    showFront();
}

void TraceTabs::close(int tab) {
    if (tab < 0 || tab >= count()) return;
    if (tab == current_) saveViews();
    const TraceTab& closing = tabs_[static_cast<std::size_t>(tab)];
    const bool is_loading = closing.first_steps_only;
    if (!closing.paths.isEmpty() && !is_loading) closed_.push_back(requestOf(closing));
    if (is_loading) {
        job_.cancel();
        first_steps_.cancel();
    } else if (count() == 1 && loading()) {
        cancelLoad();
    }
    remove(tab);
    if (is_loading) loadNext();
}

/// Clears the last tab instead, so that the window returns to its initial state.
void TraceTabs::remove(int tab) {
    const bool was_live = tabs_[static_cast<std::size_t>(tab)].live;
    if (count() == 1) {
        tabs_.front() = {};
        if (was_live) live_.forget();
        return showFront();
    }
    const bool in_front = tab == current_;
    tabs_.erase(tabs_.begin() + tab);
    if (was_live) live_.forget();
    if (tab < current_ || current_ == count()) --current_;
    if (in_front) return showFront();
    updateBar();
}

void TraceTabs::turn(int by) {
    if (count() > 1) show((current_ + by + count()) % count());
}

void TraceTabs::showLive(const QString& title) {
    saveViews();
    for (TraceTab& tab : tabs_) {
        tab.live = false; // only one run is watched at a time
        tab.alert.clear();
    }
    // Closes empty tabs of a run.
    for (int tab = count() - 1; tab >= 0; --tab) {
        if (tab == current_ || !tabs_[static_cast<std::size_t>(tab)].empty()) continue;
        tabs_.erase(tabs_.begin() + tab);
        if (tab < current_) --current_;
    }
    addTab();
    inFront().live = true;
    inFront().title = title;
    updateBar();
}

/// Selects a new tab, or uses the selected tab if it is empty. Its content is not shown yet.
void TraceTabs::addTab() {
    ideal_->setOn(false);
    compare_->restore({});
    if (!front().empty()) {
        if (front().live) live_.setParked(true);
        tabs_.emplace_back();
        current_ = count() - 1;
    }
    inFront() = {};
}

void TraceTabs::markLive(const QString& alert) {
    for (TraceTab& tab : tabs_) {
        if (!tab.live || tab.alert == alert) continue;
        tab.alert = alert;
        updateBar();
    }
}

// ---- Loading -------------------------------------------------------------------------------------

void TraceTabs::open(const QStringList& paths) {
    if (isSession(paths)) return openSession(paths.front());
    waiting_.clear();
    load({paths, false, std::nullopt, {}, false});
}

void TraceTabs::reopen(const Taught& taught) {
    if (front().paths.isEmpty()) return;
    waiting_.clear();
    load({front().paths, false, std::nullopt, {}, false, taught});
}

void TraceTabs::openBeside(const QStringList& paths) {
    if (paths.isEmpty()) return;
    if (front().empty() && !loading()) return open(paths);
    if (isSession(paths)) return openSession(paths.front());
    waiting_.push_back({paths, true, std::nullopt, {}, false});
    if (!loading()) loadNext();
}

bool TraceTabs::loadNext() {
    if (waiting_.empty()) return false;
    const Request next = waiting_.front();
    waiting_.pop_front();
    load(next);
    return true;
}

TraceTabs::Request TraceTabs::requestOf(const TraceTab& tab) {
    Request request{tab.paths, true, tab.view, tab.comparison.paths, tab.ideal, tab.taught};
    request.view->reference = nullptr;
    request.view->highlights.clear();
    return request;
}

void TraceTabs::reopenClosed() {
    if (closed_.empty()) return;
    waiting_.push_back(closed_.back());
    closed_.pop_back();
    if (!loading()) loadNext();
}

void TraceTabs::openApart() {
    const QStringList paths = front().paths;
    close(current_);
    for (const QString& path : paths)
        openBeside({path});
}

bool TraceTabs::anyOpen() const {
    return std::ranges::any_of(tabs_, [](const TraceTab& tab) { return !tab.empty(); });
}

void TraceTabs::load(const Request& request) {
    if (request.paths.isEmpty()) return;
    dropFirstSteps();
    load_name_ = nameOfTrace(request.paths);
    emit loadStarted(load_name_);
    loadFirstSteps(request); // started first, because there may be only one thread
    const auto preview = std::make_shared<LoadPreview>();
    preview_ = preview;
    job_.start(
        [loader = loader_, files = toFiles(request.paths), taught = request.taught,
         preview](JobControl& control) -> Result<SessionPtr> {
            control.preview = preview.get();
            return loadSession(loader, files, control, taught);
        },
        [this, request](Result<SessionPtr> result) { finishLoad(request, std::move(result)); });
}

void TraceTabs::cancelLoad() {
    waiting_.clear();
    job_.cancel();
    dropFirstSteps();
    emit cancelled();
}

void TraceTabs::loadFirstSteps(const Request& request) {
    if (!front().empty() || request.view) return; // because a saved view refers to all steps
    first_steps_.start(
        [loader = loader_, files = toFiles(request.paths), taught = request.taught](JobControl& control) -> SessionPtr {
            return gui::loadFirstSteps(loader, files, control, taught);
        },
        [this, request](SessionPtr begun) { showFirstSteps(request, std::move(begun)); });
}

/// The visible interval, on the clock of Trace::originInFile(), if the views show a part of a preview without
/// steps.
std::optional<TimeRange> TraceTabs::seenOfBeginning() const {
    if (!state_.session() || !state_.session()->isBeginning()) return std::nullopt;
    const VisibleRange& shown = state_.range();
    if (shown.range() == shown.limits()) return std::nullopt;
    const TimeNs origin = state_.session()->run.trace->originInFile();
    return TimeRange{shown.range().begin + origin, shown.range().end + origin};
}

void TraceTabs::showFirstSteps(const Request& request, SessionPtr begun) {
    if (!begun || !job_.running() || !front().empty()) return;
    inFront() = tabOf(request.paths, std::move(begun), request.taught);
    inFront().first_steps_only = true;
    state_.setSession(front().session);
    first_view_ = state_.snapshot();
    updateBar();
    emit switched();
    notes_.open(request.paths.front().toStdString());
}

/// Returns null if there is no such tab.
TraceTab* TraceTabs::tabOfFirstSteps() {
    const auto found = std::ranges::find_if(tabs_, &TraceTab::first_steps_only);
    return found == tabs_.end() ? nullptr : &*found;
}

/// Closes the tab with the first steps of a cancelled load, if there is one.
void TraceTabs::dropFirstSteps() {
    first_steps_.cancel();
    if (const TraceTab* const tab = tabOfFirstSteps()) remove(static_cast<int>(tab - tabs_.data()));
}

/// True if the view of the first steps has changed since it was first shown.
bool TraceTabs::viewIsUsed() const {
    return ideal_->on() || !compare_->state().paths.isEmpty() || !isSameView(state_.snapshot(), first_view_);
}

void TraceTabs::finishLoad(const Request& request, Result<SessionPtr> result) {
    if (!result.ok()) {
        if (result.error().kind == ErrorKind::Cancelled) return;
        dropFirstSteps();
        if (request.view)
            keepUnopened(request, result.error());
        else
            emit refused(result.error());
        emit failed(result.error());
        if (!loadNext()) finishSession();
        return;
    }
    first_steps_.cancel();
    TraceTab* const begun = tabOfFirstSteps();
    if (begun == nullptr || begun == &front())
        fillFront(request, std::move(result).value());
    else
        fillBehind(*begun, request, std::move(result).value());
    if (loadNext()) return;
    finishSession();
    emit loaded();
}

/// Shows the loaded trace. If the selected tab has a preview of it, replaces that and keeps the current view.
void TraceTabs::fillFront(const Request& request, SessionPtr session) {
    const bool goes_on = front().first_steps_only;
    const bool keeps_view = goes_on && front().session->hasSteps() && session->hasSteps() && viewIsUsed();
    ViewSnapshot seen = goes_on ? viewOfSeen(seenOfBeginning(), *session) : ViewSnapshot{};
    if (request.paths == front().paths && !request.own_tab) seen.model = state_.model();
    if (!goes_on && (request.own_tab || front().live)) {
        saveViews();
        addTab();
    }
    inFront() = tabOf(request.paths, std::move(session), request.taught);
    SavedComparison comparison{request.compare, nullptr, false};
    bool ideal = request.ideal;
    if (keeps_view) {
        comparison = compare_->state();
        comparison.comparison = nullptr; // the comparison is for the first steps
        ideal = ideal_->on();
        ideal_->setOn(false);
        state_.completeSession(front().session);
    } else {
        state_.restore(front().session, request.view.value_or(seen));
    }
    updateBar();
    emit opened(request.paths);
    if (!goes_on) emit switched(); // otherwise, the focus does not change
    notes_.open(request.paths.front().toStdString());
    ideal_->setOn(ideal);
    if (!comparison.paths.isEmpty()) compare_->restore(comparison);
}

/// Replaces the first steps with the complete trace in a tab that is not selected.
void TraceTabs::fillBehind(TraceTab& tab, const Request& request, SessionPtr session) {
    const TraceTab begun = std::exchange(tab, tabOf(request.paths, std::move(session), request.taught));
    const bool steps = begun.session->hasSteps() && tab.session->hasSteps();
    tab.view = steps ? begun.view : viewOfSeen(begun.seen, *tab.session);
    forgetPartOfTrace(tab.view);
    tab.view.selection = {};
    tab.view.highlights.clear();
    if (steps) tab.view.step = std::max(0, tab.session->indexOf(begun.session->step(begun.view.step)));
    tab.comparison = {begun.comparison.paths, nullptr, begun.comparison.below};
    tab.ideal = begun.ideal;
    updateBar();
    emit opened(request.paths);
}

ComparePanel::Choices TraceTabs::runsToCompare(bool recent) const {
    ComparePanel::Choices choices;
    const QStringList& shown = front().paths;
    QList<QStringList> listed{shown};
    for (const TraceTab& other : tabs_) {
        if (listed.contains(other.paths) || other.paths.isEmpty() || !other.session) continue;
        listed << other.paths;
        choices.open << ComparePanel::Choice{nameByDifference(toFiles(shown), toFiles(other.paths)), other.paths};
    }
    for (const QStringList& paths : recent ? RecentFiles::load() : QList<QStringList>()) {
        if (!listed.contains(paths)) choices.recent << ComparePanel::Choice{recentText(paths), paths};
    }
    return choices;
}

} // namespace bubblescope::gui
