#pragma once

#include "core/analysis/whatif/run_model.h"
#include "core/base/job.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {

/// Minimum slowdown at which the study classifies a job as straggling.
inline constexpr double kStragglingSlowdown = 1.1;
/// Below this slowdown, the loss is too small to attribute.
inline constexpr double kAttributedSlowdown = 1.03;

/// The mean step time of a run, as observed and as simulated with the measured durations.
struct ModelFit {
    TimeNs observed{0};
    TimeNs simulated{0};
    /// observed / simulated − 1. For a simulation without delays, this is the cost of launches and of everything else
    /// that is not in the graph. ReplayCheck measures the error of replays.
    [[nodiscard]] double launchDelay() const;
};

/// The stragglers of a job, and the job's speed if equal work took equal time. Implements the what-if analysis of Lin
/// et al., "Understanding Stragglers in Large Model Training Using What-if Analysis", OSDI '25. Ignores delays, as the
/// study ignores launch delays.
struct StragglerStudy {
    struct Step {
        int index = 0;
        TimeNs observed{0};
        TimeNs simulated{0};
        double slowdown = 1;
    };
    struct Worker {
        int replica = 0; ///< replica number in the trace
        Rank rank;
    };

    ModelFit fit;        ///< without delays: fit.simulated is T
    TimeNs ideal{0};     ///< T_ideal: every op takes the mean of its kind, transfers the median
    double slowdown = 1; ///< S = T / T_ideal
    double waste = 0;    ///< 1 − 1/S
    std::vector<Step> steps;
    /// S for a run that is ideal except for one kind of op, one replica or one rank.
    std::vector<std::pair<std::string, double>> by_op_type;
    std::vector<double> by_dp;
    std::vector<double> by_pp;
    std::vector<std::vector<double>> workers; ///< per replica and rank: S_w = min(S_dp, S_pp)
    std::vector<Worker> slowest;              ///< the 3 % of workers with the largest S_w, at least one
    /// The fraction of T − T_ideal that disappears when the slowest workers (m_w) or the last stage's rank (m_s) become
    /// as fast as the others: (T − T') / (T − T_ideal). None if T = T_ideal. Can exceed 1.
    std::optional<double> m_w;
    std::optional<double> m_s;
};

/// The measured durations, with all delays set to 0: ops start as soon as possible.
[[nodiscard]] std::vector<TimeNs> withoutDelays(const RunModel& model);
/// As above, but with only the delays due to this cause set to 0.
[[nodiscard]] std::vector<TimeNs> withoutCause(const RunModel& model, Cause cause);

/// The ideal duration of each node: the mean over the same kind of op on all ranks, replicas, micro-batches and steps;
/// the median for communication.
[[nodiscard]] std::vector<TimeNs> idealDurations(const RunModel& model);

/// If a stop is requested through `control`, the study contains only the results so far.
[[nodiscard]] StragglerStudy studyStragglers(const RunModel& model, const JobControl& control = {});

} // namespace bubblescope
