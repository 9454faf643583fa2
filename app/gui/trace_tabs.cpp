#include "app/gui/trace_tabs.h"

#include "app/gui/language/text.h"
#include "app/gui/live/live_controller.h"
#include "app/gui/models/first_steps.h"
#include "app/gui/models/notes.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/models/session_file.h"

#include <QDir>
#include <QFileInfo>
#include <QSignalBlocker>
#include <QTabBar>
#include <QTimer>

#include <algorithm>

namespace bubblescope::gui {

namespace {

QString nameOfTrace(const QStringList& paths) {
    const QString name = QFileInfo(paths.front()).fileName();
    return name.isEmpty() ? paths.front() : name;
}

QString titleOfTrace(const QStringList& paths) {
    const QString name = nameOfTrace(paths);
    return paths.size() > 1 ? TraceTabs::tr("%1 and more").arg(name) : name;
}

QStringList toStrings(const std::vector<std::filesystem::path>& paths) {
    QStringList out;
    for (const std::filesystem::path& path : paths)
        out << fromUtf8(path.string());
    return out;
}

std::vector<std::filesystem::path> toFiles(const QStringList& paths) {
    std::vector<std::filesystem::path> out;
    for (const QString& path : paths)
        out.emplace_back(path.toStdString());
    return out;
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
    : QObject(parent), loader_(std::move(loader)), state_(state), live_(live), notes_(notes) {}

void TraceTabs::setViews(ComparePanel& compare, IdealOverlay& ideal) {
    compare_ = &compare;
    ideal_ = &ideal;
}

QTabBar* TraceTabs::makeBar(QWidget* parent) {
    bar_ = new QTabBar(parent);
    bar_->setObjectName(QStringLiteral("traceTabs"));
    bar_->setAccessibleName(tr("Open traces"));
    bar_->setDocumentMode(true);
    bar_->setTabsClosable(true);
    bar_->setExpanding(false);
    bar_->setElideMode(Qt::ElideMiddle);
    bar_->setFocusPolicy(Qt::NoFocus); // Ctrl+Tab switches tabs; keys stay with the timeline
    updateBar();
    connect(bar_, &QTabBar::currentChanged, this, &TraceTabs::show);
    connect(bar_, &QTabBar::tabCloseRequested, this, &TraceTabs::close);
    return bar_;
}

/// A single tab needs no bar.
void TraceTabs::updateBar() {
    const QSignalBlocker quiet(bar_);
    while (bar_->count() > count())
        bar_->removeTab(bar_->count() - 1);
    while (bar_->count() < count())
        bar_->addTab({});
    for (int tab = 0; tab < bar_->count(); ++tab) {
        const TraceTab& trace = tabs_[static_cast<std::size_t>(tab)];
        QString text = trace.empty() ? tr("Nothing open yet") : trace.title;
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
    emit titleChanged(front().empty() ? QString() : front().title);
}

// ---- What the views show -------------------------------------------------------------------------

void TraceTabs::saveViews() {
    TraceTab& tab = inFront();
    tab.session = state_.session();
    tab.view = state_.snapshot();
    tab.comparison = compare_->state();
    tab.ideal = ideal_->on();
    // These are restored separately.
    if (tab.ideal || tab.comparison.below) tab.view.reference = nullptr;
}

void TraceTabs::restoreViews() {
    compare_->restore(front().comparison);
    ideal_->setOn(front().ideal);
}

void TraceTabs::showFront() {
    const TraceTab tab = front();
    ideal_->setOn(false);
    compare_->restore({});
    state_.restore(tab.session, tab.view);
    if (tab.live) live_.setParked(false);
    compare_->restore(tab.comparison);
    ideal_->setOn(tab.ideal);
    if (!tab.paths.isEmpty()) notes_.open(tab.paths.front().toStdString());
    updateBar();
    if (tab.session || tab.plain) emit switched();
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
    if (tabs_[static_cast<std::size_t>(tab)].is_begun) cancelLoad();
    const bool was_live = tabs_[static_cast<std::size_t>(tab)].live;
    if (count() == 1) {
        // The window returns to its initial state.
        if (loading()) cancelLoad();
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
    // A run of which nothing was seen leaves nothing behind.
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

/// Brings a new tab to the front, or the one in front if it is empty. Its content is not shown yet.
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

void TraceTabs::loadNext() {
    if (waiting_.empty()) return;
    const Request next = waiting_.front();
    waiting_.pop_front();
    load(next);
}

void TraceTabs::load(const Request& request) {
    if (request.paths.isEmpty()) return;
    dropFirstSteps();
    emit loadStarted(nameOfTrace(request.paths));
    const auto preview = std::make_shared<LoadPreview>();
    preview_ = preview;
    job_.start(
        [loader = loader_, files = toFiles(request.paths), taught = request.taught,
         preview](JobControl& control) -> Result<OpenedTrace> {
            control.preview = preview.get();
            BUBBLESCOPE_ASSIGN(const LoadOptions options, taught.options());
            return openTrace(loader, files, control, options);
        },
        [this, request](Result<OpenedTrace> result) { finishLoad(request, std::move(result)); });
    loadFirstSteps(request);
}

void TraceTabs::cancelLoad() {
    waiting_.clear();
    job_.cancel();
    dropFirstSteps();
    emit cancelled();
}

void TraceTabs::loadFirstSteps(const Request& request) {
    if (!front().empty() || request.view) return; // a view is one of all steps
    first_steps_.start(
        [loader = loader_, files = toFiles(request.paths), taught = request.taught](JobControl& control) -> SessionPtr {
            Result<LoadOptions> options = taught.options();
            if (!options.ok()) return nullptr;
            return gui::loadFirstSteps(loader, files, control, std::move(options).value());
        },
        [this, request](SessionPtr session) { showFirstSteps(request, std::move(session)); });
}

void TraceTabs::showFirstSteps(const Request& request, SessionPtr session) {
    if (!session || !job_.running() || !front().empty()) return;
    TraceTab& tab = inFront();
    tab = {};
    tab.paths = request.paths;
    tab.title = tr("%1 – first steps").arg(titleOfTrace(request.paths));
    tab.session = std::move(session);
    tab.taught = request.taught;
    tab.is_begun = true;
    state_.setSession(tab.session);
    first_view_ = state_.snapshot();
    updateBar();
    emit switched();
    notes_.open(request.paths.front().toStdString());
}

/// Empties the tab with the first steps of what is loaded now, and brings it to the front. Returns its view, as far as
/// it is the same with more steps; nothing if there is no such tab, or nobody has changed its view.
std::optional<ViewSnapshot> TraceTabs::takeFirstSteps() {
    first_steps_.cancel();
    const auto begun = std::ranges::find_if(tabs_, &TraceTab::is_begun);
    if (begun == tabs_.end()) return std::nullopt;
    show(static_cast<int>(begun - tabs_.begin()));
    ViewSnapshot view = state_.snapshot();
    const bool is_changed = !isSameView(view, first_view_);
    view.reference = nullptr;
    if (view.selection.kind == ItemKind::Slice || view.selection.kind == ItemKind::Check) view.selection = {};
    inFront() = {};
    state_.setSession(nullptr);
    if (!is_changed) return std::nullopt;
    return view;
}

/// Empties the tab with the first steps of what is no longer loaded, if there is one.
void TraceTabs::dropFirstSteps() {
    first_steps_.cancel();
    const auto begun = std::ranges::find_if(tabs_, &TraceTab::is_begun);
    if (begun == tabs_.end()) return;
    *begun = {};
    if (begun - tabs_.begin() == current_) return showFront();
    updateBar();
}

void TraceTabs::finishLoad(const Request& request, Result<OpenedTrace> result) {
    if (!result.ok()) {
        if (result.error().kind == ErrorKind::Cancelled) return;
        dropFirstSteps();
        emit refused(result.error());
        emit failed(result.error());
        if (waiting_.empty()) finishSession();
        return loadNext();
    }
    const std::optional<ViewSnapshot> of_first_steps = takeFirstSteps();
    if (request.own_tab || front().live) {
        saveViews();
        addTab();
    } else {
        inFront() = {};
    }
    TraceTab& tab = inFront();
    tab.paths = request.paths;
    tab.title = titleOfTrace(request.paths);
    tab.session = result.value().session;
    tab.plain = result.value().plain;
    tab.taught = request.taught;
    const std::optional<ViewSnapshot>& view = request.view ? request.view : of_first_steps;
    if (view && tab.session) {
        state_.restore(tab.session, *view);
    } else {
        state_.setSession(tab.session);
    }
    updateBar();
    emit opened(request.paths);
    emit switched();
    notes_.open(request.paths.front().toStdString());
    ideal_->setOn(request.ideal);
    if (!request.compare.isEmpty()) compare_->compareWith(request.compare);
    if (!waiting_.empty()) return loadNext();
    finishSession();
    emit loaded();
}

// ---- Sessions ------------------------------------------------------------------------------------

Status TraceTabs::saveSession(const QString& file, const QByteArray& docks) {
    saveViews();
    SavedSession session;
    for (std::size_t tab = 0; tab < tabs_.size(); ++tab) {
        const TraceTab& trace = tabs_[tab];
        if (trace.paths.isEmpty() || (!trace.session && !trace.plain))
            continue; // a run that is being watched is in no file yet
        if (static_cast<int>(tab) == current_) session.current = static_cast<int>(session.traces.size());
        session.traces.push_back(
            {toFiles(trace.paths), toFiles(trace.comparison.paths), trace.view, trace.ideal, trace.taught});
    }
    if (session.traces.empty())
        return usageError(tr("There is no trace to save a session of").toStdString(),
                          tr("open a trace first").toStdString());
    session.docks = docks.toBase64().toStdString();
    return writeSession(file.toStdString(), session);
}

void TraceTabs::openSession(const QString& file) {
    Result<SavedSession> read = readSession(file.toStdString());
    if (!read.ok()) {
        emit refused(read.error());
        QTimer::singleShot(0, this, [this, error = read.error()] { emit failed(error); });
        return;
    }
    waiting_.clear();
    job_.cancel();
    while (count() > 1)
        close(count() - 1);
    close(0);
    for (const SavedTrace& trace : read.value().traces)
        waiting_.push_back(
            {toStrings(trace.files), true, trace.view, toStrings(trace.compare), trace.ideal, trace.taught});
    opening_ =
        OpeningSession{read.value().current, QByteArray::fromBase64(QByteArray::fromStdString(read.value().docks))};
    loadNext();
}

/// The last trace of a session is loaded.
void TraceTabs::finishSession() {
    if (!opening_) return;
    const OpeningSession opening = *opening_;
    opening_.reset();
    emit sessionOpened(opening.docks);
    bar_->setCurrentIndex(opening.current);
}

} // namespace bubblescope::gui
