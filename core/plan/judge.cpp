#include "core/plan/judge.h"

#include "core/cost/model_flops.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/plan/travelling.h"
#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace bubblescope::plan {

class OrderStore {
public:
    using Key = std::tuple<std::string, int, int, int>;

    std::shared_ptr<const Schedule> find(const Key& key) {
        const std::scoped_lock lock(mutex_);
        const auto found = orders_.find(key);
        return found == orders_.end() ? nullptr : found->second;
    }
    void keep(const Key& key, std::shared_ptr<const Schedule> order) {
        const std::scoped_lock lock(mutex_);
        if (!orders_.emplace(key, order).second) return;
        ops_ += order->opCount();
        kept_.push_back(key);
        while (ops_ > kMostOps && kept_.size() > 1) {
            const auto oldest = orders_.find(kept_.front());
            ops_ -= oldest->second->opCount();
            orders_.erase(oldest);
            kept_.pop_front();
        }
    }

private:
    static constexpr std::size_t kMostOps = 20'000'000;
    std::mutex mutex_;
    std::map<Key, std::shared_ptr<const Schedule>> orders_;
    std::deque<Key> kept_;
    std::size_t ops_ = 0;
};

namespace {

TimeNs timeOf(double seconds) {
    return TimeNs{std::llround(seconds * 1e9)};
}

double secondsOf(TimeNs time) {
    return static_cast<double>(time.count()) * 1e-9;
}

OpTimes timesOf(const OpSeconds& op) {
    OpTimes times;
    times.forward = timeOf(op.forward.all());
    times.input_grad = timeOf(op.input_grad.all());
    times.weight_grad = timeOf(op.weight_grad.all());
    times.backward = times.input_grad + times.weight_grad;
    return times;
}

/// The model as seen by one rank of tensor and context parallelism.
TransformerShape shapeOf(TransformerShape shape, const Layout& layout) {
    shape.microbatch = layout.microbatch;
    shape.tp = layout.tp;
    shape.sequence /= layout.cp;
    shape.sequence_parallel = layout.tp > 1;
    shape.recompute = layout.recompute;
    shape.experts.ranks = layout.ep;
    return shape;
}

Status checkFit(const Problem& problem, const Layout& layout) {
    const int sequences = layout.dp * layout.microbatch * layout.microbatches;
    if (sequences != problem.global_batch)
        return usageError(fmt::format("{} replicas with {} micro-batches of {} process {} sequences, not {}", layout.dp,
                                      layout.microbatches, layout.microbatch, sequences, problem.global_batch),
                          "correct one of them");
    const auto& layers = layout.layers_per_stage;
    const auto sum = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
    if (static_cast<int>(layers.size()) != layout.stages() || sum != problem.shape.layers)
        return usageError(fmt::format("{} layers in {} stages, but the model has {} layers and the pipeline {} stages",
                                      sum, layers.size(), problem.shape.layers, layout.stages()),
                          "correct the layer split");
    if (layout.stageRanks() % layout.ep != 0)
        return usageError(fmt::format("{} ranks of a stage cannot be divided into groups of {} for the experts",
                                      layout.stageRanks(), layout.ep),
                          "correct the number of expert-parallel ranks");
    if (problem.shape.sequence % (2 * static_cast<std::int64_t>(layout.cp)) != 0 && layout.cp > 1)
        return usageError("the sequence cannot be divided evenly among its context-parallel ranks", "use fewer");
    return {};
}

/// The largest layers of a stage.
LayerSizes largestLayer(const ModelSizes& sizes) {
    LayerSizes largest;
    for (const LayerSizes& layer : sizes.layers)
        if (layer.parameters > largest.parameters) largest = layer;
    return largest;
}

/// Shards the states as ZeRO 2 and 3 do, and adds the layers that are gathered at one time.
void shareStates(MemoryModel& memory, const Layout& layout, const ModelSizes& sizes) {
    if (layout.zero < Zero::Gradients) return;
    const std::int64_t layer = largestLayer(sizes).parameters;
    std::size_t next = 0;
    for (std::size_t s = 0; s < memory.stages.size(); ++s) {
        StageMemory& stage = memory.stages[s];
        std::int64_t experts = 0;
        for (int i = 0; i < layout.layers_per_stage[s]; ++i)
            experts += sizes.layers[next++].expert_parameters;
        const std::int64_t all = stage.weights / sizes.weight_bytes;
        const std::int64_t held = (all - experts) / layout.sharers() + experts / layout.expertSharers();
        stage.gradients = held * sizes.gradient_bytes;
        stage.backward_workspace += 2 * layer * sizes.gradient_bytes;
        if (layout.zero < Zero::Weights) continue;
        stage.weights = held * sizes.weight_bytes;
        stage.forward_workspace += 2 * layer * sizes.weight_bytes;
        stage.backward_workspace += 2 * layer * sizes.weight_bytes;
    }
}

/// A rank's work on one micro-batch.
OpSeconds onRank(const Pipeline& pipeline, const Layout& layout, int rank) {
    OpSeconds sum;
    if (pipeline.placement == Placement::Moving) {
        for (const OpSeconds& stage : pipeline.stages)
            sum += stage;
        return sum;
    }
    for (int chunk = 0; chunk < layout.vpp; ++chunk)
        sum += pipeline.stages[stageOf(pipeline.placement, layout.pp, Rank{rank}, Chunk{chunk}).index()];
    return sum;
}

/// True for families whose backwards are known to be whole: the last op of a rank feeds the rank before it.
bool wholeBackward(std::string_view family) {
    constexpr std::string_view kWhole[] = {"fthenb",      "1f1b",       "eager-1f1b",
                                           "interleaved", "looped-bfs", "interleaved-fthenb"};
    return std::ranges::find(kWhole, family) != std::end(kWhole);
}

/// Number of micro-batches that a rank processes.
int microbatchesOf(const Pipeline& pipeline, const Layout& layout, int rank) {
    if (pipeline.placement != Placement::Moving) return layout.microbatches;
    return (layout.microbatches - rank + layout.pp - 1) / layout.pp;
}

double longestEnd(const Pipeline& pipeline) {
    double longest = 0;
    for (const StepEnd& end : pipeline.ends)
        longest = std::max(longest, end.all());
    return longest;
}

CostModel costsOf(const Pipeline& pipeline) {
    CostModel costs;
    costs.stages = pipeline.times;
    costs.times = meanTimes(pipeline.times);
    costs.comm = pipeline.transfer;
    return costs;
}

} // namespace

