#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/view_state.h"

namespace bubblescope::gui {

/// Keeps the ideal of the current step as the view's ghost while it is switched on: the planned order at the step's
/// typical op times with free transfers, simulated in the background. Lives on the GUI thread.
class IdealGhost : public QObject {
    Q_OBJECT

public:
    explicit IdealGhost(ViewState& state, QObject* parent = nullptr);

    void setOn(bool on);
    [[nodiscard]] bool on() const { return on_; }

signals:
    void toggled(bool on);

private:
    void refresh();

    ViewState& state_;
    BackgroundJob job_;
    bool on_ = false;
};

} // namespace bubblescope::gui
