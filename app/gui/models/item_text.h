#pragma once

#include "app/gui/models/session.h"

#include <QString>

#include <optional>
#include <vector>

namespace bubblescope::gui {

/// Labels from longest to shortest; the first that fits is drawn. Some have two lines.
[[nodiscard]] std::vector<QString> itemLabels(const Session& session, const ItemRef& item);

/// A line in the details view.
struct Fact {
    QString name;
    QString value;
    QString explanation; ///< for a tooltip; may be empty
    bool detail = false; ///< folded in the details view, and not shown in tooltips and the status line
};

struct ItemDescription {
    QString title;
    std::vector<Fact> facts;
    QString note; ///< a sentence below the facts; may be empty
};

/// Never waits: for a bubble of a step without a diagnosis, a note replaces the cause.
[[nodiscard]] ItemDescription describe(const Session& session, const ItemRef& item);
/// One line for the status bar.
[[nodiscard]] QString oneLine(const Session& session, const ItemRef& item);

[[nodiscard]] QString positionText(const StepAnalysis& analysis, Position position);
[[nodiscard]] QString opKindText(OpKind kind);
/// The parts of an interval, the largest first: "forward 34 %, backward 51 %, bubble 15 %"; empty if there are none.
[[nodiscard]] QString sharesText(const RoleTimes& shares, TimeNs length);
[[nodiscard]] QString checkKindText(CheckKind kind);
[[nodiscard]] QString checkOutcomeText(CheckOutcome outcome);
[[nodiscard]] QString checkVerdictText(Verdict verdict);

} // namespace bubblescope::gui
