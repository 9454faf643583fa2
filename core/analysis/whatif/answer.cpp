#include "core/analysis/whatif/answer.h"

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

Result<StepTimeline> predictedTimeline(const RunModel& run, const Schedule& order, const Scenario& scenario,
                                       const ModelCut& cut, const StepTimeline& observed) {
    const auto step = std::ranges::find(run.steps, observed.index, &RunStep::index);
    const auto replica = std::ranges::find(run.replicas, observed.replica);
    if (step == run.steps.end() || replica == run.replicas.end())
        return usageError("the replay does not have this step", "choose another one");
    return predictedStep(run, order, scenario, cut, static_cast<std::size_t>(step - run.steps.begin()),
                         static_cast<std::size_t>(replica - run.replicas.begin()));
}

} // namespace

Result<ScenarioAnswer> answerScenario(const RunModel& run, const Schedule& order, const Scenario& scenario,
                                      const ModelCut& cut, const StepTimeline& step) {
    ScenarioAnswer out;
    BUBBLESCOPE_ASSIGN(out.prediction, predict(run, order, scenario, cut));
    Result<StepTimeline> timeline = predictedTimeline(run, order, scenario, cut, step);
    if (timeline.ok()) {
        out.timeline = std::move(timeline).value();
    } else {
        out.no_timeline = timeline.error().text();
    }
    return out;
}

} // namespace bubblescope
