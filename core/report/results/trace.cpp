#include "core/report/results/analysis_parts.h"

#include "core/base/text.h"
#include "core/base/visible.h"
#include "core/recognise/dispatch_match.h"
#include "core/report/results/document_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::report {
namespace {

std::vector<std::string> pacingLines(const Run& run) {
    if (!run.info->paced) return {"Pacing: off; ops ran at full speed"};
    const std::string paced = "Pacing: on; ops take their nominal time on an emulated device clock";
    if (!std::ranges::all_of(run.steps, &StepTimeline::hasOps)) return {paced};
    TimeNs latest{0};
    std::int64_t ops = 0;
    std::int64_t moved = 0;
    for (const StepTimeline& step : run.steps) {
        for (const auto& rank : step.ranks) {
            for (const TimelineOp& op : rank) {
                ++ops;
                const TimeNs lateness = step.detailsOf(op).lateness;
                latest = std::max(latest, lateness);
                moved += lateness > run.info->pace_tolerance ? 1 : 0;
            }
        }
    }
    return {paced,
            fmt::format("  at most {} late; {} of {} ops exceeded the tolerance of {} and keep their actual end times",
                        formatTime(latest), moved, ops, formatTime(run.info->pace_tolerance))};
}

} // namespace

Section traceData(const Run& run) {
    Section trace;
    trace.key = "trace";
    trace.data("files", filesOf(run.files));
    trace.data("format", run.format);
    trace.data("ranks", run.schedule.pp);
    trace.data("slices", run.slices);
    trace.data("span_ns", run.span);
    trace.add(problemsTable(run.problems, Reader::Programs));
    if (run.places) {
        Section mesh;
        mesh.key = "mesh";
        mesh.data("source", run.places->source);
        for (Member& size : placeOf(run.places->sizes))
            mesh.blocks.emplace_back(std::move(size));
        Value::List ranks;
        for (const auto& [rank, place] : run.places->ranks) {
            Value::Object each = placeOf(place);
            each.push_back({"rank", rank});
            ranks.emplace_back(std::move(each));
        }
        mesh.data("ranks", std::move(ranks));
        trace.add(std::move(mesh));
    }
    if (const auto& timing = run.timing) {
        trace.data("kernel_timing", Value::Object{{"ops", timing->ops},
                                                  {"by_events", timing->by_events},
                                                  {"event_before_ns", timing->begin},
                                                  {"event_behind_ns", timing->end},
                                                  {"farthest_ns", timing->farthest}});
    }
    if (run.info) {
        trace.data("source", run.info->source);
        trace.data("backend", run.info->backend);
        trace.data("paced", run.info->paced);
        if (run.info->paced) trace.data("pace_tolerance_ns", run.info->pace_tolerance);
        if (!run.info->faults.empty()) trace.data("planted_faults", run.info->faults);
    }
    return trace;
}

Section scheduleData(const Run& run) {
    Section schedule;
    schedule.key = "schedule";
    addOrder(schedule, run.schedule);
    schedule.data("placement", placementName(run.schedule.placement));
    schedule.data("recognised_by", run.annotation);
    schedule.data("source", run.explanation.source);
    if (!run.explanation.framework.empty()) {
        schedule.data("framework", run.explanation.framework);
        schedule.data("called", run.explanation.called);
    }
    if (!run.explanation.layers.empty()) schedule.data("layers", run.explanation.layers);
    schedule.data("confidence", run.explanation.confidence);
    schedule.data("evidence", run.explanation.evidence);
    schedule.data("alternatives", run.explanation.alternatives);
    if (choosesOps(run)) schedule.data("dispatched_by_hint", run.closest);
    if (run.departure) {
        schedule.data("closest", run.closest);
        schedule.data("departs_at", Value::Object{{"rank", run.departure->rank},
                                                  {"index", run.departure->index},
                                                  {"expected", opName(run.departure->expected)},
                                                  {"observed", opName(run.departure->observed)}});
    }
    return schedule;
}

