#include "core/telemetry/run_telemetry.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace bubblescope::telemetry {
namespace {

using otlp::Metric;
using otlp::Point;
using otlp::Span;
using otlp::Telemetry;

double seconds(TimeNs time) {
    return static_cast<double>(time.count()) * 1e-9;
}

Metric gauge(std::string name, std::string description, std::string unit, std::vector<Point> points) {
    return {std::move(name), std::move(description), std::move(unit), false, std::move(points)};
}

/// Identifies a step of a run. A replica of -1 stands for all.
std::string stepSeed(const std::string& name, int step, int replica) {
    return fmt::format("{}/{}/{}", name, step, replica);
}

Span stepSpan(const std::string& seed, int step, TimeInterval when) {
    Span span;
    span.trace = otlp::identifier(seed, 16);
    span.id = otlp::identifier(seed, 8);
    span.name = fmt::format("step {}", step);
    span.begin = when.start;
    span.end = when.end;
    span.attributes = {{"pp.step", step}};
    return span;
}

Span childOf(const Span& parent, const std::string& name, const std::string& seed) {
    Span span;
    span.trace = parent.trace;
    span.parent = parent.id;
    span.id = otlp::identifier(fmt::format("{}/{}", parent.id, seed), 8);
    span.name = name;
    span.begin = parent.begin;
    span.end = parent.end;
    return span;
}

Span findingSpan(const Span& step, const Anomaly& anomaly, std::size_t number) {
    Span span = childOf(step, std::string(anomalyKindName(anomaly.kind)), fmt::format("finding/{}", number));
    span.attributes = {{"pp.finding.kind", anomalyKindName(anomaly.kind)},
                       {"pp.finding.severity", severityName(anomaly.severity)},
                       {"pp.finding.message", anomaly.message.text()},
                       {"pp.finding.cost", seconds(anomaly.cost)}};
    if (!anomaly.suggestion.empty()) span.attributes.push_back({"pp.finding.suggestion", anomaly.suggestion.text()});
    if (anomaly.rank) span.attributes.push_back({"pp.rank", anomaly.rank->value});
    if (anomaly.replica) span.attributes.push_back({"pp.replica", *anomaly.replica});
    if (anomaly.severity == Severity::Serious) span.error = anomaly.message.text();
    return span;
}

otlp::Attributes resourceOf(std::string_view schedule, int pp, int microbatches, const std::string& name) {
    return {{"service.name", "bubblescope"},
            {"service.instance.id", otlp::identifier(name, 8)},
            {"pp.schedule", schedule},
            {"pp.size", pp},
            {"pp.microbatches", microbatches}};
}

Metric findingsMetric(const std::map<std::string_view, int>& kinds) {
    Metric metric = gauge("pp.findings", "Findings currently present.", "{finding}", {});
    for (const auto& [kind, count] : kinds)
        metric.points.push_back({static_cast<double>(count), {{"kind", kind}}});
    return metric;
}

void addTypical(Telemetry& made, const RunReport& report, const std::optional<ModelUse>& use) {
    const StepAnalysis& typical = report.steps[report.typicalStep()];
    made.metrics.push_back(
        {"pp.steps", "Steps of the run.", "{step}", true, {{static_cast<double>(report.steps.size()), {}}}});
    const TimeNs step = report.selection.stepTime();
    made.metrics.push_back(gauge("pp.step.duration", "Duration of the typical step.", "s", {{seconds(step), {}}}));
    made.metrics.push_back(gauge("pp.bubble.ratio",
                                 "Idle time as a share of the makespan in the typical step, mean over ranks.", "1",
                                 {{typical.rates.over_makespan, {}}}));
    if (use)
        made.metrics.push_back(gauge("pp.mfu", "Model FLOPs as a share of the devices' peak in the typical step.", "1",
                                     {{use->of(step), {}}}));
    Metric busy = gauge("pp.rank.busy", "Time in ops in the typical step.", "s", {});
    Metric bubble = gauge("pp.rank.bubble", "Time in bubbles in the typical step.", "s", {});
    for (const RankAccount& account : typical.ranks) {
        busy.points.push_back({seconds(account.busy), {{"rank", account.rank.value}}});
        bubble.points.push_back({seconds(account.bubble), {{"rank", account.rank.value}}});
    }
    made.metrics.push_back(std::move(busy));
    made.metrics.push_back(std::move(bubble));
    std::map<std::string_view, int> kinds;
    for (const Anomaly& anomaly : report.anomalies)
        ++kinds[anomalyKindName(anomaly.kind)];
    made.metrics.push_back(findingsMetric(kinds));
}

/// The ranks of a step, as children of its span.
void addRanks(std::vector<Span>& spans, const Span& step, const StepAnalysis& analysis) {
    for (const RankAccount& account : analysis.ranks) {
        Span span =
            childOf(step, fmt::format("rank {}", account.rank.value), fmt::format("rank/{}", account.rank.value));
        span.attributes = {{"pp.rank", account.rank.value},
                           {"pp.busy", seconds(account.busy)},
                           {"pp.bubble.time", seconds(account.bubble)}};
        if (account.expected_bubble)
            span.attributes.push_back({"pp.bubble.expected", seconds(*account.expected_bubble)});
        spans.push_back(std::move(span));
    }
}

} // namespace

