#pragma once

#include "app/gui/language/language.h"
#include "app/gui/language/text.h"
#include "app/gui/models/notes.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "app/gui/timeline/time_view.h"
#include "core/analysis/anomalies/thresholds.h"

#include <QObject>

namespace bubblescope::gui {

/// The user's choices for the whole app, and what the app remembers between starts: theme, language, the mouse wheel,
/// the place of notes, the font size, the format of times, the thresholds of findings, the step shown first, the kinds
/// of lanes shown, and the window's layout. In QSettings. Lives on the GUI thread.
class Preferences : public QObject {
    Q_OBJECT

public:
    /// The objects that the settings apply to. They must outlive the preferences.
    struct Targets {
        ThemeManager& themes;
        LanguageManager& languages;
        NoteStore& notes;
        ViewState& state;
    };

    /// Applies the stored settings. If `remember` is false, nothing is read or written.
    Preferences(const Targets& targets, bool remember);

    [[nodiscard]] bool remember() const { return remember_; }

    void chooseTheme(ThemeChoice choice);
    void chooseLanguage(Language language);
    void chooseWheel(TimeView::Wheel wheel);
    void chooseNotePlace(NotePlace place);
    void chooseStepShownFirst(StepShownFirst which);
    /// In points; 0 = the system's size.
    void chooseFontSize(int points);
    void chooseTimeStyle(const TimeStyle& style);
    /// Applies to traces that are opened later.
    void chooseThresholds(const Thresholds& thresholds);
    [[nodiscard]] TimeView::Wheel wheel() const { return wheel_; }
    [[nodiscard]] ThemeChoice theme() const { return to_.themes.choice(); }
    [[nodiscard]] Language language() const { return to_.languages.choice(); }
    [[nodiscard]] NotePlace notePlace() const { return to_.notes.place(); }
    [[nodiscard]] StepShownFirst stepShownFirst() const { return step_shown_first_; }
    [[nodiscard]] int fontSize() const { return font_size_; }

    /// True if the user should be asked, because the answer would be remembered and the user has not answered yet.
    [[nodiscard]] bool asksForWheel() const;
    [[nodiscard]] bool asksForNotePlace() const;

    /// A window's position and size, and the arrangement of its docks. Empty if there is none.
    struct Layout {
        QByteArray geometry;
        QByteArray docks;
    };
    [[nodiscard]] Layout layout() const;
    void saveLayout(const Layout& layout);
    /// The kinds of lanes shown are a preference, not a property of the trace.
    [[nodiscard]] RowChoice rows() const;
    void saveRows(const RowChoice& rows);

signals:
    void wheelChosen(bubblescope::gui::TimeView::Wheel wheel);
    void timeStyleChosen();
    void notePlaceChosen(bubblescope::gui::NotePlace place);

private:
    void applyFirstStep(StepShownFirst which);
    void applyFontSize(int points);

    Targets to_;
    const bool remember_;
    TimeView::Wheel wheel_ = TimeView::Wheel::Zooms;
    StepShownFirst step_shown_first_ = StepShownFirst::Typical;
    int font_size_ = 0;
};

} // namespace bubblescope::gui
