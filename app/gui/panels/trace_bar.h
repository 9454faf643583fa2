#pragma once

#include "app/gui/models/view_state.h"

#include <QFrame>

class QLabel;
class QToolButton;

namespace bubblescope::gui {

/// Bar above a trace without steps. Shows why no pipeline was found, with buttons to specify one, or indicates that
/// only the first part of the trace is loaded. Hidden for other traces.
class TraceBar : public QFrame {
    Q_OBJECT

public:
    /// `state` must outlive the bar.
    explicit TraceBar(ViewState& state, QWidget* parent = nullptr);

signals:
    /// Emitted when the reason or the number of problems is clicked.
    void problemsRequested();
    void teachRequested(bool by_schedule);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void refresh();

    ViewState& state_;
    QLabel* reason_;
    QToolButton* names_;
    QToolButton* schedule_;
};

} // namespace bubblescope::gui
