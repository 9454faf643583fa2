#include "core/report/results/sweep.h"

#include "core/base/text.h"
#include "core/cost/partition.h"
#include "core/graph/validate.h"
#include "core/timeline/text_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace bubblescope::report {
namespace {

constexpr std::size_t kMostCharts = 4; ///< for a comparison; a sweep would have too many to read

/// The table has columns for these anyway.
bool isOwnColumn(Field field) {
    return field == Field("schedule") || field == Field("schedule_file") || field == Field("flavor") ||
           field == Field("pp") || field == Field("microbatches") || field == Field("vpp");
}

/// The memory peak, in micro-batches of a rank's whole part.
double peakMicrobatches(const Simulated& run) {
    return static_cast<double>(std::ranges::max(run.peak_activations)) / chunksOfModel(run.schedule);
}

std::optional<std::int64_t> peakBytes(const Simulated& run) {
    if (!run.memory) return std::nullopt;
    std::int64_t most = 0;
    for (const RankMemory& rank : run.memory->ranks)
        most = std::max(most, rank.peak());
    return most;
}

/// The time of an op, the mean if stages differ.
OpTimes usualTimes(const CostModel& costs) {
    return costs.stages.empty() ? costs.times : meanTimes(costs.stages);
}

std::string settingOf(const SweptRun& run, std::span<const SweepAxis> axes, Field field) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].field == field) return run.settings[i];
    }
    return {};
}

std::string labelOfRun(const SweptRun& run, std::span<const SweepAxis> axes) {
    if (run.run) return orderName(run.run->schedule);
    const std::string name = settingOf(run, axes, Field("schedule"));
    return name.empty() ? settingOf(run, axes, Field("schedule_file")) : name;
}

/// The positions of the chart's points.
struct ChartPlaces {
    std::optional<std::size_t> axis; ///< if empty, there is only one position
    std::vector<double> at;
};

ChartPlaces placesOf(std::span<const SweepAxis> axes) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
        std::vector<double> numbers;
        for (const SweepSetting& setting : axes[i].settings) {
            if (const auto number = parseNumber<double>(setting.text)) numbers.push_back(*number);
        }
        if (numbers.size() != axes[i].settings.size() || numbers.size() < 2) continue;
        const auto [least, most] = std::ranges::minmax(numbers);
        constexpr double kWide = 8; // above this range, equal ratios are easier to read than equal distances
        if (least > 0 && most / least >= kWide) {
            for (double& number : numbers)
                number = std::log2(number);
        }
        return {i, std::move(numbers)};
    }
    return {};
}

std::string axisTitle(Field field) {
    if (field == Field("microbatches")) return "Micro-batches m";
    if (field == Field("pp")) return "Ranks p";
    if (field == Field("vpp")) return "Chunks per rank v";
    return std::string(field.text());
}

/// The key of a line of the chart: all settings that its points share.
std::string seriesOf(const SweptRun& run, std::span<const SweepAxis> axes, const ChartPlaces& places) {
    std::string name = labelOfRun(run, axes);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const bool shown = axes[i].field == Field("schedule") || axes[i].field == Field("schedule_file") ||
                           axes[i].field == Field("flavor") || i == places.axis;
        if (!shown && !run.settings[i].empty()) name += fmt::format(", {} {}", axes[i].field.text(), run.settings[i]);
    }
    return name;
}

} // namespace

std::string opMeaning(const Schedule& schedule, const CostModel& costs) {
    const int chunks = chunksOfModel(schedule);
    if (chunks == 1) return {};
    const OpTimes times = usualTimes(costs);
    return fmt::format(
        "Each op covers one of a rank's {} chunks: forward {} and backward {}, so {} and {} per micro-batch and rank.",
        chunks, formatTime(times.forward), formatTime(times.backward), formatTime(chunks * times.forward),
        formatTime(chunks * times.backward));
}

