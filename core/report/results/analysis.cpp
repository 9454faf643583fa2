#include "core/report/results/analysis.h"

#include "core/analysis/anomalies/occurrence.h"
#include "core/analysis/step_pieces.h"
#include "core/answer/answer.h"
#include "core/base/field.h"
#include "core/base/text.h"
#include "core/graph/simulate.h"
#include "core/recognise/stated_values.h"
#include "core/report/results/analysis_parts.h"
#include "core/report/results/answer.h"
#include "core/report/results/document_parts.h"
#include "core/report/results/memory_use.h"
#include "core/report/results/model_use.h"
#include "core/report/results/step_values.h"
#include "core/report/svg/axis.h"
#include "core/report/svg/draw_timelines.h"
#include "core/theory/closed_form.h"
#include "core/timeline/colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::report {
namespace {

/// "7", or "7 of replica 1" if several pipelines ran the same step.
std::string stepName(const StepAnalysis& step) {
    return step.replica == 0 ? fmt::format("{}", step.index)
                             : fmt::format("{} of replica {}", step.index, step.replica);
}

// ---- Steps ----

/// A summary of all steps, in one line.
std::string stepTimeText(const StepSelection& selection) {
    return fmt::format("A step takes {}: step {} represents {}", formatTime(selection.stepTime()),
                       selection.typical().index, selection.summary().text());
}

/// The steps to list, by number: only requested ones, if there are any.
std::vector<const SelectedStep*> listedSteps(const StepSelection& selection) {
    std::vector<const SelectedStep*> listed;
    for (const SelectedStep& step : selection.steps()) {
        if (step.why != SetAside::NotAsked) listed.push_back(&step);
    }
    return listed;
}

/// If a step has replicas, the one that takes longest.
Section stepsSection(const Run& run, const RunReport& report) {
    Section section;
    section.heading = "Steps";
    section.note = "t_f and t_b are medians, used for the closed form";
    section.line("  " + stepTimeText(report.selection));
    if (report.windows() > 1) {
        section.line(fmt::format("  The run is long: it was analysed in {} parts, each with its own typical times (to "
                                 "analyse it as a whole: {})",
                                 report.windows(), Field("in_parts").is("never")));
    }
    const bool replicas = report.selection.replicas() > 1;
    const StepValueMap known_values = statedValues(run);
    const bool losses =
        std::ranges::any_of(known_values, [](const auto& known) { return known.second.loss.has_value(); });
    const bool tokens =
        std::ranges::any_of(known_values, [](const auto& known) { return known.second.tokens.has_value(); });
    Table table({}, {shown("step"), shown("wall"), shown("bubble rate"), shown("closed form"), shown("t_f"),
                     shown("t_b"), shown("loss"), shown("tokens"),
                     shown(replicas ? "longest replica" : "", replicas ? Align::Right : Align::Left),
                     shown("", Align::Left)});
    table.columns[6].hidden = !losses;
    table.columns[7].hidden = !tokens;
    table.most_in_text = 40;
    table.more = "… and {} more";
    for (const SelectedStep* const selected : listedSteps(report.selection)) {
        const StepAnalysis& step = report.steps[selected->longest];
        std::vector<StepValues> of_replicas;
        for (const std::size_t timeline : selected->timelines)
            of_replicas.push_back(valuesOf(known_values, run.steps[timeline]));
        const StepValues values = together(of_replicas);
        table.row(selected->index, step.wall, Cell(step.rates.over_makespan, Look::Percent),
                  step.form ? Cell(step.form->bubble_rate, Look::Percent) : Cell("none"), step.typical.forward,
                  step.typical.backward, values.loss ? Cell(lossText(*values.loss)) : Cell(""),
                  values.tokens ? Cell(*values.tokens) : Cell(""), replicas ? Cell(step.replica) : Cell(""),
                  selected->taken() ? std::string() : std::string(setAsideName(selected->why)));
    }
    section.add(std::move(table));
    return section;
}

TimeNs meanExpected(const StepAnalysis& step) {
    TimeNs sum{0};
    for (const RankAccount& rank : step.ranks)
        sum += rank.expected_bubble.value_or(TimeNs{0});
    return step.ranks.empty() ? sum : sum / static_cast<std::int64_t>(step.ranks.size());
}

/// If there are too many steps for one bar each, they are grouped; shows the longest of each group.
Section stepBars(const RunReport& report) {
    constexpr std::size_t kMaxBars = 60;
    const std::vector<const SelectedStep*> listed = listedSteps(report.selection);
    const std::size_t group = (listed.size() + kMaxBars - 1) / kMaxBars;
    Section section;
    section.heading = "Time of steps";
    section.note = group <= 1 ? "Mean time per rank in each step."
                              : fmt::format("The longest of each {} consecutive steps.", group);
    Bars bars;
    for (std::size_t i = 0; i < listed.size(); i += group) {
        const auto some = std::span(listed).subspan(i, std::min(group, listed.size() - i));
        const StepAnalysis& step = report.steps[(*std::ranges::max_element(some, {}, &SelectedStep::time))->longest];
        const TimeNs idle{std::llround(static_cast<double>(step.wall.count()) * step.rates.over_makespan)};
        const TimeNs due = step.form ? std::min(idle, meanExpected(step)) : TimeNs{0};
        bars.list.push_back(
            {fmt::format("{}{}: {}", step.index, step.replica == 0 ? "" : fmt::format(" (replica {})", step.replica),
                         formatTime(step.wall)),
             {{"computing", colours::kForward, step.wall - idle},
              {"idle, by the closed form", "#9aa3ad", due},
              {"idle above it", "#d64541", idle - due}}});
    }
    section.add(std::move(bars));
    return section;
}

/// The difference between observed time and closed form, as a fraction of the latter if there is one.
std::string difference(TimeNs observed, TimeNs expected) {
    const TimeNs delta = observed - expected;
    if (expected.count() == 0) return formatTimeDelta(delta);
    return fmt::format("{} ({:+.1f} %)", formatTimeDelta(delta),
                       100 * static_cast<double>(delta.count()) / static_cast<double>(expected.count()));
}

Value positionsOf(const RankAccount& account, const StepAnalysis& step) {
    const bool f_then_b = step.form && step.form->f_then_b;
    Value::Object positions;
    for (std::size_t i = 0; i < kPositionCount; ++i) {
        const bool anything =
            account.observed[i].count() != 0 || account.executed[i].count() != 0 || account.expected[i].count() != 0;
        if (!anything) continue;
        Value::Object entry{{"observed_ns", account.observed[i]}, {"executed_ns", account.executed[i]}};
        if (step.positionsKnown()) entry.push_back({"closed_form_ns", account.expected[i]});
        positions.push_back({std::string(positionName(static_cast<Position>(i), f_then_b)), std::move(entry)});
    }
    return positions;
}

/// `checked` has the part of each bubble that checks filled.
Table ranksTable(const StepAnalysis& step, const StepAccounting& accounting, const StepRequest& request, bool checked,
                 bool people) {
    Table table("ranks", {column("rank", "rank"), column("busy_ns", "busy"), column("bubble_ns", "bubble")});
    if (checked) {
        table.columns.push_back(shown("of it idle"));
        table.columns.push_back(shown("in checks"));
    }
    table.columns.insert(table.columns.end(),
                         {column("expected_bubble_ns", "closed form"), shown("difference", Align::Left),
                          data("positions"), data("accounting"), data("replay_ns")});
    const std::vector<RankAccounting> accounts = people ? std::vector<RankAccounting>() : accounting.ranks.list();
    for (const RankAccount& account : step.ranks) {
        if (!request.shows(account.rank)) continue;
        table.row(account.rank, Cell(account.busy).withBar(fractionOf(account.busy, step.wall)),
                  Cell(account.bubble).withBar(fractionOf(account.bubble, step.wall)));
        std::vector<Cell>& cells = table.rows.back();
        if (checked) {
            cells.emplace_back(account.bubble - account.replay);
            cells.push_back(Cell(account.replay).withBar(fractionOf(account.replay, step.wall)));
        }
        cells.push_back(orNone(account.expected_bubble));
        if (people) {
            cells.emplace_back(account.expected_bubble ? difference(account.bubble, *account.expected_bubble) : "");
            cells.resize(table.columns.size());
            continue;
        }
        cells.emplace_back();
        cells.emplace_back(positionsOf(account, step));
        cells.emplace_back(accountingOf(accounts[account.rank.index()]));
        cells.push_back(checked ? Cell(account.replay) : absent());
    }
    return table;
}

std::string_view expressionAt(const ClosedForm& form, Rank rank, Position position) {
    for (const PositionForm& part : form.positions) {
        if (part.rank == rank && part.position == position) return part.expression;
    }
    return "0";
}

Section positionsSection(const StepAnalysis& step, const StepRequest& request) {
    Section section;
    section.heading = "Bubbles by position";
    if (!step.form) {
        section.heading += fmt::format("; no closed form to compare with: {}", step.form_note);
        if (step.at_least)
            section.line(
                fmt::format("  with these op times, any such order takes at least {}", formatTime(*step.at_least)));
    } else if (!step.positionsKnown()) {
        section.heading +=
            fmt::format("; the closed form is known only for the total: {}", step.form->bubble_expression);
    } else {
        section.note = "s = rank; idle time is gathered within the ops' slack, for comparison";
    }
    const bool f_then_b = step.form && step.form->f_then_b;
    Table table({}, {shown("rank"), shown("position", Align::Left), shown("observed"), shown("closed form"),
                     shown("difference", Align::Left), shown("expression", Align::Left)});
    for (const RankAccount& account : step.ranks) {
        if (!request.shows(account.rank)) continue;
        for (std::size_t i = 0; i < kPositionCount; ++i) {
            const TimeNs observed = account.observed[i];
            const TimeNs expected = account.expected[i];
            if (observed.count() == 0 && expected.count() == 0) continue;
            const auto position = static_cast<Position>(i);
            Cell seen = Cell(observed).withBar(fractionOf(observed, step.wall));
            if (step.positionsKnown()) {
                table.row(account.rank, positionName(position, f_then_b), std::move(seen),
                          Cell(expected).withBar(fractionOf(expected, step.wall)), difference(observed, expected),
                          expressionAt(*step.form, account.rank, position));
            } else {
                table.row(account.rank, positionName(position, f_then_b), std::move(seen), "none", "", "");
            }
        }
    }
    section.add(std::move(table));
    return section;
}

/// The diagnoses of the listed steps of a run, in their order, computed a few at a time on all cores.
class DiagnosesInTurn {
public:
    /// `listed` are indices into the run's steps, ascending.
    DiagnosesInTurn(const Run& run, const RunReport& report, std::vector<std::size_t> listed)
        : run_(run), report_(report), listed_(std::move(listed)) {}

