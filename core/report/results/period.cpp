#include "core/report/results/analysis_parts.h"

#include <fmt/format.h>

#include <cmath>

#include <string_view>
#include <utility>

namespace bubblescope::report {
namespace {

Section periodData(const StepPeriod& period) {
    Section section;
    section.key = "period";
    section.data("period_ns", period.period());
    section.data("step_ns", period.step);
    section.data("between_ns", period.between);
    section.data("rare_ns", period.rare);
    section.data("periods", period.periods);
    section.data("long_steps", period.long_steps.size());
    section.data("long_steps_ns", period.long_excess);
    if (period.every) section.data("long_steps_every", *period.every);
    Value::List activities;
    for (const BetweenSteps& of : period.activities) {
        activities.push_back(Value::Object{{"activity", hostActivityName(of.activity)},
                                           {"replica", of.replica},
                                           {"rank", of.rank.value},
                                           {"time_ns", of.time}});
    }
    section.data("between_steps", std::move(activities));
    return section;
}

} // namespace

Section periodSection(const StepPeriod& period, Reader reader) {
    constexpr double kDiffers = 0.01;
    if (period.periods == 0) return {};
    if (reader == Reader::Programs) return periodData(period);
    const TimeNs more = period.period() - period.step;
    if (std::abs(fractionOf(more, period.step)) < kDiffers) return {};
    Section section;
    section.heading = "From step to step";
    section.note = "Mean time from the start of one step to the start of the next.";
    Table table("parts", {shown("", Align::Left), shown("time"), shown("share")});
    const auto row = [&](std::string_view part, TimeNs time) {
        table.row(part, time, Cell(fractionOf(time, period.period()), Look::Percent));
    };
    row("typical step", period.step);
    row(period.between < TimeNs{0} ? "overlap with the next step (median)" : "between steps (median)", period.between);
    for (const BetweenSteps& of : period.activities)
        row(fmt::format("  {} on rank {} (mean)", hostActivityName(of.activity), of.rank.value), of.time);
    row(period.every ? fmt::format("long steps and gaps, every {} steps", *period.every) : "long steps and gaps",
        period.rare);
    row("period", period.period());
    section.add(std::move(table));
    return section;
}

} // namespace bubblescope::report