Telemetry ofReport(const Run& run, const RunReport& report, const std::optional<ModelUse>& use, const std::string& name,
                   TimeNs now) {
    Telemetry made;
    made.resource = resourceOf(run.schedule.name, run.schedule.pp, run.schedule.microbatches, name);
    made.resource.push_back({"bubblescope.time", "shifted so that the last step ends at the time of export"});
    TimeNs first = run.steps.front().begin;
    TimeNs last = run.steps.front().end;
    for (const StepTimeline& step : run.steps) {
        first = std::min(first, step.begin);
        last = std::max(last, step.end);
    }
    made.now = now;
    made.began = now - (last - first);
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
        const StepTimeline& step = run.steps[i];
        Span span = stepSpan(stepSeed(name, step.index, step.replica), step.index,
                             {now - (last - step.begin), now - (last - step.end)});
        span.attributes.push_back({"pp.replica", step.replica});
        span.attributes.push_back({"pp.bubble.ratio", report.steps[i].rates.over_makespan});
        span.attributes.push_back({"pp.typical", i == report.typicalStep()});
        made.spans.push_back(std::move(span));
    }
    const std::size_t typical = report.typicalStep();
    addRanks(made.spans, Span(made.spans[typical]), report.steps[typical]);
    for (std::size_t i = 0; i < report.anomalies.size(); ++i) {
        const Anomaly& anomaly = report.anomalies[i];
        const auto at = std::ranges::find_if(run.steps, [&](const StepTimeline& step) {
            return anomaly.step == step.index && anomaly.replica.value_or(step.replica) == step.replica;
        });
        const std::size_t step = at == run.steps.end() ? typical : static_cast<std::size_t>(at - run.steps.begin());
        made.spans.push_back(findingSpan(Span(made.spans[step]), anomaly, i));
    }
    addTypical(made, report, use);
    return made;
}

