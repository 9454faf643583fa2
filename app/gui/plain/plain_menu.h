#pragma once

#include "app/gui/plain/plain_view.h"

#include <functional>

class QMenu;
class QWidget;

namespace bubblescope::gui {

/// What the menu of a slice or a row of a plain trace acts on. Must outlive the menu.
struct PlainMenuTargets {
    PlainView& view;
    std::function<void(const QString& name)> find; ///< searches
    std::function<void(SliceId example)> teach;
};

/// The menu of a slice, which must be selected, or of a row: zoom, follow, find the same, teach, table, copy, fit. The
/// view has a trace. Deletes itself when it closes.
[[nodiscard]] QMenu* makePlainMenu(const PlainMenuTargets& targets, const PlainTarget& target, QWidget* parent);

} // namespace bubblescope::gui
