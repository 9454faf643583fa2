#include "core/analysis/whatif/change.h"

#include "core/analysis/whatif/run_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace bubblescope {

bool ChangeTarget::matches(const RunModel& model, const RunNode& node) const {
    const bool communication = runOpInfo(node.op).communication;
    const bool compute = isOp(node.op);
    const auto isReplica = [&] { return model.replicas[static_cast<std::size_t>(node.replica)] == replica; };
    switch (kind) {
    case Kind::Compute: return compute;
    case Kind::Communication: return communication || compute;
    case Kind::OfCause: return causeOf(node.op) == cause || compute;
    case Kind::All: return node.op != RunOp::Meeting;
    case Kind::OfRank: return compute && node.rank == rank;
    case Kind::Worker: return compute && node.rank == rank && isReplica();
    case Kind::Replica: return compute && isReplica();
    case Kind::OfStage:
        return isPipelineCompute(node.op) && stageOf(model.placement, model.pp, node.rank, node.chunk) == stage;
    case Kind::Stages: return isPipelineCompute(node.op);
    case Kind::Link: {
        if (node.op == RunOp::TransferDelay) {
            const auto way = std::pair(node.peer, node.rank);
            return way == std::pair(rank, peer) || (both_ways && way == std::pair(peer, rank));
        }
        if (!isTransfer(node.op)) return false;
        const bool receives = node.op == RunOp::ForwardReceive || node.op == RunOp::BackwardReceive;
        const auto way = receives ? std::pair(node.peer, node.rank) : std::pair(node.rank, node.peer);
        return way == std::pair(rank, peer) || (both_ways && way == std::pair(peer, rank));
    }
    case Kind::Links: return isTransfer(node.op) || (node.op == RunOp::TransferDelay && node.peer != Rank{-1});
    case Kind::Op: return node.op == op;
    }
    return false;
}

namespace {

/// Nodes with equal places are averaged to remove an op's jitter.
using Place = std::tuple<RunOp, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;

Place nativePlace(const RunNode& node) {
    return {node.op, node.rank.value, node.peer.value, node.chunk.value, node.replica};
}
Place sameRank(const RunNode& node) {
    return {node.op, node.rank.value, node.peer.value, node.chunk.value, -1};
}
Place sameOp(const RunNode& node) {
    return {node.op, -1, -1, -1, -1};
}
Place anyTransfer(const RunNode& node) {
    return {isTransfer(node.op) ? RunOp::ForwardTransfer : node.op, -1, -1, -1, -1};
}

/// Times of a target's equivalent nodes.
class EqualsTimes {
public:
    template <class Chosen, class PlaceOf>
    EqualsTimes(const RunModel& model, const std::vector<TimeNs>& durations, Chosen chosen, PlaceOf place) {
        std::map<Place, std::vector<TimeNs>> measured;
        for (NodeId id = 0; id < model.graph().size(); ++id) {
            const RunNode& node = model.graph().node(id);
            if (node.op != RunOp::Meeting && chosen(node))
                measured[place(node)].push_back(durations[static_cast<std::size_t>(id)]);
        }
        for (auto& [key, times] : measured)
            usual_[key] = usualTime(std::get<RunOp>(key), std::move(times));
    }
    [[nodiscard]] const TimeNs* find(const Place& place) const {
        const auto found = usual_.find(place);
        return found == usual_.end() ? nullptr : &found->second;
    }

private:
    std::map<Place, TimeNs> usual_;
};

/// Sums of at most this many nanoseconds stay within 64 bits on any path.
constexpr double kMaxTime = 4e18;

TimeNs scaled(TimeNs time, double factor) {
    return TimeNs{std::llround(std::min(static_cast<double>(time.count()) * factor, kMaxTime))};
}

/// An op's time if `factor` of a cause's part remains. `now` is its time after the previous changes, which scaled the
/// part like the whole.
TimeNs withoutPart(TimeNs now, TimeNs measured, TimeNs part, double factor) {
    if (part == TimeNs{0} || measured <= TimeNs{0}) return now;
    const TimeNs left = std::max(TimeNs{0}, measured - scaled(part, 1 - factor));
    if (now == measured) return left;
    return scaled(left, static_cast<double>(now.count()) / static_cast<double>(measured.count()));
}

/// The times of a target's nodes, depending on what replaces their own times.
class Replacement {
public:
    Replacement(const RunModel& model, const std::vector<TimeNs>& durations, const TimeChange& change)
        : model_(model), to_(change.to) {
        if (change.target.kind == ChangeTarget::Kind::OfCause) cause_ = change.target.cause;
        if (change.target.kind == ChangeTarget::Kind::Communication) cause_ = Cause::Communication;
        const auto chosen = [&](const RunNode& node) { return change.target.matches(model, node); };
        const auto others = [&](const RunNode& node) { return !chosen(node); };
        if (to_.kind == ChangedTime::Kind::Balanced) {
            balance_ = balanceFactors(model, durations);
        } else if (to_.kind == ChangedTime::Kind::Steady) {
            sources_.emplace_back(EqualsTimes(model, durations, chosen, nativePlace), nativePlace);
        } else if (to_.kind == ChangedTime::Kind::Usual) {
            sources_.emplace_back(EqualsTimes(model, durations, others, sameRank), sameRank);
            sources_.emplace_back(EqualsTimes(model, durations, others, sameOp), sameOp);
            // Between two ranks, a link's only equivalent is the other direction.
            if (change.target.kind == ChangeTarget::Kind::Link)
                sources_.emplace_back(EqualsTimes(model, durations, others, anyTransfer), anyTransfer);
            sources_.emplace_back(EqualsTimes(model, durations, chosen, sameOp), sameOp);
        }
    }

