#pragma once

#include "app/gui/models/session.h"
#include "core/analysis/whatif/scenario.h"
#include "core/optimize/advice/advise.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::gui {

/// A session's run as a model to replay; it refers to the session, which it keeps. Made and used on worker threads.
struct WhatIfModel {
    SessionPtr session;
    ReplayModel model;

    /// Errors: as replayModel().
    [[nodiscard]] static Result<std::shared_ptr<const WhatIfModel>> of(SessionPtr session);
};

using WhatIfModelPtr = std::shared_ptr<const WhatIfModel>;

/// What a user asks, in the command line's words.
struct WhatIfQuestion {
    std::vector<std::string> changes;
    std::vector<int> layers; ///< of each stage as run; empty = unknown
    int step = 0;            ///< place in Run::steps, to be drawn
};

struct WhatIfAnswer {
    WhatIfModelPtr model; ///< to be used for the next question
    Prediction prediction;
    std::optional<StepTimeline> timeline; ///< of the step; none where that cannot be told
    std::string no_timeline;              ///< why
};

/// Errors: as parseScenario(), replayModel() and predict().
[[nodiscard]] Result<WhatIfAnswer> answer(const SessionPtr& session, WhatIfModelPtr model,
                                          const WhatIfQuestion& question);

} // namespace bubblescope::gui
