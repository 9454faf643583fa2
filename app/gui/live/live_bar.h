#pragma once

#include "app/gui/live/live_controller.h"
#include "app/gui/theme/theme.h"

#include <QFrame>

class QLabel;
class QToolButton;

namespace bubblescope::gui {

class RunProcess;

/// Status line of a watched run: recording state, ranks, lost records, and the worst open alert. Visible while the tab
/// of the watched run is selected.
class LiveBar : public QFrame {
    Q_OBJECT

public:
    LiveBar(LiveController& live, RunProcess& process, ViewState& state, ThemeManager& themes,
            QWidget* parent = nullptr);

    /// The displayed strings, from left to right.
    [[nodiscard]] QString text() const;

signals:
    void alertChosen();
    /// Emitted when the user asks to open everything recorded so far.
    void openRequested();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    QToolButton* addButton(const char* name, const QString& text, const QString& tip);
    void refresh();
    void refreshFollow();
    void elideAlert();
    void applyTheme();

    LiveController& live_;
    RunProcess& process_;
    ViewState& state_;
    ThemeManager& themes_;
    QWidget* lamp_;
    QLabel* status_;
    QLabel* name_;
    QLabel* ranks_;
    QLabel* records_;
    QLabel* alert_;
    QToolButton* follow_;
    QToolButton* open_;
    QToolButton* stop_run_;
    QToolButton* stop_;
    QString message_; ///< complete text of the alert
};

} // namespace bubblescope::gui
