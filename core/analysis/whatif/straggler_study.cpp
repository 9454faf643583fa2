#include "core/analysis/whatif/straggler_study.h"

#include "core/analysis/whatif/run_graph.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace bubblescope {
namespace {

double ratio(TimeNs a, TimeNs b) {
    return b.count() == 0 ? 1.0 : static_cast<double>(a.count()) / static_cast<double>(b.count());
}

/// Compares sums, because means would be rounded to nanoseconds.
TimeNs sumOf(const std::vector<TimeNs>& times) {
    TimeNs sum{0};
    for (const TimeNs time : times)
        sum += time;
    return sum;
}

/// Simulates with the times of some nodes replaced.
class Exchange {
public:
    Exchange(const RunModel& model, const std::vector<TimeNs>& base, const std::vector<TimeNs>& other)
        : other_(other), simulation_(model.graph(), base) {}

    /// Length of all steps with these nodes' times replaced.
    TimeNs with(const std::vector<NodeId>& nodes) {
        for (const NodeId id : nodes)
            simulation_.set(id, other_[static_cast<std::size_t>(id)]);
        simulation_.update();
        const TimeNs sum = sumOf(simulation_.stepTimes());
        simulation_.undo();
        return sum;
    }
    [[nodiscard]] const RunSimulation& simulation() const { return simulation_; }

private:
    const std::vector<TimeNs>& other_;
    RunSimulation simulation_;
};

/// Nodes by what they are attributed to.
struct Groups {
    std::map<std::string_view, std::vector<NodeId>> by_op;
    std::vector<std::vector<NodeId>> by_replica;
    std::vector<std::vector<NodeId>> by_rank;

    explicit Groups(const RunModel& model)
        : by_replica(model.replicas.size()), by_rank(static_cast<std::size_t>(model.pp)) {
        for (NodeId id = 0; id < model.graph().size(); ++id) {
            const RunNode& node = model.graph().node(id);
            if (node.op == RunOp::Meeting || isDelay(node.op)) continue;
            by_op[runOpInfo(node.op).group].push_back(id);
            by_replica[static_cast<std::size_t>(node.replica)].push_back(id);
            by_rank[node.rank.index()].push_back(id);
        }
    }
};

/// Computes for each group how much longer the steps are with the group's measured times restored. A few threads
/// process the groups, each with its own simulation.
void putBack(const RunModel& model, const Groups& groups, const std::vector<TimeNs>& ideal,
             const std::vector<TimeNs>& measured, TimeNs ideal_total, const JobControl& control,
             StragglerStudy& study) {
    std::vector<std::pair<const std::vector<NodeId>*, double*>> all;
    study.by_dp.resize(groups.by_replica.size());
    study.by_pp.resize(groups.by_rank.size());
    for (const auto& [name, nodes] : groups.by_op)
        study.by_op_type.emplace_back(name, 1);
    auto of_type = study.by_op_type.begin();
    for (const auto& [name, nodes] : groups.by_op)
        all.emplace_back(&nodes, &(of_type++)->second);
    for (std::size_t i = 0; i < groups.by_replica.size(); ++i)
        all.emplace_back(&groups.by_replica[i], &study.by_dp[i]);
    for (std::size_t i = 0; i < groups.by_rank.size(); ++i)
        all.emplace_back(&groups.by_rank[i], &study.by_pp[i]);
    constexpr std::size_t kMostLanes = 8; // because each needs a few dozen bytes per node
    std::atomic<std::size_t> next{0};
    parallelGroups(std::min(kMostLanes, all.size()), model.graph().nodes().size(), [&](std::size_t) {
        std::optional<Exchange> exchange; // created only if there is work left
        for (std::size_t i = next++; i < all.size(); i = next++) {
            const auto& [nodes, longer] = all[i];
            *longer = 1;
            if (control.stopRequested()) continue;
            if (!exchange) exchange.emplace(model, ideal, measured);
            *longer = ratio(exchange->with(*nodes), ideal_total);
        }
    });
    std::ranges::stable_sort(study.by_op_type, std::greater{}, [](const auto& entry) { return entry.second; });
}

/// The slowest 3 %; if equal, the lower rank first.
std::vector<StragglerStudy::Worker> slowestWorkers(const RunModel& model, const StragglerStudy& study) {
    struct Scored {
        std::size_t replica;
        std::size_t rank;
    };
    std::vector<Scored> all;
    for (std::size_t rank = 0; rank < study.by_pp.size(); ++rank) {
        for (std::size_t replica = 0; replica < study.by_dp.size(); ++replica)
            all.push_back({replica, rank});
    }
    std::ranges::stable_sort(all, std::greater{}, [&](const Scored& w) { return study.workers[w.replica][w.rank]; });
    all.resize((all.size() * 3 + 99) / 100);
    std::vector<StragglerStudy::Worker> slowest;
    for (const Scored& worker : all)
        slowest.push_back({model.replicas[worker.replica], Rank{worker.rank}});
    return slowest;
}

Rank lastStageRank(const RunModel& model) {
    return locate(model.placement, model.pp, Stage{model.pp * model.vpp - 1}).rank;
}

} // namespace

