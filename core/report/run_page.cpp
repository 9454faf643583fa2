#include "core/report/run_page.h"

#include "core/analysis/accounting/accounting.h"
#include "core/base/text.h"
#include "core/formats/source/replacing_file.h"
#include "core/graph/simulate.h"
#include "core/report/checks_section.h"
#include "core/report/page.h"
#include "core/report/svg/axis.h"
#include "core/report/svg/draw_timelines.h"
#include "core/theory/closed_form.h"
#include "core/timeline/colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

using html::Cell;
using html::Column;

class RunPage {
public:
    RunPage(const Run& run, const RunReport& report, const RunPageOptions& options)
        : run_(run), report_(report), options_(options), shown_(options.step.value_or(report.typical_step)),
          step_(report.steps[shown_]), page_(scheduleTitle(run.schedule), subtitle(run)) {}

    std::string make() {
        addFigures();
        addFindings();
        addTimelines();
        addSteps();
        addAccounting();
        addBlame();
        addRanks();
        addPositions();
        addStages();
        addChecks(page_, run_, report_);
        addProblems();
        return page_.finish(fmt::format(
            "Made by Bubblescope {} from {} slices of {} file{}. A bubble is time in a step in which a rank "
            "has no op running; the closed form is what the schedule must leave idle even with equal "
            "stages and free transfers.",
            options_.version, run_.slices, run_.files.size(), run_.files.size() == 1 ? "" : "s"));
    }

private:
    static std::string subtitle(const Run& run) {
        if (run.files.empty()) return {};
        const auto& first = run.files.front();
        return run.files.size() == 1 ? first.string()
                                     : fmt::format("{} ({} files)", first.parent_path().string(), run.files.size());
    }

    std::string stepName() const {
        return step_.replica == 0 ? fmt::format("step {}", step_.index)
                                  : fmt::format("step {} of replica {}", step_.index, step_.replica);
    }

    void addFigures() {
        std::vector<html::Figure> figures{
            {"Step time", formatTime(step_.wall),
             fmt::format("{}{}, of {}", stepName(), options_.step ? "" : ", the median one", report_.steps.size())},
            {"Bubble rate", formatPercent(step_.rates.over_makespan), "idle over makespan, mean of all ranks"}};
        if (step_.form) {
            figures.push_back(
                {"Closed form", formatPercent(step_.form->bubble_rate), "what the schedule must leave idle"});
            const TimeNs above = step_.wall - step_.form->makespan;
            figures.push_back({"Above the closed form", formatTimeDelta(above),
                               formatPercent(fractionOf(above, step_.wall)) + " of the step"});
        } else if (step_.at_least) {
            figures.push_back({"At least", formatTime(*step_.at_least), "any such order takes this long"});
        }
        figures.push_back({"Ranks", html::number(run_.schedule.pp), run_.annotation});
        page_.figures(figures);
    }

    void addFindings() {
        page_.section("Findings");
        for (const Anomaly& anomaly : report_.anomalies) {
            page_.note(severityName(anomaly.severity), anomalyKindName(anomaly.kind),
                       anomaly.message.text() + " " + anomaly.suggestion.text());
        }
        if (report_.anomalies.empty())
            page_.note("good", "Nothing stands out", "No anomaly beyond the thresholds was found.");
    }

    std::vector<Rank> drawnRanks() const {
        std::vector<Rank> ranks;
        for (int r = 0; r < std::min(run_.schedule.pp, static_cast<int>(options_.most_rows)); ++r)
            ranks.push_back(Rank{r});
        return ranks;
    }

