#include "app/cli/monitor_output.h"
#include "app/cli/output.h"
#include "app/cli/paragraph.h"
#include "app/cli/table.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace bubblescope::cli {
namespace {

using live::LiveAnalyzer;
using live::LiveRank;
using live::LiveStep;
using live::RankState;

std::string headline(const LiveAnalyzer& analyzer) {
    if (!analyzer.info()) return "Waiting for a run to write its first records …\n";
    const RunInfo& info = *analyzer.info();
    std::string line =
        fmt::format("{}, {}", orderName(info.schedule, info.flavor), sizesText(info.pp, info.microbatches, info.vpp));
    if (info.dp > 1) line += fmt::format(", {} replicas", info.dp);
    if (info.tp > 1) line += fmt::format(", {} ranks a stage", info.tp);
    if (!info.faults.empty()) line += fmt::format("; faults planted: {}", info.faults);
    return line + (analyzer.runEnded() ? "; the run has ended\n" : "\n");
}

std::string rankName(const LiveRank& rank, const LiveAnalyzer& analyzer) {
    return analyzer.info()->dp > 1 ? fmt::format("rank {} of replica {}", rank.rank.value, rank.replica)
                                   : fmt::format("rank {}", rank.rank.value);
}

/// "3 running, 1 gone", then a line for each that is not well.
std::string ranksText(const LiveAnalyzer& analyzer) {
    constexpr std::size_t kShown = 4;
    constexpr std::array kStates{RankState::Awaited, RankState::Running, RankState::Late, RankState::Gone,
                                 RankState::Ended};
    std::string counts;
    for (const RankState state : kStates) {
        const auto count = std::ranges::count(analyzer.ranks(), state, &LiveRank::state);
        if (count > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, rankStateName(state));
    }
    std::string out = paragraph("Ranks: ", counts);
    std::size_t shown = 0;
    for (const LiveRank& rank : analyzer.ranks()) {
        if ((rank.state != RankState::Late && rank.state != RankState::Gone) || shown++ >= kShown) continue;
        const std::string at = rank.step < 0 ? "" : fmt::format(" since step {}", rank.step);
        out += paragraph(fmt::format("  {} is {}{}", rankName(rank, analyzer), rankStateName(rank.state), at),
                         rank.reason.empty() ? "" : ": " + rank.reason);
    }
    if (shown > kShown) out += fmt::format("  and {} more\n", shown - kShown);
    return out;
}

std::vector<std::string> stepCells(const LiveStep& step) {
    const std::string checks = step.checks.planned() == 0
                                   ? ""
                                   : fmt::format("{} of {}{}", step.checks.equal + step.checks.mismatch,
                                                 step.checks.planned(), step.checks.mismatch > 0 ? " !" : "");
    if (!step.complete) return {std::to_string(step.index), "unknown", "", "", checks, step.fault};
    std::size_t worst = 1; // the schedule's own is no news
    for (std::size_t cause = 1; cause < kCauseCount; ++cause) {
        if (step.causes[cause] > step.causes[worst]) worst = cause;
    }
    const double whole = static_cast<double>((step.busy + step.bubble).count());
    const std::string why = step.causes[worst] > TimeNs{0} && whole > 0
                                ? fmt::format("{} {}", causeName(static_cast<Cause>(worst)),
                                              formatPercent(static_cast<double>(step.causes[worst].count()) / whole, 2))
                                : "";
    return {std::to_string(step.index),
            formatTime(step.wall),
            formatPercent(step.bubble_rate, 2),
            step.expected_rate ? formatPercent(*step.expected_rate, 2) : "none",
            checks,
            why};
}

std::string stepsText(const LiveAnalyzer& analyzer, std::size_t most) {
    using Align = Table::Align;
    Table table({{"step"}, {"time"}, {"bubble"}, {"closed form"}, {"checks"}, {"besides the schedule", Align::Left}});
    const auto& steps = analyzer.steps();
    const std::size_t from = steps.size() > most ? steps.size() - most : 0;
    for (std::size_t i = from; i < steps.size(); ++i)
        table.row(stepCells(steps[i]));
    return table.empty() ? "No step is complete yet.\n" : table.text();
}

std::string anomaliesText(const LiveAnalyzer& analyzer) {
    constexpr std::size_t kShown = 4;
    std::string out;
    for (std::size_t i = 0; i < std::min(kShown, analyzer.anomalies().size()); ++i) {
        const live::LiveAnomaly& found = analyzer.anomalies()[i];
        out += paragraph(
            fmt::format("  {} ({}): ", severityName(found.anomaly.severity), anomalyKindName(found.anomaly.kind)),
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
    std::string out = fmt::format("Heard: {} records", counts.slices);
    const auto tell = [&out](std::int64_t count, std::string_view what) {
        if (count > 0) out += fmt::format(", {} {}", count, what);
    };
    tell(counts.dropped, "lost by the ranks");
    tell(counts.undelivered, "never heard");
    tell(counts.damaged, "damaged");
    tell(counts.torn, "places torn");
    tell(counts.late, "too late");
    tell(counts.duplicates, "twice");
    tell(counts.bad, "impossible");
    if (analyzer.latency().count() > 0) {
        out += fmt::format("; an op is heard {} after its end (99 % within {})",
                           formatTime(analyzer.latency().quantile(0.5)), formatTime(analyzer.latency().quantile(0.99)));
    }
    return out + "\n";
}

std::size_t linesOf(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

} // namespace

std::string liveText(const LiveAnalyzer& analyzer, std::size_t lines) {
    const std::string head = headline(analyzer);
    if (!analyzer.info()) return head;
    const std::string tail =
        ranksText(analyzer) + checksText(analyzer) + anomaliesText(analyzer) + capturedText(analyzer);
    const std::size_t used = linesOf(head) + linesOf(tail) + 1; // the table's titles
    constexpr std::size_t kFewestSteps = 3;
    return head + stepsText(analyzer, std::max(kFewestSteps, lines > used ? lines - used : 0)) + tail;
}

} // namespace bubblescope::cli
