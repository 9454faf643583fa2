#include "core/analysis/judge_steps.h"

#include "core/analysis/step_pieces.h"
#include "core/analysis/step_wire.h"
#include "core/parallel/parallel.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace bubblescope {
namespace {

/// Neighbouring steps, one after another: steps of one order share work.
class StepJudge {
public:
    explicit StepJudge(const StepsToJudge& from)
        : from_(from), analyzer_(*from.schedule), diagnoser_(*from.standards) {}

    /// As if this step were the latest one judged.
    void startFrom(const StepTimeline& step) {
        ran_ = executedUnits(step, ran_);
        analyzer_.startFrom(step, ran_);
    }
    /// How the latest step ran.
    [[nodiscard]] const std::shared_ptr<const ExecutedUnits>& ran() const { return ran_; }

    /// `typical` is null for a step of which only totals are kept.
    void judge(std::size_t s, bool in_full, JudgedPart& out, StepDiagnosis* typical) {
        const StepTimeline& step = from_.steps[s];
        const StepReplays replays = from_.replays.empty() ? StepReplays{} : from_.replays[s];
        StepAnalysis& analysis = out.analyses[s];
        ran_ = executedUnits(step, ran_, [&](const StepOrder& order) { analysis = analyzer_.asItRan(step, order); });
        const auto analyze = [&] {
            analyzer_.complete(analysis, step, ran_);
            countReplays(analysis, replays);
            if (typical == nullptr && !in_full) analysis.keepTotals();
        };
        const auto diagnose = [&] {
            if (typical != nullptr) {
                *typical = diagnoser_.diagnose(step, replays, ran_);
                out.accounts[s] = typical->accounting;
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
    const StepsToJudge& from_;
    StepAnalyzer analyzer_;
    StepDiagnoser diagnoser_;
    std::shared_ptr<const ExecutedUnits> ran_; ///< of the latest step
};

/// What is kept of some steps besides totals.
struct KeptInFull {
    bool all = false;                     ///< the analyses
    std::optional<std::size_t> typical{}; ///< of this step the diagnosis, too
    StepDiagnosis diagnosis{};
    std::shared_ptr<const ExecutedUnits> ran{}; ///< of the only step
};

/// False if `control` stops it.
bool judgeHere(const StepsToJudge& from, JudgedPart& out, KeptInFull& kept, const JobControl* control) {
    out.analyses.resize(from.steps.size());
    out.accounts.resize(from.steps.size());
    const std::size_t pieces = stepPieces(from.steps);
    return parallelFor(pieces, [&](std::size_t piece) {
        StepJudge judge(from);
        const std::size_t begin = firstOfPiece(piece, pieces, from.steps.size());
        const std::size_t end = firstOfPiece(piece + 1, pieces, from.steps.size());
        // Whether a step has the order of the one before it shows from that one on.
        if (const StepTimeline* const before = begin > 0 ? &from.steps[begin - 1] : from.before)
            judge.startFrom(*before);
        for (std::size_t s = begin; s < end; ++s) {
            if (control != nullptr && control->stopRequested()) return false;
            judge.judge(s, kept.all, out, s == kept.typical ? &kept.diagnosis : nullptr);
            if (from.steps.size() == 1) kept.ran = judge.ran();
        }
        return true;
    });
}

/// The steps from `begin` to before `end`.
StepsToJudge someSteps(const StepJudgement& judgement, std::size_t begin, std::size_t end) {
    const std::span<const StepTimeline> steps(judgement.run.steps);
    const std::span<const StepReplays> replays(judgement.replays);
    return {&judgement.run.schedule,
            &judgement.standards,
            begin > 0 ? &steps[begin - 1] : nullptr,
            steps.subspan(begin, end - begin),
            replays.empty() ? replays : replays.subspan(begin, end - begin),
            nullptr};
}

Result<JudgedSteps> judgeAlone(const StepJudgement& judgement) {
    KeptInFull kept{judgement.in_full, judgement.selection.typicalTimeline(), {}};
    JudgedPart part;
    if (!judgeHere(someSteps(judgement, 0, judgement.run.steps.size()), part, kept, judgement.control))
        return cancelledError();
    return JudgedSteps{std::move(part.analyses), std::move(part.accounts), std::move(kept.diagnosis),
                       std::move(kept.ran)};
}

/// So many ops are sent to each process at a time: their bytes are in memory twice.
constexpr std::size_t kOpsToSend = 1 << 16;

/// The first of `processes` has everything else to do: of more than two it judges the typical step only.
Result<JudgedSteps> judgeTogether(const StepJudgement& judgement, std::size_t processes) {
    const std::vector<StepTimeline>& steps = judgement.run.steps;
    JudgedSteps out;
    const std::size_t first = processes > 2 ? 1 : 0; // process that judges
    const std::size_t most = std::max<std::size_t>(1, kOpsToSend / std::max<std::size_t>(1, opsOfStep(steps)));
    std::size_t next = 0;
    while (next < steps.size()) {
        if (judgement.control != nullptr && judgement.control->stopRequested()) return cancelledError();
        const std::size_t count = std::min(steps.size() - next, most * (processes - first));
        std::vector<StepsToJudge> parts;
        for (std::size_t process = 0; process < processes; ++process) {
            const auto border = [&](std::size_t of) { return next + firstOfPiece(of, processes - first, count); };
            const bool none = process < first;
            parts.push_back(none ? someSteps(judgement, next, next)
                                 : someSteps(judgement, border(process - first), border(process - first + 1)));
        }
        next += count;
        BUBBLESCOPE_ASSIGN(std::vector<JudgedPart> judged, judgement.run.partitions->runEach(kJudgeSteps, parts));
        for (JudgedPart& part : judged) {
            std::ranges::move(part.analyses, std::back_inserter(out.analyses));
            std::ranges::move(part.accounts, std::back_inserter(out.accounts));
        }
    }
    if (out.analyses.size() != steps.size()) return runError("a process judged other steps than it was sent");
    const std::size_t typical = judgement.selection.typicalTimeline();
    KeptInFull kept{true, 0, {}};
    JudgedPart part;
    judgeHere(someSteps(judgement, typical, typical + 1), part, kept, nullptr);
    out.analyses[typical] = std::move(part.analyses.front());
    out.typical = std::move(kept.diagnosis);
    return out;
}

/// At least what it takes when it is sent.
std::size_t bytesOf(const StepTimeline& step) {
    std::size_t bytes = sizeof step;
    for (const auto& ops : step.ranks)
        bytes += sizeof(std::uint64_t) + ops.size() * sizeof(TimelineOp);
    for (const auto& comm : step.comm)
        bytes += sizeof(std::uint64_t) + comm.size() * sizeof(CommSpan);
    return bytes;
}

} // namespace

Result<JudgedPart> judgePart(TracePartition& partition, const StepsToJudge& query) {
    JudgedPart part;
    KeptInFull kept;
    if (!judgeHere(query, part, kept, &partition.control())) return cancelledError();
    return part;
}

Result<JudgedSteps> judgeSteps(const StepJudgement& judgement) {
    const auto& partitions = judgement.run.partitions;
    const std::size_t processes = partitions == nullptr ? 1 : partitions->processes();
    if (processes > 1 && judgement.run.steps.size() >= 2 * processes && !judgement.in_full)
        return judgeTogether(judgement, processes);
    return judgeAlone(judgement);
}

void fields(WireWriter& wire, const StepsToJudge& value) {
    wire(*value.schedule, *value.standards);
    wire(std::vector<StepTimeline>(value.before == nullptr ? 0 : 1,
                                   value.before == nullptr ? StepTimeline() : *value.before));
    std::size_t bytes = 0;
    for (const StepTimeline& step : value.steps)
        bytes += bytesOf(step);
    wire.reserve(bytes);
    wire(std::uint64_t{value.steps.size()});
    for (const StepTimeline& step : value.steps)
        wire(step);
    wire(std::vector<StepReplays>(value.replays.begin(), value.replays.end()));
}

void fields(WireReader& wire, StepsToJudge& value) {
    auto received = std::make_shared<StepsToJudge::Received>();
    wire(received->schedule, received->standards, received->before, received->steps, received->replays);
    if (!received->replays.empty() && received->replays.size() != received->steps.size()) wire.reject();
    value.schedule = &received->schedule;
    value.standards = &received->standards;
    value.before = received->before.empty() ? nullptr : &received->before.front();
    value.steps = received->steps;
    value.replays = received->replays;
    value.received = std::move(received);
}

void fields(WireWriter& wire, const JudgedPart& value) {
    wire(value.analyses, value.accounts);
}

void fields(WireReader& wire, JudgedPart& value) {
    wire(value.analyses, value.accounts);
}

} // namespace bubblescope
