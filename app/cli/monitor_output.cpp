#include "app/cli/monitor_output.h"

#include "core/base/text.h"
#include "core/live/live_answer.h"
#include "core/report/json.h"
#include "core/report/results/analysis.h"
#include "core/report/results/answer.h"
#include "core/report/results/step_values.h"
#include "core/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace bubblescope::cli {
namespace {

using live::LiveAnalyzer;
using live::LiveEvent;
using live::LiveRank;
using live::LiveStep;
using live::RankState;
using report::Value;

// ---- JSON output ----

Value::Object checksOf(const live::CheckCounts& checks) {
    return {{"planned", checks.planned()},   {"equal", checks.equal},     {"mismatch", checks.mismatch},
            {"aborted", checks.aborted},     {"skipped", checks.skipped}, {"digests", checks.digests},
            {"coverage", checks.coverage()}, {"time_ns", checks.time}};
}

Value::Object rankOf(const LiveRank& rank) {
    return {{"rank", rank.rank},
            {"replica", rank.replica},
            {"state", rankStateName(rank.state)},
            {"step", rank.step},
            {"host", rank.host},
            {"pid", rank.pid},
            {"why", rank.reason.empty() ? Value(Value::Absent{}) : Value(rank.reason)}};
}

Value::Object stepOf(const LiveStep& step, const LiveAnalyzer& analyzer) {
    Value::Object object{{"step", step.index}, {"complete", step.complete}};
    if (step.complete) {
        object.push_back({"wall_ns", step.wall});
        object.push_back({"bubble_rate", step.bubble_rate});
        if (const std::optional<ModelUse> use = analyzer.use()) object.push_back({"mfu", use->of(step.wall)});
        object.push_back({"expected_bubble_rate", step.expected_rate});
        object.push_back({"busy_ns", step.busy});
        object.push_back({"bubble_ns", step.bubble});
        object.push_back({"expected_bubble_ns", step.expected_bubble});
        Value::Object causes;
        for (std::size_t cause = 0; cause < kCauseCount; ++cause)
            causes.push_back({std::string(causeKey(static_cast<Cause>(cause))) + "_ns", step.causes[cause]});
        object.push_back({"causes", std::move(causes)});
        std::ranges::move(report::stepValuesOf(step.values), std::back_inserter(object));
    } else {
        object.push_back({"fault", step.fault});
    }
    Value::List unknown;
    for (const auto& [replica, rank] : step.unknown)
        unknown.emplace_back(Value::Object{{"rank", rank}, {"replica", replica}});
    object.push_back({"unknown", std::move(unknown)});
    if (step.checks.planned() > 0) object.push_back({"aadiff", checksOf(step.checks)});
    Value::List mismatches;
    for (const auto& [who, what] : step.mismatches)
        mismatches.emplace_back(Value::Object{{"rank", who}, {"check", what}});
    if (!step.mismatches.empty()) object.push_back({"mismatches", std::move(mismatches)});
    constexpr std::size_t kTop = 3;
    Value::List anomalies;
    for (const LoggedFinding& anomaly : analyzer.anomalies()) {
        if (anomalies.size() < kTop) anomalies.emplace_back(anomaly.anomaly.message);
    }
    object.push_back({"anomalies", std::move(anomalies)});
    return object;
}

Value::Object runOf(const RunInfo& info) {
    return {{"schedule", info.schedule},
            {"flavor", info.flavor},
            {"backend", info.backend},
            {"pp", info.pp},
            {"dp", info.dp},
            {"tp", info.tp},
            {"vpp", info.vpp},
            {"microbatches", info.microbatches},
            {"faults", info.faults}};
}

// ---- Text output ----

std::string headline(const LiveAnalyzer& analyzer) {
    if (!analyzer.info()) return "Waiting for a run to write its first records …\n";
    const RunInfo& info = *analyzer.info();
    std::string line =
        fmt::format("{}, {}", orderName(info.schedule, info.flavor), sizesText(info.pp, info.microbatches, info.vpp));
    if (info.dp > 1) line += fmt::format(", {} replicas", info.dp);
    if (info.tp > 1) line += fmt::format(", {} ranks per stage", info.tp);
    if (info.source == "capture" && !info.backend.empty()) line += "; " + info.backend;
    if (!info.faults.empty()) line += fmt::format("; injected faults: {}", info.faults);
    const std::optional<ModelUse> use = analyzer.use();
    const auto last = std::find_if(analyzer.steps().rbegin(), analyzer.steps().rend(),
                                   [](const LiveStep& step) { return step.complete; });
    if (use && last != analyzer.steps().rend()) line += fmt::format("; MFU {}", formatPercent(use->of(last->wall)));
    return line + (analyzer.runEnded() ? "; the run has ended\n" : "\n");
}

std::string rankName(const LiveRank& rank, const LiveAnalyzer& analyzer) {
    return analyzer.info()->dp > 1 ? fmt::format("rank {} of replica {}", rank.rank.value, rank.replica)
                                   : fmt::format("rank {}", rank.rank.value);
}

/// "3 running, 1 gone", followed by a line for each rank with a problem.
std::string ranksText(const LiveAnalyzer& analyzer) {
    constexpr std::size_t kShown = 4;
    constexpr std::array kStates{RankState::Awaited, RankState::Running, RankState::Late, RankState::Gone,
                                 RankState::Ended};
    std::string counts;
    for (const RankState state : kStates) {
        const auto count = std::ranges::count(analyzer.ranks(), state, &LiveRank::state);
        if (count > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, rankStateName(state));
    }
    std::string out = report::wrapped("Ranks: ", counts);
    std::size_t shown = 0;
    for (const LiveRank& rank : analyzer.ranks()) {
        if ((rank.state != RankState::Late && rank.state != RankState::Gone) || shown++ >= kShown) continue;
        const std::string at = rank.step < 0 ? "" : fmt::format(" since step {}", rank.step);
        out += report::wrapped(fmt::format("  {} is {}{}", rankName(rank, analyzer), rankStateName(rank.state), at),
                               rank.reason.empty() ? "" : ": " + rank.reason);
    }
    if (shown > kShown) out += fmt::format("  and {} more\n", shown - kShown);
    return out;
}

void addStep(report::Table& table, const LiveStep& step) {
    const std::string checks = step.checks.planned() == 0
                                   ? ""
                                   : fmt::format("{} of {}{}", step.checks.equal + step.checks.mismatch,
                                                 step.checks.planned(), step.checks.mismatch > 0 ? " !" : "");
    if (!step.complete) {
        table.row(step.index, "unknown", "", "", "", checks, step.fault);
        return;
    }
    std::size_t worst = 1; // bubbles of the schedule are expected
    for (std::size_t cause = 1; cause < kCauseCount; ++cause) {
        if (step.causes[cause] > step.causes[worst]) worst = cause;
    }
    const double whole = static_cast<double>((step.busy + step.bubble).count());
    const std::string why = step.causes[worst] > TimeNs{0} && whole > 0
                                ? fmt::format("{} {}", causeName(static_cast<Cause>(worst)),
                                              formatPercent(static_cast<double>(step.causes[worst].count()) / whole, 2))
                                : "";
    constexpr auto kPercent = report::Look::Percent2;
    table.row(step.index, step.wall, report::Cell(step.bubble_rate, kPercent),
              step.expected_rate ? report::Cell(*step.expected_rate, kPercent) : report::Cell("none"),
              step.values.loss ? report::lossText(*step.values.loss) : "", checks, why);
}

std::string stepsText(const LiveAnalyzer& analyzer, std::size_t most) {
    using report::shown;
    const auto& steps = analyzer.steps();
    const bool losses = std::ranges::any_of(steps, [](const LiveStep& step) { return step.values.loss.has_value(); });
    report::Table table({}, {shown("step"), shown("time"), shown("bubble"), shown("closed form"), shown("loss"),
                             shown("checks"), shown("beyond the schedule", report::Align::Left)});
    table.columns[4].hidden = !losses;
    const std::size_t from = steps.size() > most ? steps.size() - most : 0;
    for (std::size_t i = from; i < steps.size(); ++i)
        addStep(table, steps[i]);
    return table.rows.empty() ? "No step is complete yet.\n" : report::toText(table);
}

std::string anomaliesText(const LiveAnalyzer& analyzer) {
    constexpr std::size_t kShown = 4;
    std::string out;
    for (std::size_t i = 0; i < std::min(kShown, analyzer.anomalies().size()); ++i) {
        const LoggedFinding& found = analyzer.anomalies()[i];
        out += report::wrapped(fmt::format("  {} ({}, since step {}): ", severityName(found.anomaly.severity),
                                           anomalyKindName(found.anomaly.kind), found.found_at),
                               found.anomaly.message.text());
    }
    if (analyzer.anomalies().size() > kShown)
        out += fmt::format("  and {} more\n", analyzer.anomalies().size() - kShown);
    return out.empty() ? "No anomaly.\n" : "Anomalies:\n" + out;
}

std::string checksText(const LiveAnalyzer& analyzer) {
    const live::CheckCounts& checks = analyzer.checks();
    if (checks.planned() == 0) return {};
    return fmt::format("Checks: {} of {} done ({}), {} mismatch{}\n", checks.equal + checks.mismatch, checks.planned(),
                       formatPercent(*checks.coverage(), 2), checks.mismatch, checks.mismatch == 1 ? "" : "es");
}

std::string capturedText(const LiveAnalyzer& analyzer) {
    const live::LiveCounts counts = analyzer.counts();
    std::string out = fmt::format("Received: {} records", counts.slices);
    const auto tell = [&out](std::int64_t count, std::string_view what) {
        if (count > 0) out += fmt::format(", {} {}", count, what);
    };
    tell(counts.dropped, "lost by the ranks");
    tell(counts.undelivered, "not received");
    tell(counts.damaged, "corrupt");
    tell(counts.torn, "corrupt parts");
    tell(counts.late, "late");
    tell(counts.duplicates, "twice");
    tell(counts.bad, "impossible");
    if (analyzer.latency().count() > 0) {
        out += fmt::format("; ops arrive {} after their end (median; 99 % within {})",
                           formatTime(analyzer.latency().quantile(0.5)), formatTime(analyzer.latency().quantile(0.99)));
    }
    return out + "\n";
}

std::size_t linesOf(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

} // namespace

Value eventOf(const LiveEvent& event, const LiveAnalyzer& analyzer) {
    Value::Object object{{"schema_version", report::kSchemaVersion}};
    const auto append = [&object](Value::Object more) { std::ranges::move(more, std::back_inserter(object)); };
    switch (event.kind) {
    case LiveEvent::Kind::RunBegan:
        object.push_back({"event", "run"});
        append(runOf(*analyzer.info()));
        break;
    case LiveEvent::Kind::RankChanged:
        object.push_back({"event", "rank"});
        append(rankOf(event.rank));
        break;
    case LiveEvent::Kind::StepClosed:
        object.push_back({"event", "step"});
        for (auto step = analyzer.steps().rbegin(); step != analyzer.steps().rend(); ++step) {
            if (step->index != event.step) continue;
            append(stepOf(*step, analyzer));
            break;
        }
        break;
    case LiveEvent::Kind::AnomalyFound:
    case LiveEvent::Kind::AnomalyResolved:
        object.push_back({"event", event.kind == LiveEvent::Kind::AnomalyFound ? "anomaly" : "resolved"});
        object.push_back({"found_at", event.anomaly->found_at});
        object.push_back({"resolved_at", event.anomaly->resolved_at});
        object.push_back({"times", event.anomaly->times});
        append(report::anomalyOf(event.anomaly->anomaly));
        break;
    case LiveEvent::Kind::Mismatch:
        object.push_back({"event", "mismatch"});
        object.push_back({"step", event.step});
        object.push_back({"message", event.text});
        break;
    case LiveEvent::Kind::RunEnded:
        object.push_back({"event", "run_ended"});
        object.push_back({"last_step", event.step});
        break;
    }
    return object;
}

Value liveSummaryOf(const LiveAnalyzer& analyzer) {
    const live::LiveCounts counts = analyzer.counts();
    const live::Latency& latency = analyzer.latency();
    Value::List ranks;
    for (const LiveRank& rank : analyzer.ranks()) {
        Value::Object entry = rankOf(rank);
        entry.push_back({"records", rank.records});
        entry.push_back({"dropped", rank.dropped});
        entry.push_back({"unheard", rank.undelivered});
        entry.push_back({"busy_ns", rank.busy});
        entry.push_back({"bubble_ns", rank.bubble});
        ranks.emplace_back(std::move(entry));
    }
    return Value::Object{{"schema_version", report::kSchemaVersion},
                         {"event", "end"},
                         {"run_ended", analyzer.runEnded()},
                         {"steps", counts.steps},
                         {"incomplete", counts.incomplete},
                         {"ranks", std::move(ranks)},
                         {"aadiff", checksOf(analyzer.checks())},
                         {"answer", report::statementList(live::answerOf(analyzer))},
                         {"counts", Value::Object{{"bytes", counts.bytes},
                                                  {"packets", counts.packets},
                                                  {"slices", counts.slices},
                                                  {"torn", counts.torn},
                                                  {"damaged", counts.damaged},
                                                  {"duplicates", counts.duplicates},
                                                  {"out_of_order", counts.out_of_order},
                                                  {"late", counts.late},
                                                  {"bad", counts.bad},
                                                  {"dropped", counts.dropped},
                                                  {"unheard", counts.undelivered}}},
                         {"latency", Value::Object{{"ops", latency.count()},
                                                   {"p50_ns", latency.quantile(0.5)},
                                                   {"p99_ns", latency.quantile(0.99)},
                                                   {"max_ns", latency.longest()}}}};
}

std::string answerText(const LiveAnalyzer& analyzer) {
    report::Section section;
    report::addHeadline(section, live::answerOf(analyzer));
    return "\n" + report::toText(section);
}

std::string liveText(const LiveAnalyzer& analyzer, std::size_t lines) {
    const std::string head = headline(analyzer);
    if (!analyzer.info()) return head;
    const std::string tail =
        ranksText(analyzer) + checksText(analyzer) + anomaliesText(analyzer) + capturedText(analyzer);
    const std::size_t used = linesOf(head) + linesOf(tail) + 1; // titles of the table
    constexpr std::size_t kFewestSteps = 3;
    return head + stepsText(analyzer, std::max(kFewestSteps, lines > used ? lines - used : 0)) + tail;
}

} // namespace bubblescope::cli
