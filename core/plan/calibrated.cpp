#include "core/plan/calibrated.h"

#include "core/analysis/whatif/reschedule.h"
#include "core/cost/partition.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/timeline/step_timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace bubblescope::plan {
namespace {

struct Rated {
    PipelineChange change;
    TimeNs wall{0};
};

/// The changes of a run's pipeline that a space allows.
class Changes {
public:
    Changes(const RunModel& run, const ModelCut& cut, const Space& space)
        : run_(run), space_(space), layers_(std::accumulate(cut.layers.begin(), cut.layers.end(), 0)) {}

    std::vector<PipelineChange> all() {
        const auto& names = space_.schedules.empty() ? defaultSchedules() : space_.schedules;
        for (const std::string& name : names) {
            for (const int v : chunks(name)) {
                for (const int split : {1, 2}) {
                    PipelineChange change;
                    change.schedule = name;
                    change.vpp = v;
                    change.split = split;
                    if (layers_ == 0)
                        made_.push_back(change);
                    else
                        withLayers(change);
                }
            }
        }
        return std::move(made_);
    }

private:
    [[nodiscard]] std::vector<int> chunks(const std::string& name) const {
        if (!space_.vpp.empty()) return space_.vpp;
        const ScheduleFamily* const family = findScheduleFamily(name);
        if (family != nullptr && family->placement == Placement::V) return {2};
        if (!name.starts_with("interleaved")) return {1};
        if (layers_ == 0) return {2, 3, 4};
        std::vector<int> chunks;
        for (int v = 2; v * run_.pp <= layers_; ++v)
            chunks.push_back(v);
        return chunks;
    }

    void withLayers(PipelineChange change) {
        std::set<std::vector<int>> seen;
        for (const auto& [first, last] : {std::pair{0, 0}, std::pair{0, 1}, std::pair{1, 1}, std::pair{0, 2}}) {
            const auto split = partitionEvenly(layers_, run_.pp * *change.vpp, first, last);
            if (!split.ok() || !seen.insert(split.value().layers_per_stage).second) continue;
            change.layers = split.value().layers_per_stage;
            made_.push_back(change);
        }
    }

    const RunModel& run_;
    const Space& space_;
    int layers_;
    std::vector<PipelineChange> made_;
};

std::vector<std::string> textsOf(const PipelineChange& change) {
    std::vector<std::string> texts{fmt::format("schedule={}", change.schedule), fmt::format("vpp={}", *change.vpp)};
    if (change.split > 1) texts.push_back(fmt::format("split={}", change.split));
    if (!change.layers.empty()) texts.push_back(fmt::format("layers={}", fmt::join(change.layers, ",")));
    return texts;
}

std::optional<Rated> rate(const MeanPipeline& pipeline, const PipelineChange& change) {
    const auto schedule = pipeline.schedule(change);
    if (!schedule.ok()) return {};
    const auto step = simulate(schedule.value(), pipeline.costsWithGaps(schedule.value(), change));
    if (!step.ok()) return {};
    return Rated{change, step.value().wall()};
}

double bubbleRateOf(const Prediction& prediction) {
    if (prediction.ranks.empty()) return 0;
    TimeNs idle{0};
    for (const Prediction::RankBubble& rank : prediction.ranks)
        idle += rank.after;
    return fractionOf(idle / static_cast<std::int64_t>(prediction.ranks.size()), prediction.after);
}

} // namespace

Result<CalibratedResult> searchCalibrated(const RunModel& run, const Schedule& order, const ModelCut& cut,
                                          const Space& space, const JobControl& control) {
    BUBBLESCOPE_ASSIGN(const MeanPipeline pipeline, MeanPipeline::of(run, order, cut));
    CalibratedResult result;
    std::vector<Rated> rated;
    for (const PipelineChange& change : Changes(run, cut, space).all()) {
        if (control.stopRequested()) return cancelledError();
        std::optional<Rated> one = rate(pipeline, change);
        if (one) rated.push_back(std::move(*one));
    }
    if (rated.empty())
        return usageError(
            fmt::format("none of these schedules runs on {} ranks with {} micro-batches", run.pp, run.microbatches),
            "allow other schedules or numbers of chunks");
    result.judged = rated.size();
    std::ranges::stable_sort(rated, {}, &Rated::wall);
    rated.resize(std::min(rated.size(), space.plans));
    for (const Rated& one : rated) {
        if (control.stopRequested()) return cancelledError();
        CalibratedPlan plan;
        plan.change = one.change;
        plan.texts = textsOf(one.change);
        Scenario scenario;
        scenario.pipeline = one.change;
        BUBBLESCOPE_ASSIGN(plan.prediction, predict(run, order, scenario, cut));
        plan.bubble_rate = bubbleRateOf(plan.prediction);
        result.plans.push_back(std::move(plan));
    }
    std::ranges::stable_sort(result.plans, {}, [](const CalibratedPlan& plan) { return plan.prediction.predicted(); });
    return result;
}

} // namespace bubblescope::plan
