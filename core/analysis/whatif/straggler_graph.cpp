#include "core/analysis/whatif/run_model.h"
#include "core/base/field.h"

#include "core/analysis/whatif/step_collectives.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace bubblescope {
namespace {

/// Maximum difference between the clocks of two ranks.
constexpr TimeNs kClockError{50'000};

struct RawOp {
    TimeNs start{0};
    TimeNs end{0};
    std::int32_t chunk = 0;
    std::int32_t microbatch = -1;
    NodeId node = kNoNode;
};
using RankOps = std::array<std::vector<RawOp>, kRunOpCount>;

/// The rank of the slices on a track of such a timeline.
struct StragglerPlace {
    std::int64_t pp = 0; ///< pipeline rank
    std::int64_t tp = 0; ///< tensor-parallel rank
    std::int64_t dp = 0; ///< data-parallel replica
};

/// The number after a word, as in "PP rank 3, TP rank 0, compute".
std::optional<std::int64_t> numberFollowing(std::string_view text, std::string_view word) {
    std::size_t at = text.find(word);
    if (at == std::string_view::npos) return std::nullopt;
    at += word.size();
    while (at < text.size() && (text[at] == ' ' || text[at] == '['))
        ++at;
    text.remove_prefix(at);
    const auto number = takeNumber<std::int64_t>(text);
    return number && *number >= 0 ? number : std::nullopt;
}

/// Empty for a thread whose name contains no pipeline rank.
std::optional<StragglerPlace> stragglerPlace(const Trace& trace, const Track& track) {
    const std::string_view thread = trace.text(track.thread_name);
    const auto pp = numberFollowing(thread, "PP rank");
    if (!pp) return std::nullopt;
    const auto dp = numberFollowing(trace.text(track.process_name), "DP rank");
    return StragglerPlace{*pp, numberFollowing(thread, "TP rank").value_or(0), dp.value_or(track.pid)};
}

/// One kind of transfer side, with the op at the other end and its place.
struct Side {
    RunOp op;
    RunOp compute; ///< the op that it feeds or is fed by
    bool send;
    int to_peer; ///< rank and stage of the other side, from here
};
constexpr std::array kSides{
    Side{RunOp::ForwardSend, RunOp::Forward, true, 1},
    Side{RunOp::ForwardReceive, RunOp::Forward, false, -1},
    Side{RunOp::BackwardSend, RunOp::Backward, true, -1},
    Side{RunOp::BackwardReceive, RunOp::Backward, false, 1},
};

class Builder {
public:
    Builder(const Trace& trace, RunModel& model) : trace_(trace), model_(model), collectives_(graph_) {}

    void chooseSteps(std::span<const StepTimeline* const> steps) {
        std::map<int, std::set<int>> replicas_of_step;
        std::set<int> replicas;
        for (const StepTimeline* step : steps) {
            replicas_of_step[step->index].insert(step->replica);
            replicas.insert(step->replica);
        }
        model_.replicas.assign(replicas.begin(), replicas.end());
        for (const auto& [index, present] : replicas_of_step) {
            if (present.size() != replicas.size()) continue;
            step_place_[index] = static_cast<std::int32_t>(model_.steps.size());
            model_.steps.push_back({index, TimeNs{0}});
        }
        ranks_.resize(model_.steps.size() * replicas.size() * static_cast<std::size_t>(model_.pp));
    }

    void collect() {
        std::vector<std::pair<TimeNs, TimeNs>> spans(model_.steps.size(), {TimeNs::max(), TimeNs::min()});
        for (const Track& track : trace_.tracks()) {
            const auto place = stragglerPlace(trace_, track);
            if (!place || place->tp != 0 || place->pp >= model_.pp) continue;
            const auto replica = std::ranges::find(model_.replicas, place->dp);
            if (replica == model_.replicas.end()) continue;
            for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
                const auto op = runOpFromName(trace_.name(slice));
                const ArgSetId args = trace_.sliceArgs()[slice];
                const auto step = op ? trace_.intArg(args, "step") : std::nullopt;
                const auto known = step ? step_place_.find(static_cast<int>(*step)) : step_place_.end();
                if (known == step_place_.end()) continue;
                RawOp raw{trace_.start(slice), trace_.end(slice),
                          static_cast<std::int32_t>(trace_.intArg(args, "model_chunk").value_or(0)),
                          static_cast<std::int32_t>(trace_.intArg(args, "mb_id").value_or(-1))};
                if (isPipelineCompute(*op) && !inRange(raw)) continue; // not an op of the recognised steps
                auto& [begin, end] = spans[static_cast<std::size_t>(known->second)];
                begin = std::min(begin, raw.start);
                end = std::max(end, raw.end);
                const auto at = static_cast<std::int32_t>(replica - model_.replicas.begin());
                rankOps(known->second, at, static_cast<int>(place->pp))[static_cast<std::size_t>(*op)].push_back(raw);
            }
        }
        for (std::size_t i = 0; i < spans.size(); ++i)
            model_.steps[i].observed = spans[i].second - spans[i].first;
        for (RankOps& rank : ranks_) {
            for (std::vector<RawOp>& ops : rank)
                std::ranges::stable_sort(ops, {}, [](const RawOp& op) { return std::pair(op.start, op.end); });
        }
    }

    Status build() {
        const auto stages = static_cast<std::size_t>(model_.pp) * static_cast<std::size_t>(model_.vpp);
        for (std::int32_t step = 0; step < static_cast<std::int32_t>(model_.steps.size()); ++step) {
            for (std::int32_t replica = 0; replica < static_cast<std::int32_t>(model_.replicas.size()); ++replica) {
                transfers_.assign(2 * stages * static_cast<std::size_t>(model_.microbatches), {});
                for (int rank = 0; rank < model_.pp; ++rank)
                    BUBBLESCOPE_TRY(addRank(step, replica, Rank{rank}));
                for (const auto& sides : transfers_)
                    meet(sides);
            }
        }
        for (const auto& nodes : collectives_.groups())
            meet(nodes);
        return {};
    }

    Result<TimedGraph> finish() && { return std::move(graph_).finish(model_.where); }

private:
    RankOps& rankOps(std::int32_t step, std::int32_t replica, int rank) {
        const std::size_t pipeline =
            static_cast<std::size_t>(step) * model_.replicas.size() + static_cast<std::size_t>(replica);
        return ranks_[pipeline * static_cast<std::size_t>(model_.pp) + static_cast<std::size_t>(rank)];
    }

    [[nodiscard]] bool inRange(const RawOp& op) const {
        return op.chunk >= 0 && op.chunk < model_.vpp && op.microbatch >= 0 && op.microbatch < model_.microbatches;
    }

    NodeId add(const RunNode& node, RawOp& raw) {
        raw.node = graph_.add(node, raw.end - raw.start);
        starts_.resize(static_cast<std::size_t>(graph_.size()), TimeNs{0});
        starts_.back() = raw.start;
        ends_.resize(starts_.size(), TimeNs{0});
        ends_.back() = raw.end;
        return raw.node;
    }

    /// Reduces the durations of a transfer or collective to the time after the last start.
    void meet(const std::vector<NodeId>& nodes) {
        if (nodes.empty()) return;
        TimeNs last = TimeNs::min();
        for (const NodeId node : nodes)
            last = std::max(last, starts_[static_cast<std::size_t>(node)]);
        for (const NodeId node : nodes)
            graph_.setDuration(node, ends_[static_cast<std::size_t>(node)] - last);
        graph_.meet(nodes);
    }

    [[nodiscard]] int stageOf(Rank rank, const RawOp& op) const { return op.chunk * model_.pp + rank.value; }
    [[nodiscard]] bool stageExists(int stage) const { return stage >= 0 && stage < model_.pp * model_.vpp; }

    Status addRank(std::int32_t step, std::int32_t replica, Rank rank) {
        RankOps& ops = rankOps(step, replica, rank.value);
        RunNode place;
        place.step = step;
        place.replica = replica;
        place.rank = rank;
        const RankPipeline pipeline = addCompute(ops, place);
        for (const Side& side : kSides)
            BUBBLESCOPE_TRY(addTransfers(ops, side, place));
        std::vector<OuterNode> around;
        std::vector<TimeNs> starts;
        for (std::size_t i = 0; i < kRunOpCount; ++i) {
            const auto op = static_cast<RunOp>(i);
            if (!isOuterNode(op)) continue;
            for (RawOp& raw : ops[i]) {
                RunNode node = place;
                node.op = op;
                node.chunk = Chunk{std::max(raw.chunk, 0)};
                around.push_back({op, node.chunk, add(node, raw)});
            }
        }
        std::ranges::stable_sort(
            around, {}, [this](const OuterNode& node) { return starts_[static_cast<std::size_t>(node.node)]; });
        collectives_.add(place, pipeline, around);
        return {};
    }

    RankPipeline addCompute(RankOps& ops, const RunNode& place) {
        const auto chunks = static_cast<std::size_t>(model_.vpp);
        RankPipeline pipeline{kNoNode, std::vector<NodeId>(chunks, kNoNode), std::vector<NodeId>(chunks, kNoNode)};
        compute_.clear();
        for (const RunOp kind : {RunOp::Forward, RunOp::Backward}) {
            for (RawOp& raw : ops[static_cast<std::size_t>(kind)]) {
                RunNode node = place;
                node.op = kind;
                node.chunk = Chunk{raw.chunk};
                node.microbatch = Microbatch{raw.microbatch};
                const NodeId id = add(node, raw);
                compute_.push_back({raw.start, id, kind});
                NodeId& first = pipeline.first_forward[node.chunk.index()];
                if (kind == RunOp::Forward && first == kNoNode) first = id;
                if (kind == RunOp::Backward) pipeline.last_backward[node.chunk.index()] = id;
            }
        }
        std::ranges::stable_sort(compute_, {}, &Running::start);
        for (std::size_t i = 1; i < compute_.size(); ++i)
            graph_.after(compute_[i].node, compute_[i - 1].node);
        if (!compute_.empty()) pipeline.last = compute_.back().node;
        return pipeline;
    }

    /// The op that each transfer feeds or is fed by, as indices into `computes`; none if it was not launched.
    Result<std::vector<std::size_t>> match(const std::vector<RawOp>& transfers, const std::vector<RawOp>& computes,
                                           const Side& side, const RunNode& place) const {
        std::vector<std::size_t> all(computes.size());
        std::vector<std::size_t> needed;
        for (std::size_t i = 0; i < computes.size(); ++i) {
            all[i] = i;
            if (stageExists(stageOf(place.rank, computes[i]) + side.to_peer)) needed.push_back(i);
        }
        if (transfers.size() == all.size()) return all;
        if (transfers.size() == needed.size()) return needed;
        // For the model's first stage, recorders may even leave out the first receive.
        if (!side.send && !all.empty() && transfers.size() + 1 == all.size()) {
            all.erase(all.begin());
            return all;
        }
        return inputError(model_.where,
                          fmt::format("step {}, replica {}, rank {}: {} {} for {} {} ops; cannot match them",
                                      model_.steps[static_cast<std::size_t>(place.step)].index,
                                      model_.replicas[static_cast<std::size_t>(place.replica)], place.rank.value,
                                      transfers.size(), runOpInfo(side.op).name, computes.size(),
                                      runOpInfo(side.compute).name),
                          fmt::format("skip the step: select the others with {}", Field("step")));
    }

    /// Drops those that the recorder wrote before the first op ended or after the last one began.
    static std::vector<RawOp> launched(const std::vector<RawOp>& transfers, const std::vector<RawOp>& computes,
                                       const Side& side) {
        std::vector<RawOp> kept;
        if (computes.empty()) return kept;
        const TimeNs first_end = std::ranges::min_element(computes, {}, &RawOp::end)->end;
        for (const RawOp& transfer : transfers) {
            const bool real = side.send ? transfer.end >= first_end - kClockError
                                        : transfer.start <= computes.back().start + kClockError;
            if (real) kept.push_back(transfer);
        }
        return kept;
    }

    Status addTransfers(RankOps& ops, const Side& side, const RunNode& place) {
        const std::vector<RawOp>& computes = ops[static_cast<std::size_t>(side.compute)];
        std::vector<RawOp> transfers = launched(ops[static_cast<std::size_t>(side.op)], computes, side);
        BUBBLESCOPE_ASSIGN(const std::vector<std::size_t> matches, match(transfers, computes, side, place));
        NodeId before = kNoNode;
        for (std::size_t i = 0; i < transfers.size(); ++i) {
            const RawOp& compute = computes[matches[i]];
            RunNode node = place;
            node.op = side.op;
            node.chunk = Chunk{compute.chunk};
            node.microbatch = Microbatch{compute.microbatch};
            node.peer = Rank{(place.rank.value + side.to_peer + model_.pp) % model_.pp};
            const NodeId id = add(node, transfers[i]);
            graph_.after(id, before);
            before = id;
            if (side.send) {
                graph_.after(id, compute.node);
            } else {
                graph_.after(compute.node, id);
                if (matches[i] > 0) graph_.after(id, computes[matches[i] - 1].node);
            }
            if (i == 0 && side.compute == RunOp::Backward) graph_.after(id, endOfWarmUp());
            const int stage = stageOf(place.rank, compute);
            if (!stageExists(stage + side.to_peer) || compute.microbatch < 0) continue; // feeds no op
            const int consumer = side.send ? stage + side.to_peer : stage;
            transferOf(side.compute, consumer, compute.microbatch).push_back(id);
        }
        return {};
    }

    /// The op two before the first backward; the first gradient transfers are launched at its end.
    [[nodiscard]] NodeId endOfWarmUp() const {
        const auto first = std::ranges::find(compute_, RunOp::Backward, &Running::kind);
        return first - compute_.begin() < 2 || first == compute_.end() ? kNoNode : (first - 2)->node;
    }

    std::vector<NodeId>& transferOf(RunOp compute, int consumer, std::int32_t microbatch) {
        const int stages = model_.pp * model_.vpp;
        const int row = (compute == RunOp::Forward ? 0 : stages) + consumer;
        return transfers_[static_cast<std::size_t>(row) * static_cast<std::size_t>(model_.microbatches) +
                          static_cast<std::size_t>(microbatch)];
    }

    struct Running {
        TimeNs start{0};
        NodeId node = kNoNode;
        RunOp kind = RunOp::Forward;
    };

    const Trace& trace_;
    RunModel& model_;
    RunGraphBuilder graph_;
    StepCollectives collectives_;
    std::map<int, std::int32_t> step_place_;
    std::vector<RankOps> ranks_; ///< by step, replica and rank
    std::vector<TimeNs> starts_; ///< per node
    std::vector<TimeNs> ends_;
    std::vector<Running> compute_;               ///< of this rank, by start
    std::vector<std::vector<NodeId>> transfers_; ///< of this pipeline: both sides of each
};

} // namespace

Result<RunModel> stragglerGraph(const Trace& trace, std::span<const StepTimeline* const> steps, RunModel model) {
    Builder builder(trace, model);
    builder.chooseSteps(steps);
    if (model.steps.empty()) {
        return inputError(model.where, "no step was completed by all data-parallel replicas",
                          "load the files of complete replicas");
    }
    builder.collect();
    BUBBLESCOPE_TRY(builder.build());
    BUBBLESCOPE_ASSIGN(model.timed, std::move(builder).finish());
    model.has_streams = true;
    return model;
}

} // namespace bubblescope
