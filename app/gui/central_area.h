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

/// Central part of the window: tabs, bars for messages and summaries, the overview, and one page. The page is
/// the timeline, a preview of a trace that is being loaded, a notice while waiting for a watched run, or the
/// welcome page. Connects the parts to each other. Recreated when the language changes. Belongs to the GUI
/// thread.
class CentralArea : public QWidget {
    Q_OBJECT

public:
    /// Sources of the displayed data. The sources must outlive the area.
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
    [[nodiscard]] WelcomePanel& welcome() const { return *welcome_; }
    [[nodiscard]] UnopenedPanel& unopened() const { return *unopened_; }
    [[nodiscard]] IdealOverlay& ideal() const { return *ideal_; }

    /// Switches to the page for the current state of the trace.
    void showPage();
    /// Shows the preview; an open trace stays visible until the next trace is loaded.
    void showPreview();
    /// Gives the keyboard focus to the page.
    void focusPage();

    /// Image of the timeline as shown, with a title and a legend.
    [[nodiscard]] QImage timelinePicture() const;
    /// Title and key figures of the content, for images.
    [[nodiscard]] PictureFrame pictureFrame() const;
    /// Suggested name for the image file.
    [[nodiscard]] QString pictureName() const;

    /// Opens the panel for specifying the pipeline, on the page for the schedule or for op names.
    void teach(bool by_schedule);

signals:
    /// Emitted when the user selects a statement in the answer bar.
    void statementChosen(const bubblescope::Statement& statement);
    /// Requests a message in the status bar.
    void noted(const QString& text, int milliseconds);
    void problemsRequested();
    /// Emitted when the user requests the stacks of the selection.
    void stacksRequested();

private:
    void buildPages();
    void showAnswer();
    void connectSearch();
    void connectTeaching();
    void followTrace(bool was_open);
    [[nodiscard]] QMenu* makeItemMenu(const ItemRef& item);
    [[nodiscard]] QWidget* makeWheelQuestion();
    [[nodiscard]] QWidget* makeNotesQuestion();
    [[nodiscard]] QWidget* makeApartQuestion();
    /// Number of the step in view; none unless exactly one step is in view.
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
    QWidget* trace_page_ = nullptr; ///< timeline with the explanations next to it
    TeachPanel* teach_ = nullptr;
    std::vector<std::filesystem::path> taught_files_;       ///< files of the trace in the current tab
    std::set<std::vector<std::filesystem::path>> teaching_; ///< traces whose tabs show teach_
    LoadPreviewView* preview_ = nullptr;
    UnopenedPanel* unopened_ = nullptr;
    QLabel* live_waiting_ = nullptr; ///< shown instead of the timeline until data arrives
    QWidget* overview_;
    IdealOverlay* ideal_;
};

} // namespace bubblescope::gui
