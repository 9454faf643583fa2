#include "core/analysis/judge_steps.h"

#include "core/analysis/step_pieces.h"
#include "core/parallel/parallel.h"

#include <cstddef>

namespace bubblescope {
namespace {

/// Neighbouring steps, one after another: steps of one order share work.
class StepJudge {
public:
    explicit StepJudge(const StepJudgement& judgement)
        : judgement_(judgement), analyzer_(judgement.run.schedule), diagnoser_(judgement.standards) {}

    /// As if this step were the latest one judged.
    void startFrom(const StepTimeline& step) {
        ran_ = executedUnits(step, ran_);
        analyzer_.startFrom(step, ran_);
    }
    /// How the latest step ran.
    [[nodiscard]] const std::shared_ptr<const ExecutedUnits>& ran() const { return ran_; }

    void judge(std::size_t s, JudgedSteps& out) {
        const StepTimeline& step = judgement_.run.steps[s];
        const StepReplays replays = judgement_.replays.empty() ? StepReplays{} : judgement_.replays[s];
        const bool typical = s == judgement_.selection.typicalTimeline();
        const bool in_full = judgement_.in_full;
        StepAnalysis& analysis = out.analyses[s];
        ran_ = executedUnits(step, ran_, [&](const StepOrder& order) { analysis = analyzer_.asItRan(step, order); });
        const auto analyze = [&] {
            analyzer_.complete(analysis, step, ran_);
            countReplays(analysis, replays);
            if (!typical && !in_full) analysis.keepTotals();
        };
        const auto diagnose = [&] {
            if (typical) {
                out.typical = diagnoser_.diagnose(step, replays, ran_);
                out.accounts[s] = out.typical.accounting;
            } else {
                out.accounts[s] = diagnoser_.account(step, replays, ran_);
                if (!in_full) out.accounts[s].ranks.pack();
            }
        };
        // Of a very large step what one needs is free before the other.
        const std::size_t ops = step.opCount();
        parallelCalls(2 * ops <= kOpsAtOnce ? ops : 0, analyze, diagnose);
    }

private:
    const StepJudgement& judgement_;
    StepAnalyzer analyzer_;
    StepDiagnoser diagnoser_;
    std::shared_ptr<const ExecutedUnits> ran_; ///< of the latest step
};

/// False if the job is stopped.
bool judgeAll(const StepJudgement& judgement, JudgedSteps& out) {
    const std::vector<StepTimeline>& steps = judgement.run.steps;
    out.analyses.resize(steps.size());
    out.accounts.resize(steps.size());
    const std::size_t pieces = stepPieces(steps);
    return parallelFor(pieces, [&](std::size_t piece) {
        StepJudge judge(judgement);
        const std::size_t begin = firstOfPiece(piece, pieces, steps.size());
        const std::size_t end = firstOfPiece(piece + 1, pieces, steps.size());
        // Whether a step has the order of the one before it shows from that one on.
        if (begin > 0) judge.startFrom(steps[begin - 1]);
        for (std::size_t s = begin; s < end; ++s) {
            if (judgement.control != nullptr && judgement.control->stopRequested()) return false;
            judge.judge(s, out);
            if (steps.size() == 1) out.ran = judge.ran();
        }
        return true;
    });
}

} // namespace

Result<JudgedSteps> judgeSteps(const StepJudgement& judgement) {
    JudgedSteps out;
    if (!judgeAll(judgement, out)) return cancelledError();
    return out;
}

} // namespace bubblescope
