#pragma once

#include "app/gui/export_view.h"
#include "app/gui/models/view_state.h"

#include <QMenu>
#include <QPointer>
#include <QWidget>

#include <filesystem>
#include <set>
#include <vector>

class QLabel;
class QStackedWidget;

namespace bubblescope::gui {

class AnswerBar;
class IdealOverlay;
class LiveBar;
class LiveWatch;
class LoadPreviewView;
class MessageBar;
class NoteStore;
class Preferences;
class SearchBar;
class SummaryBar;
class TeachPanel;
class ThemeManager;
class TimelineView;
class TraceTabs;
class UnopenedPanel;
class WelcomePanel;

/// The middle of the window: the tabs, bars that appear when they have something to show, the overview, and one page:
/// the timeline, a preview of the trace while it loads, a notice that a watched run is awaited, or the first page.
/// Connects these parts with one another; recreated when the language changes. Belongs to the GUI thread.
class CentralArea : public QWidget {
    Q_OBJECT

public:
    /// The data that is shown. Must outlive the area.
    struct Sources {
        ViewState& state;
        ThemeManager& themes;
        NoteStore& notes;
        Preferences& preferences;
        TraceTabs& tabs;
        LiveWatch& live;
    };

    CentralArea(const Sources& sources, QWidget* parent);

    [[nodiscard]] MessageBar& message() const { return *message_; }
    [[nodiscard]] SummaryBar& summary() const { return *summary_; }
    [[nodiscard]] AnswerBar& answer() const { return *answer_; }
    [[nodiscard]] LiveBar& liveBar() const { return *live_bar_; }
    [[nodiscard]] TimelineView& timeline() const { return *timeline_; }
    [[nodiscard]] TeachPanel& teaching() const { return *teach_; }
    [[nodiscard]] WelcomePanel& welcome() const { return *welcome_; }
    [[nodiscard]] UnopenedPanel& unopened() const { return *unopened_; }
    [[nodiscard]] IdealOverlay& ideal() const { return *ideal_; }

    /// Brings the page that fits the open trace to the front.
    void showPage();
    /// An open trace stays in sight until the next one is loaded.
    void showPreview();
    /// Gives the keyboard focus to the page.
    void focusPage();

    /// The timeline as it is shown, with a title and a legend.
    [[nodiscard]] QImage timelinePicture() const;
    /// A title for pictures, and the figures of what is shown.
    [[nodiscard]] PictureFrame pictureFrame() const;
    /// A name for the file.
    [[nodiscard]] QString pictureName() const;

signals:
    /// A statement of the answer was chosen.
    void statementChosen(const bubblescope::Statement& statement);
    /// For the status bar.
    void noted(const QString& text, int milliseconds);
    void problemsRequested();
    /// The user wants the stacks of the selection.
    void stacksRequested();

private:
    void buildPages();
    void showAnswer();
    void connectSearch();
    void connectTeaching();
    void followTrace();
    void teach(bool by_schedule);
    [[nodiscard]] QMenu* makeItemMenu(const ItemRef& item);
    [[nodiscard]] QWidget* makeWheelQuestion();
    [[nodiscard]] QWidget* makeNotesQuestion();
    [[nodiscard]] QWidget* makeApartQuestion();
    /// The number of the step, if a single one is in view.
    [[nodiscard]] std::optional<int> stepInView() const;

    Sources from_;
    MessageBar* message_;
    SummaryBar* summary_;
    AnswerBar* answer_;
    LiveBar* live_bar_;
    QStackedWidget* pages_;
    SearchBar* search_ = nullptr;
    QPointer<QMenu> slice_menu_;
    WelcomePanel* welcome_ = nullptr;
    TimelineView* timeline_ = nullptr;
    QWidget* trace_page_ = nullptr; ///< the timeline, and next to it the explanations
    TeachPanel* teach_ = nullptr;
    std::vector<std::filesystem::path> taught_files_;       ///< of the trace in front
    std::set<std::vector<std::filesystem::path>> teaching_; ///< the traces whose tabs show it
    LoadPreviewView* preview_ = nullptr;
    UnopenedPanel* unopened_ = nullptr;
    QLabel* live_waiting_ = nullptr; ///< shown in place of a timeline until there is one
    QWidget* overview_;
    IdealOverlay* ideal_;
};

} // namespace bubblescope::gui
