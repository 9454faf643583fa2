#pragma once

#include "app/gui/jobs/background_job.h"
#include "core/timeline/step_timeline.h"

#include <QString>

#include <memory>

namespace bubblescope::gui {

class ViewState;

/// Another timeline of a step, drawn below the observed one.
struct ReferenceOverlay {
    QString name;          ///< "ideal"
    QString explanation;   ///< a sentence
    int step = 0;          ///< the observed one, as an index in Run::steps
    StepTimeline timeline; ///< begins where the observed one does

    /// Moves the timeline so that it begins at `begin`.
    static ReferenceOverlay make(QString name, QString explanation, int step, StepTimeline timeline, TimeNs begin);
    /// Between the observed step (0) and the reference itself (1).
    [[nodiscard]] ReferenceOverlay partWay(const StepTimeline& observed, double fraction) const;
};

using ReferenceOverlayPtr = std::shared_ptr<const ReferenceOverlay>;

/// While on, shows the ideal of the current step as the view's reference: the planned order at the step's typical op
/// times with free transfers, simulated in the background. Lives on the GUI thread.
class IdealOverlay : public QObject {
    Q_OBJECT

public:
    explicit IdealOverlay(ViewState& state, QObject* parent = nullptr);

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
