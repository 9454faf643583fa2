#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/statistics/robust.h"

#include <optional>
#include <utility>
#include <vector>

// Ranks whose processes are ready to run while the host's cores run other processes. All work of these processes then
// takes longer and messages are received late, although neither ops nor links are slow.
namespace bubblescope {
namespace {

using RankOfReplica = std::pair<int, Rank>;

TimeNs waited(const AnomalyInput& input, const RankOfReplica& place, TimeInterval time) {
    const auto known = input.slices.activities.find(place);
    return known == input.slices.activities.end() ? TimeNs{0}
                                                  : timeWithin(known->second.of(HostActivity::WaitForCore), time);
}

/// The median over steps of the fraction of a step for which the rank waits.
double shareOf(const AnomalyInput& input, const RankOfReplica& place) {
    std::vector<double> shares;
    for (std::size_t s = 0; s < input.run.steps.size(); ++s) {
        const StepTimeline& step = input.run.steps[s];
        if (step.replica != place.first || !input.selection.takes(s)) continue;
        const TimeNs wall = input.wall(s);
        if (wall > TimeNs{0})
            shares.push_back(input.fraction(waited(input, place, {step.begin, step.begin + wall}), s));
    }
    return shares.empty() ? 0 : statistics::median(std::move(shares));
}

} // namespace

void findStarvedHosts(const AnomalyInput& input, Anomalies& found) {
    std::optional<RankOfReplica> worst;
    double most = 0;
    double all = 0;
    std::size_t ranks = 0;
    for (const auto& [place, activities] : input.slices.activities) {
        const double share = shareOf(input, place);
        all += share;
        ++ranks;
        if (share <= most) continue;
        most = share;
        worst = place;
    }
    if (!worst || most < input.limits.host_starved) return;
    const std::size_t s = input.typicalStep();
    const StepTimeline& step = input.run.steps[s];
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::HostStarved;
    anomaly.rank = worst->second;
    if (input.selection.replicas() > 1) anomaly.replica = worst->first;
    StepCosts costs(step, input.knownOf(s));
    anomaly.cost = costs.savedByOps([&](Rank rank, const TimelineOp& op) {
        return op.duration() - waited(input, {step.replica, rank}, {op.start, op.end});
    });
    if (!input.worthReporting(anomaly.cost, s)) return;
    input.setLasting(anomaly);
    anomaly.severity = input.severityOf(anomaly.cost, s);
    const double mean = all / static_cast<double>(ranks);
    anomaly.evidence = {{"core_wait_share", most}, {"mean_share", mean}};
    anomaly.message =
        say("the process of {} is ready to run but waits for a CPU core for {:.1f} % of a step "
            "(mean over ranks: {:.1f} %); with enough cores the step would be {} shorter ({:.1f} %). This "
            "time is not attributed to any link.",
            nameRank(worst->first, worst->second, static_cast<int>(input.selection.replicas())), 100 * most, 100 * mean,
            formatTime(anomaly.cost), 100 * input.fraction(anomaly.cost, s));
    anomaly.suggestion = say("Give each rank its own cores: run fewer processes or threads per host (OMP_NUM_THREADS, "
                             "data loader workers), or pin them.");
    found.push_back(std::move(anomaly));
}

} // namespace bubblescope