double ModelFit::launchDelay() const {
    return ratio(observed, simulated) - 1;
}

std::vector<TimeNs> withoutDelays(const RunModel& model) {
    std::vector<TimeNs> durations = model.timed.durations;
    for (NodeId id = 0; id < model.graph().size(); ++id) {
        if (isDelay(model.graph().node(id).op)) durations[static_cast<std::size_t>(id)] = TimeNs{0};
    }
    return durations;
}

std::vector<TimeNs> withoutCause(const RunModel& model, Cause cause) {
    std::vector<TimeNs> durations = model.timed.durations;
    for (NodeId id = 0; id < model.graph().size(); ++id) {
        const RunOp op = model.graph().node(id).op;
        if (isDelay(op) && causeOf(op) == cause) durations[static_cast<std::size_t>(id)] = TimeNs{0};
    }
    return durations;
}

std::vector<TimeNs> idealDurations(const RunModel& model) {
    const std::vector<RunNode>& nodes = model.graph().nodes();
    std::array<std::vector<TimeNs>, kRunOpCount> measured;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        measured[static_cast<std::size_t>(nodes[i].op)].push_back(model.timed.durations[i]);
    std::array<TimeNs, kRunOpCount> usual{};
    for (std::size_t op = 0; op < kRunOpCount; ++op)
        usual[op] = usualTime(static_cast<RunOp>(op), measured[op]);
    std::vector<TimeNs> ideal(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i)
        ideal[i] = usual[static_cast<std::size_t>(nodes[i].op)];
    return ideal;
}

StragglerStudy studyStragglers(const RunModel& model, const JobControl& control) {
    StragglerStudy study;
    const std::vector<TimeNs> ideal = idealDurations(model);
    const std::vector<TimeNs> on_time = withoutDelays(model);
    Exchange measured(model, on_time, ideal);
    study.fit = {model.observed(), measured.simulation().meanStep()};

    Exchange best(model, ideal, on_time);
    const std::vector<TimeNs> times = measured.simulation().stepTimes();
    const std::vector<TimeNs> ideal_times = best.simulation().stepTimes();
    const TimeNs total = sumOf(times);
    const TimeNs ideal_total = sumOf(ideal_times);
    study.ideal = best.simulation().meanStep();
    study.slowdown = ratio(total, ideal_total);
    study.waste = 1 - 1 / study.slowdown;
    for (std::size_t i = 0; i < times.size(); ++i) {
        study.steps.push_back(
            {model.steps[i].index, model.steps[i].observed, times[i], ratio(times[i], ideal_times[i])});
    }

    const Groups groups(model);
    putBack(model, groups, ideal, on_time, ideal_total, control, study);
    for (const double dp : study.by_dp) {
        auto& row = study.workers.emplace_back();
        for (const double pp : study.by_pp)
            row.push_back(std::min(dp, pp));
    }
    study.slowest = slowestWorkers(model, study);
    if (total == ideal_total || control.stopRequested()) return study;

    const auto explained = [&](TimeNs without) { return ratio(total - without, total - ideal_total); };
    std::set<std::pair<int, std::int32_t>> slowest;
    for (const auto& worker : study.slowest)
        slowest.insert({worker.replica, worker.rank.value});
    std::vector<NodeId> theirs;
    for (const auto& nodes : groups.by_replica) {
        for (const NodeId id : nodes) {
            const RunNode& node = model.graph().node(id);
            const int replica = model.replicas[static_cast<std::size_t>(node.replica)];
            if (slowest.contains({replica, node.rank.value})) theirs.push_back(id);
        }
    }
    study.m_w = explained(measured.with(theirs));
    study.m_s = explained(measured.with(groups.by_rank[lastStageRank(model).index()]));
    return study;
}

} // namespace bubblescope
