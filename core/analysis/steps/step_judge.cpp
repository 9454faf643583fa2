#include "core/analysis/steps/step_judge.h"

#include "core/analysis/step_pieces.h"
#include "core/base/parallel.h"

namespace bubblescope {

void StepJudge::startFrom(const StepTimeline& step) {
    ran_ = executedUnits(step, ran_);
    analyzer_.startFrom(step, ran_);
}

void StepJudge::judgeOne(const StepsToJudge& wanted, std::size_t s, StepDiagnoser& diagnoser, JudgedSteps& out) {
    const StepTimeline& step = wanted.steps[s];
    const StepReplays replays = wanted.replays.empty() ? StepReplays{} : wanted.replays[s];
    const bool is_typical = s == wanted.typical;
    StepAnalysis& analysis = out.analyses[s];
    ran_ = executedUnits(step, ran_, [&](const StepOrder& order) { analysis = analyzer_.asItRan(step, order); });
    const auto analyze = [&] {
        analyzer_.complete(analysis, step, ran_);
        countReplays(analysis, replays);
        if (!is_typical && !wanted.in_full) analysis.keepTotals();
    };
    const auto diagnose = [&] {
        if (is_typical) {
            out.typical = diagnoser.diagnose(step, replays, ran_);
            out.accounts[s] = out.typical->accounting;
        } else {
            out.accounts[s] = diagnoser.account(step, replays, ran_);
            if (!wanted.in_full) out.accounts[s].ranks.pack();
        }
    };
    // For a very large step, free the data of one part before computing the other.
    const std::size_t ops = step.opCount();
    parallelCalls(2 * ops <= kOpsAtOnce ? ops : 0, analyze, diagnose);
}

bool StepJudge::judge(const StepsToJudge& wanted, std::size_t begin, std::size_t end, JudgedSteps& out,
                      const JobControl* control) {
    StepDiagnoser diagnoser(wanted.standards);
    for (std::size_t s = begin; s < end; ++s) {
        if (control != nullptr && control->stopRequested()) return false;
        judgeOne(wanted, s, diagnoser, out);
    }
    return true;
}

Result<JudgedSteps> judgeSteps(const Schedule& schedule, const StepsToJudge& wanted, const JobControl* control) {
    const std::size_t steps = wanted.steps.size();
    JudgedSteps out(steps);
    const std::size_t pieces = stepPieces(wanted.steps);
    const bool done = parallelFor(pieces, [&](std::size_t piece) {
        StepJudge judge(schedule);
        const std::size_t begin = firstOfPiece(piece, pieces, steps);
        // From the second step of a piece on, steps can share their order with the previous one.
        if (begin > 0) judge.startFrom(wanted.steps[begin - 1]);
        const bool judged = judge.judge(wanted, begin, firstOfPiece(piece + 1, pieces, steps), out, control);
        if (steps == 1) out.only_ran = judge.ran();
        return judged;
    });
    if (!done) return cancelledError();
    return out;
}

} // namespace bubblescope
