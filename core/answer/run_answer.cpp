#include "core/analysis/accounting/accounting.h"
#include "core/analysis/anomalies/occurrence.h"
#include "core/analysis/anomalies/thresholds.h"
#include "core/analysis/whatif/scenario.h"
#include "core/answer/answer.h"
#include "core/base/field.h"
#include "core/base/text.h"
#include "core/recognise/stated_values.h"
#include "core/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

// The answer for a run with a pipeline.
namespace bubblescope {
namespace {

/// Fraction of a step. The same threshold as for findings, so that a run without findings has no cost to act on.
constexpr double kLeastShareNamed = Thresholds{}.least_cost;
/// A cause is reported in addition to findings if its cost is at least this multiple of the largest cost of a finding.
constexpr double kCauseBeyondFindings = 1.5;

Sentence stateOf(const Run& run, const RunReport& report) {
    const StepAnalysis& step = report.steps[report.typicalStep()];
    const Sentence schedule{scheduleTitle(run.schedule)};
    const std::string time = formatTime(report.selection.stepTime());
    const std::string idle = formatPercent(step.rates.over_makespan);
    const TimeNs period = report.period.period();
    const bool pays_more =
        report.period.periods > 0 && fractionOf(period - report.period.step, report.period.step) >= kLeastShareNamed;
    const bool overlaps =
        report.period.periods > 0 && fractionOf(report.period.step - period, report.period.step) >= kLeastShareNamed;
    if (overlaps && step.form) {
        return say("{}: one step every {}. A step takes {} and overlaps the next one. Ranks idle for {} of a "
                   "step; the schedule requires {}.",
                   schedule, formatTime(period), time, idle, formatPercent(step.form->bubble_rate));
    }
    if (overlaps) {
        return say("{}: one step every {}. A step takes {} and overlaps the next one. Ranks idle for {} of a step.",
                   schedule, formatTime(period), time, idle);
    }
    if (pays_more && step.form) {
        return say(
            "{}: one step every {}; the step itself takes {}. Ranks idle for {} of it; the schedule requires {}.",
            schedule, formatTime(period), time, idle, formatPercent(step.form->bubble_rate));
    }
    if (pays_more) {
        return say("{}: one step every {}; the step itself takes {}. Ranks idle for {} of it.", schedule,
                   formatTime(period), time, idle);
    }
    if (step.form) {
        return say("{}: a step takes {}. Ranks idle for {} of it; the schedule requires {}.", schedule, time, idle,
                   formatPercent(step.form->bubble_rate));
    }
    return say("{}: a step takes {}. Ranks idle for {} of it.", schedule, time, idle);
}

Sentence actionAgainst(Cause cause) {
    switch (cause) {
    case Cause::Imbalance: return say("Balance the stages: 'bubblescope partition' finds a layer split.");
    case Cause::Slowdown:
        return say("Look for a cause that slows all ops of a step: clock rate, power, or another job on the machine.");
    case Cause::Jitter:
        return say(
            "Find ops that take longer than usual, and check when they run: 'bubblescope analyze {}' lists all ops.",
            optionOf(Field("csv")));
    case Cause::Gaps:
        return say("Let the host launch work ahead of the device, with CUDA graphs or fewer, larger ops.");
    case Cause::Communication:
        return say(
            "Overlap transfers with compute, or make them smaller: 'bubblescope whatif {}' shows the possible gain.",
            optionOf(Field("if"), "comm=0"));
    case Cause::Order:
        return say("Run the ops in the planned order: with orders chosen at run time, ops wait for each other.");
    case Cause::Peer: return say("Post receives earlier: ranks block each other in sends and receives.");
    case Cause::Replay: return say("Use a smaller share of the bubbles for checks, because checks delay ops.");
    case Cause::LateStart:
        return say("Check what the host does before ops that start late: the trace shows no cause for their delay.");
    default: return say("Record transfers, waits and kernel launches, to show what ranks wait for.");
    }
}

/// The change that removes a cause, in the syntax of what-if scenarios.
std::string changeAgainst(Cause cause) {
    if (cause == Cause::Imbalance) return "stages=balanced";
    const std::string_view word = causeWord(cause);
    return word.empty() ? std::string() : std::string(word) + "=0";
}

/// The global rank named by a finding about one of several ranks of a stage.
std::optional<std::int64_t> globalRankOf(const Anomaly& finding) {
    const auto named = std::ranges::find(finding.evidence, "global_rank", &std::pair<std::string, double>::first);
    if (named == finding.evidence.end()) return std::nullopt;
    return static_cast<std::int64_t>(named->second);
}

/// The change that a finding suggests. Layers move between stages, so the change for a slow stage affects all stages.
std::string changeBy(const StepTimeline& shape, const Anomaly& finding) {
    const bool of_stage = finding.kind == AnomalyKind::SlowStage || finding.kind == AnomalyKind::LastStageImbalance;
    // What-if can only replace all ranks that share a stage together.
    if (globalRankOf(finding)) return {};
    return of_stage ? "stages=balanced" : changeWithout(shape, finding);
}

Concern concernOf(AnomalyKind kind) {
    switch (kind) {
    case AnomalyKind::AadiffMismatch:
    case AnomalyKind::AadiffUnchecked: return Concern::Computation;
    case AnomalyKind::LostRecords:
    case AnomalyKind::MissingOp:
    case AnomalyKind::DuplicateOp:
    case AnomalyKind::ClockSkew:
    case AnomalyKind::CausalityViolation: return Concern::Data;
    default: return Concern::Time;
    }
}

/// Predicts by how much a change shortens the typical step. The model is built when it is first needed.
class Gains {
public:
    Gains(const Run& run, const RunReport& report) : run_(run), report_(report) {}

