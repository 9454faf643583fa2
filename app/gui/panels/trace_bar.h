#pragma once

#include "app/gui/models/view_state.h"

#include <QFrame>

class QLabel;
class QToolButton;

namespace bubblescope::gui {

/// A bar above a trace without steps. It says why there is no pipeline and offers ways to teach it, or says that this
/// is the beginning of a trace that is still being loaded. Hidden for other traces.
class TraceBar : public QFrame {
    Q_OBJECT

public:
    /// `state` must outlive the bar.
    explicit TraceBar(ViewState& state, QWidget* parent = nullptr);

signals:
    /// The reason, or the number of problems, was clicked.
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