    [[nodiscard]] TimeNs operator()(NodeId id, TimeNs now) const {
        const RunNode& node = model_.graph().node(id);
        if (cause_ && isOp(node.op)) {
            if (!to_.scales() || model_.timed.parts.empty()) return now;
            const auto at = static_cast<std::size_t>(id);
            return withoutPart(now, model_.timed.durations[at], model_.timed.parts[at].of(*cause_), to_.factor);
        }
        // A delay during a transfer has no separate time: it disappears with the transfer, or stays.
        if (node.op == RunOp::TransferDelay && !to_.scales()) return now;
        if (to_.kind == ChangedTime::Kind::Exact) return to_.time;
        if (to_.kind == ChangedTime::Kind::Balanced) return scaled(now, balance_[stageIndex(node)]);
        for (const auto& [times, place] : sources_) {
            if (const TimeNs* const usual = times.find(place(node))) return *usual;
        }
        return scaled(now, to_.factor);
    }

private:
    const RunModel& model_;
    ChangedTime to_;
    [[nodiscard]] std::size_t stageIndex(const RunNode& node) const {
        return stageOf(model_.placement, model_.pp, node.rank, node.chunk).index();
    }

    std::vector<double> balance_; ///< per stage
    std::optional<Cause> cause_;  ///< the cause whose part of ops is changed, instead of whole ops
    std::vector<std::pair<EqualsTimes, Place (*)(const RunNode&)>> sources_; ///< the first source with a time is used
};

} // namespace

std::vector<double> balanceFactors(const RunModel& model, const std::vector<TimeNs>& durations) {
    std::vector<double> sums(static_cast<std::size_t>(model.pp * model.vpp));
    double all = 0;
    for (NodeId id = 0; id < model.graph().size(); ++id) {
        const RunNode& node = model.graph().node(id);
        if (!isPipelineCompute(node.op)) continue;
        const auto time = static_cast<double>(durations[static_cast<std::size_t>(id)].count());
        sums[stageOf(model.placement, model.pp, node.rank, node.chunk).index()] += time;
        all += time;
    }
    for (double& sum : sums)
        sum = sum > 0 ? all / static_cast<double>(sums.size()) / sum : 1;
    return sums;
}

bool Scenario::ofCauses() const {
    return std::ranges::any_of(times, [](const TimeChange& change) {
        return change.target.kind == ChangeTarget::Kind::OfCause ||
               (change.target.kind == ChangeTarget::Kind::Communication && change.to.scales());
    });
}

bool Scenario::asPlanned() const {
    return std::ranges::any_of(times, [](const TimeChange& change) {
        return change.target.kind == ChangeTarget::Kind::OfCause && change.target.cause == Cause::Order;
    });
}

double Scenario::unknownLeft() const {
    double left = 1;
    for (const TimeChange& change : times) {
        if (change.target.kind == ChangeTarget::Kind::OfCause && change.target.cause == Cause::Unknown)
            left *= change.to.factor;
    }
    return left;
}

Result<std::vector<TimeNs>> changedDurations(const RunModel& model, std::span<const TimeChange> changes) {
    std::vector<TimeNs> durations = model.timed.durations;
    for (const TimeChange& change : changes) {
        const Replacement replacement(model, durations, change);
        std::vector<TimeNs> next = durations;
        bool any = false;
        for (NodeId id = 0; id < model.graph().size(); ++id) {
            const RunNode& node = model.graph().node(id);
            if (!change.target.matches(model, node)) continue;
            any = true;
            next[static_cast<std::size_t>(id)] = replacement(id, durations[static_cast<std::size_t>(id)]);
        }
        double all = 0;
        for (const TimeNs time : next)
            all += static_cast<double>(time.count());
        if (all > kMaxTime) {
            return usageError(fmt::format("with '{}', steps are too long for a timeline", change.text),
                              "use shorter times");
        }
        if (!any && change.target.kind != ChangeTarget::Kind::OfCause) {
            return usageError(fmt::format("'{}' does not apply to anything in this run", change.text),
                              fmt::format("the run has ranks 0 to {}, stages 0 to {} and replicas {}", model.pp - 1,
                                          model.pp * model.vpp - 1, fmt::join(model.replicas, ", ")));
        }
        durations = std::move(next);
    }
    return durations;
}

} // namespace bubblescope
