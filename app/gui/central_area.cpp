#include "app/gui/central_area.h"

#include "app/gui/item_menu.h"
#include "app/gui/live/live_bar.h"
#include "app/gui/live_watch.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/panels/bars.h"
#include "app/gui/panels/rows_bar.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/panels/welcome_panel.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/plain/plain_page.h"
#include "app/gui/preferences.h"
#include "app/gui/timeline/load_preview_view.h"
#include "app/gui/timeline/overview_bar.h"
#include "app/gui/timeline/timeline_view.h"
#include "app/gui/trace_tabs.h"

#include <QLabel>
#include <QMenu>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>

#include <filesystem>
#include <initializer_list>

namespace bubblescope::gui {

namespace {

/// As small as the page that is shown: hidden ones must not make the window higher.
class Pages : public QStackedWidget {
public:
    using QStackedWidget::QStackedWidget;

    [[nodiscard]] QSize minimumSizeHint() const override {
        return currentWidget() == nullptr ? QSize() : currentWidget()->minimumSizeHint();
    }
};

} // namespace

CentralArea::CentralArea(const Sources& sources, QWidget* parent)
    : QWidget(parent), from_(sources), message_(new MessageBar(this)),
      summary_(new SummaryBar(from_.state, from_.themes, this)),
      live_bar_(new LiveBar(from_.live.controller(), from_.live.process(), from_.state, from_.themes, this)),
      pages_(new Pages(this)), overview_(new OverviewBar(from_.state, from_.themes, this)),
      ideal_(new IdealOverlay(from_.state, this)) {
    buildPages();
    message_->setTheme(from_.themes.theme());
    connect(&from_.themes, &ThemeManager::changed, this, [this] { message_->setTheme(from_.themes.theme()); });

    auto* rows = new RowsBar(from_.state, this);
    connect(timeline_, &TimelineView::filterRequested, rows, &RowsBar::open);
    connect(rows, &RowsBar::closed, timeline_, qOverload<>(&QWidget::setFocus));
    connect(timeline_, &TimelineView::idealRequested, this, [this] { ideal_->setOn(!ideal_->on()); });
    connectSearch();

    QVBoxLayout* column = tightColumn(*this);
    for (QWidget* bar :
         std::initializer_list<QWidget*>{from_.tabs.makeBar(this), message_, makeWheelQuestion(), makeNotesQuestion(),
                                         live_bar_, summary_, overview_, new ReferenceBar(from_.state, this), rows})
        column->addWidget(bar);
    column->addWidget(pages_, 1);
}

void CentralArea::buildPages() {
    welcome_ = new WelcomePanel(pages_);
    timeline_ = new TimelineView(from_.state, from_.themes, pages_);
    timeline_->setNoteStore(&from_.notes);
    preview_ = new LoadPreviewView(from_.themes, pages_);
    live_waiting_ = new QLabel(pages_);
    live_waiting_->setObjectName(QStringLiteral("liveWaiting"));
    live_waiting_->setAlignment(Qt::AlignCenter);
    live_waiting_->setWordWrap(true);
    plain_ = new PlainPage(from_.themes, pages_);
    connect(plain_, &PlainPage::reopenRequested, &from_.tabs, &TraceTabs::reopen);
    for (QWidget* page : std::initializer_list<QWidget*>{welcome_, timeline_, plain_, preview_, live_waiting_})
        pages_->addWidget(page);
}

void CentralArea::connectSearch() {
    auto* search = new SearchBar(from_.state, timeline_);
    connect(timeline_, &TimelineView::searchRequested, search, &SearchBar::open);
    connect(timeline_, &TimelineView::hitRequested, search, &SearchBar::step);
    connect(&from_.tabs, &TraceTabs::searchGoesOn, search, &SearchBar::find);
    connect(search, &SearchBar::stepped, this, [this](const QString& counter) { emit noted(counter, 2000); });
    connect(search, &SearchBar::closed, timeline_, qOverload<>(&QWidget::setFocus));
    connect(timeline_, &TimelineView::menuRequested, this, [this, search](const ItemRef& item, const QPoint& where) {
        makeItemMenu({from_.state, *timeline_, from_.notes, *search}, item, this)->popup(where);
    });
}

/// Asks once, when the wheel is first used.
QWidget* CentralArea::makeWheelQuestion() {
    auto* bar = new QuestionBar(tr("The wheel zooms. As in Perfetto, it would scroll, and zoom with Ctrl."), this);
    bar->setObjectName(QStringLiteral("wheelQuestion"));
    Preferences& preferences = from_.preferences;
    bar->addAnswer("wheelKeep", tr("Keep it"), [&preferences] { preferences.chooseWheel(TimelineView::Wheel::Zooms); });
    bar->addAnswer("wheelScroll", tr("As in Perfetto"),
                   [&preferences] { preferences.chooseWheel(TimelineView::Wheel::Scrolls); });
    connect(&preferences, &Preferences::wheelChosen, bar, &QWidget::hide);
    for (TimeView* view : std::initializer_list<TimeView*>{timeline_, &plain_->view()}) {
        connect(view, &TimeView::wheelTurned, bar, [&preferences, bar] {
            if (preferences.asksForWheel()) bar->show();
        });
        connect(&preferences, &Preferences::wheelChosen, view, &TimeView::setWheel);
        view->setWheel(preferences.wheel());
    }
    return bar;
}

/// Asks once, after the first note.
QWidget* CentralArea::makeNotesQuestion() {
    auto* bar =
        new QuestionBar(tr("Notes are kept with the app. Beside the trace, others who open it see them."), this);
    bar->setObjectName(QStringLiteral("notesQuestion"));
    Preferences& preferences = from_.preferences;
    bar->addAnswer("notesApp", tr("With the app"), [&preferences] { preferences.chooseNotePlace(NotePlace::App); });
    bar->addAnswer("notesBeside", tr("Beside the trace"),
                   [&preferences] { preferences.chooseNotePlace(NotePlace::Beside); });
    connect(&preferences, &Preferences::notePlaceChosen, bar, &QWidget::hide);
    connect(&from_.notes, &NoteStore::added, bar, [this, bar] {
        const std::filesystem::path trace = from_.tabs.front().paths.value(0).toStdString();
        if (from_.preferences.asksForNotePlace() && from_.notes.file() != notesFileOf(trace)) bar->show();
    });
    return bar;
}

void CentralArea::showPage() {
    const bool steps = from_.state.session() != nullptr;
    overview_->setVisible(steps);
    plain_->setTrace(from_.tabs.front().plain);
    const LiveController& live = from_.live.controller();
    live_waiting_->setText(tr("Waiting for the first step of %1 …").arg(live.target().name()));
    pages_->setCurrentWidget(steps                                    ? static_cast<QWidget*>(timeline_)
                             : from_.tabs.front().plain               ? static_cast<QWidget*>(plain_)
                             : from_.live.waiting() && !live.parked() ? static_cast<QWidget*>(live_waiting_)
                                                                      : welcome_);
}

void CentralArea::showPreview() {
    if (!from_.tabs.front().empty() || !from_.tabs.loading()) return;
    if (preview_->follow(from_.tabs.preview())) pages_->setCurrentWidget(preview_);
}

void CentralArea::focusPage() {
    if (from_.tabs.front().plain) return plain_->view().setFocus();
    timeline_->setFocus();
}

PictureFrame CentralArea::pictureFrame() const {
    const int step = from_.state.session()->step(from_.state.step()).index;
    return {tr("%1, step %2").arg(from_.tabs.front().title).arg(step), summary_->text(), &summary_->legend(),
            &from_.themes.theme()};
}

Status CentralArea::exportTimeline(const QString& file) const {
    return exportView(*timeline_, file, pictureFrame());
}

QImage CentralArea::timelinePicture() const {
    return pictureOf(*timeline_, pictureFrame());
}

QString CentralArea::pictureName() const {
    return suggestedPictureName(from_.tabs.front().title, from_.state.session()->step(from_.state.step()).index);
}

} // namespace bubblescope::gui