Table sweepTable(std::span<const SweptRun> runs, std::span<const SweepAxis> axes) {
    const bool memory = std::ranges::any_of(runs, [](const SweptRun& run) { return run.run && run.run->memory; });
    const bool gaps = std::ranges::any_of(runs, [](const SweptRun& run) { return !run.run; });
    Table table({}, {column("schedule", "schedule", Align::Left), column("pp", "p"), column("microbatches", "m"),
                     column("vpp", "v")});
    for (const SweepAxis& axis : axes) {
        if (!isOwnColumn(axis.field))
            table.columns.push_back(column(std::string(axis.field.name()), std::string(axis.field.text()).c_str()));
    }
    for (Column each :
         {column("forward_ns", "op forward"), column("backward_ns", "backward"), column("makespan_ns", "makespan"),
          column("bubble_rate", "bubble rate"), column("span_bubble_rate", "span"), column("over_ideal", "over ideal"),
          data("peak_activations"), column("peak_microbatches", "peak micro-batches")})
        table.columns.push_back(std::move(each));
    if (memory) table.columns.push_back(column("peak_memory_bytes", "peak memory"));
    if (gaps) table.columns.push_back(column("reason", "reason", Align::Left));
    table.indent = 0;
    for (const SweptRun& swept : runs) {
        std::vector<Cell>& row = table.rows.emplace_back();
        const auto number = [&](Field field, std::optional<int> own) {
            const auto given = parseNumber<int>(settingOf(swept, axes, field));
            row.push_back(own ? Cell(*own) : given ? Cell(*given) : Cell(Value()));
        };
        const Schedule* const order = swept.run ? &swept.run->schedule : nullptr;
        row.emplace_back(labelOfRun(swept, axes));
        number(Field("pp"), order ? std::optional(order->pp) : std::nullopt);
        number(Field("microbatches"), order ? std::optional(order->microbatches) : std::nullopt);
        number(Field("vpp"), order ? std::optional(order->vpp) : std::nullopt);
        for (std::size_t i = 0; i < axes.size(); ++i) {
            if (!isOwnColumn(axes[i].field)) row.emplace_back(swept.settings[i]);
        }
        if (swept.run) {
            const BubbleRates& rates = swept.run->analysis.rates;
            const OpTimes times = usualTimes(swept.costs);
            row.emplace_back(times.forward);
            row.emplace_back(times.backward);
            row.emplace_back(swept.run->step.wall());
            for (const double rate : {rates.over_makespan, rates.span, rates.over_ideal})
                row.emplace_back(rate, Look::Percent2);
            row.emplace_back(std::ranges::max(swept.run->peak_activations));
            row.push_back(Cell(peakMicrobatches(*swept.run)).as(fmt::format("{:g}", peakMicrobatches(*swept.run))));
            if (memory) row.emplace_back(peakBytes(*swept.run), Look::Bytes);
            if (gaps) row.emplace_back("");
        } else {
            while (row.size() + 1 < table.columns.size())
                row.push_back(Cell(Value()).as("-"));
            row.emplace_back(swept.reason);
        }
    }
    return table;
}

Document sweepDocument(std::span<const SweptRun> runs, std::span<const SweepAxis> axes,
                       std::optional<int> chunks_of_times) {
    const bool differ = std::ranges::any_of(runs, [&](const SweptRun& run) {
        return run.run &&
               chunksOfModel(run.run->schedule) != chunksOfModel(runs.front().run.value_or(*run.run).schedule);
    });
    Document document;
    if (chunks_of_times == 1)
        document.line("Equal work: times are for a rank's whole part of the model; with v chunks an op takes 1/v.\n");
    else if (chunks_of_times)
        document.line(fmt::format(
            "Equal work: times are for ops with {} chunks per rank, and are scaled for other numbers of chunks.\n",
            *chunks_of_times));
    else if (differ)
        document.line("Times are per op, so per chunk: a rank with more chunks does more work.\n");
    document.add(sweepTable(runs, axes));
    std::set<std::string> unused;
    for (const SweptRun& run : runs)
        unused.insert(run.unused.begin(), run.unused.end());
    for (const std::string& each : unused)
        document.line("Note: " + each);
    if (runs.size() > kMostCharts) return document;
    for (const SweptRun& run : runs) {
        if (!run.run) continue;
        const std::string chart = textChart(run.run->step);
        document.line(fmt::format("\n{}\n{}", orderName(run.run->schedule),
                                  chart.empty() ? "too wide for a chart drawn to scale"
                                                : chart.substr(0, chart.size() - 1))); // line() ends the line
    }
    return document;
}