    [[nodiscard]] const StepDiagnosis& at(std::size_t i) {
        if (listed_[i] == report_.typicalStep()) return report_.typical;
        if (i < first_ || i >= first_ + made_.size()) make(i);
        return made_[i - first_];
    }

private:
    void make(std::size_t i) {
        constexpr std::size_t kMostSteps = 256;
        const std::size_t ops = std::max<std::size_t>(1, opsOfStep(run_.steps));
        const std::size_t most = std::clamp<std::size_t>(kOpsAtOnce / 8 / ops, 1, kMostSteps);
        std::size_t count = 1;
        while (count < most && i + count < listed_.size() && listed_[i + count] == listed_[i] + count)
            ++count;
        if (!diagnoses_) diagnoses_.emplace(report_.diagnosesOf(run_));
        first_ = i;
        made_.clear(); // before the next ones are computed
        made_ = diagnoses_->of(listed_[i], listed_[i] + count);
    }

    const Run& run_;
    const RunReport& report_;
    std::vector<std::size_t> listed_;
    std::optional<StepDiagnoses> diagnoses_; ///< none if only the typical step was requested
    std::size_t first_ = 0;
    std::vector<StepDiagnosis> made_; ///< diagnoses from the first on
};

/// A step for programs. `diagnosis` is null if its ops were dropped.
Section stepData(const Run& run, const RunReport& report, std::size_t index, const StepDiagnosis* diagnosis,
                 const StepValues& values) {
    const StepAnalysis& step = report.steps[index];
    Section section;
    section.data("index", step.index);
    section.data("replica", step.replica);
    if (!report.selection.takes(index)) section.data("set_aside", setAsideName(report.selection.whyAside(index)));
    section.data("wall_ns", step.wall);
    section.data("bubble_rate", step.rates.over_makespan);
    section.data("span_bubble_rate", step.rates.span);
    section.data("over_ideal", step.rates.over_ideal);
    section.data("typical_ns", Value::Object{{"F", step.typical.forward}, {"B", step.typical.backward}});
    for (Member& value : stepValuesOf(values))
        section.data(value.key, std::move(value.value));
    section.add(ranksTable(step, report.accounts[index], report.request, report.coverage.has_value(), false));
    if (step.form) {
        section.data("expected_bubble_rate", step.form->bubble_rate);
        section.data("expected_makespan_ns", step.form->makespan);
    } else {
        section.data("no_closed_form", step.form_note);
        if (step.at_least) section.data("makespan_at_least_ns", *step.at_least);
    }
    if (diagnosis != nullptr) addDiagnosis(section, run.steps[index], *diagnosis, report.request, Reader::Programs);
    return section;
}

/// Names the step that people see, and the reason: "Step 12 of replica 3, the typical one, on its longest replica".
std::string shownName(const RunReport& report) {
    const SelectedStep& step = report.selection.typical();
    std::string name = fmt::format("Step {}", step.index);
    if (report.selection.replicas() > 1)
        name += fmt::format(" of replica {}", report.steps[report.typicalStep()].replica);
    if (report.selection.taken() > 1) name += ", the typical one";
    if (step.timelines.size() > 1) name += fmt::format(", on the longest of {} replicas", step.timelines.size());
    return name;
}

Section whereSection(const Run& run, const RunReport& report, Reader reader) {
    const std::size_t index = report.typicalStep();
    Section section;
    section.heading = "Where the time went: " + shownName(report);
    if (reader == Reader::Text && report.request.steps.empty())
        section.note =
            fmt::format("{} shows another", Field("step").is(report.selection.replicas() > 1 ? "N/REPLICA" : "N"));
    addDiagnosis(section, run.steps[index], report.typical, report.request, reader);
    return section;
}

Section bubblesSection(const RunReport& report) {
    const StepAnalysis& step = report.steps[report.typicalStep()];
    Section section;
    section.heading = "Bubbles compared with the closed form: " + shownName(report);
    section.add(
        ranksTable(step, report.accounts[report.typicalStep()], report.request, report.coverage.has_value(), true));
    section.add(positionsSection(step, report.request));
    return section;
}

// ---- Stages ----

Table stagesTable(const RunReport& report) {
    using Of = TimeNs OpTimes::*;
    struct Kind {
        const char* key;
        const char* name;
        Of of;
        TimeNs least{0};
        TimeNs most{0};
    };
    std::vector<Kind> kinds{{"forward_ns", "F", &OpTimes::forward},
                            {"backward_ns", "B", &OpTimes::backward},
                            {"input_grad_ns", "I", &OpTimes::input_grad},
                            {"weight_grad_ns", "W", &OpTimes::weight_grad}};
    Table table("stages", {column("rank", "rank"), column("chunk", "chunk"), data("stage")});
    const bool split =
        std::ranges::any_of(report.stages, [](const StageTimes& s) { return s.median.input_grad.count() > 0; });
    for (Kind& kind : kinds) {
        const bool half = kind.of == &OpTimes::input_grad || kind.of == &OpTimes::weight_grad;
        table.columns.push_back(half && !split ? data(kind.key) : column(kind.key, kind.name));
        if (report.stages.empty()) continue;
        const auto [least, most] =
            std::ranges::minmax(report.stages, {}, [&](const StageTimes& stage) { return stage.median.*kind.of; });
        kind.least = least.median.*kind.of;
        kind.most = most.median.*kind.of;
    }
    table.columns.push_back(shown("", Align::Left));
    table.most_open = 64;
    for (const StageTimes& stage : report.stages) {
        const bool slow = std::ranges::any_of(report.anomalies, [&](const Anomaly& a) {
            const bool of_stage = a.kind == AnomalyKind::SlowStage || a.kind == AnomalyKind::LastStageImbalance;
            return of_stage && a.rank == stage.rank && a.chunk == stage.chunk;
        });
        table.row(stage.rank, stage.chunk, stage.stage);
        for (const Kind& kind : kinds) {
            const TimeNs time = stage.median.*kind.of;
            // Relative to the range of all stages, but differences of a few per cent remain pale.
            const TimeNs scale = std::max(kind.most - kind.least, kind.most / 4);
            table.rows.back().push_back(Cell(time).withShade(fractionOf(time - kind.least, scale)));
        }
        table.rows.back().emplace_back(slow ? "<- slow" : "");
    }
    return table;
}

Section stagesSection(const RunReport& report, Reader reader) {
    Section section;
    constexpr std::size_t kMaxInText = 64;
    if (reader == Reader::Text && report.stages.size() > kMaxInText) return section;
    section.heading = "Op times by stage";
    section.note = "medians over steps, excluding warm-up and outliers";
    section.add(stagesTable(report));
    return section;
}

// ---- Findings, problems, pictures ----

/// The argument for a finding's command: the file, or the folder that contains all files.
std::string namedFiles(const Run& run) {
    if (run.files.empty()) return {};
    std::filesystem::path common = run.files.front();
    for (const std::filesystem::path& file : run.files) {
        while (!common.empty() && file != common &&
               !file.string().starts_with((common / std::filesystem::path()).string()))
            common = common.parent_path();
    }
    const std::string name = common.empty() ? "." : common.string();
    return name.find_first_of(" '\"$&;()*") == std::string::npos ? name : fmt::format("'{}'", name);
}

Section findingsSection(const Run& run, const RunReport& report, bool people, std::size_t most = Findings::kScreen) {
    Section section;
    section.heading = "Findings";
    Findings findings{"anomalies", {}, most};
    const std::string files = namedFiles(run);
    for (const Anomaly& anomaly : report.anomalies) {
        const bool elsewhere = (anomaly.rank && !report.request.shows(*anomaly.rank)) ||
                               (anomaly.replica && !report.request.holds(*anomaly.replica));
        if (elsewhere) continue;
        const Sentence seen = occurrenceText(anomaly.seen);
        const Sentence sure = certaintyText(anomaly);
        const std::string command = files.empty() ? std::string() : commandThatShows(run.steps.front(), anomaly, files);
        Value data;
        if (!people) {
            Value::Object object = anomalyOf(anomaly);
            if (!command.empty()) object.push_back({"command", command});
            data = std::move(object);
        }
        findings.list.push_back({severityName(anomaly.severity), anomalyKindName(anomaly.kind), anomaly.message,
                                 seen.empty() ? sure : say("{}; {}", seen, sure), anomaly.suggestion, command,
                                 std::move(data)});
    }
    section.add(std::move(findings));
    return section;
}

Section problemsSection(const Run& run) {
    Section section;
    section.heading = "Problems of the files";
    section.note = "Corrupt, missing or guessed data.";
    if (run.problems.empty()) return section;
    section.add(problemsTable(run.problems, Reader::People));
    return section;
}

Figures figuresOf(const Run& run, const RunReport& report) {
    const StepAnalysis& step = report.steps[report.typicalStep()];
    Figures figures;
    auto& list = figures.list;
    list.push_back({"Step time", formatTime(step.wall),
                    fmt::format("step {}, of {}", stepName(step), report.selection.summary().text())});
    list.push_back({"Bubble rate", formatPercent(step.rates.over_makespan),
                    "idle time as a share of the makespan, mean over all ranks"});
    if (step.form) {
        list.push_back({"Closed form", formatPercent(step.form->bubble_rate), "idle time that the schedule requires"});
        const TimeNs above = step.wall - step.form->makespan;
        list.push_back({"Above the closed form", formatTimeDelta(above),
                        formatPercent(fractionOf(above, step.wall)) + " of the step"});
    } else if (step.at_least) {
        list.push_back({"At least", formatTime(*step.at_least), "lower bound for any such order"});
    }
    list.push_back({"Ranks", fmt::format("{}", run.schedule.pp), run.annotation});
    return figures;
}

Section timelineSection(const Run& run, const RunReport& report, std::size_t shown, std::size_t most_rows) {
    const StepAnalysis& step = report.steps[shown];
    const std::string name = "step " + stepName(step);
    Section section;
    section.heading = "Timeline";
    section.note = fmt::format("Ops and bubbles of {}. Below: the same order with equal stages and free transfers, "
                               "where each op takes the median time of its kind.",
                               name);
    svg::DrawOptions options;
    options.width = 1050;
    for (int r = 0; r < std::min(run.schedule.pp, static_cast<int>(most_rows)); ++r)
        options.ranks.push_back(Rank{r});
    if (options.ranks.size() < static_cast<std::size_t>(run.schedule.pp))
        section.line(fmt::format("Only the first {} ranks are drawn.", options.ranks.size()));
    std::vector<svg::Panel> panels{
        {run.steps[shown], fmt::format("Observed, {}", name),
         fmt::format("step time {}, bubble rate {}", formatTime(step.wall), formatPercent(step.rates.over_makespan))}};
    CostModel costs;
    costs.times = step.typical;
    const auto ideal = simulate(run.schedule, costs);
    if (ideal.ok()) {
        panels.push_back(
            {ideal.value(), "Equal stages, free transfers",
             fmt::format("t_f = {}, t_b = {}; step time {}, bubble rate {}", svg::shortTime(step.typical.forward),
                         svg::shortTime(step.typical.backward), formatTime(ideal.value().wall()),
                         formatPercent(bubbleRates(ideal.value()).over_makespan))});
    }
    auto drawing = svg::drawTimelines(panels, options);
    if (drawing.ok())
        section.add(Drawing{std::move(drawing.value()), "Timeline of all ranks, observed and ideal"});
    else
        section.line("The step could not be drawn: " + drawing.error().message);
    return section;
}

// ---- A document for each reader ----

void addForText(Document& document, const Run& run, const RunReport& report, const AnalysisOptions& options) {
    addAnswer(document, answerOf(run, report));
    document.line("");
    addTraceLines(document, run, report.selection);
    document.add(clocksSection(report.clocks));
    document.add(findingsSection(run, report, true, options.most_findings));
    document.add(periodSection(report.period, Reader::Text));
    if (options.use) document.add(modelUseSection(report, *options.use));
    document.add(whereSection(run, report, Reader::Text));
    document.add(stepsSection(run, report));
    document.add(stagesSection(report, Reader::Text));
    document.add(memoryUseSection(report.memory, Reader::Text));
    document.add(bubblesSection(report));
    if (report.coverage) document.add(checksSection(run.checks, *report.coverage, Reader::Text));
}

void addForPage(Document& document, const Run& run, const RunReport& report, const AnalysisOptions& options) {
    document.title = scheduleTitle(run.schedule);
    if (!run.files.empty()) document.subtitle = filesText(run.files);
    addAnswer(document, answerOf(run, report));
    document.add(figuresOf(run, report));
    document.add(findingsSection(run, report, true));
    document.add(timelineSection(run, report, report.typicalStep(), options.most_rows));
    document.add(periodSection(report.period, Reader::Page));
    if (options.use) document.add(modelUseSection(report, *options.use));
    document.add(whereSection(run, report, Reader::Page));
    if (report.selection.steps().size() > 1) document.add(stepBars(report));
    document.add(stepsSection(run, report));
    document.add(stagesSection(report, Reader::Page));
    document.add(memoryUseSection(report.memory, Reader::Page));
    document.add(bubblesSection(report));
    if (report.coverage) document.add(checksSection(run.checks, *report.coverage, Reader::Page));
    document.add(problemsSection(run));
    document.foot = fmt::format(
        "Generated by Bubblescope {} from {} slices of {}. A bubble is time within a step during which a rank runs no "
        "op. The "
        "closed form is the idle time that the schedule requires even with equal stages and free transfers.",
        options.version, run.slices, pluralize(run.files.size(), "file"));
}

void addForPrograms(Document& document, const Run& run, const RunReport& report, const AnalysisOptions& options) {
    addAnswer(document, answerOf(run, report));
    document.add(traceData(run));
    document.add(scheduleData(run));
    document.add(clocksSection(report.clocks));
    addSelection(document, report.selection);
    document.data("typical_step", report.steps[report.typicalStep()].index);
    if (report.windows() > 1) document.data("parts", report.windows());
    document.add(periodSection(report.period, Reader::Programs));
    if (options.use) document.add(modelUseSection(report, *options.use));
    std::vector<std::size_t> taken;
    for (std::size_t i = 0; i < report.steps.size(); ++i) {
        if (report.selection.whyAside(i) != SetAside::NotAsked) taken.push_back(i);
    }
    MadeSections steps;
    steps.key = "steps";
    steps.count = taken.size();
    const auto diagnoses = std::make_shared<DiagnosesInTurn>(run, report, taken);
    steps.make = [&run, &report, diagnoses, taken = std::move(taken), values = statedValues(run)](std::size_t i) {
        const StepTimeline& step = run.steps[taken[i]];
        return stepData(run, report, taken[i], step.hasOps() ? &diagnoses->at(i) : nullptr, valuesOf(values, step));
    };
    document.add(std::move(steps));
    document.add(stagesSection(report, Reader::Programs));
    document.add(memoryUseSection(report.memory, Reader::Programs));
    document.add(findingsSection(run, report, false));
    if (report.coverage) document.add(checksSection(run.checks, *report.coverage, Reader::Programs));
}

} // namespace