void addTraceLines(Section& document, const Run& run, const StepSelection& selection) {
    std::string steps = pluralize(selection.steps().size(), "step");
    if (selection.replicas() > 1) steps += fmt::format(" × {} replicas", selection.replicas());
    const auto line = [&](std::string text) { document.line(visible(text), Reader::Text); };
    line(fmt::format("{}: {}, {}, {}, {} slices, {}",
                     run.files.size() == 1 ? run.files.front().string() : fmt::format("{} files", run.files.size()),
                     run.format, pluralize(static_cast<std::size_t>(run.schedule.pp), "rank"), steps, run.slices,
                     formatTime(run.span)));
    line(fmt::format("Schedule: {} ({})", scheduleTitle(run.schedule), run.annotation));
    if (!run.explanation.called.empty())
        line(fmt::format("  {} calls it {}", run.explanation.framework, run.explanation.called));
    if (choosesOps(run)) line(fmt::format("  dispatched by readiness, hint {}", run.closest));
    if (run.departure) {
        line(fmt::format("  closest to {}; deviates at op {} of rank {}: {} instead of {}", run.closest,
                         run.departure->index, run.departure->rank.value, opName(run.departure->observed),
                         opName(run.departure->expected)));
    }
    if (const auto& timing = run.timing) {
        line(fmt::format("{} ops use the times of their kernels{}; the surrounding events are {} earlier and {} later "
                         "(medians), and at most {} away",
                         timing->ops,
                         timing->by_events > 0 ? fmt::format(", {} use the times of their events", timing->by_events)
                                               : "",
                         formatTime(timing->begin), formatTime(timing->end), formatTime(timing->farthest)));
    }
    const Explanation& how = run.explanation;
    if (how.source == "inferred" || how.source == "given") {
        const std::string_view by = how.source == "given" ? "given, judged by" : "inferred, judged by";
        line(fmt::format("  {} (confidence {:.2f}; reliable at 0.80 or more)", by, how.confidence));
        for (const std::string& sentence : how.evidence)
            line("    " + sentence);
    }
    if (!how.alternatives.empty())
        line(fmt::format("  also explains the trace: {}", fmt::join(how.alternatives, ", ")));
    if (run.places) line(fmt::format("Mesh: {} (by {})", placeText(run.places->sizes), run.places->source));
    if (run.info && run.info->source == "run") {
        for (const std::string& text : pacingLines(run))
            line(text);
    }
    if (run.info && !run.info->faults.empty()) line(fmt::format("Injected faults: {}", run.info->faults));
}

Section clocksSection(const RunClocks& clocks) {
    Section section;
    section.key = "clocks";
    if (clocks.method != ClockMethod::Shared) { // with one clock there is nothing to report to people
        std::string text = fmt::format("Clocks: {} ({})", clockMethodName(clocks.method), clocks.reason);
        if (clocks.method == ClockMethod::Aligned) {
            text += fmt::format("; from {} transfers, the order of {} ops, {} collectives, {} pings; residual {}",
                                clocks.transfers, clocks.op_orders, clocks.collectives, clocks.pings,
                                formatTime(clocks.residual));
        }
        section.line(visible(text), Reader::Text);
        constexpr std::size_t kMaxRanks = 16;
        for (std::size_t i = 0; i < std::min(kMaxRanks, clocks.ranks.size()); ++i) {
            const RankClock& rank = clocks.ranks[i];
            section.line(fmt::format("  rank {}{}{}: {} ± {}, drift {:+.2f} ppm", rank.rank.value,
                                     rank.replica == 0 ? "" : fmt::format(" of replica {}", rank.replica),
                                     rank.host.empty() ? "" : " on " + rank.host, formatTimeDelta(rank.fit.offset),
                                     formatTime(rank.fit.bound), rank.fit.drift * 1e6),
                         Reader::Text);
        }
        if (clocks.ranks.size() > kMaxRanks)
            section.line(fmt::format("  … and {} more", clocks.ranks.size() - kMaxRanks), Reader::Text);
    }
    section.data("method", clockMethodName(clocks.method));
    section.data("reason", clocks.reason);
    section.data("events", Value::Object{{"transfers", clocks.transfers},
                                         {"op_orders", clocks.op_orders},
                                         {"collectives", clocks.collectives},
                                         {"pings", clocks.pings}});
    section.data("residual_ns", clocks.residual);
    section.data("bound_ns", clocks.bound());
    Table ranks("ranks", {data("rank"), data("replica"), data("host"), data("group"), data("offset_ns"),
                          data("drift_ppm"), data("bound_ns")});
    ranks.reader = Reader::Programs;
    for (const RankClock& rank : clocks.ranks) {
        ranks.row(rank.rank, rank.replica, rank.host.empty() ? Value() : Value(rank.host), rank.fit.group,
                  rank.fit.offset, rank.fit.drift * 1e6, rank.fit.bound);
    }
    section.add(std::move(ranks));
    return section;
}

} // namespace bubblescope::report
