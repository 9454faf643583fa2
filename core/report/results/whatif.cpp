#include "core/report/results/whatif.h"

#include "core/base/text.h"
#include "core/report/results/document_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace bubblescope::report {
namespace {

constexpr double kExplains = 0.5; ///< a cause with this share of the loss explains it

// ---- The straggler study, for people ----

void addHead(Section& document, const RunModel& model, const ModelFit& fit) {
    document.line(fmt::format("{}: {}, {}", model.where, sizesText(model.pp, model.microbatches, model.vpp),
                              model.selection.summary().text()));
    document.paragraph("", fmt::format("A step takes {}. The replayed steps took {} on average; without any start "
                                       "delays, {}. Start delays of all causes add {}.",
                                       formatTime(model.step_time), formatTime(fit.observed), formatTime(fit.simulated),
                                       formatPercent(fit.launchDelay())));
    addReplayCheck(document, model.check);
}

void addVerdict(Section& document, const StragglerStudy& study) {
    const std::size_t all = study.by_dp.size() * study.by_pp.size();
    std::string workers = fmt::format("{} of {}: ", study.slowest.size(), all);
    for (const auto& worker : study.slowest)
        workers +=
            fmt::format("{}dp {} rank {}", workers.ends_with(": ") ? "" : ", ", worker.replica, worker.rank.value);
    document.paragraph("", fmt::format("With average op times and median transfers, a step would take {}: S = {:.2f}, "
                                       "so stragglers cost {} of the time.",
                                       formatTime(study.ideal), study.slowdown, formatPercent(study.waste)));
    if (study.slowdown < kAttributedSlowdown || !study.m_w || !study.m_s) {
        document.paragraph("",
                           fmt::format("With S below {}, the loss is too small to attribute.", kAttributedSlowdown));
        return;
    }
    const auto explains = [](double fraction) { return fraction > kExplains ? "explains" : "does not explain"; };
    document.paragraph(
        "", fmt::format("The last stage {} the loss: at average speed it would recover {} of it (M_S = {:.2f}). The "
                        "slowest 3 % of workers ({}) would recover {} (M_W = {:.2f}), which {} the loss.",
                        explains(*study.m_s), formatPercent(*study.m_s), *study.m_s, workers, formatPercent(*study.m_w),
                        *study.m_w, explains(*study.m_w)));
    if (std::max(*study.m_s, *study.m_w) > 1)
        document.paragraph(
            "", "More than 100 % is possible: slow workers raise the mean, so the others can be faster than the mean.");
    if (study.slowdown < kStragglingSlowdown)
        document.paragraph("", fmt::format("A job with S below {} has no stragglers.", kStragglingSlowdown));
}

Section opTypesSection(const StragglerStudy& study) {
    Section section;
    section.heading = "S by kind of op: everything ideal except this kind";
    Table table({}, {shown("op", Align::Left), shown("S")});
    for (const auto& [name, slowdown] : study.by_op_type)
        table.row(name, Cell(slowdown).as(fmt::format("{:.3f}", slowdown)));
    section.add(std::move(table));
    return section;
}

/// The shade of a cell of the heat map.
std::string_view shade(double slowdown) {
    if (slowdown < kAttributedSlowdown) return "·";
    if (slowdown < kStragglingSlowdown) return "░";
    if (slowdown < 1.25) return "▒";
    if (slowdown < 1.5) return "▓";
    return "█";
}

/// Shows only shades if a number per replica does not fit into a terminal.
void addShades(Section& section, const RunModel& model, const StragglerStudy& study) {
    constexpr std::size_t kColumns = 80;
    const std::size_t replicas = model.replicas.size();
    for (std::size_t first = 0; first < replicas; first += kColumns) {
        const std::size_t end = std::min(replicas, first + kColumns);
        section.line(fmt::format("  rank  dp {} to {}", model.replicas[first], model.replicas[end - 1]));
        for (std::size_t rank = 0; rank < study.by_pp.size(); ++rank) {
            std::string row = fmt::format("  {:>4}  ", rank);
            for (std::size_t replica = first; replica < end; ++replica)
                row += shade(study.workers[replica][rank]);
            section.line(std::move(row));
        }
    }
}

/// One row per rank, one column per replica.
Section workersSection(const RunModel& model, const StragglerStudy& study) {
    constexpr std::size_t kMaxNumbers = 11;
    const std::size_t replicas = model.replicas.size();
    Section section;
    section.heading = "S by worker: the smaller of its rank's and its replica's S";
    if (replicas <= kMaxNumbers) {
        Table table({}, {shown("rank")});
        for (const int replica : model.replicas)
            table.columns.push_back(shown(fmt::format("dp {}", replica)));
        for (std::size_t rank = 0; rank < study.by_pp.size(); ++rank) {
            table.row(rank);
            for (std::size_t replica = 0; replica < replicas; ++replica) {
                const double slowdown = study.workers[replica][rank];
                table.rows.back().push_back(Cell(slowdown)
                                                .as(fmt::format("{} {:.3f}", shade(slowdown), slowdown))
                                                .withShade(std::clamp(2 * (slowdown - 1), 0.0, 1.0)));
            }
        }
        section.add(std::move(table));
    } else {
        addShades(section, model, study);
    }
    section.line("  · below 1.03, ░ below 1.1, ▒ below 1.25, ▓ below 1.5, █ above");
    return section;
}

// ---- The straggler study, for programs ----

void addStudyData(Section& document, const RunModel& model, const StragglerStudy& study) {
    Value::Object by_op_type;
    for (const auto& [name, slowdown] : study.by_op_type)
        by_op_type.push_back({name, slowdown});
    document.data("slowdown", study.slowdown);
    document.data("waste", study.waste);
    document.data("by_op_type", std::move(by_op_type));
    document.data("by_dp", study.by_dp);
    document.data("by_pp", study.by_pp);
    document.data("m_w", study.m_w);
    document.data("m_s", study.m_s);
    document.data("workers", study.workers);
    Table slowest("slowest_workers", {data("replica"), data("rank")});
    slowest.reader = Reader::Programs;
    for (const StragglerStudy::Worker& worker : study.slowest)
        slowest.row(worker.replica, worker.rank);
    document.add(std::move(slowest));
    document.data("replicas", model.replicas);
    addSelection(document, model.selection);
    document.data("observed_ns", study.fit.observed);
    document.data("replayed_ns", study.fit.simulated);
    document.data("ideal_ns", study.ideal);
    document.data("launch_delay", study.fit.launchDelay());
    Table steps("steps", {data("index"), data("observed_ns"), data("replayed_ns"), data("slowdown")});
    steps.reader = Reader::Programs;
    for (const StragglerStudy::Step& step : study.steps)
        steps.row(step.index, step.observed, step.simulated, step.slowdown);
    document.add(std::move(steps));
}

// ---- Uncertainty ----

/// The parts of a prediction's uncertainty.
std::string barReason(const Prediction& prediction) {
    const ErrorBar& bar = prediction.bar;
    std::vector<std::string> reasons;
    const auto tell = [&](TimeNs time, std::string_view why) {
        if (time > TimeNs{0}) reasons.push_back(fmt::format("{} {}", formatTime(time), why));
    };
    tell(bar.replay, "replay error");
    tell(bar.reorder, "error of replaying the run's order with its mean op times");
    tell(bar.gaps, "cost of more or fewer ops");
    tell(bar.spread, "step-to-step variation");
    std::string text =
        reasons.empty() ? "No error was found." : fmt::format("Uncertainty: {}.", fmt::join(reasons, "; "));
    if (prediction.check.steps.size() == 1) text += " A single step does not show step-to-step variation.";
    return text;
}

} // namespace