    void addTimelines() {
        page_.section(
            "Timeline",
            fmt::format("Ops and bubbles of {}. Below it the same order with equal stages and free transfers: "
                        "each op takes the median time of its kind.",
                        stepName()));
        svg::DrawOptions options;
        options.width = 1050;
        options.ranks = drawnRanks();
        if (options.ranks.size() < static_cast<std::size_t>(run_.schedule.pp))
            page_.paragraph(fmt::format("Only the first {} ranks are drawn.", options.ranks.size()));
        std::vector<svg::Panel> panels{{run_.steps[shown_], fmt::format("Observed, {}", stepName()),
                                        fmt::format("step time {}, bubble rate {}", formatTime(step_.wall),
                                                    formatPercent(step_.rates.over_makespan))}};
        CostModel costs;
        costs.times = step_.typical;
        const auto ideal = simulate(run_.schedule, costs);
        if (ideal.ok()) {
            panels.push_back(
                {ideal.value(), "Equal stages, free transfers",
                 fmt::format("t_f = {}, t_b = {}; step time {}, bubble rate {}", svg::shortTime(step_.typical.forward),
                             svg::shortTime(step_.typical.backward), formatTime(ideal.value().wall()),
                             formatPercent(bubbleRates(ideal.value()).over_makespan))});
        }
        const auto drawing = svg::drawTimelines(panels, options);
        if (drawing.ok())
            page_.drawing(drawing.value(), "Timeline of all ranks, observed and ideal");
        else
            page_.paragraph("The step could not be drawn: " + drawing.error().message);
    }

    /// Steps are joined in groups where there are too many for a bar each: the longest of each group is shown.
    void addSteps() {
        if (report_.steps.size() < 2) return;
        constexpr std::size_t kMaxBars = 60;
        const std::size_t group = (report_.steps.size() + kMaxBars - 1) / kMaxBars;
        page_.section("Steps", group == 1 ? "Mean time of a rank in each step."
                                          : fmt::format("The longest of every {} steps.", group));
        std::vector<html::Bar> bars;
        for (std::size_t i = 0; i < report_.steps.size(); i += group) {
            const auto begin = report_.steps.begin() + static_cast<std::ptrdiff_t>(i);
            const auto end = begin + static_cast<std::ptrdiff_t>(std::min(group, report_.steps.size() - i));
            const StepAnalysis& step = *std::max_element(
                begin, end, [](const StepAnalysis& a, const StepAnalysis& b) { return a.wall < b.wall; });
            const TimeNs idle{std::llround(static_cast<double>(step.wall.count()) * step.rates.over_makespan)};
            const TimeNs due = step.form ? std::min(idle, meanExpected(step)) : TimeNs{0};
            const auto part = [](std::string name, std::string_view colour, TimeNs time) {
                return html::BarPart{std::move(name), colour, static_cast<double>(time.count()), formatTime(time)};
            };
            bars.push_back({fmt::format("{}{}: {}", step.index,
                                        step.replica == 0 ? "" : fmt::format(" (replica {})", step.replica),
                                        formatTime(step.wall)),
                            {part("computing", colours::kForward, step.wall - idle),
                             part("idle, as the closed form has it", "#9aa3ad", due),
                             part("idle beyond it", "#d64541", idle - due)}});
        }
        page_.bars(bars);
    }

    static TimeNs meanExpected(const StepAnalysis& step) {
        TimeNs sum{0};
        for (const RankAccount& rank : step.ranks)
            sum += rank.expected_bubble.value_or(TimeNs{0});
        return step.ranks.empty() ? sum : sum / static_cast<std::int64_t>(step.ranks.size());
    }

    /// What an entry of the accounting is called and painted with.
    struct Entry {
        std::string name;
        std::string_view colour;
        TimeNs (*of)(const RankAccounting& rank);
    };

    static std::vector<Entry> entriesOf(const StepAccounting& account) {
        std::vector<Entry> entries{
            {"forward", colours::kForward, [](const RankAccounting& r) { return r.compute[0]; }},
            {"backward", colours::kBackward, [](const RankAccounting& r) { return r.compute[1]; }},
            {"input gradient", colours::kBackwardInput, [](const RankAccounting& r) { return r.compute[2]; }},
            {"weight gradient", colours::kBackwardWeight, [](const RankAccounting& r) { return r.compute[3]; }},
            {"optimizer", colours::kOptimizer, [](const RankAccounting& r) { return r.compute[4]; }},
            {"overlapped pairs", "#5f8f7a", [](const RankAccounting& r) { return r.overlapped; }}};
        addCauses(entries, std::make_index_sequence<kCauseCount>());
        std::erase_if(entries, [&](const Entry& entry) {
            return std::ranges::all_of(account.ranks, [&](const auto& rank) { return entry.of(rank) == TimeNs{0}; });
        });
        return entries;
    }

