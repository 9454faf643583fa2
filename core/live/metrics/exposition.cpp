#include "core/live/metrics/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

namespace bubblescope::live {
namespace {

double seconds(TimeNs time) {
    return static_cast<double>(time.count()) * 1e-9;
}

/// Escapes a label's value.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || c == '"') out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out;
}

class Page {
public:
    void metric(std::string_view name, std::string_view type, std::string_view help) {
        name_ = name;
        fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
    }
    template <class Value>
    void value(const std::string& labels, Value value) {
        if (labels.empty())
            fmt::format_to(std::back_inserter(text_), "{} {}\n", name_, value);
        else
            fmt::format_to(std::back_inserter(text_), "{}{{{}}} {}\n", name_, labels, value);
    }
    template <class Value>
    void single(std::string_view name, std::string_view type, std::string_view help, const std::string& labels,
                Value held) {
        metric(name, type, help);
        value(labels, held);
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string text_;
    std::string name_;
};

std::string labelsOf(const LiveRank& rank) {
    return fmt::format("rank=\"{}\",dp=\"{}\"", rank.rank.value, rank.replica);
}

void addSteps(Page& page, const LiveAnalyzer& analyzer) {
    const LiveCounts counts = analyzer.counts();
    page.single("pp_steps_total", "counter", "Steps that ended.", "", counts.steps);
    page.single("pp_steps_incomplete_total", "counter", "Steps of which records lack.", "", counts.incomplete);
    const auto& steps = analyzer.steps();
    const auto last = std::find_if(steps.rbegin(), steps.rend(), [](const LiveStep& step) { return step.complete; });
    if (last == steps.rend()) return;
    const std::string schedule = fmt::format("schedule=\"{}\"", escaped(analyzer.info()->schedule));
    page.single("pp_step_seconds", "gauge", "Time of the last complete step.", schedule, seconds(last->wall));
    page.single("pp_step", "gauge", "Number of the last complete step.", schedule, last->index);
    page.single("pp_bubble_ratio", "gauge", "Idle over makespan in the last complete step, mean of all ranks.",
                schedule, last->bubble_rate);
    if (last->expected_rate) {
        page.single("pp_bubble_ratio_expected", "gauge", "The same by the schedule's closed form.", schedule,
                    *last->expected_rate);
    }
    page.metric("pp_bubble_cause_seconds", "gauge", "Why ranks waited in the last complete step, sum of all ranks.");
    for (std::size_t cause = 0; cause < kCauseCount; ++cause) {
        page.value(fmt::format("cause=\"{}\"", causeKey(static_cast<Cause>(cause))), seconds(last->causes[cause]));
    }
}

void addRanks(Page& page, const LiveAnalyzer& analyzer) {
    const auto each = [&](std::string_view name, std::string_view type, std::string_view help, const auto& value) {
        page.metric(name, type, help);
        for (const LiveRank& rank : analyzer.ranks())
            page.value(labelsOf(rank), value(rank));
    };
    each("pp_rank_up", "gauge", "Whether the rank is heard of and not late, gone or ended.",
         [](const LiveRank& rank) { return rank.state == RankState::Running ? 1 : 0; });
    each("pp_rank_gone", "gauge", "Whether the rank's process is no more without having ended.",
         [](const LiveRank& rank) { return rank.state == RankState::Gone ? 1 : 0; });
    each("pp_rank_step", "gauge", "Last step of which an op was heard.",
         [](const LiveRank& rank) { return rank.step; });
    each("pp_busy_seconds_total", "counter", "Time in ops, over complete steps.",
         [](const LiveRank& rank) { return seconds(rank.busy); });
    each("pp_bubble_seconds_total", "counter", "Time in bubbles, over complete steps.",
         [](const LiveRank& rank) { return seconds(rank.bubble); });
}

void addFindings(Page& page, const LiveAnalyzer& analyzer) {
    std::map<std::string_view, int> kinds;
    for (const AnomalyKindInfo& kind : anomalyKinds())
        kinds[kind.name] = 0;
    for (const LiveAnomaly& anomaly : analyzer.anomalies())
        ++kinds[anomalyKindName(anomaly.anomaly.kind)];
    page.metric("pp_anomalies", "gauge", "Anomalies that hold at present.");
    for (const auto& [kind, count] : kinds)
        page.value(fmt::format("kind=\"{}\"", kind), count);
    const CheckCounts& checks = analyzer.checks();
    page.metric("pp_replay_checks_total", "counter", "Checks of aadiff by what came of them.");
    page.value("outcome=\"equal\"", checks.equal);
    page.value("outcome=\"mismatch\"", checks.mismatch);
    page.value("outcome=\"aborted\"", checks.aborted);
    page.value("outcome=\"skipped\"", checks.skipped);
    page.single("pp_replay_mismatch_total", "counter", "Checks of aadiff that did not agree.", "", checks.mismatch);
    page.single("pp_replay_seconds_total", "counter", "Time in checks of aadiff.", "", seconds(checks.time));
    if (const auto coverage = checks.coverage())
        page.single("pp_replay_coverage_ratio", "gauge", "Checks done over checks planned.", "", *coverage);
}

void addCapture(Page& page, const LiveAnalyzer& analyzer) {
    const LiveCounts counts = analyzer.counts();
    page.single("pp_capture_records_total", "counter", "Slices heard.", "", counts.slices);
    page.single("pp_capture_bytes_total", "counter", "Bytes heard.", "", counts.bytes);
    page.metric("pp_capture_dropped_records_total", "counter", "Records that are not in any step, by why.");
    page.value("reason=\"ring\"", counts.dropped);
    page.value("reason=\"unheard\"", counts.unheard);
    page.value("reason=\"damaged\"", counts.damaged);
    page.value("reason=\"late\"", counts.late);
    page.value("reason=\"bad\"", counts.bad);
    page.value("reason=\"duplicate\"", counts.duplicates);
    page.single("pp_capture_torn_total", "counter", "Places where a stream did not go on with a packet.", "",
                counts.torn);
    const Latency& latency = analyzer.latency();
    if (latency.count() == 0) return;
    page.metric("pp_capture_latency_seconds", "gauge", "From the end of an op to when it was heard, over the run.");
    page.value("quantile=\"0.5\"", seconds(latency.quantile(0.5)));
    page.value("quantile=\"0.99\"", seconds(latency.quantile(0.99)));
    page.value("quantile=\"1\"", seconds(latency.longest()));
}

} // namespace

std::string exposition(const LiveAnalyzer& analyzer) {
    Page page;
    addSteps(page, analyzer);
    addRanks(page, analyzer);
    addFindings(page, analyzer);
    addCapture(page, analyzer);
    return page.take();
}

} // namespace bubblescope::live