    /// Empty if the gain cannot be predicted, or if there is none.
    [[nodiscard]] std::optional<TimeNs> of(const std::string& change) {
        if (change.empty() || report_.standards == nullptr) return std::nullopt;
        if (!model_) {
            model_.emplace(typicalStepModel(run_, report_.selection, report_.standards->usual, report_.clocks.bound()));
        }
        if (!model_->ok()) return std::nullopt;
        const std::array changes{change};
        const Result<Scenario> scenario = parseScenario(changes);
        if (!scenario.ok()) return std::nullopt;
        const Result<Prediction> prediction = predict(model_->value(), run_.schedule, scenario.value());
        if (!prediction.ok()) return std::nullopt;
        return std::max(TimeNs{0}, -prediction.value().change());
    }

private:
    const Run& run_;
    const RunReport& report_;
    std::optional<Result<RunModel>> model_; ///< none before the first prediction
};

/// Adds other known data about the location of a rank.
void locate(Place& place, const Run& run, const RunReport& report) {
    if (!place.rank) return;
    const int replica = place.replica.value_or(0);
    if (run.places) {
        for (const auto& [global, at] : run.places->ranks) {
            const bool here = at.at(MeshAxis::Pipeline) == place.rank->value && at.at(MeshAxis::Data) == replica &&
                              at.at(MeshAxis::Tensor) == 0 && at.at(MeshAxis::Context) == 0;
            if (!here) continue;
            place.global_rank = global;
            break;
        }
    }
    for (const RankClock& clock : report.clocks.ranks) {
        if (clock.rank == *place.rank && clock.replica == replica) place.host = clock.host;
    }
    const auto device = run.checks.devices.find(CheckPlace{replica, *place.rank, 0});
    if (device == run.checks.devices.end()) return;
    if (place.host.empty()) place.host = device->second.host;
    place.device = device->second.device;
}

Statement statementOf(const Run& run, const RunReport& report, std::size_t finding) {
    const Anomaly& anomaly = report.anomalies[finding];
    Statement out;
    out.concern = concernOf(anomaly.kind);
    out.severity = anomaly.severity;
    out.kind = anomalyKindName(anomaly.kind);
    out.where.rank = anomaly.rank;
    out.where.peer = anomaly.peer;
    out.where.replica = anomaly.replica;
    if (anomaly.rank && anomaly.chunk && !run.steps.empty())
        out.where.stage = run.steps.front().stageOf(*anomaly.rank, *anomaly.chunk);
    locate(out.where, run, report);
    if (const auto global = globalRankOf(anomaly)) out.where.global_rank = global;
    if (anomaly.step)
        out.since = anomaly.step;
    else if (anomaly.seen.steps > 0)
        out.since = anomaly.seen.first;
    out.what = anomaly.message;
    out.action = anomaly.suggestion;
    out.certainty = certaintyText(anomaly);
    // Cost per typical step; if only some steps are affected, it is distributed over all steps.
    out.cost = anomaly.seen.steps == anomaly.seen.of_steps ? anomaly.cost : anomaly.meanCost();
    out.finding = finding;
    return out;
}

/// True if the action recovers the full cost, because it makes the affected ops, steps or times equal to the others.
bool isWonWhole(AnomalyKind kind) {
    return kind == AnomalyKind::LongSteps || kind == AnomalyKind::SlowOp || kind == AnomalyKind::TimeBetweenSteps ||
           kind == AnomalyKind::HostStarved || kind == AnomalyKind::BlockingReceive;
}

bool isOfOneStep(const Anomaly& anomaly) {
    return anomaly.seen.steps == 1 && anomaly.seen.of_steps > 1;
}

/// True if such a finding is already reported as a loading problem.
bool isAmongProblems(AnomalyKind kind, const Answer& answer) {
    if (kind == AnomalyKind::LostRecords) return true;
    if (kind != AnomalyKind::MissingOp && kind != AnomalyKind::DuplicateOp) return false;
    return std::ranges::any_of(answer.statements, [](const Statement& statement) {
        return statement.kind == "rank-ended" || statement.kind == "rank-killed" || statement.kind == "mixed-runs";
    });
}

void addFindings(Answer& answer, Gains& gains, const Run& run, const RunReport& report) {
    constexpr std::size_t kMostPredicted = 8;
    std::size_t predicted = 0;
    for (std::size_t i = 0; i < report.anomalies.size(); ++i) {
        const Anomaly& anomaly = report.anomalies[i];
        if (isAmongProblems(anomaly.kind, answer)) continue;
        Statement statement = statementOf(run, report, i);
        if (anomaly.kind == AnomalyKind::AadiffUnchecked) statement.severity = Severity::Notice; // nothing is wrong
        if (statement.concern == Concern::Time) {
            const bool counts =
                !isOfOneStep(anomaly) && fractionOf(statement.cost, report.selection.stepTime()) >= kLeastShareNamed;
            if (!counts) continue;
            if (predicted++ < kMostPredicted) {
                statement.change = changeBy(run.steps.front(), anomaly);
                statement.gain = gains.of(statement.change);
                if (isWonWhole(anomaly.kind)) statement.gain = statement.cost;
            }
        }
        answer.statements.push_back(std::move(statement));
    }
}

/// Names the rank with the most work if the stages differ.
void nameFullestRank(Statement& statement, const Run& run, const RunReport& report) {
    std::map<Rank, TimeNs> work;
    TimeNs all{0};
    for (const StageTimes& stage : report.stages) {
        work[stage.rank] += stage.work();
        all += stage.work();
    }
    if (work.size() < 2) return;
    const auto fullest = std::ranges::max_element(work, {}, [](const auto& each) { return each.second; });
    const TimeNs mean = all / static_cast<std::int64_t>(work.size());
    statement.what += say(" Rank {} has the most work: {} per micro-batch (mean: {}).", fullest->first.value,
                          formatTime(fullest->second), formatTime(mean));
    statement.where.rank = fullest->first;
    locate(statement.where, run, report);
}

/// The part of a step that its closed form does not explain; 0 without a form.
TimeNs beyondForm(const StepAnalysis& step) {
    return step.form ? std::max(TimeNs{0}, step.wall - step.form->makespan) : TimeNs{0};
}

/// Adds the cause with the largest predicted gain, unless findings explain as much.
void addCause(Answer& answer, Gains& gains, const Run& run, const RunReport& report) {
    const TimeNs step_time = report.selection.stepTime();
    TimeNs named{0};
    for (const Statement& statement : answer.statements) {
        if (statement.concern == Concern::Time) named = std::max(named, statement.cost);
    }
    std::optional<Statement> most;
    for (WaterfallStep cause : report.accounts[report.typicalStep()].waterfall) {
        const bool of_weights = cause.cause == Cause::Unknown && run.schedule.placement == Placement::Moving;
        if (of_weights) cause.without = beyondForm(report.steps[report.typicalStep()]);
        const bool counts =
            fractionOf(cause.without, step_time) >= kLeastShareNamed &&
            static_cast<double>(cause.without.count()) >= kCauseBeyondFindings * static_cast<double>(named.count());
        if (!counts) continue;
        Statement statement;
        statement.concern = Concern::Time;
        statement.severity = Severity::Warning;
        statement.kind = causeKey(cause.cause);
        statement.what =
            say("{} per step ({}): {}.", formatTime(cause.without), formatPercent(fractionOf(cause.without, step_time)),
                Sentence::term(causeName(cause.cause)));
        if (cause.cause == Cause::Imbalance) nameFullestRank(statement, run, report);
        statement.action = of_weights ? say("Simulate the schedule with the times of its messages: traces do not "
                                            "contain the waits for weights.")
                                      : actionAgainst(cause.cause);
        statement.cost = cause.without;
        if (cause.cause == Cause::Imbalance && encodersOf(run.schedule.placement).ranks() > 0) {
            statement.action =
                say("Balance the stages: within the encoders and the trunk by moving layers, between them "
                    "by giving them other numbers of ranks.");
        } else {
            statement.change = changeAgainst(cause.cause);
        }
        statement.gain = gains.of(statement.change);
        if (cause.cause == Cause::Imbalance && statement.gain &&
            fractionOf(*statement.gain, step_time) < kLeastShareNamed)
            statement.action =
                say("All stages do the same total work; only the split between forward and backward differs. "
                    "Splitting the layers differently would not help.");
        if (!most || statement.worth() > most->worth()) most = std::move(statement);
    }
    if (most) answer.statements.push_back(*std::move(most));
}

/// Adds the only long step of a run. It may be chance and is therefore not a finding, but "no loss" would be wrong if
/// it costs as much as one.
void addLongStep(Answer& answer, const Run& run, const RunReport& report) {
    if (report.period.long_steps.size() != 1) return;
    const int number = report.period.long_steps.front();
    const TimeNs time = std::ranges::find(report.selection.steps(), number, &SelectedStep::index)->time;
    const TimeNs longer = time - report.selection.stepTime();
    const TimeNs cost = report.period.long_excess;
    if (fractionOf(cost, report.selection.stepTime()) < kLeastShareNamed) return;
    Statement statement;
    // A finding in this step that explains half of it says more.
    for (std::size_t i = 0; i < report.anomalies.size(); ++i) {
        const Anomaly& anomaly = report.anomalies[i];
        const bool here = anomaly.seen.steps == 1 && anomaly.seen.first == number;
        if (here && concernOf(anomaly.kind) == Concern::Time && 2 * anomaly.seen.total >= longer) {
            statement = statementOf(run, report, i);
            break;
        }
    }
    if (statement.kind.empty()) {
        statement.concern = Concern::Time;
        statement.kind = anomalyKindName(AnomalyKind::LongSteps);
        statement.what = say("step {} took {}, {} longer than the typical step; a single long step may be chance.",
                             number, formatTime(time), formatTime(longer));
        statement.action =
            say("See what happened in it: 'bubblescope analyze {}'.", optionOf(Field("step"), std::to_string(number)));
    }
    statement.since = number;
    statement.cost = cost;
    answer.statements.push_back(std::move(statement));
}

void addLosses(Answer& answer, const Run& run) {
    const StepValueMap values = statedValues(run);
    std::size_t count = 0;
    std::optional<int> first;
    for (const auto& [step, of_step] : values) {
        if (!of_step.loss || std::isfinite(*of_step.loss)) continue;
        ++count;
        if (!first) first = step.first;
    }
    if (!first) return;
    Statement statement;
    statement.concern = Concern::Computation;
    statement.severity = Severity::Serious;
    statement.kind = "loss-not-finite";
    statement.since = first;
    statement.what = count == 1
                         ? say("the loss of step {} is not a finite number.", *first)
                         : say("the loss is not finite in {} steps; the first of them is step {}.", count, *first);
    statement.action = say("Go back to a checkpoint before step {}, and find the op that overflows first.", *first);
    answer.statements.push_back(std::move(statement));
}

} // namespace

Answer answerOf(const Run& run, const RunReport& report) {
    Answer answer{stateOf(run, report), statementsOf(run.problems), report.selection.stepTime()};
    Gains gains(run, report);
    addFindings(answer, gains, run, report);
    addLosses(answer, run);
    addCause(answer, gains, run, report);
    addLongStep(answer, run, report);
    Statement nothing;
    nothing.kind = "fine";
    nothing.what = say("No loss above {} % beyond the schedule's own bubble.", std::lround(100 * kLeastShareNamed));
    nothing.action =
        run.schedule.placement == Placement::Moving
            ? say("Nothing needs fixing.")
            : say("Nothing needs fixing; 'bubblescope advise' searches for a schedule with a smaller bubble.");
    settle(answer, std::move(nothing));
    return answer;
}

} // namespace bubblescope
