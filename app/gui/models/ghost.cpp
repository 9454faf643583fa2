#include "app/gui/models/ghost.h"

#include "core/timeline/blend.h"

namespace bubblescope::gui {

Ghost Ghost::make(QString name, QString explanation, int step, StepTimeline timeline, TimeNs begin) {
    const TimeNs shift = begin - timeline.begin;
    timeline.begin += shift;
    timeline.end += shift;
    for (auto& ops : timeline.ranks) {
        for (TimelineOp& op : ops) {
            op.start += shift;
            op.end += shift;
        }
    }
    timeline.comm.clear(); // not drawn
    return {std::move(name), std::move(explanation), step, std::move(timeline)};
}

Ghost Ghost::partWay(const StepTimeline& observed, double share) const {
    Ghost out{name, explanation, step, blend(observed, timeline, share)};
    out.timeline.comm.clear();
    return out;
}

} // namespace bubblescope::gui
