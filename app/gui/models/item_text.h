#pragma once

#include "app/gui/models/session.h"

#include <QString>

#include <optional>
#include <vector>

namespace bubblescope::gui {

/// What may be said of one executed bubble and the closed form of its position. The form speaks of a
/// rank's whole position on the consolidated timeline, so one executed bubble can be set beside it only when
/// it is alone at its position and consolidation leaves that position as it ran.
struct FormComparison {
    enum class Kind : std::uint8_t {
        NoForm,     ///< the schedule has no closed form here
        NotInForm,  ///< the form has no bubble at this position
        Several,    ///< several executed bubbles share the position
        Moved,      ///< part of the position's idle time is slack that consolidation puts elsewhere
        Comparable, ///< set them side by side
    };
    Kind kind = Kind::NoForm;
    TimeNs expected{0};
    const PositionForm* form = nullptr; ///< into the session's analysis; null for NoForm and NotInForm
};

[[nodiscard]] FormComparison compareWithForm(const Session& session, const ItemRef& bubble);

/// The form of a rank's position in a step, null where none is listed.
[[nodiscard]] const PositionForm* findForm(const StepAnalysis& analysis, Rank rank, Position position);

/// Texts from longest to shortest; a drawer takes the first that fits. Some have two
/// lines.
[[nodiscard]] std::vector<QString> itemLabels(const Session& session, const ItemRef& item);

/// A line of a details view; `heading` lines stand alone.
struct Fact {
    QString name;
    QString value;
    QString explanation; ///< for a tooltip; may be empty
};

struct ItemDescription {
    QString title;
    std::vector<Fact> facts;
    QString note; ///< a sentence below the facts; may be empty
};

[[nodiscard]] ItemDescription describe(const Session& session, const ItemRef& item);
/// One line for the status bar.
[[nodiscard]] QString oneLine(const Session& session, const ItemRef& item);

[[nodiscard]] QString positionText(const StepAnalysis& analysis, Position position);
[[nodiscard]] QString opKindText(OpKind kind);
[[nodiscard]] QString checkKindText(CheckKind kind);
[[nodiscard]] QString checkOutcomeText(CheckOutcome outcome);
[[nodiscard]] QString checkVerdictText(Verdict verdict);

} // namespace bubblescope::gui
