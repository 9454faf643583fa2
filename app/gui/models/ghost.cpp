#include "app/gui/models/ghost.h"

#include "core/timeline/step_timeline.h"

namespace bubblescope::gui {

Ghost Ghost::make(QString name, QString explanation, int step, StepTimeline timeline, TimeNs begin) {
    timeline.comm.clear(); // not drawn
    moveTo(timeline, begin);
    return {std::move(name), std::move(explanation), step, std::move(timeline)};
}

Ghost Ghost::partWay(const StepTimeline& observed, double share) const {
    Ghost out{name, explanation, step, blend(observed, timeline, share)};
    out.timeline.comm.clear();
    return out;
}

} // namespace bubblescope::gui
