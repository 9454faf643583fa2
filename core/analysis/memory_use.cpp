#include "core/analysis/memory_use.h"

#include "core/analysis/clocks/clock_evidence.h"
#include "core/analysis/devices/memory_curve.h"
#include "core/analysis/statistics/robust.h"
#include "core/graph/validate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace bubblescope {
namespace {

/// The selected steps, by replica.
std::map<int, std::vector<const StepTimeline*>> stepsOf(const Run& run, const StepSelection& selection) {
    std::map<int, std::vector<const StepTimeline*>> steps;
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
        if (selection.takes(i)) steps[run.steps[i].replica].push_back(&run.steps[i]);
    }
    return steps;
}

/// Sets the op that ran at `time`, or that started next.
void nameOp(const StepTimeline& step, TimeNs time, RankMemoryUse& use) {
    if (use.rank.index() >= step.ranks.size()) return;
    for (const TimelineOp& op : step.ranks[use.rank.index()]) {
        if (op.end <= time) continue;
        use.at = op.op;
        use.before = op.start > time;
        return;
    }
}

std::optional<MemoryLine> lineThrough(const std::vector<RankMemoryUse>& ranks) {
    std::set<int> levels;
    double held = 0;
    double peak = 0;
    const auto count = static_cast<double>(ranks.size());
    for (const RankMemoryUse& rank : ranks) {
        levels.insert(rank.held);
        held += rank.held / count;
        peak += rank.peak / count;
    }
    if (levels.size() < 3) return std::nullopt;
    double together = 0;
    double square = 0;
    for (const RankMemoryUse& rank : ranks) {
        together += (rank.held - held) * (rank.peak - peak);
        square += (rank.held - held) * (rank.held - held);
    }
    MemoryLine line;
    line.per_forward = together / square;
    line.fixed = peak - line.per_forward * held;
    if (!(line.per_forward > 0)) return std::nullopt;
    for (const RankMemoryUse& rank : ranks)
        line.worst = std::max(line.worst, std::abs(line.fixed + line.per_forward * rank.held - rank.peak) / rank.peak);
    return line;
}

} // namespace

Result<MemoryUse> memoryUse(const Run& run, const RunClocks& clocks, const StepSelection& selection) {
    MemoryUse use;
    BUBBLESCOPE_ASSIGN(const std::vector<MemoryCurve> curves, extract(run, kMemoryCurves));
    if (std::ranges::none_of(curves, [](const MemoryCurve& curve) { return !curve.points.empty(); })) return use;
    for (const MemoryCurve& curve : curves)
        use.peaks.push_back(curve.reserved ? std::nullopt : curve.peak());
    BUBBLESCOPE_ASSIGN(const ClockOfRank clock_of, clocksOfRanks(run, clocks));
    std::map<std::uint32_t, int> ranks_of_file = ranksPerFile(clock_of);
    const std::vector<int> held = peakActivations(run.schedule);
    const auto steps = stepsOf(run, selection);
    const bool moved = clocks.method == ClockMethod::Aligned;
    for (const auto& [key, clock] : clock_of) {
        const auto own = steps.find(key.first);
        if (!clock.file || ranks_of_file[*clock.file] != 1 || own == steps.end()) continue;
        const MemoryCurve& curve = curves[*clock.file];
        RankMemoryUse rank{key.second, key.first, 0, curve.peak().value_or(0), {}, false, curve.reserved, 0};
        std::vector<double> peaks;
        double highest = 0;
        for (const StepTimeline* const step : own->second) {
            const auto at = [moved, &fit = clock.fit](TimeNs time) { return moved ? fit.fromReference(time) : time; };
            const auto peak = curve.peakIn(at(step->begin), at(step->end));
            if (!peak) continue;
            peaks.push_back(peak->bytes);
            if (!(peak->bytes > highest)) continue;
            highest = peak->bytes;
            rank.at.reset();
            // A value from before the step, or a single value for the step, does not show when the step reached it.
            const TimeNs time = moved ? clock.fit.toReference(peak->time) : peak->time;
            if (time > step->begin) nameOp(*step, time, rank);
        }
        if (peaks.empty()) continue;
        rank.peak = statistics::median(std::move(peaks));
        if (rank.rank.index() < held.size()) rank.held = held[rank.rank.index()];
        use.ranks.push_back(rank);
    }
    use.line = lineThrough(use.ranks);
    return use;
}

} // namespace bubblescope
