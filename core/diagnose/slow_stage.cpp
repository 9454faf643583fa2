#include "core/diagnose/slow_stage.h"

#include "core/base/median.h"

#include <fmt/format.h>

namespace bubblescope {

std::string_view severityName(Severity severity) {
    switch (severity) {
    case Severity::Notice: return "notice";
    case Severity::Warning: return "warning";
    case Severity::Serious: return "serious";
    }
    return "";
}

namespace {

Anomaly describe(const StageTimes& stage, TimeNs usual, int microbatches, TimeNs wall, const SlowStageLimits& limits) {
    const TimeNs excess = (stage.work() - usual) * microbatches;
    const double ratio = static_cast<double>(stage.work().count()) / static_cast<double>(usual.count());
    const double share = wall.count() > 0 ? static_cast<double>(excess.count()) / static_cast<double>(wall.count()) : 0;
    Anomaly anomaly;
    anomaly.kind = "slow-stage";
    anomaly.severity = share >= limits.serious_share ? Severity::Serious : Severity::Warning;
    anomaly.rank = stage.rank;
    anomaly.evidence = {{"chunk", stage.chunk.value},
                        {"stage", stage.stage.value},
                        {"work_ns", static_cast<double>(stage.work().count())},
                        {"median_stage_work_ns", static_cast<double>(usual.count())},
                        {"ratio", ratio},
                        {"excess_per_step_ns", static_cast<double>(excess.count())}};
    anomaly.message = fmt::format("rank {}, chunk {} (stage {}) takes {} per micro-batch, {:.1f} times the median "
                                  "stage ({}); it keeps its rank busy "
                                  "{} longer per step than its equals. Move layers (or the loss and its head) to other "
                                  "stages, or look at the device.",
                                  stage.rank.value, stage.chunk.value, stage.stage.value, formatTime(stage.work()),
                                  ratio, formatTime(usual), formatTime(excess));
    return anomaly;
}

} // namespace

std::vector<Anomaly> findSlowStages(const std::vector<StageTimes>& stages, int microbatches, TimeNs wall,
                                    const SlowStageLimits& limits) {
    if (stages.size() < 3) return {};
    std::vector<TimeNs> work;
    for (const StageTimes& stage : stages)
        work.push_back(stage.work());
    const TimeNs usual = median(work);
    if (usual.count() <= 0) return {};
    for (TimeNs& value : work)
        value = std::chrono::abs(value - usual);
    const TimeNs deviation = median(work);

    std::vector<Anomaly> found;
    for (const StageTimes& stage : stages) {
        const auto excess = static_cast<double>((stage.work() - usual).count());
        const bool slow = excess >= (limits.ratio - 1) * static_cast<double>(usual.count()) &&
                          excess >= limits.deviations * static_cast<double>(deviation.count());
        if (slow) found.push_back(describe(stage, usual, microbatches, wall, limits));
    }
    return found;
}

} // namespace bubblescope
