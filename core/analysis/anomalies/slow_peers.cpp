#include "core/analysis/anomalies/find_anomalies.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

// Ranks that share a stage run the same kernels and wait for the slowest of them in the collectives inside their ops.
// Their ops take equally long, so only kernels show which device is slow.
namespace bubblescope {
namespace {

/// A rank of the job, with the file that contains its kernels.
struct Peer {
    std::int64_t global = 0;
    int tensor = 0;
    const KernelSums* kernels = nullptr;
};

/// A rank's compute time, compared with that of its peers for the same kernels.
struct PeerLoad {
    double own = 0; ///< ns over the trace
    double usual = 0;

    [[nodiscard]] double ratio() const { return usual > 0 ? own / usual : 1; }
};

double meanOf(const KernelSum& sum) {
    return static_cast<double>(sum.total.count()) / static_cast<double>(sum.count);
}

/// Uses only kernels that all ranks of the group ran equally often, because others represent different work.
PeerLoad loadOf(const std::vector<Peer>& group, std::size_t of) {
    PeerLoad load;
    for (const auto& [name, sum] : group[of].kernels->by_name) {
        std::vector<double> others;
        for (std::size_t i = 0; i < group.size(); ++i) {
            if (i == of) continue;
            const auto found = group[i].kernels->by_name.find(name);
            if (found != group[i].kernels->by_name.end() && found->second.count == sum.count)
                others.push_back(meanOf(found->second));
        }
        if (others.size() + 1 != group.size()) continue;
        std::ranges::sort(others);
        load.own += static_cast<double>(sum.total.count());
        load.usual += others[(others.size() - 1) / 2] * static_cast<double>(sum.count);
    }
    return load;
}

/// Op time of a pipeline rank in one replica, over the run's steps.
double opTime(const AnomalyInput& input, int replica, Rank rank) {
    double sum = 0;
    for (const StepTimeline& step : input.run.steps) {
        if (step.replica != replica || rank.index() >= step.ranks.size()) continue;
        for (const TimelineOp& op : step.ranks[rank.index()]) {
            if (op.op.kind != OpKind::Optimizer) sum += static_cast<double>(op.duration().count());
        }
    }
    return sum;
}

void report(const AnomalyInput& input, const std::vector<Peer>& group, int replica, Rank rank, Anomalies& found) {
    std::vector<PeerLoad> loads;
    for (std::size_t i = 0; i < group.size(); ++i)
        loads.push_back(loadOf(group, i));
    const auto slowest = std::ranges::max_element(loads, {}, &PeerLoad::ratio);
    const double ratio = slowest->ratio();
    const double ops = opTime(input, replica, rank);
    if (ratio < input.limits.replica_ratio || ops <= 0) return;
    const Peer& peer = group[static_cast<std::size_t>(slowest - loads.begin())];
    // The fraction of the ops' time by which the slow device computes longer than its peers: all of them wait for it.
    const double share = std::min((slowest->own - slowest->usual) / ops, 1 - 1 / ratio);
    const std::size_t typical = input.typicalStep();
    const TimeNs cost =
        StepCosts(input.run.steps[typical], input.knownOf(typical)).savedByOps([&](Rank r, const TimelineOp& op) {
            if (r != rank) return op.duration();
            return TimeNs{static_cast<std::int64_t>(static_cast<double>(op.duration().count()) * (1 - share))};
        });
    if (!input.worthReporting(cost, typical)) return;
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::HiddenStraggler;
    anomaly.severity = input.severityOf(cost, typical);
    anomaly.rank = rank;
    if (input.selection.replicas() > 1) anomaly.replica = replica;
    anomaly.cost = cost;
    input.setLasting(anomaly);
    anomaly.evidence = {{"ratio", ratio},
                        {"global_rank", static_cast<double>(peer.global)},
                        {"tensor_rank", static_cast<double>(peer.tensor)},
                        {"peers", static_cast<double>(group.size() - 1)}};
    anomaly.message = say(
        "global rank {} (tensor rank {} of rank {}) takes {:.2f} × as long for the same kernels as its tensor-parallel "
        "peers, which wait for it in collectives inside ops; at their speed a step would be {} shorter ({:.1f} %).",
        peer.global, peer.tensor, rank.value, ratio, formatTime(cost), 100 * input.fraction(cost, typical));
    anomaly.suggestion =
        say("Check that rank's device and host: clock speed, temperature, other processes, memory errors.");
    found.push_back(std::move(anomaly));
}

} // namespace

void findSlowPeers(const AnomalyInput& input, Anomalies& found) {
    const Run& run = input.run;
    if (!run.places || input.slices.kernel_sums.empty()) return;
    std::map<std::tuple<int, int, int>, std::vector<Peer>>
        groups; // by pipeline, data-parallel and context-parallel position
    const auto files = run.inputs();
    for (std::size_t file = 0; file < files.size() && file < input.slices.kernel_sums.size(); ++file) {
        if (!files[file].rank || input.slices.kernel_sums[file].by_name.empty()) continue;
        const auto place = run.places->ranks.find(*files[file].rank);
        if (place == run.places->ranks.end()) continue;
        const MeshNumbers& at = place->second;
        groups[{at.at(MeshAxis::Pipeline), at.at(MeshAxis::Data), at.at(MeshAxis::Context)}].push_back(
            {place->first, at.at(MeshAxis::Tensor), &input.slices.kernel_sums[file]});
    }
    for (const auto& [place, group] : groups) {
        if (group.size() > 1) report(input, group, std::get<1>(place), Rank{std::get<0>(place)}, found);
    }
}

} // namespace bubblescope
