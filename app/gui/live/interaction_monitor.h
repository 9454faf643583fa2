#pragma once

#include <QObject>

class QDockWidget;

namespace bubblescope::gui {

/// Notices that the user works in a dock: presses a button or a key there. Lives on the GUI thread.
class InteractionMonitor : public QObject {
    Q_OBJECT

public:
    explicit InteractionMonitor(QObject* parent = nullptr) : QObject(parent) {}

    /// Looks at all events of the application while it is on.
    void setOn(bool on);
    /// Of this one nothing is told.
    void setExcept(const QDockWidget* dock) { except_ = dock; }

signals:
    void interacted();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    const QDockWidget* except_ = nullptr;
    bool on_ = false;
};

} // namespace bubblescope::gui
