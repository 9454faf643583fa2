#include "core/graph/step_replay.h"

#include <algorithm>
#include <utility>

namespace bubblescope {

ObservedStep::ObservedStep(const StepTimeline& step, const StepKnowledge& known)
    : graph(step), latest(bindings(graph)), delays(splitDelays(step, graph, latest, known)) {}

bool ObservedStep::assign(const StepTimeline& step, const StepKnowledge& known) {
    const bool same_order = graph.assign(step);
    latest = bindings(graph);
    delays = splitDelays(step, graph, latest, known);
    return same_order;
}

StepReplay::StepReplay(const StepGraph& graph, std::span<const UnitIndex> order)
    : tasks_(graph.tasks()), last_(graph.last), ends_(graph.rank.size()) {
    if (order.empty()) return;
    const std::size_t width = tasks_.width();
    std::vector<TaskIndex> rows;
    rows.reserve(width * order.size());
    last_.assign(last_.size(), kNoUnit);
    for (const UnitIndex unit : order) {
        const auto inputs = graph.tasks().predecessors(StepGraph::at(unit)).subspan(1);
        rows.push_back(std::exchange(last_[StepGraph::at(graph.rank[StepGraph::at(unit)])], unit));
        rows.insert(rows.end(), inputs.begin(), inputs.end());
    }
    tasks_ = TaskGraph(width, std::move(rows), {order.begin(), order.end()});
}

TimeNs StepReplay::run(const StepTimes& times) {
    const auto pass = [&](auto lag) {
        const TimeNs* const durations = times.durations.data();
        if (times.delays.empty()) {
            forwardPass(tasks_, ends_, lag, [=](UnitIndex unit, TimeNs ready) { return ready + durations[unit]; });
        } else {
            const TimeNs* const delays = times.delays.data();
            forwardPass(tasks_, ends_, lag,
                        [=](UnitIndex unit, TimeNs ready) { return ready + (delays[unit] + durations[unit]); });
        }
    };
    if (times.transfers == nullptr) {
        pass(NoLag{});
    } else {
        const std::array<const TimeNs*, 2> transfers{(*times.transfers)[0].data(), (*times.transfers)[1].data()};
        pass([=](const EdgePlace& edge) { return edge.slot == 0 ? TimeNs{0} : transfers[edge.slot - 1][edge.task]; });
    }
    TimeNs length{0};
    for (const UnitIndex last : last_)
        length = std::max(length, ends_[last]);
    return length;
}

} // namespace bubblescope