Judge::Judge(Problem problem) : problem_(std::move(problem)), orders_(std::make_unique<OrderStore>()) {
    problem_.shape = withDefaults(problem_.shape);
    const auto flops = forwardFlops(problem_.shape);
    step_flops_ =
        flops.ok() ? trainingFlops(flops.value()) * static_cast<double>(problem_.shape.sequence) * problem_.global_batch
                   : 0;
}

Judge::~Judge() = default;

Result<MemoryModel> Judge::memory(const Layout& layout, Placement placement) const {
    BUBBLESCOPE_ASSIGN(ModelSizes sizes, transformerSizes(shapeOf(problem_.shape, layout)));
    sizes.gradient_bytes = 4;
    sizes.layers_per_stage = layout.layers_per_stage;
    if (layout.zero != Zero::None) {
        sizes.optimizer_shards = layout.sharers();
        sizes.expert_shards = layout.expertSharers();
    }
    Schedule sizes_only;
    sizes_only.pp = layout.pp;
    sizes_only.vpp = layout.vpp;
    sizes_only.microbatches = layout.microbatches;
    const bool travels = placement == Placement::Moving;
    sizes_only.placement = travels ? Placement::Loop : placement;
    BUBBLESCOPE_ASSIGN(MemoryModel made, memoryModel(sizes, sizes_only));
    shareStates(made, layout, sizes);
    if (!travels) return made;
    made.other = travellingStates(made).fixed();
    for (StageMemory& stage : made.stages)
        stage.weights = stage.gradients = stage.optimizer = 0;
    return made;
}

