#include "core/analysis/steps/step_source.h"

#include <utility>

namespace bubblescope {

std::size_t recordsOf(const StepTimeline& step) {
    std::size_t records = step.opCount();
    for (const auto& spans : step.comm)
        records += spans.size();
    return records;
}

LoadedSteps::LoadedSteps(Run run, RunClocks clocks)
    : run_(std::move(run)), problems_(run_.problems), steps_(std::move(run_.steps)),
      clocks_(std::make_shared<const RunClocks>(std::move(clocks))) {
    run_.steps.clear();
}

Result<std::optional<SourceStep>> LoadedSteps::next() {
    if (next_ == steps_.size()) return std::optional<SourceStep>();
    SourceStep step{{}, clocks_};
    const int number = steps_[next_].index;
    for (; next_ < steps_.size() && steps_[next_].index == number; ++next_)
        step.timelines.push_back(std::move(steps_[next_]));
    return std::optional(std::move(step));
}

Run LoadedSteps::takeRun() {
    return std::move(run_);
}

} // namespace bubblescope
