#include "core/optimize/fill/fill_replay.h"

#include "core/graph/longest_path.h"

#include <algorithm>
#include <span>

namespace bubblescope {

FillChanges::FillChanges(const StepTimeline& step) {
    for (const auto& ops : step.ranks)
        before.emplace_back(ops.size() + 1, TimeNs{0});
    shorter = before;
}

FillReplay::FillReplay(const StepTimeline& step) : step_(step), graph_(step), ends_(graph_.rank.size()) {
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        auto& heads = heads_.emplace_back();
        const std::span<const UnitIndex> units = graph_.unitsOf(Rank{r});
        for (std::size_t op = 0; op < units.size(); ++op) {
            if (heads.empty() || heads.back().unit != units[op]) heads.push_back({units[op], op});
        }
    }
}

TimeNs FillReplay::run(const FillChanges& changes) {
    std::vector<TimeNs> before(graph_.rank.size(), TimeNs{0});
    std::vector<TimeNs> durations(graph_.rank.size());
    for (std::size_t r = 0; r < heads_.size(); ++r) {
        for (const Head& head : heads_[r]) {
            const std::size_t unit = StepGraph::at(head.unit);
            before[unit] = changes.before[r][head.op];
            durations[unit] = std::max(TimeNs{0}, graph_.duration(head.unit) - changes.shorter[r][head.op]);
        }
    }
    const auto lag = [&](const EdgePlace& edge) {
        if (edge.from == kNoTask) return TimeNs{0};
        const std::size_t unit = StepGraph::at(edge.task);
        const TimeNs lag = lagOf(graph_.holds, graph_.transfer, edge.slot, unit);
        return edge.slot == 0 ? std::max(before[unit], lag) : lag;
    };
    TimeNs length{0};
    forwardPass(graph_.tasks(), ends_, lag, [&](TaskIndex task, TimeNs ready) {
        const std::size_t unit = StepGraph::at(task);
        // The first unit of a rank has no predecessor on its rank, so its work starts with the step.
        if (graph_.previous(unit) == kNoUnit) ready = std::max(ready, before[unit]);
        const TimeNs end = ready + graph_.delay[unit] + durations[unit];
        length = std::max(length, end);
        return end;
    });
    for (std::size_t r = 0; r < heads_.size(); ++r) {
        if (graph_.last[r] == kNoUnit || changes.before[r].back() == TimeNs{0}) continue;
        TimeNs end = ends_[graph_.last[r]] + changes.before[r].back();
        for (const TrailingOp& op : graph_.trailing[r]) {
            // Ops after the step's end are not part of it.
            if (graph_.end[StepGraph::at(graph_.last[r])] + op.after < graph_.wall) end += op.duration;
        }
        length = std::max(length, end);
    }
    return length;
}

std::vector<TimeNs> FillReplay::waits(Rank rank) const {
    const std::size_t r = rank.index();
    std::vector<TimeNs> waits(step_.ranks[r].size() + 1, TimeNs{0});
    TimeNs free{0};
    for (const Head& head : heads_[r]) {
        const std::size_t unit = StepGraph::at(head.unit);
        const TimeNs unknown = std::max(TimeNs{0}, graph_.delay[unit]);
        waits[head.op] = std::max(TimeNs{0}, graph_.start[unit] - unknown - free);
        free = graph_.end[unit];
    }
    TimeNs used{0};
    for (const TrailingOp& op : graph_.trailing[r])
        used += std::clamp(graph_.wall - (free + op.after), TimeNs{0}, op.duration);
    if (!heads_[r].empty()) waits.back() = std::max(TimeNs{0}, graph_.wall - free - used);
    return waits;
}

} // namespace bubblescope
