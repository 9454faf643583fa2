#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/statistics/robust.h"
#include "core/analysis/statistics/tests.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

// Compares stages with each other. A slow stage is distinguished from noise by its distance to the median stage in
// median deviations, by a rank test of the ops' times, and by what a step would save if the stage were like the median
// one. With two stages, each is compared with the other, and only the test and the saving decide.
namespace bubblescope {
namespace {

constexpr std::size_t kStageKinds =
    4; // F, B, I, W; halves of pairs last as long as the pair and reveal little about a stage

/// The time of a stage's ops, compared with the time of the same number of ops of those kinds on the median stage, or
/// on the other one of two.
struct StageLoad {
    Rank rank;
    Chunk chunk;
    Stage stage;
    std::array<std::size_t, kStageKinds> count{}; ///< number of ops
    double work = 0;                              ///< ns per step
    double ratio = 1;                             ///< relative to that stage
    double chance = 1;

    [[nodiscard]] double usual() const { return work / ratio; }
};

std::vector<StageLoad> stageLoads(const std::vector<StepTimeline>& steps, const OpSamples& samples,
                                  std::array<double, kStageKinds>& usual) {
    const StepTimeline& shape = steps.front();
    std::vector<StageLoad> loads;
    for (int r = 0; r < shape.pp; ++r) {
        for (int c = 0; c < shape.vpp; ++c) {
            StageLoad load;
            load.rank = Rank{r};
            load.chunk = Chunk{c};
            load.stage = shape.stageOf(Rank{r}, Chunk{c});
            for (std::size_t k = 0; k < kStageKinds; ++k)
                load.count[k] = samples.countOfPlace(samples.placeOf(load.rank, load.chunk, k));
            loads.push_back(load);
        }
    }
    std::erase_if(loads, [](const StageLoad& load) {
        return std::ranges::all_of(load.count, [](std::size_t count) { return count == 0; });
    });
    std::vector<std::array<double, kStageKinds>> medians;
    for (const StageLoad& load : loads) {
        auto& own = medians.emplace_back();
        for (std::size_t k = 0; k < kStageKinds; ++k)
            own[k] = samples.medianOfPlace(samples.placeOf(load.rank, load.chunk, k));
    }
    for (std::size_t k = 0; k < kStageKinds; ++k) {
        std::vector<double> of_kind;
        for (std::size_t i = 0; i < loads.size(); ++i) {
            if (loads[i].count[k] > 0) of_kind.push_back(medians[i][k]);
        }
        usual[k] = std::max(1.0, statistics::median(std::move(of_kind)));
    }
    const auto of_steps = static_cast<double>(std::max<std::size_t>(1, samples.medianSteps()));
    std::vector<double> ratios;
    for (std::size_t i = 0; i < loads.size(); ++i) {
        double expected = 0;
        for (std::size_t k = 0; k < kStageKinds; ++k) {
            const auto count = static_cast<double>(loads[i].count[k]);
            loads[i].work += count * medians[i][k] / of_steps;
            expected += count * usual[k] / of_steps;
        }
        loads[i].ratio = loads[i].work / expected;
        ratios.push_back(loads[i].ratio);
    }
    if (loads.size() == 2) {
        const double first = loads[0].ratio / std::max(loads[1].ratio, 1e-9);
        loads[0].ratio = first;
        loads[1].ratio = 1 / std::max(first, 1e-9);
        return loads;
    }
    const double middle = statistics::median(std::move(ratios));
    for (StageLoad& load : loads)
        load.ratio /= middle > 0 ? middle : 1;
    return loads;
}

/// Times of stages' ops relative to the usual times of their kinds, thinned. Those of a rank's stages are computed
/// together when one is needed, because each alone would read all ops of the rank.
class RelativeTimes {
public:
    /// `loads` must have those of one rank next to each other.
    RelativeTimes(const OpSamples& samples, const std::vector<StageLoad>& loads,
                  const std::array<double, kStageKinds>& usual)
        : samples_(samples), loads_(loads), usual_(usual), relative_(loads.size()) {}

    [[nodiscard]] const std::vector<double>& of(std::size_t i) {
        if (relative_[i].empty()) makeThoseOfRank(i);
        return relative_[i];
    }

private:
    void makeThoseOfRank(std::size_t i) {
        const Rank rank = loads_[i].rank;
        while (i > 0 && loads_[i - 1].rank == rank)
            --i;
        const PlaceDurations durations = samples_.ofRank(rank);
        for (; i < loads_.size() && loads_[i].rank == rank; ++i) {
            std::vector<double> times;
            for (std::size_t k = 0; k < kStageKinds; ++k) {
                for (const double duration : durations.of(samples_.placeOf(rank, loads_[i].chunk, k)))
                    times.push_back(duration / usual_[k]);
            }
            relative_[i] = thinned(std::move(times));
        }
    }