Document sweepData(std::span<const SweptRun> runs, std::span<const SweepAxis> axes, std::optional<int> chunks_of_times,
                   bool with_ops) {
    Document document;
    document.data("chunks_of_times", chunks_of_times);
    Sections schedules;
    schedules.key = "schedules";
    for (const SweptRun& run : runs) {
        Section& section = schedules.list.emplace_back();
        Value::Object settings;
        for (std::size_t i = 0; i < axes.size(); ++i)
            settings.push_back({std::string(axes[i].field.name()), run.settings[i]});
        if (run.run) {
            section.add(Section(simulationDocument(*run.run, with_ops)));
            const OpTimes times = usualTimes(run.costs);
            section.data("pp", run.run->schedule.pp);
            section.data("microbatches", run.run->schedule.microbatches);
            section.data("vpp", run.run->schedule.vpp);
            section.data("forward_ns", times.forward);
            section.data("backward_ns", times.backward);
            section.data("peak_microbatches", peakMicrobatches(*run.run));
        } else {
            section.data("schedule", labelOfRun(run, axes));
            section.data("reason", run.reason);
        }
        section.data("settings", std::move(settings));
        section.data("unused", run.unused);
    }
    document.add(std::move(schedules));
    return document;
}

plot::Chart sweepChart(std::span<const SweptRun> runs, std::span<const SweepAxis> axes) {
    const ChartPlaces places = placesOf(axes);
    plot::Chart chart;
    chart.at = places.at;
    if (places.axis) {
        chart.title = fmt::format("Schedules over {}", axisTitle(axes[*places.axis].field));
        chart.places_title = axisTitle(axes[*places.axis].field);
        for (const SweepSetting& setting : axes[*places.axis].settings)
            chart.places.push_back(setting.text);
    } else {
        chart.title = "Schedules";
        chart.places = {""};
    }
    std::map<std::string, std::size_t> numbers;
    const bool memory = std::ranges::any_of(runs, [](const SweptRun& run) { return run.run && run.run->memory; });
    chart.panels = {{"Bubble rate (%)", {}},
                    {"Makespan (ms)", {}},
                    {memory ? "Peak memory (GiB)" : "Peak activations (micro-batches)", {}}};
    for (const SweptRun& run : runs) {
        if (!run.run) continue;
        const auto [entry, is_new] = numbers.try_emplace(seriesOf(run, axes, places), chart.series.size());
        if (is_new) {
            chart.series.push_back(entry->first);
            for (plot::Panel& panel : chart.panels)
                panel.values.emplace_back(chart.places.size());
        }
        std::size_t place = 0;
        if (places.axis) {
            const auto found = std::ranges::find(chart.places, run.settings[*places.axis]);
            place = static_cast<std::size_t>(found - chart.places.begin());
        }
        constexpr double kMillisecond = 1e6;
        constexpr double kGiB = 1 << 30;
        const std::size_t s = entry->second;
        chart.panels[0].values[s][place] = 100 * run.run->analysis.rates.over_makespan;
        chart.panels[1].values[s][place] = static_cast<double>(run.run->step.wall().count()) / kMillisecond;
        chart.panels[2].values[s][place] =
            memory ? static_cast<double>(peakBytes(*run.run).value_or(0)) / kGiB : peakMicrobatches(*run.run);
    }
    return chart;
}

} // namespace bubblescope::report