void addReplayError(Section& section, const ReplayCheck& check) {
    if (check.steps.empty()) return;
    section.data("replay_error", check.error());
    const std::vector<TimeNs> ranks = check.ranks();
    const auto worst = std::ranges::max_element(ranks);
    std::string text;
    if (check.from_others) {
        text = fmt::format("Leave-one-out error: {} on average, {} at most ({}) with the start delays of the other "
                           "steps; {} if ops and transfers are predicted as well.",
                           formatPercent(check.error()), formatPercent(check.worst()),
                           pluralize(check.steps.size(), "replay"), formatPercent(check.foresight()));
    } else {
        text = fmt::format("Replayed without unexplained delays, the only step is off by {}.",
                           formatPercent(check.error()));
    }
    if (worst != ranks.end() && *worst > TimeNs{0})
        text +=
            fmt::format(" Rank {} has the largest error at its end: {}.", worst - ranks.begin(), formatTime(*worst));
    // The sources of error that the trace does not record.
    constexpr double kWorthNaming = 0.02;
    constexpr double kUnlike = 1.2;
    if (check.error() > kWorthNaming) {
        const auto [shortest, longest] = std::ranges::minmax(check.steps, {}, &ReplayCheck::Step::observed);
        if (fractionOf(longest.observed, shortest.observed) > kUnlike) {
            text += fmt::format(" The steps vary from {} to {}.", formatTime(shortest.observed),
                                formatTime(longest.observed));
        }
        if (check.estimated_transfers > 0)
            text += fmt::format(" The trace lacks {} of {} transfers.", check.estimated_transfers, check.transfers);
        if (check.unrecorded > kWorthNaming / 2)
            text += fmt::format(" The trace does not record why ops start late ({} of the time).",
                                formatPercent(check.unrecorded));
        if (check.in_transfers > kWorthNaming)
            text += fmt::format(" The trace does not record what late ops wait for during a transfer ({} of the time).",
                                formatPercent(check.in_transfers));
    }
    section.paragraph("", std::move(text));
}

