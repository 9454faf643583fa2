#pragma once

#include <QObject>
#include <QPointer>

#include <functional>

class QDockWidget;
class QWidget;

namespace bubblescope::gui {

/// Fills a panel anew when what it shows has changed, while somebody can see it. Behind another tab, or closed, that is
/// only noted, and made up for when the panel comes into sight: a run that is watched changes everything many times a
/// second, and filling tables that nobody sees would take most of it. Lives with its panel, on the GUI thread.
class FillWhenSeen : public QObject {
public:
    /// `panel` becomes the parent. `fill` is not called before ask().
    FillWhenSeen(QWidget& panel, std::function<void()> fill);

    /// What the panel shows has changed.
    void ask();
    /// Makes up for what was put off: for who reads the panel, or has it do something, unseen.
    void settle();
    /// Whether what the panel holds is of the past.
    [[nodiscard]] bool due() const { return due_; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    [[nodiscard]] bool seen() const;
    void watchDock();

    QWidget& panel_;
    std::function<void()> fill_;
    QPointer<QDockWidget> dock_; ///< that the panel lies in
    bool due_ = false;
};

} // namespace bubblescope::gui
