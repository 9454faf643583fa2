#include "core/bubble/position.h"

#include "core/bubble/phases.h"

#include <algorithm>

namespace bubblescope {
namespace {

/// The position of a gap in front of the op at `index`.
Position gapPosition(const Phases& phases, std::size_t index) {
    if (index == 0) return Position::BeforeWarmup;
    if (index >= phases.end) return Position::AfterCooldown;
    if (!phases.hasSteady()) {
        if (index == phases.steady) return Position::ForwardToBackward;
        return index < phases.steady ? Position::InsideWarmup : Position::InsideCooldown;
    }
    if (index < phases.steady) return Position::InsideWarmup;
    // The steady phase's first forward usually runs as soon as warm-up ends, and the rank then waits for
    // its first backward: that wait is what separates warm-up from steady.
    if (index <= phases.steady + 1) return Position::WarmupToSteady;
    if (index < phases.cooldown) return Position::InsideSteady;
    return index == phases.cooldown ? Position::SteadyToCooldown : Position::InsideCooldown;
}

} // namespace

std::string_view positionName(Position position, bool f_then_b) {
    switch (position) {
    case Position::BeforeWarmup: return f_then_b ? "before forward" : "before warm-up";
    case Position::InsideWarmup: return f_then_b ? "inside forward" : "inside warm-up";
    case Position::WarmupToSteady: return "between warm-up and steady";
    case Position::InsideSteady: return "inside steady";
    case Position::SteadyToCooldown: return "between steady and cool-down";
    case Position::ForwardToBackward: return "between forward and backward";
    case Position::InsideCooldown: return f_then_b ? "inside backward" : "inside cool-down";
    case Position::AfterCooldown: return f_then_b ? "after backward" : "after cool-down";
    }
    return "";
}

Phases findPhases(const std::vector<OpKind>& kinds) {
    Phases phases;
    const auto index_of = [&](auto it) { return static_cast<std::size_t>(it - kinds.begin()); };
    const auto is_forward = [](OpKind kind) { return kind == OpKind::Forward; };
    phases.end = kinds.size();
    while (phases.end > 0 && kinds[phases.end - 1] == OpKind::Optimizer)
        --phases.end;

    const std::size_t first_backward = index_of(std::ranges::find_if(kinds, producesInputGradient));
    std::size_t last_forward = kinds.size();
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (is_forward(kinds[i])) last_forward = i;
    }
    phases.steady = phases.cooldown = std::min(first_backward, phases.end);
    if (first_backward >= phases.end || last_forward == kinds.size() || last_forward < first_backward) return phases;

    if (first_backward > 0 && is_forward(kinds[first_backward - 1])) phases.steady = first_backward - 1;
    phases.cooldown = last_forward + 1;
    while (phases.cooldown < phases.end && !producesInputGradient(kinds[phases.cooldown]))
        ++phases.cooldown;
    phases.cooldown = std::min(phases.cooldown + 1, phases.end);
    return phases;
}

std::vector<std::vector<Bubble>> findBubbles(const StepTimeline& step) {
    std::vector<std::vector<Bubble>> result(step.ranks.size());
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const auto& ops = step.ranks[r];
        std::vector<OpKind> kinds;
        for (const TimelineOp& op : ops)
            kinds.push_back(op.op.kind);
        const Phases phases = findPhases(kinds);

        TimeNs covered = step.begin;
        const auto gap = [&](TimeNs until, std::size_t index) {
            const TimeNs end = std::min(until, step.end);
            if (end > covered) result[r].push_back({Rank{r}, gapPosition(phases, index), covered, end});
        };
        for (std::size_t i = 0; i < ops.size(); ++i) {
            gap(ops[i].start, i);
            covered = std::max(covered, ops[i].end);
        }
        gap(step.end, ops.size());
    }
    return result;
}

} // namespace bubblescope
