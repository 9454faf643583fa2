#pragma once

#include "app/gui/models/session.h"

#include <QString>

#include <optional>
#include <vector>

namespace bubblescope::gui {

/// Labels from longest to shortest. The first label that fits is drawn. Some labels have two lines.
[[nodiscard]] std::vector<QString> itemLabels(const Session& session, const ItemRef& item);

/// A line in the details view.
struct Fact {
    QString name;
    QString value;
    QString explanation; ///< shown in a tooltip; may be empty
    bool detail = false; ///< true if initially hidden in the details view; not shown in tooltips or the status line
};

struct ItemDescription {
    QString title;
    std::vector<Fact> facts;
    QString note; ///< a sentence below the facts; may be empty
};

/// Never blocks. For a bubble, a note replaces the cause until the diagnosis of the step is available.
[[nodiscard]] ItemDescription describe(const Session& session, const ItemRef& item);
/// Summary on one line, for the status bar.
[[nodiscard]] QString oneLine(const Session& session, const ItemRef& item);

[[nodiscard]] QString positionText(const StepAnalysis& analysis, Position position);
[[nodiscard]] QString opKindText(OpKind kind);
/// Shares of an interval, the largest first, such as "backward 51 %, forward 34 %, bubble 15 %"; may be empty.
[[nodiscard]] QString sharesText(const RoleTimes& shares, TimeNs length);
[[nodiscard]] QString checkKindText(CheckKind kind);
[[nodiscard]] QString checkOutcomeText(CheckOutcome outcome);
[[nodiscard]] QString checkVerdictText(Verdict verdict);

} // namespace bubblescope::gui
