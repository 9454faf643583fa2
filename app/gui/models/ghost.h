#pragma once

#include "core/timeline/step_timeline.h"

#include <QString>

#include <memory>

namespace bubblescope::gui {

/// Another timeline of a step, drawn below the observed one: the step as it could be.
struct Ghost {
    QString name;          ///< "ideal"
    QString explanation;   ///< a sentence
    int step = 0;          ///< the observed one, place in Run::steps
    StepTimeline timeline; ///< begins where the observed one does

    /// Moved so that it begins at `begin`.
    static Ghost make(QString name, QString explanation, int step, StepTimeline timeline, TimeNs begin);
    /// On its way from the observed step: 0 is that step, 1 the ghost itself.
    [[nodiscard]] Ghost partWay(const StepTimeline& observed, double share) const;
};

using GhostPtr = std::shared_ptr<const Ghost>;

} // namespace bubblescope::gui
