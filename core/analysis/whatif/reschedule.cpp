#include "core/analysis/whatif/reschedule.h"

#include "core/analysis/whatif/timeline_graph.h"
#include "core/base/field.h"
#include "core/families/no_flush.h"
#include "core/families/registry.h"
#include "core/graph/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace bubblescope {
namespace {

int modelStages(int pp, int vpp, Placement placement) {
    return pp * vpp / routes(placement);
}

TimeNs meanOf(const std::vector<TimeNs>& times) {
    TimeNs sum{0};
    for (const TimeNs time : times)
        sum += time;
    return times.empty() ? sum : sum / static_cast<std::int64_t>(times.size());
}

/// Mean transfer times of the links: a new order meets the long transfers equally often.
class LinkTimes {
public:
    LinkTimes(const RunModel& run, const std::vector<TimeNs>& durations) {
        std::map<std::pair<Rank, Rank>, std::vector<TimeNs>> measured;
        std::vector<TimeNs> all;
        for (NodeId id = 0; id < run.graph().size(); ++id) {
            const RunNode& node = run.graph().node(id);
            if (!isTransfer(node.op) || node.op == RunOp::ForwardSend || node.op == RunOp::BackwardSend) continue;
            const bool receives = node.op == RunOp::ForwardReceive || node.op == RunOp::BackwardReceive;
            const TimeNs time = durations[static_cast<std::size_t>(id)];
            measured[receives ? std::pair(node.peer, node.rank) : std::pair(node.rank, node.peer)].push_back(time);
            all.push_back(time);
        }
        usual_ = meanOf(all);
        for (auto& [link, times] : measured)
            links_[link] = meanOf(times);
    }
    [[nodiscard]] TimeNs of(Rank from, Rank to) const {
        const auto link = links_.find({from, to});
        return link == links_.end() ? usual_ : link->second;
    }
    [[nodiscard]] TimeNs usual() const { return usual_; }

private:
    std::map<std::pair<Rank, Rank>, TimeNs> links_;
    TimeNs usual_{0};
};

/// The delays of op starts: the mean per rank and kind of op, classified by the records of the delay, plus the host's
/// gaps.
class StartDelays {
public:
    StartDelays(const RunModel& run, const std::vector<TimeNs>& durations) : gaps_(run.gaps) {
        for (NodeId id = 0; id < run.graph().size(); ++id) {
            const RunNode& node = run.graph().node(id);
            if (!isPipelineCompute(node.op)) continue;
            for (Sum* const sum : {&sums_[{node.rank.value, node.op}], &sums_[{node.rank.value, RunOp::Pair}]}) {
                ++sum->count;
                for (NodeId before = delayBefore(run.graph(), id); before != kNoNode;
                     before = delayBefore(run.graph(), before))
                    sum->times[run.graph().node(before).op] += durations[static_cast<std::size_t>(before)];
            }
        }
    }

    /// If the rank did not run the kind, the mean over the kinds that it did run.
    void of(Rank rank, RunOp kind, std::vector<OpDelay>& out) const {
        const auto* const known = findByKind(kind, [&](RunOp wanted) -> const Sum* {
            const auto found = sums_.find({rank.value, wanted});
            return found == sums_.end() ? nullptr : &found->second;
        });
        if (known == nullptr) return;
        for (const auto& [delay, time] : known->times)
            out.push_back({delay, time / known->count, Rank{-1}});
        out.push_back({RunOp::HostGap, gaps_.of(rank, kind), Rank{-1}});
    }

private:
    struct Sum {
        std::map<RunOp, TimeNs> times;
        std::int64_t count = 0;
    };
    static NodeId delayBefore(const RunGraph& graph, NodeId id) {
        for (const NodeId before : graph.tasks().predecessors(static_cast<std::size_t>(id))) {
            if (before != kNoNode && isDelay(graph.node(before).op)) return before;
        }
        return kNoNode;
    }

