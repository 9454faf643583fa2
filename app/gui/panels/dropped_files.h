#pragma once

#include <QStringList>

class QDropEvent;
class QMimeData;

namespace bubblescope::gui {

/// The files and folders of a drag that are on this machine.
[[nodiscard]] QStringList localPaths(const QMimeData& data);

/// Accepts a drop as a copy: a source that offers to move a file deletes it where the move is accepted.
void acceptAsCopy(QDropEvent& event);

} // namespace bubblescope::gui
