#include "app/gui/models/whatif_model.h"

#include "core/analysis/whatif/scenario.h"

#include <algorithm>

namespace bubblescope::gui {

Result<WhatIfModelPtr> WhatIfModel::of(SessionPtr session) {
    BUBBLESCOPE_ASSIGN(ReplayModel model, replayModel(session->run));
    return WhatIfModelPtr(new WhatIfModel{std::move(session), std::move(model)});
}

Result<WhatIfAnswer> answer(const SessionPtr& session, WhatIfModelPtr model, const WhatIfQuestion& question) {
    BUBBLESCOPE_ASSIGN(const Scenario scenario, parseScenario(question.changes));
    if (model == nullptr) {
        BUBBLESCOPE_ASSIGN(model, WhatIfModel::of(session));
    }
    const ModelCut cut{question.layers};
    WhatIfAnswer out;
    out.model = model;
    BUBBLESCOPE_ASSIGN(out.prediction, predict(model->model, session->run.schedule, scenario, cut));
    const StepTimeline& observed = session->step(question.step);
    const auto& steps = model->model.steps;
    const auto step = std::ranges::find(steps, observed.index, &ReplayStep::index);
    const auto replica = std::ranges::find(model->model.replicas, observed.replica);
    Result<StepTimeline> timeline =
        step == steps.end() || replica == model->model.replicas.end()
            ? Result<StepTimeline>(usageError("the replay does not have this step", "choose another one"))
            : predictedStep(model->model, session->run.schedule, scenario, cut,
                            static_cast<std::size_t>(step - steps.begin()),
                            static_cast<std::size_t>(replica - model->model.replicas.begin()));
    if (timeline.ok()) {
        out.timeline = std::move(timeline).value();
    } else {
        out.no_timeline = timeline.error().text();
    }
    return out;
}

} // namespace bubblescope::gui
