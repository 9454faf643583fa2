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

/// Settings that persist across restarts of the app: theme, language, effect of the mouse wheel, location of notes,
/// font size, format of times, thresholds of findings, initial step, visible kinds of lanes, and window layout. Stored
/// in QSettings. Lives on the GUI thread.
class Preferences : public QObject {
    Q_OBJECT

public:
    /// Objects that the settings apply to. The objects must outlive the preferences.
    struct Targets {
        ThemeManager& themes;
        LanguageManager& languages;
        NoteStore& notes;
        ViewState& state;
    };

    /// Applies the stored settings. If `remember` is false, QSettings is neither read nor written.
    Preferences(const Targets& targets, bool remember);

    [[nodiscard]] bool remember() const { return remember_; }

    void chooseTheme(ThemeChoice choice);
    void chooseLanguage(Language language);
    void chooseWheel(TimeView::Wheel wheel);
    void chooseNotePlace(NotePlace place);
    void chooseStepShownFirst(StepShownFirst which);
    /// Font size in points; 0 = the system's font size.
    void chooseFontSize(int points);
    void chooseTimeStyle(const TimeStyle& style);
    /// Affects traces that are opened later.
    void chooseThresholds(const Thresholds& thresholds);
    [[nodiscard]] TimeView::Wheel wheel() const { return wheel_; }
    [[nodiscard]] ThemeChoice theme() const { return to_.themes.choice(); }
    [[nodiscard]] Language language() const { return to_.languages.choice(); }
    [[nodiscard]] NotePlace notePlace() const { return to_.notes.place(); }
    [[nodiscard]] StepShownFirst stepShownFirst() const { return step_shown_first_; }
    [[nodiscard]] int fontSize() const { return font_size_; }

    /// True if the user should be asked: there is no answer so far, and the answer would be stored.
    [[nodiscard]] bool asksForWheel() const;
    [[nodiscard]] bool asksForNotePlace() const;

    /// Geometry of a window and layout of its docks. Empty if there are no stored values.
    struct Layout {
        QByteArray geometry;
        QByteArray docks;
    };
    [[nodiscard]] Layout layout() const;
    void saveLayout(const Layout& layout);
    /// The visible kinds of lanes, which are stored as a preference for all traces.
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
