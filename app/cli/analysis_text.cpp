#include "app/cli/analysis_output.h"
#include "app/cli/checks_output.h"
#include "app/cli/diagnosis_output.h"
#include "app/cli/output.h"
#include "app/cli/paragraph.h"
#include "app/cli/table.h"
#include "core/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace bubblescope::cli {
namespace {

/// "7", or "7 of replica 1" where several pipelines ran the same step.
std::string stepName(const StepAnalysis& step) {
    return step.replica == 0 ? fmt::format("{}", step.index)
                             : fmt::format("{} of replica {}", step.index, step.replica);
}

/// Observed against closed form, as a share of the latter where there is one.
std::string difference(TimeNs observed, TimeNs expected) {
    const TimeNs delta = observed - expected;
    if (expected.count() == 0) return formatTimeDelta(delta);
    return fmt::format("{} ({:+.1f} %)", formatTimeDelta(delta),
                       100 * static_cast<double>(delta.count()) / static_cast<double>(expected.count()));
}

std::string headText(const Run& run) {
    const std::string what =
        run.files.size() == 1 ? run.files.front().string() : fmt::format("{} files", run.files.size());
    std::string out = fmt::format("{}: {}, {}, {}, {} slices, {}\n", what, run.format,
                                  pluralize(static_cast<std::size_t>(run.schedule.pp), "rank"),
                                  pluralize(run.steps.size(), "step"), run.slices, formatTime(run.span));
    out += fmt::format("Schedule: {} ({})\n", scheduleTitle(run.schedule), run.annotation);
    if (run.departure) {
        out += fmt::format("  closest to {}, left at op {} of rank {}: {} where {} is due\n", run.closest,
                           run.departure->index, run.departure->rank.value, opName(run.departure->observed),
                           opName(run.departure->expected));
    }
    const Explanation& how = run.explanation;
    if (how.source == "inferred" || how.source == "given") {
        const std::string_view by = how.source == "given" ? "given, judged by" : "inferred, judged by";
        out += fmt::format("  {} (confidence {:.2f}; from 0.80 on it can be trusted)\n", by, how.confidence);
        for (const std::string& sentence : how.evidence)
            out += fmt::format("    {}\n", sentence);
    }
    if (!how.alternatives.empty())
        out += fmt::format("  explains the trace as well: {}\n", fmt::join(how.alternatives, ", "));
    if (run.places) out += fmt::format("Mesh: {} (by {})\n", placeText(run.places->sizes), run.places->source);
    return out;
}

/// Nothing where all ranks share a clock.
std::string clocksText(const RunClocks& clocks) {
    if (clocks.method == ClockMethod::Shared) return {};
    std::string out = fmt::format("Clocks: {} ({})", clockMethodName(clocks.method), clocks.reason);
    if (clocks.method == ClockMethod::Aligned) {
        out += fmt::format("; by {} transfers, {} ops' order, {} collectives, {} pings; residual {}", clocks.transfers,
                           clocks.op_orders, clocks.collectives, clocks.pings, formatTime(clocks.residual));
    }
    out += "\n";
    constexpr std::size_t kMost = 16;
    for (std::size_t i = 0; i < std::min(kMost, clocks.ranks.size()); ++i) {
        const RankClock& rank = clocks.ranks[i];
        out += fmt::format("  rank {}{}{}: {} +- {}, drift {:+.2f} ppm\n", rank.rank.value,
                           rank.replica == 0 ? "" : fmt::format(" of replica {}", rank.replica),
                           rank.host.empty() ? "" : " on " + rank.host, formatTimeDelta(rank.fit.offset),
                           formatTime(rank.fit.bound), rank.fit.drift * 1e6);
    }
    if (clocks.ranks.size() > kMost) out += fmt::format("  … and {} more\n", clocks.ranks.size() - kMost);
    return out;
}

std::string faultsText(const Run& run) {
    if (!run.info || run.info->faults.empty()) return {};
    return fmt::format("Planted faults: {}\n", run.info->faults);
}

std::string pacingText(const Run& run) {
    if (!run.info || run.info->source != "run") return {};
    if (!run.info->paced) return "Pacing: off, ops took as long as their maths\n";
    TimeNs latest{0};
    std::int64_t ops = 0;
    std::int64_t moved = 0;
    for (const StepTimeline& step : run.steps) {
        for (const auto& rank : step.ranks) {
            for (const TimelineOp& op : rank) {
                ++ops;
                latest = std::max(latest, op.lateness);
                moved += op.lateness > run.info->pace_tolerance ? 1 : 0;
            }
        }
    }
    return fmt::format(
        "Pacing: on, ops last their nominal time on an emulated device clock; the machine was up to {} late,\n"
        "  {} of {} ops more than the tolerance of {} (those end when they really ended)\n",
        formatTime(latest), moved, ops, formatTime(run.info->pace_tolerance));
}

std::string stepsText(const RunReport& report) {
    Table table({{"step"}, {"wall"}, {"bubble rate"}, {"closed form"}, {"t_f"}, {"t_b"}});
    constexpr std::size_t kMost = 40;
    for (std::size_t i = 0; i < std::min(report.steps.size(), kMost); ++i) {
        const StepAnalysis& step = report.steps[i];
        table.row({stepName(step), formatTime(step.wall), formatPercent(step.rates.over_makespan),
                   step.form ? formatPercent(step.form->bubble_rate) : "none", formatTime(step.typical.forward),
                   formatTime(step.typical.backward)});
    }
    std::string out = "\nSteps (t_f and t_b are medians, which the closed form is fed with)\n" + table.text();
    if (report.steps.size() > kMost) out += fmt::format("  … and {} more\n", report.steps.size() - kMost);
    return out;
}

/// `checked`: how much of each bubble checks filled.
std::string ranksText(const StepAnalysis& step, bool checked) {
    std::vector<Table::Column> columns{{"rank"}, {"busy"}, {"bubble"}, {"closed form"}, {"difference", kLeft}};
    if (checked) columns.insert(columns.begin() + 3, {{"of it idle"}, {"in checks"}});
    Table table(std::move(columns));
    for (const RankAccount& account : step.ranks) {
        std::vector<std::string> cells{
            fmt::format("{}", account.rank.value), formatTime(account.busy), formatTime(account.bubble),
            account.expected_bubble ? formatTime(*account.expected_bubble) : "none",
            account.expected_bubble ? difference(account.bubble, *account.expected_bubble) : ""};
        if (checked)
            cells.insert(cells.begin() + 3, {formatTime(account.bubble - account.replay), formatTime(account.replay)});
        table.row(std::move(cells));
    }
    return table.text();
}

std::string_view expressionAt(const ClosedForm& form, Rank rank, Position position) {
    for (const PositionForm& part : form.positions) {
        if (part.rank == rank && part.position == position) return part.expression;
    }
    return "0";
}

std::string positionsText(const StepAnalysis& step) {
    std::string head =
        "\nBubbles by position (s = rank; idle time gathered within the ops' slack, so that it compares)\n";
    if (!step.form) {
        head = fmt::format("\nBubbles by position; no closed form to compare with: {}\n", step.form_note);
        if (step.at_least)
            head += fmt::format("  at these op times any such order takes at least {}\n", formatTime(*step.at_least));
    }
    if (step.form && !step.positionsKnown()) {
        head = fmt::format("\nBubbles by position; the closed form is known for the total alone: {}\n",
                           step.form->bubble_expression);
    }
    const bool f_then_b = step.form && step.form->f_then_b;
    Table table(
        {{"rank"}, {"position", kLeft}, {"observed"}, {"closed form"}, {"difference", kLeft}, {"expression", kLeft}});
    for (const RankAccount& account : step.ranks) {
        for (std::size_t i = 0; i < kPositionCount; ++i) {
            if (account.observed[i].count() == 0 && account.expected[i].count() == 0) continue;
            const auto position = static_cast<Position>(i);
            std::vector<std::string> cells{fmt::format("{}", account.rank.value),
                                           std::string(positionName(position, f_then_b)),
                                           formatTime(account.observed[i])};
            if (step.positionsKnown()) {
                cells.push_back(formatTime(account.expected[i]));
                cells.push_back(difference(account.observed[i], account.expected[i]));
                cells.emplace_back(expressionAt(*step.form, account.rank, position));
            } else {
                cells.insert(cells.end(), {"none", "", ""});
            }
            table.row(std::move(cells));
        }
    }
    return head + table.text();
}

std::string stagesText(const Run& run, const RunReport& report) {
    constexpr std::size_t kMost = 64;
    if (report.stages.size() > kMost) return {};
    const bool split =
        std::ranges::any_of(report.stages, [](const StageTimes& s) { return s.median.input_grad.count() > 0; });
    Table table(split ? std::vector<Table::Column>{{"rank"}, {"chunk"}, {"F"}, {"B"}, {"I"}, {"W"}, {"", kLeft}}
                      : std::vector<Table::Column>{{"rank"}, {"chunk"}, {"F"}, {"B"}, {"", kLeft}});
    for (const StageTimes& stage : report.stages) {
        const bool slow = std::ranges::any_of(report.anomalies, [&](const Anomaly& a) {
            const bool of_stage = a.kind == AnomalyKind::SlowStage || a.kind == AnomalyKind::LastStageImbalance;
            return of_stage && a.rank == stage.rank && a.chunk == stage.chunk;
        });
        std::vector<std::string> cells{fmt::format("{}", stage.rank.value), fmt::format("{}", stage.chunk.value),
                                       formatTime(stage.median.forward), formatTime(stage.median.backward)};
        if (split) {
            cells.push_back(formatTime(stage.median.input_grad));
            cells.push_back(formatTime(stage.median.weight_grad));
        }
        cells.emplace_back(slow ? "<- slow" : "");
        table.row(std::move(cells));
    }
    return fmt::format("\nOp times by stage (medians over {})\n", pluralize(run.steps.size(), "step")) + table.text();
}

std::string anomaliesText(const RunReport& report) {
    std::string out;
    for (const Anomaly& anomaly : report.anomalies) {
        out += paragraph(fmt::format("  {} ({}): ", severityName(anomaly.severity), anomalyKindName(anomaly.kind)),
                         anomaly.message.text());
        out += paragraph("    -> ", anomaly.suggestion.text());
    }
    return out.empty() ? out : "\nFindings\n" + out;
}

} // namespace

std::string analysisText(const Run& run, const RunReport& report, std::optional<int> step) {
    std::size_t shown_index = report.typical_step;
    for (std::size_t i = 0; i < report.steps.size(); ++i) {
        if (report.steps[i].index == step) shown_index = i;
    }
    const StepAnalysis* shown = &report.steps[shown_index];
    std::string out = headText(run) + pacingText(run) + faultsText(run) + clocksText(report.clocks) + stepsText(report);
    out += fmt::format("\nStep {}{}\n", stepName(*shown),
                       step ? "" : ", the one of median length (--step N shows another)");
    return out + ranksText(*shown, report.coverage.has_value()) + positionsText(*shown) +
           diagnosisText(run.steps[shown_index], report.diagnoses[shown_index]) + stagesText(run, report) +
           checksText(run, report) + anomaliesText(report);
}

} // namespace bubblescope::cli
