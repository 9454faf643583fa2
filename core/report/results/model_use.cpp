#include "core/report/results/model_use.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope::report {
namespace {

Section useHead(TimeNs step, const ModelUse& use) {
    Section section;
    section.key = "mfu";
    section.heading = "Model FLOPs utilisation";
    section.note = "the model's FLOPs (causal attention, no recomputation) as a share of the devices' peak";
    section.data("step", use.of(step));
    section.data("step_flops", use.step_flops);
    section.data("peak_flops", use.peak);
    section.data("devices", use.devices);
    section.data("device", use.device.empty() ? Value() : Value(use.device));
    const double reached = use.of(step) * use.peak / 1e12;
    section.line(fmt::format("MFU {} in a step of {}: {:.3g} of {:.4g} TFLOP/s on each of {}{}{}",
                             formatPercent(use.of(step)), formatTime(step), reached, use.peak / 1e12,
                             pluralize(static_cast<std::size_t>(use.devices), "device"), use.device.empty() ? "" : ", ",
                             use.device));
    return section;
}

} // namespace

Section modelUseSection(TimeNs step, const ModelUse& use) {
    return useHead(step, use);
}

Section modelUseSection(const RunReport& report, const ModelUse& use) {
    const TimeNs step = report.selection.stepTime();
    Section section = useHead(step, use);
    if (report.period.periods > 0) {
        section.data("period", use.of(report.period.period()));
        section.line(fmt::format("From step to step: {}", formatPercent(use.of(report.period.period()))));
    }
    Value::List ranks;
    Table table({}, {shown("rank"), shown("share of the FLOPs"), shown("MFU")});
    for (std::size_t r = 0; r < use.rank_flops.size(); ++r) {
        ranks.emplace_back(use.of(step, r));
        table.row(r, Cell(use.rank_flops[r] / use.step_flops, Look::Percent), Cell(use.of(step, r), Look::Percent));
    }
    section.data("ranks", std::move(ranks));
    if (use.rank_flops.size() > 1) section.add(std::move(table));
    Value::List steps;
    for (std::size_t i = 0; i < report.steps.size(); ++i) {
        if (report.selection.whyAside(i) == SetAside::NotAsked) continue;
        steps.emplace_back(Value::Object{{"index", report.steps[i].index}, {"mfu", use.of(report.steps[i].wall)}});
    }
    section.data("steps", std::move(steps));
    return section;
}

} // namespace bubblescope::report