    template <std::size_t... kCauses>
    static void addCauses(std::vector<Entry>& entries, std::index_sequence<kCauses...>) {
        // Greys for what the schedule asks, warm colours for what should not be.
        static constexpr std::array<std::string_view, kCauseCount> kColours{"#9aa3ad", "#d64541", "#ef8a7d", "#b58900",
                                                                            "#8e5ea2", "#c04f8c", "#6c4ab6", "#4aa3a0",
                                                                            "#a0522d", "#59626d"};
        (entries.push_back({std::string(causeName(static_cast<Cause>(kCauses))), kColours[kCauses],
                            [](const RankAccounting& rank) { return rank.causes[kCauses]; }}),
         ...);
    }

    void addAccounting() {
        const StepAccounting& account = report_.diagnoses[shown_].accounting;
        page_.section("Where the time went",
                      fmt::format("Every nanosecond of each rank in {}. What made a rank's bubble shorter counts as "
                                  "negative; in the bars it is taken off what stands before it.",
                                  stepName()));
        const std::vector<Entry> entries = entriesOf(account);
        std::vector<html::Bar> bars;
        for (const RankAccounting& rank : account.ranks) {
            html::Bar bar{fmt::format("rank {}", rank.rank.value), {}};
            for (const Entry& entry : entries) {
                const TimeNs time = entry.of(rank);
                bar.parts.push_back({entry.name, entry.colour, static_cast<double>(time.count()), formatTime(time)});
            }
            takeOffNegative(bar.parts);
            bars.push_back(std::move(bar));
            if (bars.size() == options_.most_rows) break;
        }
        page_.bars(bars);
        addAccountingTable(account, entries);
        addLadder(account);
    }

