#include "app/cli/moving_stages.h"

#include "app/cli/output.h"
#include "core/base/suggestion.h"
#include "core/graph/moving_stages.h"
#include "core/report/document.h"
#include "core/timeline/bubbles.h"

#include <fmt/format.h>

namespace bubblescope::cli {
namespace {

report::Table rankTable(const StepTimeline& step) {
    using report::column;
    report::Table table("ranks", {column("rank", "rank"), column("busy_ns", "busy"), column("bubble_ns", "bubble"),
                                  column("inside_ns", "of it between ops")});
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const auto& ops = step.ranks[r];
        TimeNs busy{0};
        for (const TimelineOp& op : ops)
            busy += op.duration();
        const TimeNs inside = ops.empty() ? TimeNs{0} : ops.back().end - ops.front().start - busy;
        table.row(r, busy, step.wall() - busy, inside);
    }
    return table;
}

} // namespace

bool movesStages(const ScheduleRequest& request) {
    return plainName(request.spec.name) == "roundpipe";
}

CommandResult simulateMovingStages(const ScheduleRequest& request, const WeightTimes& weights, const SvgOptions& svg,
                                   bool json) {
    constexpr TimeNs kUsualForward{1'000'000};
    BUBBLESCOPE_ASSIGN(CostModel costs, request.costs(kUsualForward));
    if (!costs.stages.empty() || !costs.plainTransfers())
        return usageError("roundpipe can only be simulated with equal stages and equal latencies", "use only --comm");
    const int chunks = request.vpp.value_or(1);
    const MovingStages stages{request.spec.pp, request.spec.microbatches, request.spec.pp * chunks,
                              request.spec.pp * chunks};
    const MovingTimes times{costs.times.forward, costs.times.backward, costs.comm, weights.unshard};
    BUBBLESCOPE_ASSIGN(const Schedule order, movingOrder(stages));
    BUBBLESCOPE_ASSIGN(const StepTimeline step, simulateMoving(stages, times));
    const report::Drawn drawn{order, step, costs, {}};
    BUBBLESCOPE_TRY(svg.write({&drawn, 1}));

    const Result<MovingForm> form = movingForm(stages, times);
    report::Document document;
    document.line(
        fmt::format("roundpipe, p = {}, m = {}: makespan {}, bubble rate {:.2f} % of the makespan\n{} forward and {} "
                    "backward stages rotate over the ranks; {}\n",
                    stages.pp, stages.microbatches, formatTime(step.wall()), 100 * bubbleRates(step).over_makespan,
                    stages.forward_stages, stages.backward_stages,
                    form.ok() ? fmt::format("closed form: makespan {}, {} idle from one visit to the next",
                                            formatTime(form.value().makespan), formatTime(form.value().between_visits))
                              : form.error().message));
    document.data("schedule", "roundpipe");
    document.data("makespan_ns", step.wall());
    document.data("bubble_rate", bubbleRates(step).over_makespan);
    document.data("closed_form_ns",
                  form.ok() ? report::Value(form.value().makespan) : report::Value(report::Value::Absent{}));
    document.add(rankTable(step));
    print(document, json);
    return 0;
}

} // namespace bubblescope::cli