    const HostGaps& gaps_;
    std::map<std::pair<std::int32_t, RunOp>, Sum> sums_; ///< Pair, which no source has, means all kinds
};

Status checkSource(const RunModel& run) {
    BUBBLESCOPE_TRY(rejectEncoders(run.placement, "predicting another order"));
    for (const RunNode& node : run.graph().nodes()) {
        if (node.op == RunOp::Pair) {
            return inputError(run.where, "it runs forwards and backwards in pairs; their separate times are unknown, "
                                         "so other orders cannot be predicted");
        }
        if (isPipelineCompute(node.op) && node.sequence > 0) {
            return inputError(run.where,
                              "it runs micro-batches in sequence slices, so other orders cannot be predicted");
        }
    }
    return {};
}

/// The order to run: that of the change if it has one for the run's sizes; for families that depend on times, generated
/// for the run's mean times.
Result<Schedule> givenOrder(const RunModel& run, const PipelineChange& change) {
    const Schedule& order = *change.order;
    if (!change.schedule.empty() || change.vpp || change.microbatches || change.split > 1)
        return usageError("a schedule file defines its own sizes",
                          "combine it only with layers, not with other changes to the pipeline");
    if (order.pp != run.pp || order.microbatches != run.microbatches) {
        return usageError(
            fmt::format("the schedule file is for {} ranks and {} micro-batches, but the run has {} and {}", order.pp,
                        order.microbatches, run.pp, run.microbatches),
            "use a schedule file whose sizes match the run's");
    }
    BUBBLESCOPE_ASSIGN([[maybe_unused]] const Execution runnable, prepareExecution(order));
    return order;
}

Result<Schedule> makeOrder(const RunModel& run, const Schedule& order, const PipelineChange& change,
                           const StageCut& cut, TimeNs comm) {
    if (change.order != nullptr) return givenOrder(run, change);
    const int microbatches = change.microbatches.value_or(run.microbatches);
    if (change.split > std::numeric_limits<int>::max() / microbatches)
        return usageError(fmt::format("{} micro-batches cannot each be split into {}", microbatches, change.split));
    const bool same_sizes = (!change.vpp || *change.vpp == run.vpp) && microbatches * change.split == run.microbatches;
    if (change.schedule.empty() && same_sizes) return order;
    if (change.schedule.empty() && findScheduleFamily(order.name) == nullptr) {
        return usageError("the run's order does not match a known schedule, so the order for other sizes is unknown",
                          "choose one with schedule=NAME");
    }
    ScheduleSpec spec;
    spec.name = change.schedule.empty() ? order.name : change.schedule;
    spec.flavor = change.schedule.empty() ? order.flavor : change.flavor;
    spec.pp = run.pp;
    spec.microbatches = microbatches * change.split;
    spec.comm = comm;
    if (const ScheduleFamily* family = findScheduleFamily(spec.name); family && trainsWithDelay(family->name)) {
        return usageError(
            fmt::format("{} updates weights with delayed gradients, so its step time cannot be compared with this one",
                        spec.name),
            fmt::format("simulate it with the micro-batches of several steps and {}",
                        Field("group_size").is(run.microbatches)));
    }
    std::vector<int> sizes{change.vpp.value_or(run.vpp)};
    if (!change.vpp) sizes.insert(sizes.end(), {1, 2, 4}); // tried in turn until the family accepts a number of chunks
    std::optional<Error> first_error;
    for (const int vpp : sizes) {
        spec.vpp = vpp;
        spec.times = cut.meanTimes(spec.pp * vpp);
        Result<Schedule> made = makeSchedule(spec);
        if (made.ok()) return made;
        if (!first_error) first_error = std::move(made).error();
    }
    return *first_error;
}

/// Each stage's share of the model: equal, or by its layers.
std::vector<double> shares(const std::vector<int>& layers, int stages) {
    if (layers.empty()) return std::vector<double>(static_cast<std::size_t>(stages), 1.0 / stages);
    double all = 0;
    for (const int count : layers)
        all += count;
    std::vector<double> result;
    for (const int count : layers)
        result.push_back(count / all);
    return result;
}

Status checkLayers(const PipelineChange& change, const ModelCut& cut, int stages_before, int stages_after) {
    if (change.layers.empty() && cut.layers.empty()) return {};
    if (cut.layers.empty()) {
        return usageError("the number of layers per stage is unknown",
                          fmt::format("specify them with {}", Field("layers").is("N,N,…")));
    }
    const auto sum = [](const std::vector<int>& layers) {
        long long all = 0;
        for (const int count : layers)
            all += count;
        return all;
    };
    if (cut.layers.size() != static_cast<std::size_t>(stages_before)) {
        return usageError(
            fmt::format("layers are given for {} stages, but the run has {}", cut.layers.size(), stages_before),
            fmt::format("specify one number per stage for {}", Field("layers")));
    }
    if (change.layers.empty()) return {};
    if (change.layers.size() != static_cast<std::size_t>(stages_after)) {
        return usageError(
            fmt::format("layers are given for {} stages, but there are {}", change.layers.size(), stages_after),
            "set layers=… with one number per stage");
    }
    if (sum(change.layers) != sum(cut.layers)) {
        return usageError(fmt::format("{} layers cannot be split into {}", sum(cut.layers), sum(change.layers)),
                          fmt::format("layers=… and {} must add up to the same number", Field("layers")));
    }
    return {};
}

/// Rebuilds one step of one replica in the new order.
class Rebuild {
public:
    Rebuild(const RunModel& run, const std::vector<TimeNs>& durations, const OpGraph& ops, const LinkTimes& links,
            const StartDelays& delays, int model_routes, int split, const CutRules& rules, double input_share)
        : run_(run), durations_(durations), ops_(ops), links_(links), delays_(delays), routes_(model_routes),
          split_(split), rules_(rules), input_share_(input_share) {}

