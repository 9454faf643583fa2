#include "core/report/results/verdict.h"

#include "core/base/field.h"
#include "core/base/text.h"

#include <algorithm>

namespace bubblescope::report {
namespace {

constexpr double kLeastShareNamed = 0.01; ///< of a step

Sentence stateOf(const Run& run, const RunReport& report) {
    const StepAnalysis& step = report.steps[report.typicalStep()];
    const Sentence schedule{scheduleTitle(run.schedule)};
    const std::string time = formatTime(report.selection.stepTime());
    const std::string idle = formatPercent(step.rates.over_makespan);
    if (step.form) {
        return say("{}: a step takes {}, and ranks idle {} of it where the schedule needs {}.", schedule, time, idle,
                   formatPercent(step.form->bubble_rate));
    }
    return say("{}: a step takes {}, and ranks idle {} of it.", schedule, time, idle);
}

/// The most expensive finding of the run, except those of a single step; null if none has a known cost.
const Anomaly* mostCostly(const std::vector<Anomaly>& found) {
    const Anomaly* most = nullptr;
    for (const Anomaly& anomaly : found) {
        const bool once = anomaly.seen.steps == 1 && anomaly.seen.of_steps > 1;
        if (once || anomaly.meanCost() <= TimeNs{0}) continue;
        if (most == nullptr || anomaly.meanCost() > most->meanCost()) most = &anomaly;
    }
    return most;
}

Sentence actionAgainst(Cause cause) {
    switch (cause) {
    case Cause::Imbalance: return say("Balance the stages: 'bubblescope partition' finds a split of the layers.");
    case Cause::Slowdown:
        return say("Find what slows all ops of a step alike: clock rate, power, or another job on the machine.");
    case Cause::Jitter:
        return say("Find the ops that take longer than usual, and when: 'bubblescope analyze {}' lists all.",
                   optionOf(Field("csv")));
    case Cause::Gaps: return say("Let the host launch ahead of the device, with CUDA graphs or fewer, larger ops.");
    case Cause::Communication:
        return say("Overlap transfers with compute, or make them smaller: 'bubblescope whatif {}' shows what that can "
                   "save.",
                   optionOf(Field("if"), "comm=0"));
    case Cause::Order:
        return say("Run the ops in the planned order: ops that are decided at run time wait for each other.");
    case Cause::Peer: return say("Post receives earlier: ranks block in sends and receives of each other.");
    case Cause::Replay: return say("Give checks a smaller share of the bubbles: they delay ops.");
    case Cause::LateStart:
        return say("Check what the host does before ops that start late: the trace records nothing that delays them.");
    default: return say("Record more of what ranks wait for: transfers, waits and the host's launches.");
    }
}

} // namespace

Verdict verdictOf(const Run& run, const RunReport& report) {
    Verdict out{stateOf(run, report), {}, {}};
    const TimeNs step_time = report.selection.stepTime();
    const StepAccounting& account = report.accounts[report.typicalStep()];
    const auto worst = std::ranges::max_element(account.waterfall, {}, &WaterfallStep::without);
    const Anomaly* const finding = mostCostly(report.anomalies);
    if (finding != nullptr && fractionOf(finding->meanCost(), step_time) >= kLeastShareNamed) {
        out.cost = finding->message;
        out.action = finding->suggestion;
    } else if (fractionOf(worst->without, step_time) >= kLeastShareNamed) {
        out.cost = say("{} of a step ({}): {}.", formatTime(worst->without),
                       formatPercent(fractionOf(worst->without, step_time)), Sentence::term(causeName(worst->cause)));
        out.action = actionAgainst(worst->cause);
    } else {
        out.cost = say("Nothing but the schedule's own bubble costs a step more than 1 %.");
        out.action = say("Nothing needs fixing; 'bubblescope advise' searches for a schedule with a smaller bubble.");
    }
    return out;
}

Section verdictSection(const Verdict& verdict) {
    Section section;
    section.key = "summary";
    section.data("verdict", verdict.verdict);
    section.data("cost", verdict.cost);
    section.data("action", verdict.action);
    section.paragraph("Verdict: ", verdict.verdict.text());
    section.paragraph("Cost:    ", verdict.cost.text());
    section.paragraph("Action:  ", verdict.action.text());
    return section;
}

} // namespace bubblescope::report
