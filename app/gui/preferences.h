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

/// What users choose for the whole app, and what it remembers between starts: theme, language, the mouse wheel, where
/// notes are kept, the size of letters, how times are written, the thresholds of findings, the step shown first, which
/// kinds of lanes are shown, and the window's layout. In QSettings. Lives on the GUI thread.
class Preferences : public QObject {
    Q_OBJECT

public:
    /// The objects to which the settings apply. Must outlive the preferences.
    struct Targets {
        ThemeManager& themes;
        LanguageManager& languages;
        NoteStore& notes;
        ViewState& state;
    };

    /// Applies the stored settings. Without `remember` nothing is read or written.
    Preferences(const Targets& targets, bool remember);

    [[nodiscard]] bool remember() const { return remember_; }

    void chooseTheme(ThemeChoice choice);
    void chooseLanguage(Language language);
    void chooseWheel(TimeView::Wheel wheel);
    void chooseNotePlace(NotePlace place);
    void chooseStepShownFirst(StepShownFirst which);
    /// In points; 0 = that of the system.
    void chooseFontSize(int points);
    void chooseTimeStyle(const TimeStyle& style);
    /// For traces that are opened from then on.
    void chooseThresholds(const Thresholds& thresholds);
    [[nodiscard]] TimeView::Wheel wheel() const { return wheel_; }
    [[nodiscard]] ThemeChoice theme() const { return to_.themes.choice(); }
    [[nodiscard]] Language language() const { return to_.languages.choice(); }
    [[nodiscard]] NotePlace notePlace() const { return to_.notes.place(); }
    [[nodiscard]] StepShownFirst stepShownFirst() const { return step_shown_first_; }
    [[nodiscard]] int fontSize() const { return font_size_; }

    /// Whether to ask: the answer would be remembered, and the user has given none yet.
    [[nodiscard]] bool asksForWheel() const;
    [[nodiscard]] bool asksForNotePlace() const;

    /// A window's place and size, and the arrangement of its docks. Empty if there is none.
    struct Layout {
        QByteArray geometry;
        QByteArray docks;
    };
    [[nodiscard]] Layout layout() const;
    void saveLayout(const Layout& layout);
    /// Which kinds of lanes are shown is a preference, not a property of the trace.
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