    void add(RunGraphBuilder& builder, StepCollectives& collectives, const RunNode& place, int vpp, const StageCut& cut,
             const std::vector<double>& after, const std::map<std::int32_t, std::vector<NodeId>>& around) const {
        const StageTimesTable table = cut.table(after, rules_);
        const auto opTime = [&](OpIndex index) {
            const Op& op = ops_.op(index);
            return table.of(op.kind, ops_.stage(index).value / routes_, op.microbatch.value / split_, input_share_);
        };
        const PipelineTimes times{
            [&](OpIndex op, OpIndex partner) { return partner == kNoOp ? opTime(op) : opTime(op) + opTime(partner); },
            nullptr,
            [&](OpIndex consumer, OpIndex producer) { return links_.of(ops_.rank(producer), ops_.rank(consumer)); },
            [&](OpIndex op, std::vector<OpDelay>& out) { delays_.of(ops_.rank(op), runOp(ops_.op(op).kind), out); }};
        const auto pipelines = addPipeline(builder, place, vpp, ops_, times);
        for (std::size_t r = 0; r < pipelines.size(); ++r) {
            const auto known = around.find(static_cast<std::int32_t>(r));
            if (known == around.end()) continue;
            std::vector<OuterNode> nodes;
            RunNode node = place;
            for (const NodeId id : known->second) {
                node = run_.graph().node(id);
                node.step = place.step;
                node.replica = place.replica;
                node.chunk = Chunk{std::min(node.chunk.value, vpp - 1)};
                nodes.push_back({node.op, node.chunk, builder.add(node, durations_[static_cast<std::size_t>(id)])});
            }
            collectives.add(node, pipelines[r], nodes);
        }
    }

private:
    const RunModel& run_;
    const std::vector<TimeNs>& durations_;
    const OpGraph& ops_;
    const LinkTimes& links_;
    const StartDelays& delays_;
    int routes_;
    int split_;
    CutRules rules_;
    double input_share_;
};

} // namespace

Result<Rescheduled> reschedule(const RunModel& run, const std::vector<TimeNs>& durations, const Schedule& order,
                               const PipelineChange& change, const ModelCut& cut) {
    BUBBLESCOPE_TRY(checkSource(run));
    const int stages = modelStages(run.pp, run.vpp, run.placement);
    BUBBLESCOPE_TRY(checkLayers({}, cut, stages, stages));
    const std::vector<double> before = shares(cut.layers, stages);

    // The run's times and collectives, by step and replica.
    const std::size_t replicas = run.replicas.size();
    const StageCut none(before, run.microbatches, meanGap(run));
    std::vector<StageCut> cuts(run.steps.size() * replicas, none);
    std::vector<std::map<std::int32_t, std::vector<NodeId>>> around(cuts.size());
    StageCut mean = none;
    for (NodeId id = 0; id < run.graph().size(); ++id) {
        const RunNode& node = run.graph().node(id);
        const std::size_t at = static_cast<std::size_t>(node.step) * replicas + static_cast<std::size_t>(node.replica);
        if (isOuterNode(node.op)) around[at][node.rank.value].push_back(id);
        if (!isPipelineCompute(node.op)) continue;
        const int stage = stageOf(run.placement, run.pp, node.rank, node.chunk).value / routes(run.placement);
        cuts[at].add(node.op, stage, node.microbatch.value, durations[static_cast<std::size_t>(id)]);
        mean.add(node.op, stage, node.microbatch.value, durations[static_cast<std::size_t>(id)]);
    }

    const LinkTimes links(run, durations);
    BUBBLESCOPE_ASSIGN(Schedule made, makeOrder(run, order, change, mean, links.usual()));
    const int stages_after = modelStages(made.pp, made.vpp, made.placement);
    BUBBLESCOPE_TRY(checkLayers(change, cut, stages, stages_after));
    const std::vector<double> after =
        change.layers.empty() && stages_after == stages ? before : shares(change.layers, stages_after);

    Rescheduled result{std::move(made), run};
    result.model.accounted = nullptr;
    result.model.planned = nullptr;
    BUBBLESCOPE_ASSIGN(const OpGraph ops, completeGraph(result.schedule));
    result.model.vpp = result.schedule.vpp;
    result.model.microbatches = result.schedule.microbatches;
    result.model.placement = result.schedule.placement;
    result.model.has_streams = false;
    RunGraphBuilder builder;
    StepCollectives collectives(builder);
    const StartDelays delays(run, durations);
    const CutRules rules = CutRules::of(result.schedule, ops.sequenceSlices() * change.split);
    const Rebuild rebuild(run, durations, ops, links, delays, routes(result.schedule.placement), change.split, rules,
                          cut.input_share);
    for (std::size_t at = 0; at < cuts.size(); ++at) {
        if (cuts[at].empty()) continue; // a replica that did not complete the step
        RunNode place;
        place.step = static_cast<std::int32_t>(at / replicas);
        place.replica = static_cast<std::int32_t>(at % replicas);
        rebuild.add(builder, collectives, place, result.schedule.vpp, cuts[at], after, around[at]);
    }
    for (const auto& nodes : collectives.groups())
        builder.meet(nodes);
    BUBBLESCOPE_ASSIGN(result.model.timed,
                       std::move(builder).finish(run.where, run.has_streams ? StepEnd::Everything : StepEnd::Pipeline));
    return result;
}