Document analysisDocument(const Run& run, const RunReport& report, const AnalysisOptions& options) {
    Document document;
    if (options.reader == Reader::Programs)
        addForPrograms(document, run, report, options);
    else if (options.reader == Reader::Page)
        addForPage(document, run, report, options);
    else
        addForText(document, run, report, options);
    return document;
}

Document summaryDocument(const Run& run, const RunReport& report) {
    Document document;
    addAnswer(document, answerOf(run, report));
    addSelection(document, report.selection);
    return document;
}

Value::Object anomalyOf(const Anomaly& anomaly) {
    Value::Object evidence;
    for (const auto& [name, value] : anomaly.evidence) {
        const bool whole = name.ends_with("_ns") || (value == std::floor(value) && !name.ends_with("ratio"));
        evidence.push_back({name, whole ? Value(static_cast<std::int64_t>(value)) : Value(value)});
    }
    Value::Object entry{{"kind", anomalyKindName(anomaly.kind)},
                        {"severity", severityName(anomaly.severity)},
                        {"rank", anomaly.rank},
                        {"step", anomaly.step},
                        {"evidence", std::move(evidence)},
                        {"message", anomaly.message},
                        {"suggestion", anomaly.suggestion}};
    if (anomaly.cost > TimeNs{0}) entry.push_back({"cost_per_step_ns", anomaly.cost});
    entry.push_back({"peer", ifAny(anomaly.peer)});
    entry.push_back({"replica", ifAny(anomaly.replica)});
    entry.push_back({"chunk", ifAny(anomaly.chunk)});
    if (anomaly.op) entry.push_back({"op", opName(*anomaly.op)});
    if (anomaly.when) entry.push_back({"interval_ns", Value::List{anomaly.when->start, anomaly.when->end}});
    const Occurrence& seen = anomaly.seen;
    entry.push_back({"cases", seen.cases});
    if (seen.steps > 0) {
        entry.push_back({"steps", seen.steps});
        entry.push_back({"of_steps", seen.of_steps});
        entry.push_back({"first_step", seen.first});
        entry.push_back({"last_step", seen.last});
        entry.push_back({"goes_on", seen.goes_on});
    }
    if (seen.total > TimeNs{0}) {
        entry.push_back({"total_cost_ns", seen.total});
        entry.push_back({"mean_cost_ns", anomaly.meanCost()});
    }
    entry.push_back({"certainty", certaintyText(anomaly)});
    return entry;
}

} // namespace bubblescope::report
