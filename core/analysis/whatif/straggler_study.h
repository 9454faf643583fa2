#pragma once

#include "core/analysis/whatif/replay_model.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {

/// By how much a replay may differ from the step that was measured.
inline constexpr double kMaxReplayError = 0.05;

/// Mean step times of a run as it was and as it is replayed.
struct ReplayQuality {
    TimeNs observed{0};
    TimeNs replayed{0};
    /// observed / replayed − 1 in the mean: what launches and all that is not in the graph cost.
    [[nodiscard]] double launchDelay() const;
    [[nodiscard]] double error() const; ///< |replayed − observed| / observed
};

/// Error: Input, when the replay is further off than `most`: what is said of the run would mislead.
[[nodiscard]] Status checkReplay(const ReplayModel& model, const ReplayQuality& quality, double most);

/// Who makes a job slower than it would be if equal work took equal time: the what-if analysis of Lin et al.,
/// "Understanding Stragglers in Large Model Training Using What-if Analysis", OSDI '25. Late starts are left out, as
/// the study leaves out launch delays.
struct StragglerStudy {
    struct Step {
        int index = 0;
        TimeNs observed{0};
        TimeNs replayed{0};
        double slowdown = 1;
    };
    struct Worker {
        int replica = 0; ///< as the trace numbers them
        Rank rank;
    };

    ReplayQuality quality; ///< quality.replayed is T
    TimeNs ideal{0};       ///< T_ideal: every op takes what its kind takes in the mean, transfers in the median
    double slowdown = 1;   ///< S = T / T_ideal
    double waste = 0;      ///< 1 − 1/S
    std::vector<Step> steps;
    /// S of a run that is ideal but for one kind of op, one replica, one rank.
    std::vector<std::pair<std::string, double>> by_op_type;
    std::vector<double> by_dp;
    std::vector<double> by_pp;
    std::vector<std::vector<double>> workers; ///< per replica and rank: S_w = min(S_dp, S_pp)
    std::vector<Worker> slowest;              ///< the 3 % of workers with the largest S_w, at least one
    /// Share of T − T_ideal that goes when the slowest workers, or the last stage's rank, are as fast as the rest:
    /// (T − T') / (T − T_ideal). Nothing where T = T_ideal. May exceed 1.
    std::optional<double> m_w;
    std::optional<double> m_s;
};

/// The measured times, but nothing starts late.
[[nodiscard]] std::vector<TimeNs> withoutLateStarts(const ReplayModel& model);

/// What each node takes in the ideal: the mean of its kind of op over all ranks, replicas, micro-batches and steps, for
/// communication the median.
[[nodiscard]] std::vector<TimeNs> idealDurations(const ReplayModel& model);

/// Errors: as checkReplay(); without late starts the replay must be as long as the steps were.
[[nodiscard]] Result<StragglerStudy> studyStragglers(const ReplayModel& model, double most_error = kMaxReplayError);

} // namespace bubblescope
