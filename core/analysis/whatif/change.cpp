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
    case Kind::Communication: return communication;
    case Kind::All: return node.op != RunOp::Meeting;
    case Kind::OfRank: return compute && node.rank == rank;
    case Kind::Worker: return compute && node.rank == rank && isReplica();
    case Kind::Replica: return compute && isReplica();
    case Kind::OfStage:
        return isPipelineCompute(node.op) && stageOf(model.placement, model.pp, node.rank, node.chunk) == stage;
    case Kind::Link: {
        if (!isTransfer(node.op)) return false;
        const bool receives = node.op == RunOp::ForwardReceive || node.op == RunOp::BackwardReceive;
        const auto way = receives ? std::pair(node.peer, node.rank) : std::pair(node.rank, node.peer);
        return way == std::pair(rank, peer) || (both_ways && way == std::pair(peer, rank));
    }
    case Kind::Links: return isTransfer(node.op);
    case Kind::Op: return node.op == op;
    }
    return false;
}

namespace {

/// What nodes have in common whose mean an op takes without jitter.
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

class UsualTimes {
public:
    template <class Chosen, class PlaceOf>
    UsualTimes(const RunModel& model, const std::vector<TimeNs>& durations, Chosen chosen, PlaceOf place) {
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

/// Sums of no more than this many nanoseconds stay within 64 bits, whatever the path.
constexpr double kMaxTime = 4e18;

TimeNs scaled(TimeNs time, double factor) {
    return TimeNs{std::llround(std::min(static_cast<double>(time.count()) * factor, kMaxTime))};
}

/// What a target's nodes would take, by what takes the place of their own times.
class Replacement {
public:
    Replacement(const RunModel& model, const std::vector<TimeNs>& durations, const TimeChange& change)
        : to_(change.to) {
        const auto chosen = [&](const RunNode& node) { return change.target.matches(model, node); };
        const auto others = [&](const RunNode& node) { return !chosen(node); };
        if (to_.kind == ChangedTime::Kind::Steady) {
            sources_.emplace_back(UsualTimes(model, durations, chosen, nativePlace), nativePlace);
        } else if (to_.kind == ChangedTime::Kind::Usual) {
            sources_.emplace_back(UsualTimes(model, durations, others, sameRank), sameRank);
            sources_.emplace_back(UsualTimes(model, durations, others, sameOp), sameOp);
            sources_.emplace_back(UsualTimes(model, durations, chosen, sameOp), sameOp);
        }
    }

    [[nodiscard]] TimeNs operator()(const RunNode& node, TimeNs now) const {
        if (to_.kind == ChangedTime::Kind::Exact) return to_.time;
        for (const auto& [times, place] : sources_) {
            if (const TimeNs* const usual = times.find(place(node))) return *usual;
        }
        return scaled(now, to_.factor);
    }

private:
    ChangedTime to_;
    std::vector<std::pair<UsualTimes, Place (*)(const RunNode&)>> sources_; ///< the first that knows it counts
};

} // namespace

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
            next[static_cast<std::size_t>(id)] = replacement(node, durations[static_cast<std::size_t>(id)]);
        }
        double all = 0;
        for (const TimeNs time : next)
            all += static_cast<double>(time.count());
        if (all > kMaxTime) {
            return usageError(fmt::format("with '{}' the steps do not fit into a timeline", change.text),
                              "give shorter times");
        }
        if (!any) {
            return usageError(fmt::format("'{}' is about nothing in this run", change.text),
                              fmt::format("it has ranks 0 to {}, stages 0 to {} and replicas {}", model.pp - 1,
                                          model.pp * model.vpp - 1, fmt::join(model.replicas, ", ")));
        }
        durations = std::move(next);
    }
    return durations;
}

} // namespace bubblescope
