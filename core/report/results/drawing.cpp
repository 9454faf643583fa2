#include "core/report/results/drawing.h"

#include "core/graph/consolidate.h"
#include "core/report/svg/axis.h"
#include "core/schedule/order_parts.h"
#include "core/theory/closed_form.h"
#include "core/timeline/bubbles.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string_view>
#include <vector>

namespace bubblescope::report {
namespace {

bool hasOp(const Schedule& schedule, OpKind kind) {
    return std::ranges::any_of(
        schedule.ranks, [kind](const auto& ops) { return std::ranges::find(ops, kind, &Op::kind) != ops.end(); });
}

std::string drawnHeading(const Schedule& schedule) {
    const int slices = slicesOf(schedule);
    return fmt::format("{}{}", scheduleTitle(schedule), slices > 1 ? fmt::format(", k = {}", slices) : "");
}

/// The op times of the schedule, followed by the times that result from them.
std::string drawnDetails(const Drawn& drawn) {
    const Schedule& schedule = drawn.schedule;
    const CostModel& costs = drawn.costs;
    const OpTimes& t = costs.times;
    std::string times = costs.stages.empty() ? "" : "times per stage";
    const auto add = [&](std::string_view name, TimeNs time) {
        times += fmt::format("{}{} = {}", times.empty() ? "" : ", ", name, svg::shortTime(time));
    };
    if (costs.stages.empty()) {
        add("t_f", t.forward);
        if (hasOp(schedule, OpKind::Backward)) add("t_b", t.backward);
        if (hasOp(schedule, OpKind::BackwardInput)) add("t_i", t.input_grad);
        if (hasOp(schedule, OpKind::BackwardWeight)) add("t_w", t.weight_grad);
    }
    const bool pairs =
        std::ranges::any_of(schedule.ranks, [](const auto& ops) { return std::ranges::any_of(ops, &Op::overlapped); });
    if (pairs) add("t_fb", costs.pairTime(OpKind::Forward, t.forward, OpKind::Backward, t.backward));
    if (costs.all_reduce.count() > 0) add("t_ar", costs.all_reduce);
    if (costs.comm.count() > 0) add("transfer", costs.comm);
    return fmt::format("{}; makespan {}, bubble rate {:.2f} %{}", times, svg::shortTime(drawn.step.wall()),
                       100 * bubbleRates(drawn.step).over_makespan,
                       drawn.actions.empty() ? "" : "; below each rank: sends, receives, weights and copies");
}

std::vector<svg::LaneBar> lanesOf(const Drawn& drawn, Rank rank) {
    std::vector<svg::LaneBar> bars;
    for (const ActionTime& time : drawn.actions[rank.index()]) {
        const ActionKind kind = time.action.kind;
        svg::LaneBar bar{svg::LaneBar::Lane::Weights, time.posted, time.start, time.end, {}};
        if (isSend(kind) || isSendWait(kind)) bar.lane = svg::LaneBar::Lane::Send;
        if (isReceive(kind) || isReceiveWait(kind)) bar.lane = svg::LaneBar::Lane::Receive;
        if (bar.posted == bar.end) continue;
        bar.title =
            fmt::format("{}: {}", actionName(drawn.schedule, rank, time.action), svg::shortTime(time.end - time.start));
        if (time.start > time.posted)
            bar.title += fmt::format(", after {} of waiting", svg::shortTime(time.start - time.posted));
        bars.push_back(std::move(bar));
    }
    return bars;
}

} // namespace

Result<std::string> drawSteps(std::span<const Drawn> drawn, const svg::DrawOptions& options, bool consolidated) {
    std::deque<StepTimeline> retimed; // keeps its elements in place
    std::deque<std::vector<std::vector<svg::LaneBar>>> lanes;
    std::vector<svg::Panel> panels;
    for (const Drawn& one : drawn) {
        auto& bars = lanes.emplace_back();
        for (std::size_t r = 0; r < one.actions.size(); ++r)
            bars.push_back(lanesOf(one, Rank{r}));
        panels.push_back({one.step, drawnHeading(one.schedule), drawnDetails(one), bars});
        if (!consolidated) continue;
        const auto form = closedForm(one.schedule, one.costs);
        retimed.push_back(consolidate(one.step, form.ok() ? form.value().beforeSteady() : std::vector<TimeNs>{}));
        panels.push_back({retimed.back(), "Consolidated", "The same step, re-timed within its slack"});
    }
    return svg::drawTimelines(panels, options);
}

} // namespace bubblescope::report