Result<Pipeline> Judge::pipeline(const Layout& layout) const {
    BUBBLESCOPE_TRY(checkFit(problem_, layout));
    BUBBLESCOPE_ASSIGN(const ModelSizes sizes, transformerSizes(shapeOf(problem_.shape, layout)));
    Pipeline made;
    std::optional<MovingWeights> moving;
    if (weightsTravel(layout.schedule)) {
        BUBBLESCOPE_ASSIGN(moving, travelOf(layout, problem_.cluster));
        made.placement = Placement::Moving;
    } else {
        const ScheduleFamily* const family = findScheduleFamily(layout.schedule);
        if (family == nullptr) return usageError(fmt::format("unknown schedule '{}'", layout.schedule));
        made.placement = family->placement;
    }
    const ModelSeconds model(problem_.shape, layout, problem_.cluster);
    const OpSeconds dense = model.layer(false);
    const OpSeconds routing = problem_.shape.experts.count > 0 ? model.layer(true) : OpSeconds{};
    std::vector<RankParameters> parameters(static_cast<std::size_t>(layout.pp));
    std::int64_t next = 0;
    made.layers.resize(static_cast<std::size_t>(layout.pp));
    for (int s = 0; s < layout.stages(); ++s) {
        const int count = layout.layers_per_stage[static_cast<std::size_t>(s)];
        OpSeconds stage;
        LayerSizes own;
        for (int i = 0; i < count; ++i, ++next) {
            stage += problem_.shape.hasExperts(next) ? routing : dense;
            own += sizes.layers[static_cast<std::size_t>(next)];
        }
        if (s == 0) {
            stage += model.embedding();
            own += sizes.first;
        }
        if (s + 1 == layout.stages()) {
            stage += model.head();
            own += sizes.last;
        }
        const auto experts = static_cast<double>(own.expert_parameters);
        const RankParameters weights{static_cast<double>(own.parameters) - experts, experts};
        addShards(stage, weights, count, layout, problem_.cluster);
        const Rank owner = moving ? moving->ownerRank(Stage{s}) : locate(made.placement, layout.pp, Stage{s}).rank;
        const std::size_t rank = owner.index();
        parameters[rank] += weights;
        made.largest_stage = std::max(made.largest_stage, static_cast<double>(own.parameters));
        made.layers[rank] += count;
        made.stages.push_back(stage);
    }
    for (const OpSeconds& stage : made.stages)
        made.times.push_back(timesOf(stage));
    for (int r = 0; r < layout.pp; ++r) {
        const auto at = static_cast<std::size_t>(r);
        // Gradients that travel are complete at the end of the step, so only one stage's time can hide their reduction.
        const OpSeconds once = moving ? made.stages.back() : onRank(made, layout, r);
        made.ends.push_back(stepEnd(parameters[at], once, made.layers[at], layout, problem_.cluster));
    }
    made.transfer = timeOf(model.transfer());
    return made;
}

double Judge::bound(const Pipeline& pipeline, const Layout& layout) const {
    if (pipeline.placement == Placement::Moving) {
        TimeNs once{0};
        for (const OpTimes& times : pipeline.times)
            once += times.forward + times.backward;
        return secondsOf(once * microbatchesOf(pipeline, layout, 0)) + longestEnd(pipeline);
    }
    TimeNs longest{0};
    TimeNs to_rank{0};   // forwards before the rank's lowest stage
    TimeNs from_rank{0}; // input gradients after it
    const bool whole = wholeBackward(layout.schedule);
    for (int r = 0; r < layout.pp; ++r) {
        TimeNs busy{0};
        TimeNs weights{0};
        for (int chunk = 0; chunk < layout.vpp; ++chunk) {
            const OpTimes& times =
                pipeline.times[stageOf(pipeline.placement, layout.pp, Rank{r}, Chunk{chunk}).index()];
            busy += (times.forward + times.backward) * layout.microbatches;
            weights += times.weight_grad * layout.microbatches;
        }
        const TimeNs after = whole ? from_rank : std::max(TimeNs{0}, from_rank - weights);
        longest = std::max(longest, to_rank + busy + after);
        const OpTimes& lowest = pipeline.times[static_cast<std::size_t>(r)];
        to_rank += lowest.forward + pipeline.transfer;
        from_rank += (whole ? lowest.backward : lowest.input_grad) + pipeline.transfer;
    }
    return secondsOf(longest) + longestEnd(pipeline);
}

std::int64_t Judge::memoryBound(const MemoryModel& memory, const Layout& layout, Placement placement) const {
    std::int64_t most = 0;
    for (int r = 0; r < layout.pp; ++r) {
        std::int64_t fixed = memory.other;
        std::int64_t activations = 0;
        for (int chunk = 0; chunk < layout.vpp; ++chunk) {
            const StageMemory& stage = memory.stages[stageOf(placement, layout.pp, Rank{r}, Chunk{chunk}).index()];
            fixed += stage.fixed();
            activations = std::max(activations, stage.activations.forward +
                                                    std::max(stage.forward_workspace, stage.backward_workspace));
        }
        most = std::max(most, fixed + activations);
    }
    return most;
}

double Judge::peakSeconds() const {
    return step_flops_ / (problem_.cluster.devices * problem_.cluster.flops());
}

Result<std::shared_ptr<const Schedule>> Judge::order(const Layout& layout) const {
    if (weightsTravel(layout.schedule)) {
        BUBBLESCOPE_ASSIGN(const MovingWeights moving, travelOf(layout, problem_.cluster));
        BUBBLESCOPE_ASSIGN(Schedule made, movingWeightsOrder(moving));
        return std::make_shared<const Schedule>(std::move(made));
    }
    const OrderStore::Key key{layout.schedule, layout.pp, layout.microbatches, layout.vpp};
    if (std::shared_ptr<const Schedule> known = orders_->find(key)) return known;
    ScheduleSpec spec;
    spec.name = layout.schedule;
    if (layout.schedule == "zb-v") spec.flavor = "torch"; // the flavor that frameworks run
    spec.pp = layout.pp;
    spec.microbatches = layout.microbatches;
    spec.vpp = layout.vpp;
    BUBBLESCOPE_ASSIGN(Schedule made, makeSchedule(spec));
    auto shared = std::make_shared<const Schedule>(std::move(made));
    orders_->keep(key, shared);
    return std::shared_ptr<const Schedule>(shared);
}