namespace {

Span liveStep(const std::string& name, const live::LiveStep& step, TimeNs now) {
    Span span = stepSpan(stepSeed(name, step.index, -1), step.index, {now - step.wall, now});
    span.attributes.push_back({"pp.complete", step.complete});
    if (step.complete) span.attributes.push_back({"pp.bubble.ratio", step.bubble_rate});
    if (step.expected_rate) span.attributes.push_back({"pp.bubble.expected_ratio", *step.expected_rate});
    if (step.values.loss) span.attributes.push_back({"pp.loss", *step.values.loss});
    if (!step.complete) span.error = step.fault.empty() ? "records are missing" : step.fault;
    return span;
}

void addLiveMetrics(Telemetry& made, const live::LiveAnalyzer& analyzer) {
    const live::LiveCounts counts = analyzer.counts();
    made.metrics.push_back({"pp.steps", "Completed steps.", "{step}", true, {{static_cast<double>(counts.steps), {}}}});
    made.metrics.push_back({"pp.steps.incomplete",
                            "Steps with missing records.",
                            "{step}",
                            true,
                            {{static_cast<double>(counts.incomplete), {}}}});
    const auto& steps = analyzer.steps();
    const auto last =
        std::find_if(steps.rbegin(), steps.rend(), [](const live::LiveStep& step) { return step.complete; });
    if (last != steps.rend()) {
        made.metrics.push_back(
            gauge("pp.step.duration", "Duration of the last complete step.", "s", {{seconds(last->wall), {}}}));
        made.metrics.push_back(gauge("pp.bubble.ratio",
                                     "Idle time as a share of the makespan in the last complete step, mean over ranks.",
                                     "1", {{last->bubble_rate, {}}}));
        if (const std::optional<ModelUse> use = analyzer.use())
            made.metrics.push_back(gauge("pp.mfu",
                                         "Model FLOPs as a share of the devices' peak in the last complete step.", "1",
                                         {{use->of(last->wall), {}}}));
    }
    Metric busy{"pp.rank.busy", "Time in ops, summed over complete steps.", "s", true, {}};
    Metric bubble{"pp.rank.bubble", "Time in bubbles, summed over complete steps.", "s", true, {}};
    for (const live::LiveRank& rank : analyzer.ranks()) {
        const otlp::Attributes of{{"rank", rank.rank.value}, {"replica", rank.replica}};
        busy.points.push_back({seconds(rank.busy), of});
        bubble.points.push_back({seconds(rank.bubble), of});
    }
    if (!busy.points.empty()) {
        made.metrics.push_back(std::move(busy));
        made.metrics.push_back(std::move(bubble));
    }
    std::map<std::string_view, int> kinds;
    for (const LoggedFinding& finding : analyzer.anomalies())
        ++kinds[anomalyKindName(finding.anomaly.kind)];
    made.metrics.push_back(findingsMetric(kinds));
}

} // namespace

Telemetry LiveTelemetry::of(std::span<const live::LiveEvent> events, const live::LiveAnalyzer& analyzer,
                            TimeNs now) const {
    using Kind = live::LiveEvent::Kind;
    Telemetry made;
    if (const auto& info = analyzer.info())
        made.resource = resourceOf(info->schedule, info->pp, info->microbatches, name_);
    made.began = began_;
    made.now = now;
    const auto& steps = analyzer.steps();
    for (const live::LiveEvent& event : events) {
        if (event.kind == Kind::StepClosed) {
            const auto step = std::ranges::find(steps, event.step, &live::LiveStep::index);
            if (step != steps.end()) made.spans.push_back(liveStep(name_, *step, now));
        } else if (event.kind == Kind::AnomalyFound) {
            const Span step = stepSpan(stepSeed(name_, event.step, -1), event.step, {now, now});
            const auto number = static_cast<std::size_t>(event.anomaly->anomaly.kind) * 100'000 +
                                static_cast<std::size_t>(event.anomaly->anomaly.rank.value_or(Rank{0}).value);
            made.spans.push_back(findingSpan(step, event.anomaly->anomaly, number));
        } else if (event.kind == Kind::Mismatch) {
            const Span step = stepSpan(stepSeed(name_, event.step, -1), event.step, {now, now});
            Span span = childOf(step, "aadiff-mismatch", event.text);
            span.attributes = {{"pp.finding.kind", "aadiff-mismatch"}, {"pp.finding.message", event.text}};
            span.error = event.text;
            made.spans.push_back(std::move(span));
        }
    }
    addLiveMetrics(made, analyzer);
    return made;
}

} // namespace bubblescope::telemetry
