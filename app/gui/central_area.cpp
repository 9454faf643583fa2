#include "app/gui/central_area.h"

#include "app/gui/language/text.h"
#include "app/gui/live/live_bar.h"
#include "app/gui/live_watch.h"
#include "app/gui/models/item_copy.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/models/run_query.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/models/step_text.h"
#include "app/gui/panels/answer_bar.h"
#include "app/gui/panels/bars.h"
#include "app/gui/panels/rows_bar.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/panels/teach_panel.h"
#include "app/gui/panels/trace_bar.h"
#include "app/gui/panels/unopened_panel.h"
#include "app/gui/panels/welcome_panel.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/preferences.h"
#include "app/gui/timeline/load_preview_view.h"
#include "app/gui/timeline/menu_entries.h"
#include "app/gui/timeline/overview_bar.h"
#include "app/gui/timeline/timeline_view.h"
#include "app/gui/trace_tabs.h"

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>

#include <filesystem>
#include <initializer_list>
#include <utility>

namespace bubblescope::gui {

namespace {

/// A stack only as large as the visible page, because hidden pages must not make the window higher.
class Pages : public QStackedWidget {
public:
    using QStackedWidget::QStackedWidget;

    [[nodiscard]] QSize minimumSizeHint() const override {
        return currentWidget() == nullptr ? QSize() : currentWidget()->minimumSizeHint();
    }
};

/// Returns the track of a slice; for other items, all tracks.
std::vector<TrackId> tracksOf(const Session& session, const ItemRef& item) {
    if (item.kind != ItemKind::Slice) return {};
    return {session.run.trace->sliceTracks()[session.slice(item)]};
}

} // namespace

CentralArea::CentralArea(const Sources& sources, QWidget* parent)
    : QWidget(parent), from_(sources), message_(new MessageBar(this)),
      summary_(new SummaryBar(from_.state, from_.themes, this)), answer_(new AnswerBar(from_.themes, this)),
      live_bar_(new LiveBar(from_.live.controller(), from_.live.process(), from_.state, from_.themes, this)),
      pages_(new Pages(this)), overview_(new OverviewBar(from_.state, from_.themes, this)),
      ideal_(new IdealOverlay(from_.state, this)) {
    buildPages();
    connect(&from_.state, &ViewState::sessionChanged, this, &CentralArea::showAnswer);
    connect(&from_.state, &ViewState::modelChanged, this, &CentralArea::showAnswer);
    connect(answer_, &AnswerBar::chosen, this, &CentralArea::statementChosen);
    message_->setTheme(from_.themes.theme());
    connect(&from_.themes, &ThemeManager::changed, this, [this] { message_->setTheme(from_.themes.theme()); });

    auto* rows = new RowsBar(from_.state, this);
    connect(timeline_, &TimelineView::filterRequested, rows, &RowsBar::open);
    connect(rows, &RowsBar::closed, timeline_, qOverload<>(&QWidget::setFocus));
    connect(timeline_, &TimelineView::idealRequested, this, [this] { ideal_->setOn(!ideal_->on()); });
    connectSearch();
    connectTeaching();
    auto* trace_bar = new TraceBar(from_.state, this);
    connect(trace_bar, &TraceBar::problemsRequested, this, &CentralArea::problemsRequested);
    connect(trace_bar, &TraceBar::teachRequested, this, &CentralArea::teach);

    QVBoxLayout* column = tightColumn(*this);
    for (QWidget* bar :
         std::initializer_list<QWidget*>{from_.tabs.makeBar(this), message_, makeApartQuestion(), live_bar_, answer_,
                                         summary_, trace_bar, overview_, new ReferenceBar(from_.state, this), rows})
        column->addWidget(bar);
    column->addWidget(pages_, 1);
    // The question appears while the timeline is used, so nothing may move below the pointer.
    addAll(*column, {makeWheelQuestion(), makeNotesQuestion()});
}

void CentralArea::showAnswer() {
    const SessionPtr session = from_.state.session();
    if (!session) return answer_->clear();
    const std::optional<ModelUse>& use = from_.state.modelUse();
    const std::optional<StepActivity> step = typicalStep(session->activity);
    answer_->show(session->answer, use && step ? tr("MFU: %1.").arg(modelUseShare(*use, step->duration)) : QString());
}

void CentralArea::buildPages() {
    welcome_ = new WelcomePanel(pages_);
    auto* trace_page = new QSplitter(Qt::Horizontal, pages_);
    trace_page_ = trace_page;
    timeline_ = new TimelineView(from_.state, from_.themes, trace_page);
    timeline_->setNoteStore(&from_.notes);
    teach_ = new TeachPanel(trace_page);
    teach_->hide();
    addAll(*trace_page, {timeline_, teach_});
    trace_page->setStretchFactor(0, 1);
    trace_page->setSizes({900, 300});
    trace_page->setChildrenCollapsible(false);
    preview_ = new LoadPreviewView(from_.themes, pages_);
    unopened_ = new UnopenedPanel(pages_);
    live_waiting_ = named(new QLabel(pages_), "liveWaiting");
    live_waiting_->setAlignment(Qt::AlignCenter);
    live_waiting_->setWordWrap(true);
    for (QWidget* page : std::initializer_list<QWidget*>{welcome_, trace_page_, preview_, unopened_, live_waiting_})
        pages_->addWidget(page);
}

void CentralArea::connectSearch() {
    search_ = new SearchBar(from_.state, timeline_);
    connect(timeline_, &TimelineView::searchRequested, search_, &SearchBar::open);
    connect(timeline_, &TimelineView::hitRequested, search_, &SearchBar::step);
    connect(search_, &SearchBar::stepped, this, [this](const QString& counter) { emit noted(counter, 2000); });
    connect(search_, &SearchBar::closed, timeline_, qOverload<>(&QWidget::setFocus));
    connect(timeline_, &TimelineView::menuRequested, this, [this](const ItemRef& item, const QPoint& where) {
        QMenu* const menu = makeItemMenu(item);
        menu->popup(where);
        if (item.kind == ItemKind::Slice) slice_menu_ = menu;
    });
    connect(&from_.state, &ViewState::sessionChanged, this, [this] {
        if (slice_menu_) slice_menu_->close(); // because other traces have different slices
    });
}

void CentralArea::connectTeaching() {
    connect(&from_.state, &ViewState::sessionChanged, teach_, [this] {
        const bool was_open = !teach_->isHidden();
        teach_->setSession(from_.state.session()); // also hides the panel for another trace
        followTrace(was_open);
    });
    connect(&from_.state, &ViewState::selectionChanged, teach_, [this] {
        const ItemRef item = from_.state.selection();
        if (teach_->isVisible() && item.kind == ItemKind::Slice) teach_->setExample(static_cast<SliceId>(item.index));
    });
    connect(teach_, &TeachPanel::matched, this, [this] {
        if (teach_->isVisible()) from_.state.mark(teach_->allMatches());
    });
    connect(teach_, &TeachPanel::closed, this, [this] {
        search_->markAgain();
        timeline_->setFocus();
    });
    connect(search_, &SearchBar::unmarked, this, [this] {
        if (teach_->isVisible()) from_.state.mark(teach_->allMatches());
    });
    connect(teach_, &TeachPanel::reopenRequested, &from_.tabs, [&tabs = from_.tabs](Taught taught) {
        taught.ranks = tabs.front().taught.ranks; // because these are specified elsewhere
        tabs.reopen(taught);
    });
}

/// Shows the panel in the tabs where it was opened; it stays open when their trace is loaded again.
void CentralArea::followTrace(bool was_open) {
    const SessionPtr& session = from_.state.session();
    auto files = session ? session->run.files : std::vector<std::filesystem::path>();
    if (files == taught_files_) return;
    if (was_open) {
        teaching_.insert(taught_files_);
    } else {
        teaching_.erase(taught_files_);
    }
    taught_files_ = std::move(files);
    teach_->setVisible(teaching_.contains(taught_files_));
}

void CentralArea::teach(bool by_schedule) {
    const bool already = teach_->isVisible();
    teach_->show();
    if (by_schedule) {
        teach_->showSchedule();
    } else {
        teach_->showNames();
    }
    const ItemRef item = from_.state.selection();
    if (!already && item.kind == ItemKind::Slice) teach_->setExample(static_cast<SliceId>(item.index));
}

/// The context menu of an op, bubble, transfer, check or slice. Deletes itself when it closes.
QMenu* CentralArea::makeItemMenu(const ItemRef& item) {
    MenuEntries entries("itemMenu", *timeline_, this);
    const SessionPtr session = from_.state.session();
    ViewState* const state = &from_.state;
    entries.add("itemZoom", tr("&Zoom to it"), [state, item] { state->zoomTo(item); });
    const auto addFollow = [&](const char* name, const QString& text, Command command, const ItemRef& to) {
        entries.addCommand(name, text, *timeline_, command)->setEnabled(static_cast<bool>(to));
    };
    const bool steps = session->hasSteps();
    const bool slice = item.kind == ItemKind::Slice;
    addFollow("itemConsumer", slice ? tr("Follow its arrow f&orward") : tr("Go to the op that &uses it"),
              Command::Consumer, consumer(*session, item));
    addFollow("itemProducer",
              !slice  ? tr("Go to the op that produce&d it")
              : steps ? tr("Go to its &op")
                      : tr("Follow its arrow &back"),
              Command::Producer, producer(*session, item));
    if (item.kind == ItemKind::Op)
        entries.add("itemMicrobatch", tr("Follow its micro-&batch through all ranks"),
                    [state] { state->showFlow(FlowOverlay::Microbatch, true); });
    entries.addSeparator();
    const int line = session->lanes.lineOf(item);
    const bool pinned = state->rows().pins(line);
    entries.add("itemPin", pinned ? tr("Un&pin the rank") : tr("&Pin the rank to the top"), [state, line, pinned] {
        RowChoice rows = state->rows();
        rows.setPinned(line, !pinned);
        state->setRows(std::move(rows));
    });
    entries.add("itemNote", tr("Add a &note"), [notes = &from_.notes, state] {
        state->measure({}); // otherwise, the note would apply to the range
        notes->addHere();
    });
    if (slice && !steps && !session->isBeginning())
        entries.add("itemExample", tr("&Recognise ops like this slice…"), [this, item] {
            teach(false);
            teach_->setExample(static_cast<SliceId>(item.index));
        });
    entries.add("itemTable", tr("Table of slices in its &time range"),
                [this, range = session->range(item), tracks = tracksOf(*session, item)] {
                    from_.state.measure(range, tracks);
                    emit timeline_->timeRangeChosen();
                });
    if (session->raw.any())
        entries.add("itemStacks", tr("Call stac&ks in this range"), [this] { emit stacksRequested(); });
    entries.add("itemSame", tr("&Find similar"),
                [search = search_, text = fromUtf8(queryForLikes(*session, item))] { search->find(text); });
    entries.addSeparator();
    // Created only on request, because the text of a bubble takes a while to create.
    entries.add("itemCopyText", tr("&Copy as text"),
                [session, item] { QApplication::clipboard()->setText(copyAsText(*session, item)); });
    entries.addCopy("itemCopyJson", tr("Copy as &JSON"), copyAsJson(*session, item));
    entries.addCopy("itemCopyCommand", tr("Copy as co&mmand"), copyAsCommand(*session, item));
    return entries.menu();
}

/// Asks once, when the wheel is first used.
QWidget* CentralArea::makeWheelQuestion() {
    auto* bar = named(new QuestionBar(tr("The wheel zooms here. In Perfetto it scrolls, and zooms with Ctrl."), this),
                      "wheelQuestion");
    Preferences& preferences = from_.preferences;
    bar->addAnswer("wheelKeep", tr("Keep it"), [&preferences] { preferences.chooseWheel(TimelineView::Wheel::Zooms); });
    bar->addAnswer("wheelScroll", tr("As in Perfetto"),
                   [&preferences] { preferences.chooseWheel(TimelineView::Wheel::Scrolls); });
    connect(&preferences, &Preferences::wheelChosen, bar, &QWidget::hide);
    connect(timeline_, &TimeView::wheelTurned, bar, [&preferences, bar] {
        if (preferences.asksForWheel()) bar->show();
    });
    connect(&preferences, &Preferences::wheelChosen, timeline_, &TimeView::setWheel);
    timeline_->setWheel(preferences.wheel());
    return bar;
}

/// Asks once, after the first note.
QWidget* CentralArea::makeNotesQuestion() {
    auto* bar = new QuestionBar(
        tr("Notes are stored in the app. Anyone who opens the trace sees notes stored next to it."), this);
    bar->setObjectName(QStringLiteral("notesQuestion"));
    Preferences& preferences = from_.preferences;
    bar->addAnswer("notesApp", tr("In the app"), [&preferences] { preferences.chooseNotePlace(NotePlace::App); });
    bar->addAnswer("notesBeside", tr("Next to the trace"),
                   [&preferences] { preferences.chooseNotePlace(NotePlace::Beside); });
    connect(&preferences, &Preferences::notePlaceChosen, bar, &QWidget::hide);
    connect(&from_.notes, &NoteStore::added, bar, [this, bar] {
        const std::filesystem::path trace = from_.tabs.front().paths.value(0).toStdString();
        if (from_.preferences.asksForNotePlace() && from_.notes.file() != notesFileOf(trace)) bar->show();
    });
    return bar;
}

/// Asks about traces that were opened together but do not overlap in time.
QWidget* CentralArea::makeApartQuestion() {
    auto* bar =
        new QuestionBar(tr("These files do not overlap in time: most of the time axis between them is empty."), this);
    bar->setObjectName(QStringLiteral("apartQuestion"));
    bar->addAnswer("apartTabs", tr("Open each in a tab"), [bar, &tabs = from_.tabs] {
        bar->hide();
        tabs.openApart();
    });
    bar->addAnswer("apartKeep", tr("Keep them together"), [bar] { bar->hide(); });
    connect(&from_.state, &ViewState::sessionChanged, bar, [this, bar] {
        const SessionPtr session = from_.state.session();
        bar->setVisible(session && session->files_apart && from_.tabs.front().paths.size() > 1);
    });
    return bar;
}

void CentralArea::showPage() {
    const bool any = from_.state.session() != nullptr;
    overview_->setVisible(any);
    const LiveController& live = from_.live.controller();
    live_waiting_->setText(tr("Waiting for the first step of %1 …").arg(live.target().name()));
    const std::optional<Error>& failure = from_.tabs.front().failure;
    if (failure) unopened_->show(from_.tabs.front().paths, *failure);
    pages_->setCurrentWidget(any                                      ? trace_page_
                             : failure                                ? unopened_
                             : from_.live.waiting() && !live.parked() ? static_cast<QWidget*>(live_waiting_)
                                                                      : welcome_);
}

void CentralArea::showPreview() {
    if (!from_.tabs.front().empty() || !from_.tabs.loading()) return;
    if (preview_->follow(from_.tabs.preview())) pages_->setCurrentWidget(preview_);
}

void CentralArea::focusPage() {
    timeline_->setFocus();
}

std::optional<int> CentralArea::stepInView() const {
    const SessionPtr& session = from_.state.pipeline();
    if (!session) return std::nullopt;
    const TimeRange& shown = from_.state.range().range();
    std::optional<int> number;
    for (int step = 0; step < session->stepCount(); ++step) {
        const TimeRange window = session->window(step);
        if (window.end <= shown.begin || window.begin >= shown.end) continue;
        if (number && *number != session->step(step).index) return std::nullopt;
        number = session->step(step).index;
    }
    return number;
}

PictureFrame CentralArea::pictureFrame() const {
    const QString& title = from_.tabs.front().title;
    if (!from_.state.pipeline())
        return {title, translated(from_.state.session()->answer.state), nullptr, &from_.themes.theme()};
    const std::optional<int> step = stepInView();
    return {step ? tr("%1, step %2").arg(title).arg(*step) : title, summary_->text(), &summary_->legend(),
            &from_.themes.theme()};
}

QImage CentralArea::timelinePicture() const {
    return pictureOf(*timeline_, pictureFrame());
}

QString CentralArea::pictureName() const {
    return suggestedPictureName(from_.tabs.front().title, stepInView());
}

} // namespace bubblescope::gui