void addReplayCheck(Section& section, const ReplayCheck& check) {
    addReplayError(section, check);
    if (check.steps.empty()) return;
    Section replay;
    replay.key = "replay";
    replay.data("worst_error", check.worst());
    replay.data("foresight_error", check.from_others ? Value(check.foresight()) : Value());
    replay.data("from_others", check.from_others);
    replay.data("late_unrecorded", check.unrecorded);
    replay.data("late_in_transfers", check.in_transfers);
    replay.data("rank_errors_ns", check.ranks());
    Table steps("steps", {data("index"), data("replica"), data("observed_ns"), data("replayed_ns"), data("foretold_ns"),
                          data("rank_errors_ns")});
    steps.reader = Reader::Programs;
    for (const ReplayCheck::Step& step : check.steps)
        steps.row(step.index, step.replica, step.observed, step.replayed,
                  check.from_others ? Value(step.foretold) : Value(), Value(step.ranks));
    replay.add(std::move(steps));
    section.add(std::move(replay));
}

Document studyDocument(const RunModel& model, const StragglerStudy& study) {
    Document document;
    addHead(document, model, study.fit);
    addVerdict(document, study);
    document.add(opTypesSection(study));
    document.add(workersSection(model, study));
    addStudyData(document, model, study);
    return document;
}