    /// So that each bar is as long as the step.
    static void takeOffNegative(std::vector<html::BarPart>& parts) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            for (std::size_t k = i; k-- > 0 && parts[i].value < 0;) {
                const double taken = std::min(-parts[i].value, std::max(0.0, parts[k].value));
                parts[k].value -= taken;
                parts[i].value += taken;
            }
        }
    }

    /// A column per rank where that fits the page, else a row.
    void addAccountingTable(const StepAccounting& account, const std::vector<Entry>& entries) {
        constexpr std::size_t kMaxColumns = 8;
        std::vector<std::vector<Cell>> rows;
        if (account.ranks.size() <= kMaxColumns) {
            std::vector<Column> columns{{"", false}};
            for (const RankAccounting& rank : account.ranks)
                columns.push_back({fmt::format("rank {}", rank.rank.value)});
            for (const Entry& entry : entries) {
                std::vector<Cell>& cells = rows.emplace_back(std::vector<Cell>{{entry.name}});
                for (const RankAccounting& rank : account.ranks)
                    cells.push_back({formatTime(entry.of(rank))});
            }
            std::vector<Cell>& walls = rows.emplace_back(std::vector<Cell>{{"wall time"}});
            for (const RankAccounting& rank : account.ranks)
                walls.push_back({formatTime(rank.total())});
            page_.table(columns, rows);
            return;
        }
        std::vector<Column> columns{{"rank"}};
        for (const Entry& entry : entries)
            columns.push_back({entry.name});
        columns.push_back({"wall time"});
        for (const RankAccounting& rank : account.ranks) {
            std::vector<Cell>& cells = rows.emplace_back(std::vector<Cell>{{html::number(rank.rank.value)}});
            for (const Entry& entry : entries)
                cells.push_back({formatTime(entry.of(rank))});
            cells.push_back({formatTime(rank.total())});
        }
        page_.table(columns, rows);
    }

    void addLadder(const StepAccounting& account) {
        page_.paragraph("What made the step longer than the schedule must be: each cause added to those before it, "
                        "each alone, and what the step would save if it alone were gone.");
        std::vector<std::vector<Cell>> rows{{{"the schedule, with equal stages and free transfers"},
                                             {formatTime(account.ideal), fractionOf(account.ideal, step_.wall)},
                                             {},
                                             {}}};
        for (const WaterfallStep& rung : account.waterfall) {
            if (rung.adds == TimeNs{0} && rung.alone == TimeNs{0} && rung.without == TimeNs{0}) continue;
            rows.push_back({{std::string(causeName(rung.cause))},
                            {formatTimeDelta(rung.adds), fractionOf(rung.adds, step_.wall)},
                            {formatTimeDelta(rung.alone)},
                            {formatTimeDelta(rung.without)}});
        }
        page_.table({{"cause", false}, {"adds"}, {"alone"}, {"gone, saves"}}, rows);
        for (const Sentence& note : accountingNotes(account))
            page_.paragraph(note.text() + ".");
    }

    void addBlame() {
        const StepDiagnosis& diagnosis = report_.diagnoses[shown_];
        const StepAttribution& blame = diagnosis.attribution;
        if (blame.ranking.empty()) return;
        page_.section("Who is to blame",
                      fmt::format("All ranks together waited {}, of which {} is longer than at typical times.",
                                  formatTime(blame.usual + blame.attributed + blame.unexplained),
                                  formatTime(blame.attributed + blame.unexplained)));
        std::vector<std::vector<Cell>> rows;
        for (const RootCause& culprit : blame.ranking) {
            rows.push_back({{rootCauseName(run_.steps[shown_], diagnosis, culprit)},
                            {html::number(culprit.count)},
                            {formatTime(culprit.excess)},
                            {formatTime(culprit.waits), fractionOf(culprit.waits, blame.attributed)},
                            {formatTime(culprit.saves), fractionOf(culprit.saves, step_.wall)}});
        }
        page_.table({{"who", false}, {"times"}, {"excess"}, {"made others wait"}, {"gone, the step saves"}}, rows);
    }

    void addRanks() {
        page_.section("Idle time by rank", fmt::format("Of {}.", stepName()));
        std::vector<std::vector<Cell>> rows;
        for (const RankAccount& rank : step_.ranks) {
            std::vector<Cell> cells{{html::number(rank.rank.value)},
                                    {formatTime(rank.busy), fractionOf(rank.busy, step_.wall)},
                                    {formatTime(rank.bubble), fractionOf(rank.bubble, step_.wall)}};
            if (rank.expected_bubble) {
                cells.push_back({formatTime(*rank.expected_bubble)});
                cells.push_back({formatTimeDelta(rank.bubble - *rank.expected_bubble)});
            } else {
                cells.insert(cells.end(), {Cell{"none"}, Cell{}});
            }
            if (report_.coverage) cells.push_back({formatTime(rank.replay), fractionOf(rank.replay, step_.wall)});
            rows.push_back(std::move(cells));
        }
        std::vector<Column> columns{{"rank"}, {"busy"}, {"idle"}, {"closed form"}, {"difference"}};
        if (report_.coverage) columns.push_back({"of idle, in checks"});
        page_.table(columns, rows);
        if (!step_.form) page_.paragraph("There is no closed form to compare with: " + step_.form_note + ".");
    }

    void addPositions() {
        if (!step_.positionsKnown()) return;
        page_.section("Idle time by position",
                      "Idle time gathered within the ops' slack, so that it compares with the closed form; s is the "
                      "rank.");
        std::vector<std::vector<Cell>> rows;
        for (const PositionForm& form : step_.form->positions) {
            const TimeNs observed = step_.ranks[form.rank.index()].observed[positionIndex(form.position)];
            if (form.kind != FormKind::Exact || (observed.count() == 0 && form.value.count() == 0)) continue;
            rows.push_back({{html::number(form.rank.value)},
                            {std::string(positionName(form.position, step_.form->f_then_b))},
                            {formatTime(observed), fractionOf(observed, step_.wall)},
                            {formatTime(form.value), fractionOf(form.value, step_.wall)},
                            {formatTimeDelta(observed - form.value)},
                            {form.expression}});
        }
        page_.table(
            {{"rank"}, {"position", false}, {"observed"}, {"closed form"}, {"difference"}, {"expression", false}},
            rows);
    }

    void addStages() {
        page_.section("Op times by stage", fmt::format("Medians over {}; the darker, the longer among ops of "
                                                       "one kind.",
                                                       pluralize(run_.steps.size(), "step")));
        using Of = TimeNs (*)(const OpTimes&);
        struct Kind {
            const char* name;
            Of of;
        };
        static constexpr std::array<Kind, 4> kKinds{Kind{"F", [](const OpTimes& t) { return t.forward; }},
                                                    Kind{"B", [](const OpTimes& t) { return t.backward; }},
                                                    Kind{"I", [](const OpTimes& t) { return t.input_grad; }},
                                                    Kind{"W", [](const OpTimes& t) { return t.weight_grad; }}};
        std::vector<Column> columns{{"stage"}, {"rank"}, {"chunk"}};
        std::vector<std::pair<Of, std::pair<TimeNs, TimeNs>>> kinds; // with the least and the most
        for (const Kind& kind : kKinds) {
            const auto by = [&](const StageTimes& a, const StageTimes& b) {
                return kind.of(a.median) < kind.of(b.median);
            };
            const auto [least, most] = std::minmax_element(report_.stages.begin(), report_.stages.end(), by);
            if (most == report_.stages.end() || kind.of(most->median).count() == 0) continue;
            columns.push_back({kind.name});
            kinds.push_back({kind.of, {kind.of(least->median), kind.of(most->median)}});
        }
        std::vector<std::vector<Cell>> rows;
        for (const StageTimes& stage : report_.stages) {
            std::vector<Cell> cells{
                {html::number(stage.stage.value)}, {html::number(stage.rank.value)}, {html::number(stage.chunk.value)}};
            for (const auto& [of, range] : kinds) {
                const TimeNs time = of(stage.median);
                // Against the span of all, but a few per cent of difference stay pale.
                const TimeNs scale = std::max(range.second - range.first, range.second / 4);
                cells.push_back({formatTime(time), -1, false, fractionOf(time - range.first, scale)});
            }
            rows.push_back(std::move(cells));
        }
        std::ranges::stable_sort(rows, {}, [](const std::vector<Cell>& row) { return std::stoi(row.front().text); });
        page_.table(columns, rows, 64);
    }

    void addProblems() {
        if (run_.problems.empty()) return;
        page_.section("Problems of the files", "What was damaged, missing or guessed.");
        std::vector<std::vector<Cell>> rows;
        for (const Diagnostic& problem : run_.problems) {
            rows.push_back({{problem.kind},
                            {html::number(static_cast<std::int64_t>(problem.count))},
                            {problem.message.text()},
                            {problem.where.text()}});
        }
        page_.table({{"kind", false}, {"count"}, {"what", false}, {"first at", false}}, rows);
    }

    const Run& run_;
    const RunReport& report_;
    const RunPageOptions& options_;
    std::size_t shown_;
    const StepAnalysis& step_;
    html::Page page_;
};

} // namespace

std::string runPage(const Run& run, const RunReport& report, const RunPageOptions& options) {
    return RunPage(run, report, options).make();
}

Status writeRunPage(const std::filesystem::path& file, const Run& run, const RunReport& report,
                    const RunPageOptions& options) {
    ReplacingFile out(file);
    out.write(runPage(run, report, options));
    return out.commit();
}

} // namespace bubblescope