TimeNs meanGap(const RunModel& run) {
    TimeNs late{0};
    std::int64_t ops = 0;
    for (NodeId id = 0; id < run.graph().size(); ++id) {
        const RunOp op = run.graph().node(id).op;
        if (op == RunOp::LateStart) late += run.timed.durations[static_cast<std::size_t>(id)];
        ops += isPipelineCompute(op) ? 1 : 0;
    }
    return run.gaps.mean() + (ops == 0 ? late : late / ops);
}

MeanPipeline::MeanPipeline(const RunModel& run, const Schedule& order, ModelCut cut, StageCut mean, TimeNs comm)
    : run_(run), order_(order), cut_(std::move(cut)), mean_(std::move(mean)), comm_(comm) {}

Result<MeanPipeline> MeanPipeline::of(const RunModel& run, const Schedule& order, const ModelCut& cut) {
    BUBBLESCOPE_TRY(checkSource(run));
    const int stages = modelStages(run.pp, run.vpp, run.placement);
    BUBBLESCOPE_TRY(checkLayers({}, cut, stages, stages));
    StageCut mean(shares(cut.layers, stages), run.microbatches, meanGap(run));
    for (NodeId id = 0; id < run.graph().size(); ++id) {
        const RunNode& node = run.graph().node(id);
        if (!isPipelineCompute(node.op)) continue;
        const int stage = stageOf(run.placement, run.pp, node.rank, node.chunk).value / routes(run.placement);
        mean.add(node.op, stage, node.microbatch.value, run.timed.durations[static_cast<std::size_t>(id)]);
    }
    return MeanPipeline(run, order, cut, std::move(mean), LinkTimes(run, run.timed.durations).usual());
}

Result<Schedule> MeanPipeline::schedule(const PipelineChange& change) const {
    return makeOrder(run_, order_, change, mean_, comm_);
}

std::vector<OpTimes> MeanPipeline::timesOf(const std::vector<double>& parts, const CutRules& rules) const {
    const StageTimesTable table = mean_.table(parts, rules);
    std::vector<OpTimes> times;
    for (int stage = 0; stage < static_cast<int>(parts.size()); ++stage) {
        const auto of = [&](OpKind kind) { return table.of(kind, stage, run_.microbatches, cut_.input_share); };
        OpTimes& all = times.emplace_back();
        all.forward = of(OpKind::Forward);
        all.input_grad = of(OpKind::BackwardInput);
        all.weight_grad = of(OpKind::BackwardWeight);
        all.backward = all.input_grad + all.weight_grad;
    }
    return times;
}

CostModel MeanPipeline::costs(const Schedule& schedule, const PipelineChange& change) const {
    const int apart = routes(schedule.placement);
    const int stages = modelStages(schedule.pp, schedule.vpp, schedule.placement);
    const bool same = change.layers.empty() && stages == modelStages(run_.pp, run_.vpp, run_.placement);
    CostModel costs;
    costs.comm = comm_;
    for (const OpTimes& times :
         timesOf(shares(same ? cut_.layers : change.layers, stages), CutRules::of(schedule, change.split)))
        costs.stages.insert(costs.stages.end(), static_cast<std::size_t>(apart), times);
    return costs;
}

CostModel MeanPipeline::costsWithGaps(const Schedule& schedule, const PipelineChange& change) const {
    CostModel costs = this->costs(schedule, change);
    const TimeNs gap = meanGap(run_);
    for (OpTimes& times : costs.stages) {
        for (TimeNs* const time : {&times.forward, &times.backward, &times.input_grad, &times.weight_grad})
            *time += gap;
    }
    return costs;
}

std::vector<OpTimes> MeanPipeline::layerTimes(const PipelineChange& change) const {
    std::size_t layers = 0;
    for (const int count : cut_.layers)
        layers += static_cast<std::size_t>(count);
    CutRules rules{.slices = change.split};
    rules.keeps_fixed = false; // a layer is not an op
    return timesOf(std::vector<double>(layers, 1.0 / static_cast<double>(layers)), rules);
}

} // namespace bubblescope