Document predictionDocument(const std::vector<std::string>& changes, const Prediction& prediction) {
    Document document;
    document.data("changes", changes);
    for (const std::string& change : changes)
        document.line(fmt::format("{} {}", &change == changes.data() ? "If" : "  ", change));
    if (prediction.schedule) document.line(fmt::format("Schedule: {}", scheduleTitle(*prediction.schedule)));
    const TimeNs change = prediction.change();
    const TimeNs larger =
        std::max(TimeNs{std::abs(change.count())}, prediction.bar.time); // one unit on both sides of ±
    document.line(fmt::format("\nStep: {} -> {} ({}{} ± {}, {:+.1f} %)", formatTime(prediction.step),
                              formatTime(prediction.predicted()), change > TimeNs{0} ? "+" : "",
                              timeBeside(change, larger), timeBeside(prediction.bar.time, larger),
                              100 * prediction.relativeChange()));
    if (prediction.microbatches_before != prediction.microbatches_after) {
        const auto each = [](TimeNs step, int count) { return formatTime(step / count); };
        document.line(fmt::format("  per micro-batch: {} -> {}", each(prediction.step, prediction.microbatches_before),
                                  each(prediction.predicted(), prediction.microbatches_after)));
    }
    if (prediction.queues) {
        document.paragraph("",
                           fmt::format("Simulated with queues of transfers: {} -> {}. The run is assumed to use one "
                                       "communicator and to post receives early, as PyTorch does by default.",
                                       formatTime(prediction.queues->before), formatTime(prediction.queues->after)));
        document.data("queues_before_ns", prediction.queues->before);
        document.data("queues_after_ns", prediction.queues->after);
    }
    const TimeNs added = prediction.gaps_added;
    if (prediction.gap > TimeNs{0} && std::max(added, -added) > prediction.step / 1000) {
        document.paragraph("",
                           fmt::format("On average ops start {} late, mostly while their host launches them. {} {}.",
                                       formatTime(prediction.gap),
                                       added > TimeNs{0} ? "More consecutive ops add" : "Fewer consecutive ops save",
                                       formatTime(std::max(added, -added))));
    }
    const TimeNs overlap = prediction.overlap_after - prediction.overlap_before;
    if (overlap > prediction.step / 100) {
        document.paragraph("", fmt::format("Without a barrier between steps, the next one can begin {} before this one "
                                           "ends: {} from step to step.",
                                           formatTime(overlap), formatTime(prediction.predicted() - overlap)));
    }
    document.paragraph("", barReason(prediction));
    addReplayError(document, prediction.check);
    if (prediction.late > prediction.before / 200) {
        document.paragraph("", fmt::format("{} ({}) of late starts is unexplained; the prediction keeps it.",
                                           formatTime(prediction.late),
                                           formatPercent(fractionOf(prediction.late, prediction.before))));
    }
    document.data("observed_ns", prediction.step);
    document.data("predicted_ns", prediction.predicted());
    document.data("replayed_before_ns", prediction.before);
    document.data("replayed_after_ns", prediction.after);
    document.data("change_ns", prediction.change());
    document.data("change", prediction.relativeChange());
    document.data("model_error", prediction.check.error());
    document.data("error_bar_ns", prediction.bar.time);
    document.data("error_of_replay_ns", prediction.bar.replay);
    document.data("error_of_spread_ns", prediction.bar.spread);
    document.data("error_of_reorder_ns", prediction.bar.reorder);
    document.data("error_of_gaps_ns", prediction.bar.gaps);
    document.data("gap_ns", prediction.gap);
    document.data("gaps_added_ns", prediction.gaps_added);
    document.data("late_starts_ns", prediction.late);
    document.data("overlap_before_ns", prediction.overlap_before);
    document.data("overlap_after_ns", prediction.overlap_after);
    document.data("microbatches_before", prediction.microbatches_before);
    document.data("microbatches_after", prediction.microbatches_after);
    Section bubbles;
    bubbles.heading = "Replayed bubbles, mean over steps and replicas";
    Table ranks("ranks", {column("rank", "rank"), column("bubble_before_ns", "bubble before"),
                          column("bubble_after_ns", "after"), shown("change")});
    for (const Prediction::RankBubble& rank : prediction.ranks)
        ranks.row(rank.rank, rank.before, rank.after, Cell(rank.after - rank.before, Look::Delta));
    bubbles.add(std::move(ranks));
    document.add(std::move(bubbles));
    if (prediction.schedule) {
        Section schedule;
        schedule.key = "schedule";
        addOrder(schedule, *prediction.schedule);
        document.add(std::move(schedule));
    }
    return document;
}

Document scenarioDocument(const RunModel& model, const std::vector<std::string>& changes,
                          const Prediction& prediction) {
    Document document = studyDocument(model, studyStragglers(model));
    Document answer = predictionDocument(changes, prediction);
    answer.key = "scenario";
    document.add(static_cast<Section&&>(answer));
    return document;
}

} // namespace bubblescope::report
