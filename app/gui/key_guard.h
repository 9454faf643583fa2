#pragma once

#include <QObject>

namespace bubblescope::gui {

/// Leaves keys to the focused widget that are also shortcuts of the window: arrows, Home, Page Up and the like to all
/// but the timeline, and Escape to text fields. Letters need no guard: text fields claim them themselves. Filters the
/// events of the application.
class KeyGuard : public QObject {
    Q_OBJECT

public:
    explicit KeyGuard(QObject* parent = nullptr);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
};

} // namespace bubblescope::gui