Result<StepTimeline> Judge::timeline(const Layout& layout, const Pipeline& pipeline, const Schedule& schedule) const {
    if (pipeline.placement != Placement::Moving) return simulate(schedule, costsOf(pipeline));
    BUBBLESCOPE_ASSIGN(const MovingWeights moving, travelOf(layout, problem_.cluster));
    BUBBLESCOPE_ASSIGN(MovingWeightsStep step,
                       simulateMovingWeights(moving, travelTimes(moving, pipeline, layout, problem_.cluster)));
    step.step.end = step.gradients_home;
    return std::move(step.step);
}

std::vector<std::vector<MemoryPoint>> PlanStep::memoryCurves() const {
    std::vector<std::vector<MemoryPoint>> curves;
    for (std::size_t r = 0; r < timeline.ranks.size(); ++r)
        curves.push_back(memoryCurve(timeline, Rank{r}, memory));
    return curves;
}

Result<PlanStep> Judge::step(const Layout& layout) const {
    BUBBLESCOPE_ASSIGN(const Pipeline made, pipeline(layout));
    PlanStep step;
    BUBBLESCOPE_ASSIGN(step.schedule, order(layout));
    BUBBLESCOPE_ASSIGN(step.timeline, timeline(layout, made, *step.schedule));
    BUBBLESCOPE_ASSIGN(step.memory, memory(layout, made.placement));
    step.memory.other += problem_.cluster.reserved;
    return step;
}

Result<Plan> Judge::judge(const Layout& layout) const {
    BUBBLESCOPE_ASSIGN(const Pipeline made, pipeline(layout));
    BUBBLESCOPE_ASSIGN(const MemoryModel sizes, memory(layout, made.placement));
    BUBBLESCOPE_ASSIGN(const std::shared_ptr<const Schedule> schedule, order(layout));
    Plan plan;
    plan.layout = layout;
    const std::vector<RankMemory> used = memoryUse(*schedule, sizes);
    const auto most = std::ranges::max_element(used, {}, [](const RankMemory& rank) { return rank.peak(); });
    plan.memory = *most;
    if (made.placement == Placement::Moving) {
        BUBBLESCOPE_ASSIGN(const MemoryModel stages, memory(layout, Placement::Loop));
        const StageMemory held = travellingStates(stages);
        plan.memory.weights = held.weights;
        plan.memory.gradients = held.gradients;
        plan.memory.optimizer = held.optimizer;
        plan.memory.other = 0;
    }
    plan.memory_rank = static_cast<int>(most - used.begin());
    plan.peak_op = schedule->ranks[Rank{plan.memory_rank}.index()][plan.memory.peak_op];
    if (plan.memory.peak() > budget()) return plan;
    plan.peak_held = heldDuring(*schedule, sizes, Rank{plan.memory_rank}, plan.memory.peak_op);

    const CostModel costs = costsOf(made);
    TimeNs span{0};
    if (layout.pp == 1) {
        span = (costs.times.forward + costs.times.backward) * layout.microbatches;
        plan.exact = true;
    } else {
        BUBBLESCOPE_ASSIGN(const StepTimeline step, timeline(layout, made, *schedule));
        span = step.wall();
    }
    double busy = 0;
    double busiest = 0;
    for (int r = 0; r < layout.pp; ++r) {
        const Seconds work = onRank(made, layout, r).all() * microbatchesOf(made, layout, r);
        busy += work.all();
        if (work.all() <= busiest) continue;
        busiest = work.all();
        plan.parts.work = work;
    }
    const double pipeline_time = secondsOf(span);
    plan.parts.bubble = std::max(0.0, pipeline_time - busiest);
    plan.parts.end = *std::ranges::max_element(made.ends, {}, [](const StepEnd& end) { return end.all(); });
    plan.bubble_rate = pipeline_time > 0 ? std::max(0.0, 1 - busy / (layout.pp * pipeline_time)) : 0;
    plan.step = span + timeOf(plan.parts.end.all());
    const double seconds = secondsOf(plan.step);
    plan.tokens_per_second = static_cast<double>(problem_.shape.sequence) * problem_.global_batch / seconds;
    plan.mfu = peakSeconds() / seconds;
    return plan;
}

} // namespace bubblescope::plan