    const OpSamples& samples_;
    const std::vector<StageLoad>& loads_;
    const std::array<double, kStageKinds>& usual_;
    std::vector<std::vector<double>> relative_; ///< never empty once computed, because no stage is without ops
};

TimeNs nanoseconds(double value) {
    return TimeNs{static_cast<std::int64_t>(value)};
}

Sentence suggestionFor(bool last, bool of_two) {
    if (of_two) {
        return say("Move layers to the other stage ('bubblescope partition' finds a split), or check the device. With "
                   "two stages, too many layers and a slow device look alike.");
    }
    return last ? say("Give the last stage fewer layers: the output head and the loss cost as much as several layers "
                      "('bubblescope partition' finds a split).")
                : say("Move layers to other stages, or check the device.");
}

/// `stages` are those compared.
Anomaly describe(const AnomalyInput& input, const StageLoad& slow, std::size_t stages, TimeNs cost) {
    const bool last = slow.stage.value == input.run.schedule.stages() - 1;
    const auto microbatches = static_cast<double>(input.run.schedule.microbatches);
    const double excess = slow.work - slow.usual();
    Anomaly anomaly;
    anomaly.kind = last ? AnomalyKind::LastStageImbalance : AnomalyKind::SlowStage;
    anomaly.severity = input.severityOf(cost, input.typicalStep());
    anomaly.rank = slow.rank;
    anomaly.chunk = slow.chunk;
    anomaly.cost = cost;
    input.setLasting(anomaly);
    anomaly.evidence = {{"chunk", slow.chunk.value},
                        {"stage", slow.stage.value},
                        {"stage_time_ns", slow.work / microbatches},
                        {"median_stage_time_ns", slow.usual() / microbatches},
                        {"ratio", slow.ratio},
                        {"excess_per_step_ns", excess},
                        {"p_value", slow.chance}};
    const Sentence place =
        last ? say("rank {}, chunk {} (stage {}, the last)", slow.rank.value, slow.chunk.value, slow.stage.value)
             : say("rank {}, chunk {} (stage {})", slow.rank.value, slow.chunk.value, slow.stage.value);
    const std::string took = formatTime(nanoseconds(slow.work / microbatches));
    const std::string usual = formatTime(nanoseconds(slow.usual() / microbatches));
    const double share = 100 * input.fraction(cost, input.typicalStep());
    anomaly.message =
        stages == 2 ? say("{} takes {} per micro-batch, {:.2f} × the other stage ({}); it keeps its rank busy {} "
                          "longer per step, and without that the step would be {} shorter ({:.1f} %).",
                          place, took, slow.ratio, usual, formatTime(nanoseconds(excess)), formatTime(cost), share)
                    : say("{} takes {} per micro-batch, {:.2f} × the median stage ({}); it keeps its rank busy {} "
                          "longer per step than its peers, and without that the step would be {} shorter ({:.1f} %).",
                          place, took, slow.ratio, usual, formatTime(nanoseconds(excess)), formatTime(cost), share);
    anomaly.suggestion = suggestionFor(last, stages == 2);
    return anomaly;
}

/// The time that the typical step would save if this stage's ops took as long as those of the stage it is compared
/// with.
TimeNs costOf(StepCosts& costs, const StageLoad& slow) {
    return costs.savedByOps([&](Rank rank, const TimelineOp& op) {
        const bool of_stage = slow.rank == rank && slow.chunk == op.op.chunk;
        return of_stage ? nanoseconds(static_cast<double>(op.duration().count()) / slow.ratio) : op.duration();
    });
}

/// True if the stage's rank is a straggler. In that case, the rank is slow, not its part of the model.
bool ofStraggler(const Anomalies& found, Rank rank) {
    return std::ranges::any_of(found, [&](const Anomaly& a) {
        const bool of_peers = a.kind == AnomalyKind::HiddenStraggler; // one that shares the stage
        return (a.kind == AnomalyKind::Straggler || of_peers) && a.rank == rank && !a.replica && !a.step;
    });
}

} // namespace

void findSlowStages(const AnomalyInput& input, const OpSamples& samples, Anomalies& found) {
    std::array<double, kStageKinds> usual{};
    std::vector<StageLoad> loads = stageLoads(input.run.steps, samples, usual);
    if (loads.size() < 2) return;
    std::vector<double> ratios;
    for (const StageLoad& load : loads)
        ratios.push_back(load.ratio);
    const double deviation = loads.size() > 2 ? statistics::medianDeviation(ratios) : 0;

    RelativeTimes relative(samples, loads, usual);
    std::vector<double> chances(loads.size(), 1.0);
    for (std::size_t i = 0; i < loads.size(); ++i) {
        // Its pairs are also slow, so at most the ratio's share of a step can be saved.
        const bool can_matter = loads[i].ratio - 1 >= input.limits.least_cost;
        if (!can_matter || loads[i].ratio - 1 < input.limits.stage_deviations * deviation) continue;
        std::vector<double> others;
        for (std::size_t k = 0; k < loads.size(); ++k) {
            if (k == i) continue;
            const std::vector<double>& times = relative.of(k);
            others.insert(others.end(), times.begin(), times.end());
        }
        chances[i] = statistics::mannWhitney(relative.of(i), thinned(std::move(others))).p_greater;
    }
    const std::vector<double> corrected = statistics::holm(chances);
    std::optional<StepCosts> costs;
    for (std::size_t i = 0; i < loads.size(); ++i) {
        if (corrected[i] > input.limits.chance || ofStraggler(found, loads[i].rank)) continue;
        if (!costs) costs.emplace(input.run.steps[input.typicalStep()], input.knownOf(input.typicalStep()));
        loads[i].chance = corrected[i];
        const TimeNs cost = costOf(*costs, loads[i]);
        if (input.worthReporting(cost, input.typicalStep()))
            found.push_back(describe(input, loads[i], loads.size(), cost));
    }
}

} // namespace bubblescope
